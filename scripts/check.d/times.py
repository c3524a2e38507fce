"""Checks that arithmetic on time cannot trap: a span is multiplied up in `TimeSpans.swift` alone, where it ends at the greatest number.

A date in the year 9999 was once multiplied to nanoseconds, and ended the daemon at each start.

usage: times.py ROOT              exit code 1 when a product or a clock stands elsewhere
       times.py --self-test ROOT  adds such lines to a copy of a file: each must be found
"""

import re
import sys
from pathlib import Path

COMMENT_OR_TEXT = re.compile(r'"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"|//[^\n]*')
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
# Programs that end by themselves, and trap for nobody else.
LEFT_OUT = ("Sources/kura-bench/", "Sources/KuraCommand/", "Sources/Examples/")


def faults(name, text):
    code = COMMENT_OR_TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    for number, line in enumerate(code.splitlines(), 1):
        rest = NUMBER.sub(" ", line)
        if CLOCK.search(rest):
            yield f"{name}:{number}: a clock is read in KuraBytes/Clocks.swift"
        if PRODUCT.search(rest):
            yield f"{name}:{number}: a product that can trap: use .nanoseconds(seconds:), .nanoseconds(milliseconds:) or .milliseconds(seconds:)"


def files(root):
    for path in sorted((root / "Sources").rglob("*.swift")):
        name = path.relative_to(root).as_posix()
        if name not in ALLOWED and not name.startswith(LEFT_OUT):
            yield name, path.read_text()


def self_test():
    wrong = [
        "let a = UInt64(at - now) * 1_000_000", "let a = seconds * 1000", "let a = 1_000_000_000 * seconds",
        "let a = list[0] * 1_000_000_000", "clock_gettime(CLOCK_REALTIME, &time)", "let a = b! * 1_000_000 + 5 * 1_000", "let a = Int64(ttl) * 1000",
    ]
    right = ["let a = 5 * 1_000_000", "let a: UInt64 = 600_000_000_000", "// seconds * 1000", 'print("a * 1000")', "let a = b / 1_000_000", "let a = count * 1000"]
    missed = [line for line in wrong if not list(faults("x", line + "\n"))]
    missed += [line for line in right if list(faults("x", line + "\n"))]
    for line in missed:
        print(f"self-test: judged wrong: {line}")
    print(f"self-test: {len(wrong) + len(right) - len(missed)} of {len(wrong) + len(right)} lines judged right")
    return 1 if missed else 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    found = [fault for name, text in files(Path(sys.argv[1])) for fault in faults(name, text)]
    for fault in found:
        print(fault)
    print(f"times: {len(found)} products or clocks outside of their place")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
