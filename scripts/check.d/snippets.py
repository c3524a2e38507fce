#!/usr/bin/env python3
"""Checks that each Swift block of the pages is code that the tests compile and run.

usage: snippets.py ROOT [--write]       exit code 1 when a block is not what its test has; --write takes it from there
       snippets.py --self-test

A block of Markdown that is tagged `swift` stands below a line `<!-- snippet: NAME -->`. Its text lies in a test, in whatever indentation,
between `// snippet: NAME` and `// end`; several stretches of one name are joined, so that a test can look at what happened between them.
"""

import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

NAME = re.compile(r"^<!-- snippet: ([\w.-]+) -->$")
BEGIN = re.compile(r"^\s*// snippet: ([\w.-]+)$")
END = re.compile(r"^\s*// end$")


def files_of(root, pattern):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", pattern], capture_output=True, text=True)
    if listed.returncode == 0:
        return [root / name for name in sorted(set(listed.stdout.split("\n"))) if name and (root / name).is_file()]
    return [path for path in sorted(root.rglob(pattern)) if ".build" not in path.parts]


def snippets_of(root):
    """The code of each name, where it is, and what is wrong with the marks."""
    found, places, problems = {}, {}, []
    for path in files_of(root, "*.swift"):
        relative = path.relative_to(root)
        name, conditions = None, 0
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
            begins, place = BEGIN.match(line), f"{relative}:{number}"
            conditions += {"#if": 1, "#endif": -1}.get(line.strip().split(" ")[0], 0)
            if begins:
                if name:
                    problems.append(f"{place}: {begins[1]} begins within {name}")
                # The package compiles what is below Tests/…Tests; what is conditional may be nobody's code.
                if relative.parts[0] != "Tests" or not relative.parts[1].endswith("Tests") or conditions:
                    problems.append(f"{place}: {begins[1]} is not compiled with the tests, or only under a condition")
                name = begins[1]
                if places.setdefault(name, relative) != relative:
                    problems.append(f"{place}: {name} is in {places[name]}, too")
                found.setdefault(name, []).append([])
            elif END.match(line):
                if not name:
                    problems.append(f"{place}: nothing has begun that could end")
                name = None
            elif name:
                found[name][-1].append(line)
        if name:
            problems.append(f"{relative}: {name} does not end")
    texts = {name: [textwrap.dedent("\n".join(lines)) for lines in parts] for name, parts in found.items()}
    return {name: "\n".join(parts).strip("\n") for name, parts in texts.items()}, places, problems


def blocks_of(text):
    """The Swift blocks of a page: first line of the code and the line behind the last (from 0), and the name above."""
    lines, start, fence = text.split("\n"), None, ""
    for number, line in enumerate(lines):
        opens = re.match(r"^\s*(`{3,}|~{3,})\s*(\w*)", line)
        if start is None and opens:
            start, fence, language = number + 1, opens[1], opens[2]
        elif start is not None and line.strip() == fence:
            if language.lower() == "swift":
                name = NAME.match(lines[start - 2]) if start > 1 else None
                yield start, number, name and name[1]
            start = None


def check(root, writes=False):
    snippets, places, problems = snippets_of(root)
    count, used = 0, set()
    for path in files_of(root, "*.md"):
        text, relative = path.read_text("utf-8"), path.relative_to(root)
        lines = text.split("\n")
        for start, end, name in reversed(list(blocks_of(text))):
            count += 1
            place = f"{relative}:{start + 1}"
            if not name:
                problems.append(f"{place}: there is no <!-- snippet: … --> above the block")
            elif name not in snippets:
                problems.append(f"{place}: no test has the snippet {name}")
            else:
                used.add(name)
                if "\n".join(lines[start:end]) != snippets[name]:
                    if not writes:
                        problems.append(f"{place}: {name} is another one in {places[name]}; scripts/check snippets --write takes it from there")
                    lines[start:end] = snippets[name].split("\n")
        if writes and "\n".join(lines) != text:
            path.write_text("\n".join(lines), "utf-8")
    problems += [f"{places[name]}: no page shows the snippet {name}" for name in sorted(set(snippets) - used)]
    if not count:
        problems.append("no page has a Swift block: too few to be true")
    return problems, count


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
# (file, what is replaced, by what, what the problem must say)
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


def self_test():
    missed = 0
    for name, old, new, expected in [(None, "", "", None), *MISTAKES]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "page.md").write_text(PAGE)
            for path, text in (("Tests/ATests/A.swift", TEST), (name or "page.md", None)):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                if text:
                    (root / path).write_text(text)
            if name:
                text = (root / name).read_text() if (root / name).exists() else ""
                (root / name).write_text(text.replace(old, new, 1) if old else text + new)
            problems = check(root)[0]
            if (not problems) if expected is None else any(expected in line for line in problems):
                if expected and "another one" in expected:
                    check(root, writes=True)
                    if check(root)[0]:
                        missed += 1
                        print(f"self-test: --write did not put right {new!r} in {name}")
                continue
            missed += 1
            print(f"self-test: {new!r} in {name}: {problems}")
    print(f"self-test: snippets found {len(MISTAKES) - missed} of {len(MISTAKES)} mistakes")
    return missed == 0


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        sys.exit(0 if self_test() else 1)
    found, blocks = check(Path(sys.argv[1]).resolve(), "--write" in sys.argv)
    print("\n".join([*found, f"snippets: {blocks} Swift blocks of the pages, {len(found)} mistakes"]))
    sys.exit(1 if found else 0)
