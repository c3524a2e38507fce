"""Checks that whatever is marked `unsafe` or `@safe` says why it holds, and counts it.

The compiler has everything marked that it cannot prove safe (`.strictMemorySafety()`, SE-0458). This check has every mark
stand under a comment `Safety: …`: in front of it in its own block, or above the declaration, the type or the extension that
it is in, or at the head of a file that is a C boundary as a whole.

usage: unsafe.py ROOT              exit code 1 when a reason is missing
       unsafe.py --self-test ROOT  takes reasons away and adds marks: every mistake must be found
"""

import re
import sys
from pathlib import Path

MARK = re.compile(r"\bunsafe\b|@safe\b")
STRING = re.compile(r'"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"')
COMMENT = re.compile(r"^\s*(///?|\*)")
TYPE = re.compile(r"^\s*(?:@\S+\s+)*(?:(?:public|package|internal|fileprivate|private|final|indirect)\s+)*"
                  r"(?:struct|class|enum|actor|protocol|extension)\b")
ATTRIBUTE = re.compile(r"^\s*@\w+")
REASON = "Safety:"


def indent_of(line):
    return len(line) - len(line.lstrip())


def reasons_above(lines, at):
    """Whether the comment that belongs to the declaration at a line holds a reason."""
    at -= 1
    while at >= 0 and (COMMENT.match(lines[at]) or ATTRIBUTE.match(lines[at])):
        if REASON in lines[at]:
            return True
        at -= 1
    return False


def head_of(lines):
    """The comments at the head of a file, imports passed over, up to the first code or the first declaration's own comment."""
    head = []
    for position, line in enumerate(lines):
        if not line.strip() or re.match(r"\s*(?:@\w+\s+)*(?:\w+\s+)?import ", line):
            continue
        if not COMMENT.match(line):
            break
        head.append(position)
    # A comment that touches code belongs to that code, and only `//` ones are a file's.
    return [position for position in head if not lines[position].lstrip().startswith("///")]


def headers_of(lines, at):
    """The lines that open the blocks around a line, innermost first."""
    headers = []
    depth = indent_of(lines[at])
    for position in range(at - 1, -1, -1):
        line = lines[position]
        if not line.strip() or COMMENT.match(line) or line.lstrip().startswith("#"):
            continue
        if indent_of(line) < depth:
            depth = indent_of(line)
            # The end of a header that takes several lines: its beginning stands at the same depth.
            while re.match(r"\s*[)\]}]", lines[position]) and position > 0:
                position -= 1
                while not lines[position].strip() or indent_of(lines[position]) > depth:
                    position -= 1
            headers.append(position)
    return headers


def has_reason(lines, at):
    if any(REASON in lines[position] for position in head_of(lines)):
        return True
    chain = [at] + headers_of(lines, at)
    declaration = at
    for position in chain:
        if TYPE.match(lines[position]):
            if reasons_above(lines, position):
                return True
        else:
            declaration = position
    if reasons_above(lines, declaration) or REASON in lines[at]:
        return True
    lowest = indent_of(lines[at])
    for position in range(at - 1, declaration, -1):
        line = lines[position]
        if not line.strip():
            continue
        if COMMENT.match(line):
            if REASON in line and indent_of(line) <= lowest:
                return True
        else:
            lowest = min(lowest, indent_of(line))
    return False


def faults_of(path, text):
    # Strings may say anything; what stands for them keeps the lines.
    code = STRING.sub(lambda match: '"' + "\n" * match.group().count("\n") + '"', text)
    lines = text.split("\n")
    marks = 0
    faults = []
    for position, line in enumerate(code.split("\n")):
        if COMMENT.match(line):
            continue
        found = len(MARK.findall(line.split("//")[0]))
        if found == 0:
            continue
        marks += found
        if not has_reason(lines, position):
            faults.append(f"{path}:{position + 1}: no comment says why this holds (`// Safety: …`): {line.strip()[:60]}")
    return marks, faults


def check(root):
    counts = {}
    faults = []
    for path in sorted((root / "Sources").rglob("*.swift")):
        name = path.relative_to(root)
        marks, found = faults_of(name, path.read_text())
        faults += found
        if marks:
            module = name.parts[1]
            total, files = counts.get(module, (0, 0))
            counts[module] = (total + marks, files + 1)
    return counts, faults


REASONED = '''import Glibc

/// One.
struct First {
    /// Reads.
    ///
    /// Safety: it is there.
    func read(
        _ count: Int
    ) -> Int {
        if count > 0 {
            return unsafe peek(count)
        }
        return 0
    }

    func write() {
        // Safety: it is ours.
        unsafe poke(1)
        let text = "unsafe"
    }
}

/// Safety: checked.
@safe
struct Second {
    let address = unsafe start
}
'''
# (what is taken out or put in, how many faults that makes)
MISTAKES = [
    (("    /// Safety: it is there.\n", ""), 1),
    (("        // Safety: it is ours.\n", ""), 1),
    (("/// Safety: checked.\n", ""), 2),
    (("        return 0\n", "        return unsafe peek(0)\n"), 0),
    (('        let text = "unsafe"\n', "    }\n\n    func third() {\n        unsafe poke(2)\n"), 1),
    (("    let address", "    }\n}\n\nstruct Third {\n    let address"), 1),
    (("import Glibc\n", "import Glibc\n\n// Safety: all of it is a boundary.\n"), 0),
]


def self_test():
    missed = 0
    if faults_of("Reasoned.swift", REASONED) != (4, []):
        print(f"self-test: {faults_of('Reasoned.swift', REASONED)}")
        missed += 1
    for (old, new), expected in MISTAKES:
        assert old in REASONED
        found = len(faults_of("Broken.swift", REASONED.replace(old, new, 1))[1])
        if found != expected:
            print(f"self-test: {found} faults instead of {expected} with {new!r} for {old!r}")
            missed += 1
    print(f"self-test: {len(MISTAKES) + 1 - missed} of {len(MISTAKES) + 1} reasons and their absence were found")
    return missed == 0


def main():
    if sys.argv[1:2] == ["--self-test"]:
        sys.exit(0 if self_test() else 1)
    counts, faults = check(Path(sys.argv[1]))
    for line in faults:
        print(line)
    if faults:
        sys.exit(1)
    words = ", ".join(f"{module} {marks} in {files}" for module, (marks, files) in sorted(counts.items()))
    print(f"unsafe: marks and files by module: {words or 'none'}: every one says why it holds")


if __name__ == "__main__":
    main()
