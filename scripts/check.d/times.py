"""Checks that arithmetic on time cannot trap: a span is multiplied up in `TimeSpans.swift` alone, where it ends at the greatest
number.

A date in the year 9999 was once multiplied to nanoseconds, and ended the daemon at each start.
"""

import re

from tree import by_file

# A variable times a million or a billion, either way round, and seconds or a moment times a thousand.
PRODUCT = re.compile(
    r"[\w\])?!]\s*[*]\s*1(?:_?000){2,3}\b|\b1(?:_?000){2,3}\s*[*]\s*[A-Za-z(]|"
    r"(?:(?<![a-z])seconds?|Seconds?|[sS]ec|[tT]tl|[sS]tale\w*|[aA]t|[aA]ge|[nN]ow)\W{0,3}\s*[*]\s*1_?000\b")
# The left side is a number that is written out: the compiler judges it.
NUMBER = re.compile(r"\b\d[\d_]*(?:\.\d+)?\s*[*]\s*1_?000(?:_000)*\b")
CLOCK = re.compile(r"\bclock_gettime\b")
# File, and why it may.
ALLOWED = {
    "Sources/KuraBytes/TimeSpans.swift": "the one place",
    "Sources/KuraBytes/Clocks.swift": "the one place",
    "Sources/KuraStorage/Threads.swift": "sem_timedwait takes seconds and nanoseconds; the remainder is below a second",
    "Sources/SQLite/FaultPoints.swift": "nanosleep takes seconds and nanoseconds; the remainder is below a second",
}
# But for programs that end by themselves, and trap for nobody else.
LOOKED_AT = r"Sources/(?!kura-bench/|KuraCommand/|Examples/).*\.swift"
INSTEAD = ".nanoseconds(seconds:), .nanoseconds(milliseconds:) or .milliseconds(seconds:)"


def faults(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        rest = NUMBER.sub(" ", line)
        if CLOCK.search(rest):
            yield f"{name}:{number}: a clock is read in KuraBytes/Clocks.swift"
        if PRODUCT.search(rest):
            yield f"{name}:{number}: a product that can trap: use {INSTEAD}"


check, self_test = by_file(
    faults, LOOKED_AT, "no products or clocks outside of their place",
    wrong=[
        "let a = UInt64(at - now) * 1_000_000", "let a = seconds * 1000", "let a = 1_000_000_000 * seconds",
        "let a = list[0] * 1_000_000_000", "clock_gettime(CLOCK_REALTIME, &time)", "let a = b! * 1_000_000 + 5 * 1_000",
        "let a = Int64(ttl) * 1000"],
    right=[
        "let a = 5 * 1_000_000", "let a: UInt64 = 600_000_000_000", "// seconds * 1000", 'print("a * 1000")',
        "let a = b / 1_000_000", "let a = count * 1000"], allowed=ALLOWED)
