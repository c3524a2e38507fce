"""Checks that there is one way to print: what goes to standard output or error passes the place that keeps control characters from a terminal.

A backup's manifest once set the terminal's title, and a hostile daemon moved its cursor.

usage: terminal.py ROOT              exit code 1 when something else prints
       terminal.py --self-test       judges lines: each mistake must be found
"""

import re
import sys
from pathlib import Path

COMMENT_OR_TEXT = re.compile(r'"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"|//[^\n]*')
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
LOOKED_AT = ("KuraBytes", "KuraClient", "KuraCommand", "KuraServer", "KuraSocket", "KuraStorage", "KuraTransport", "SQLite", "Sodium", "kura", "kurad")


def faults(name, text):
    code = COMMENT_OR_TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    for number, line in enumerate(code.splitlines(), 1):
        for found in PRINT.finditer(line):
            if line[:found.start()].rstrip().endswith("func") or "ProgramOutput.print(" in line:
                continue
            yield f"{name}:{number}: prints by itself: use Console or ProgramOutput"


def files(root):
    for module in LOOKED_AT:
        for path in sorted((root / "Sources" / module).rglob("*.swift")):
            name = path.relative_to(root).as_posix()
            if name not in ALLOWED:
                yield name, path.read_text()


def self_test():
    wrong = ["print(text)", "fputs(text, stderr)", "_ = write(STDOUT_FILENO, a, n)", "Glibc.write(2, a, n)", "FileHandle.standardError.write(data)",
             "send(bytes, to: STDERR_FILENO)", "debugPrint(value)"]
    right = ["console.print(text)", "func print(_ text: String)", "// print(text)", '"print(text)"', "footprint(size)", "ProgramOutput.print(a, to: STDERR_FILENO)",
             "write(descriptor, a, n)"]
    missed = [line for line in wrong if not list(faults("x", line + "\n"))]
    missed += [line for line in right if list(faults("x", line + "\n"))]
    for line in missed:
        print(f"self-test: judged wrong: {line}")
    print(f"self-test: {len(wrong) + len(right) - len(missed)} of {len(wrong) + len(right)} lines judged right")
    return 1 if missed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1])
    found = [fault for name, text in files(root) for fault in faults(name, text)]
    for fault in found:
        print(fault)
    if not found:
        print("terminal: everything is printed by Console and ProgramOutput")
    return 1 if found else 0


sys.exit(main())
