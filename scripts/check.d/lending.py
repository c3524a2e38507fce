"""Checks that what is lent to a statement lives until the statement has run.

`Statement.bind(_:bytes:)` and `bind(_:utf8:)` do not copy. Bytes of an array that are bound inside of `withBytes` and used
behind it may be gone by then: a key was once made of whatever lay there. Such a closure runs the statement itself, or a copy is
bound (`copying:`, `copyingUTF8:`).
"""

import re

from tree import block, by_file

BEGIN = re.compile(r"\.withBytes\s*\{")
BIND = re.compile(r"\.bind\([^\n]*\b(?:bytes|utf8): ")
# The statement is run, or handed on to who runs it.
RUN = re.compile(r"\b(?:step|run|take|walk)\(")


def faults(name, text):
    for found in BEGIN.finditer(text):
        closure = block(text, found.end())
        if BIND.search(closure) and not RUN.search(closure):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{name}:{line}: bytes are bound where they are lent, and used behind that: bind a copy, or run it there"


check, self_test = by_file(
    faults, r"Sources/.*\.swift", "what is bound lives until its statement has run",
    wrong=[
        "try key.withBytes { (key) throws(E) in try insert.bind(1, bytes: key) }\ntry insert.run()",
        "a.withBytes { (a) in\n b.withBytes { (b) in\n try s.bind(2, utf8: b)\n }\n }\n s.step()"],
    right=[
        "try key.withBytes { (key) throws(E) in\n try insert.bind(1, bytes: key)\n try insert.run()\n}",
        "try insert.bind(1, copying: key)", "key.withBytes { hash.update($0) }"])
