"""Checks that each Swift block of the pages is code that the tests compile and run.

A block of Markdown that is tagged `swift` stands below a line `<!-- snippet: NAME -->`. Its text lies in a test, in whatever
indentation, between `// snippet: NAME` and `// end`; several stretches of one name are joined, so that a test can look at what
happened between them.
"""

import re
import textwrap

from tree import Tree, passed_over

NAME = re.compile(r"^<!-- snippet: ([\w.-]+) -->$")
BEGIN = re.compile(r"^\s*// snippet: ([\w.-]+)$")
END = re.compile(r"^\s*// end$")
# The package compiles what is below Tests/…Tests.
COMPILED = re.compile(r"Tests/[^/]*Tests/")


def snippets_of(tree):
    """The code of each name, the file that it is in, and what is wrong with the marks."""
    found, places, faults = {}, {}, []
    for file in tree.names(r".*\.swift"):
        name, conditions = None, 0
        for number, line in enumerate(tree.text(file).split("\n"), 1):
            begins, place = BEGIN.match(line), f"{file}:{number}"
            conditions += {"#if": 1, "#endif": -1}.get(line.strip().split(" ")[0], 0)
            if begins:
                if name:
                    faults.append(f"{place}: {begins[1]} begins within {name}")
                name = begins[1]
                # What is conditional may be nobody's code.
                if not COMPILED.match(file) or conditions:
                    faults.append(f"{place}: {name} is not compiled with the tests, or only under a condition")
                if places.setdefault(name, file) != file:
                    faults.append(f"{place}: {name} is in {places[name]}, too")
                found.setdefault(name, []).append([])
            elif END.match(line):
                if not name:
                    faults.append(f"{place}: nothing has begun that could end")
                name = None
            elif name:
                found[name][-1].append(line)
        if name:
            faults.append(f"{file}: {name} does not end")
    texts = {name: [textwrap.dedent("\n".join(lines)) for lines in parts] for name, parts in found.items()}
    return {name: "\n".join(parts).strip("\n") for name, parts in texts.items()}, places, faults


def blocks_of(lines):
    """The Swift blocks of a page: first line of the code and the line behind the last (from 0), and the name above."""
    start, fence, language = None, "", ""
    for number, line in enumerate(lines):
        opens = re.match(r"^\s*(`{3,}|~{3,})\s*(\w*)", line)
        if start is None and opens:
            start, fence, language = number + 1, opens[1], opens[2]
        elif start is not None and line.strip() == fence:
            if language.lower() == "swift":
                name = NAME.match(lines[start - 2]) if start > 1 else None
                yield start, number, name and name[1]
            start = None


def judge(tree):
    """The faults, how many blocks there are, and the pages whose blocks are not what the tests have, as they should be."""
    snippets, places, faults = snippets_of(tree)
    count, used, renewed = 0, set(), {}
    for file in tree.names(r".*\.md"):
        lines = tree.text(file).split("\n")
        for start, end, name in reversed(list(blocks_of(lines))):
            count += 1
            place = f"{file}:{start + 1}"
            if not name:
                faults.append(f"{place}: there is no <!-- snippet: … --> above the block")
            elif name not in snippets:
                faults.append(f"{place}: no test has the snippet {name}")
            else:
                used.add(name)
                if "\n".join(lines[start:end]) != snippets[name]:
                    faults.append(
                        f"{place}: {name} is another one in {places[name]}; scripts/check snippets --write takes it from there")
                    lines[start:end] = snippets[name].split("\n")
                    renewed[file] = "\n".join(lines)
    faults += [f"{places[name]}: no page shows the snippet {name}" for name in sorted(snippets.keys() - used)]
    if not count:
        faults.append("no page has a Swift block: too few to be true")
    return faults, count, renewed


def check(tree):
    faults, count, _ = judge(tree)
    return faults, f"{count} Swift blocks of the pages, {len(faults)} mistakes"


def write(tree, root):
    """Takes the blocks of the pages from the tests."""
    for file, text in judge(tree)[2].items():
        (root / file).write_text(text, "utf-8")


PAGE = "# A\n<!-- snippet: a.b -->\n```swift\nlet a = 1\nif a == 1 {\n    print(a)\n}\n```\n\n```sh\nswift build\n```\n"
TEST = """func test() {
    // snippet: a.b
    let a = 1
    // end
    #expect(a == 1)
    // snippet: a.b
    if a == 1 {
        print(a)
    }
    // end
}
"""
# (file, what is replaced, by what, what the fault must say)
MISTAKES = [
    ("page.md", "let a = 1", "let a = 2", "a.b is another one"),
    ("page.md", "    print(a)\n", "", "a.b is another one"),
    ("page.md", "    print(a)\n", "        print(a)\n", "a.b is another one"),
    ("page.md", "<!-- snippet: a.b -->\n", "", "there is no <!-- snippet"),
    ("page.md", "snippet: a.b", "snippet: a.c", "no test has the snippet a.c"),
    ("page.md", "```sh", "```swift", "there is no <!-- snippet"),
    ("page.md", "```swift", "```text", "no page shows the snippet a.b"),
    ("Tests/ATests/A.swift", "let a = 1", "let a = 3", "a.b is another one"),
    ("Tests/ATests/A.swift", "    // end\n}", "}", "a.b does not end"),
    ("Tests/ATests/A.swift", "    // end\n    #expect", "    #expect", "a.b begins within a.b"),
    ("Tests/ATests/A.swift", "func test", "#if os(macOS)\nfunc test", "not compiled with the tests"),
    ("Tests/ATests/A.swift", "func test() {", "func test() {\n    // end", "nothing has begun"),
    ("Tests/Fixtures/B.swift", "", "// snippet: d\n// end\n", "not compiled with the tests"),
    ("Tests/BTests/B.swift", "", "// snippet: a.b\n// end\n", "is in Tests/ATests/A.swift, too"),
]


def self_test(_):
    tree = Tree({"page.md": PAGE, "Tests/ATests/A.swift": TEST})
    missed = passed_over(check, tree, MISTAKES) + [f"found in what is right: {fault}" for fault in check(tree)[0]]
    for name, old, new, expected in MISTAKES:
        if "another one" in expected:
            changed = tree.changed(name, old, new)
            if check(Tree({**changed.files, **judge(changed)[2]}))[0]:
                missed.append(f"--write did not put right {new!r} in {name}")
    return missed, len(MISTAKES)
