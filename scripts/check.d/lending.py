"""Checks that what is lent to a statement lives until the statement has run.

`Statement.bind(_:bytes:)` and `bind(_:utf8:)` do not copy. Bytes of an array that are bound inside of `withBytes` and used behind it may be gone by
then: a key was once made of whatever lay there. Such a closure runs the statement itself, or a copy is bound (`copying:`, `copyingUTF8:`).

usage: lending.py ROOT              exit code 1 when something is bound and not run
       lending.py --self-test       judges pieces: each mistake must be found
"""

import re
import sys
from pathlib import Path

BEGIN = re.compile(r"\.withBytes\s*\{")
BIND = re.compile(r"\.bind\([^\n]*\b(?:bytes|utf8): ")
# The statement is run, or handed on to who runs it.
RUN = re.compile(r"\b(?:step|run|take|walk)\(")


def closures(text):
    """The text of each closure that is lent bytes, with its line."""
    for found in BEGIN.finditer(text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield text.count("\n", 0, found.start()) + 1, text[found.end():end]


def faults(name, text):
    for line, body in closures(text):
        if BIND.search(body) and not RUN.search(body):
            yield f"{name}:{line}: bytes are bound where they are lent, and used behind that: bind a copy, or run it there"


def self_test():
    wrong = ["try key.withBytes { (key) throws(E) in try insert.bind(1, bytes: key) }\ntry insert.run()",
             "a.withBytes { (a) in\n b.withBytes { (b) in\n try s.bind(2, utf8: b)\n }\n }\n s.step()"]
    right = ["try key.withBytes { (key) throws(E) in\n try insert.bind(1, bytes: key)\n try insert.run()\n}",
             "try insert.bind(1, copying: key)", "key.withBytes { hash.update($0) }"]
    missed = [text for text in wrong if not list(faults("x", text))] + [text for text in right if list(faults("x", text))]
    for text in missed:
        print(f"self-test: judged wrong: {text}")
    print(f"self-test: {len(wrong) + len(right) - len(missed)} of {len(wrong) + len(right)} pieces judged right")
    return 1 if missed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1])
    found = [fault for path in sorted((root / "Sources").rglob("*.swift"))
             for fault in faults(path.relative_to(root).as_posix(), path.read_text())]
    for fault in found:
        print(fault)
    return 1 if found else 0


sys.exit(main())
