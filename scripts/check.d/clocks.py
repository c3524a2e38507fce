"""Checks that the daemon's modules read the time from the clock that they were given: a test or a simulator moves that one.

The library and the command are other processes, and have the system's; so have a socket's closer and SQLite's files, which measure
what the system does.
"""

import re

from tree import by_file

READ = re.compile(r"\b(?:monotonicNanoseconds|boottimeNanoseconds|nowMilliseconds)\b|\bClock\.system\.")
# File, and why it may.
ALLOWED = {
    "Sources/KuraBytes/Clock.swift": "the one place",
    "Sources/KuraBytes/Clocks.swift": "the system's clocks themselves",
    "Sources/KuraServer/Supervision.swift": "the service manager has the system's time",
}
LOOKED_AT = r"Sources/(?!KuraClient/|KuraCommand/|KuraSocket/|SQLite/|kura-bench/|Examples/).*\.swift"


def faults(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        if READ.search(line):
            yield f"{name}:{number}: the system's time: read the clock of the configuration"


check, self_test = by_file(
    faults, LOOKED_AT, "the daemon's modules read the clock that they were given",
    wrong=[
        "let time = monotonicNanoseconds()", "at: nowMilliseconds() / 1000", "var now: UInt64 { boottimeNanoseconds() }",
        "let read = monotonicNanoseconds", "let time = Clock.system.monotonic", "let end = Clock.system.deadline(after: 1)"],
    right=[
        "let time = clock.monotonic", "init(clock: Clock = .system) {}", "public var clock = Clock.system",
        "// monotonicNanoseconds()", 'log("nowMilliseconds()")'], allowed=ALLOWED)
