"""Checks that there is one way to print: what goes to standard output or error passes the place that keeps control characters
from a terminal.

A backup's manifest once set the terminal's title, and a hostile daemon moved its cursor.
"""

import re

from tree import by_file

# Swift's and C's own ways to print, and a write to one of the two descriptors.
PRINT = re.compile(
    r"(?<![\w.])(?:print|debugPrint|dump|puts|fputs|printf|vprintf|putchar|perror)\(|\bFileHandle\b|\bTextOutputStream\b|"
    r"\bwrite\(\s*(?:STDOUT_FILENO|STDERR_FILENO|[12])\b|\bto: (?:STDOUT_FILENO|STDERR_FILENO)\b")
# File, and what is allowed in it.
ALLOWED = {
    "Sources/KuraCommand/Console.swift": "the one place of kura",
    "Sources/KuraServer/ProgramOutput.swift": "the one place of kurad",
    "Sources/KuraCommand/Observation/TopCommand.swift": "sequences that are written out, StaticString",
    "Sources/KuraCommand/DraftFile.swift": "hands on to Console.print(raw:)",
}
LOOKED_AT = (
    r"Sources/(KuraBytes|KuraCheck|KuraClient|KuraCommand|KuraServer|KuraSocket|KuraStorage|KuraTransport|SQLite|Sodium|kura|kurad)/"
    r".*\.swift")


def faults(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        for found in PRINT.finditer(line):
            if not line[:found.start()].rstrip().endswith("func") and "ProgramOutput.print(" not in line:
                yield f"{name}:{number}: prints by itself: use Console or ProgramOutput"


check, self_test = by_file(
    faults, LOOKED_AT, "everything is printed by Console and ProgramOutput",
    wrong=[
        "print(text)", "fputs(text, stderr)", "_ = write(STDOUT_FILENO, a, n)", "Glibc.write(2, a, n)",
        "FileHandle.standardError.write(data)", "send(bytes, to: STDERR_FILENO)", "debugPrint(value)"],
    right=[
        "console.print(text)", "func print(_ text: String)", "// print(text)", '"print(text)"', "footprint(size)",
        "ProgramOutput.print(a, to: STDERR_FILENO)", "write(descriptor, a, n)"], allowed=ALLOWED)
