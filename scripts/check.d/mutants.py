"""Checks that each mutant of Tests/Mutants (scripts/mutants) can be planted: its text occurs once, and the tests that are to kill
it are there.
"""

import json
import re

from tree import passed_over

LISTS = r"Tests/Mutants/[\w-]+\.json"
TESTS = r"Tests/(\w+Tests)/.*\.swift"
MEMBERS = {"name": str, "group": int, "file": str, "text": str, "replacement": str, "tests": str}
SUITE = re.compile(r"( *)(?:@\S+ |\w+ )*?(?:struct|class|enum|extension|actor) (\w+)")
TEST = re.compile(r"( *).*\bfunc `([^`]+)`\(")
GROUPS = range(1, 6)
LEAST = 120


def read_all(tree):
    """Each mutant with the file that it is listed in."""
    return [(name, mutant) for name in tree.names(LISTS) for mutant in json.loads(tree.text(name))]


def tests(tree):
    """The names of all tests as scripts/test.d/run.py has them, `Module.Suite/test`."""
    found = []
    for name in tree.names(TESTS):
        module, suites = re.fullmatch(TESTS, name)[1], []
        for line in tree.text(name).splitlines():
            match = SUITE.match(line) or TEST.match(line)
            if not match:
                continue
            suites = [suite for suite in suites if suite[0] < len(match[1])]
            if match.re is TEST:
                found.append(f"{module}." + "/".join([suite for _, suite in suites] + [match[2]]))
            else:
                suites.append((len(match[1]), match[2]))
    return found


def check(tree):
    mutants, names, known = read_all(tree), tests(tree), set()
    faults = [] if len(mutants) >= LEAST else [f"Tests/Mutants: {len(mutants)} mutants, and {LEAST} there are to be at least"]
    for place, mutant in mutants:
        if {name: type(value) for name, value in mutant.items()} != MEMBERS or mutant["group"] not in GROUPS:
            faults.append(f"{place}: a mutant has {', '.join(MEMBERS)}, and a group of 1 to 5: {mutant}")
            continue
        title = f"{place}: {mutant['name']}"
        if mutant["name"] in known:
            faults.append(f"{title}: the name comes twice")
        known.add(mutant["name"])
        count = tree.text(mutant["file"]).count(mutant["text"]) if mutant["file"] in tree.files else 0
        if count != 1:
            faults.append(f"{title}: the text occurs {count} times in {mutant['file']}")
        if mutant["text"] == mutant["replacement"]:
            faults.append(f"{title}: it changes nothing")
        for part in re.split(r"\|(?![^(]*\))", mutant["tests"]):
            if not any(re.search(part, name) for name in names):
                faults.append(f"{title}: no test is called {part}")
    return faults, f"{len(mutants)} mutants can be planted, and have tests"


def self_test(tree):
    place = tree.names(LISTS)[0]
    first = json.loads(tree.text(place))[0]
    tail = first["tests"].rsplit("/", 1)[1]
    mistakes = [
        (first["file"], first["text"], "", "occurs 0 times"),
        (first["file"], "", f"// {first['text'].splitlines()[0]}", "occurs 2 times"),
        (place, json.dumps(first["text"], ensure_ascii=False), '"nowhere"', "occurs 0 times"),
        (place, tail, "no such promise", "no test is called"),
        (place, f'"group": {first["group"]}', '"group": 9', "a group of 1 to 5"),
    ]
    return passed_over(check, tree, mistakes), len(mistakes)
