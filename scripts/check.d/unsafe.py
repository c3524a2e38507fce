"""Checks that whatever is marked `unsafe` or `@safe` says why it holds, and counts it.

The compiler has everything marked that it cannot prove safe (`.strictMemorySafety()`, SE-0458). This check has every mark
stand under a comment `Safety: …`: in front of it in its own block, or above the declaration, the type or the extension that
it is in, or at the head of a file that is a C boundary as a whole.
"""

import re

from tree import code

MARK = re.compile(r"\bunsafe\b|@safe\b")
COMMENT = re.compile(r"\s*(?://|\*)")
IMPORT = re.compile(r"\s*(?:@\w+\s+)*(?:\w+\s+)?import ")
TYPE = re.compile(r"\s*(?:@\S+\s+)*(?:(?:public|package|internal|fileprivate|private|final|indirect)\s+)*"
                  r"(?:struct|class|enum|actor|protocol|extension)\b")
ATTRIBUTES = re.compile(r"\s*(?:@\w+(?:\([^)]*\))?\s*)+$")
# The end of a header of several lines or of a block; a condition of the compiler.
GOES_ON = re.compile(r"\s*[)\]}#]")
REASON = "Safety:"


def head_has_reason(lines):
    """Whether a reason stands among the comments `//` at the head of a file, imports passed over."""
    for line in lines:
        if line.strip() and not IMPORT.match(line):
            if not COMMENT.match(line):
                return False
            if REASON in line and not line.lstrip().startswith("///"):
                return True
    return False


def faults_of(name, text):
    """How many marks there are, and a fault for each line of them that has no reason."""
    lines = text.split("\n")
    if head_has_reason(lines):
        return len(MARK.findall(code(text))), []
    marks, faults = 0, []
    # Depths of the lines that the blocks around this one began with, and whether each is a type's.
    blocks = []
    # Depths of the comments whose reason holds here, and whether each holds for one declaration, and has met it.
    reasons = []
    for number, (line, bare) in enumerate(zip(lines, code(text).split("\n")), 1):
        depth = len(line) - len(line.lstrip())
        if not bare.strip():
            if COMMENT.match(line) and REASON in line:
                reasons.append([depth, all(is_type for at, is_type in blocks if at < depth), False])
            elif not line.strip():
                # A blank line parts a comment from the declaration below.
                reasons = [reason for reason in reasons if not reason[1] or reason[2]]
            continue
        if not GOES_ON.match(bare):
            begins = not ATTRIBUTES.match(bare)
            reasons = [[at, is_for_one, has_met or begins] for at, is_for_one, has_met in reasons
                       if at < depth or (at == depth and not (is_for_one and has_met))]
            if begins:
                blocks = [block for block in blocks if block[0] < depth] + [(depth, bool(TYPE.match(bare)))]
        reasons = [reason for reason in reasons if reason[0] <= depth]
        found = len(MARK.findall(bare))
        marks += found
        if found and not reasons and REASON not in line:
            faults.append(f"{name}:{number}: no comment says why this holds (`// Safety: …`): {line.strip()[:60]}")
    return marks, faults


def check(tree):
    counts, faults = {}, []
    for name in tree.names(r"Sources/.*\.swift"):
        marks, found = faults_of(name, tree.text(name))
        faults += found
        if marks:
            counts.setdefault(name.split("/")[1], []).append(marks)
    words = ", ".join(f"{module} {sum(marks)} in {len(marks)}" for module, marks in sorted(counts.items()))
    return faults, f"marks and files by module: {words or 'none'}: every one says why it holds"


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
    ("", "", 0),
    ("    /// Safety: it is there.\n", "", 1),
    ("        // Safety: it is ours.\n", "", 1),
    ("/// Safety: checked.\n", "", 2),
    ("        return 0\n", "        return unsafe peek(0)\n", 0),
    ('        let text = "unsafe"\n', "    }\n\n    func third() {\n        unsafe poke(2)\n", 1),
    ("    let address", "    }\n}\n\nstruct Third {\n    let address", 1),
    ("import Glibc\n", "import Glibc\n\n// Safety: all of it is a boundary.\n", 0),
]


def self_test(_):
    missed = []
    for old, new, expected in MISTAKES:
        assert old in REASONED
        marks, faults = faults_of("Broken.swift", REASONED.replace(old, new, 1))
        if len(faults) != expected or old == new and marks != 4:
            missed.append(f"{len(faults)} faults of {marks} marks instead of {expected} with {new!r} for {old!r}")
    return missed, len(MISTAKES)
