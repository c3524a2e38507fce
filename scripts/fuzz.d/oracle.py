"""Holds Kura's reader of JSON against python3's json, value by value, and against Foundation's, on all inputs found so far.

usage: oracle.py TOOLS DIRECTORY…

TOOLS has the programs `reader` and `foundation`. Differences that are meant are counted by their reasons; any other is a
finding, is shown, and makes the exit code 1.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from wire import SURROGATE, Members, Raw, depth, forbidden, parse

MAXIMUM_DEPTH = 128


def python_reads(text):
    """The value by RFC 8259 in a tuple, or None."""
    try:
        return (parse(text),)
    except (ValueError, RecursionError):
        return None


def render(value):
    """The form in which the reader's tool prints values."""
    def contents(text):
        # A lone surrogate stands for nothing in UTF-8: Kura reads U+FFFD there.
        return SURROGATE.sub("\ufffd", text).encode().hex()

    if isinstance(value, Members):
        return "{" + "".join(f"{contents(name)}:{render(inner)}," for name, inner in value.pairs) + "}"
    if isinstance(value, list):
        return "[" + "".join(f"{render(inner)}," for inner in value) + "]"
    if isinstance(value, Raw):
        return "#" + value
    if isinstance(value, str):
        return '"' + contents(value)
    return {True: "t", False: "f", None: "n"}[value]


def ask(program, texts):
    frames = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    return subprocess.run([program], input=frames, stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")[:-1]


def why_foundation(text, value):
    """Why Foundation and RFC 8259 part ways, or None."""
    if text[:2] in (b"\xfe\xff", b"\xff\xfe") or text[:3] == b"\xef\xbb\xbf" or b"\0" in text[:4]:
        return "Foundation guesses UTF-16, UTF-32 and byte order marks"
    if value is None:
        try:
            text.decode()
        except UnicodeDecodeError:
            return "Foundation lets invalid UTF-8 pass"
        return "Foundation lets a comma before a bracket pass" if re.search(rb",\s*[\]}]", text) else None
    if re.search(r"\\u[dD][89a-fA-F]", text.decode()) and forbidden(value[0]):
        return "Foundation refuses lone surrogates"
    if depth(value[0]) > 100:
        return "depth is limited differently"
    numbers = re.findall(r"#[-+.0-9eE]+", render(value[0]))
    if any(len(number) > 18 or "e" in number.lower() for number in numbers):
        return "Foundation refuses numbers that a Double does not hold"
    return None


def main():
    tools = Path(sys.argv[1])
    texts = set()
    for directory in map(Path, sys.argv[2:]):
        for path in directory.rglob("*"):
            if path.is_file():
                text = path.read_bytes()
                # Some targets' first byte is not part of the text.
                texts |= {text, text[1:]}
    texts = sorted(texts)
    ours = ask(tools / "reader", texts)
    theirs = ask(tools / "foundation", texts)
    assert len(ours) == len(theirs) == len(texts)
    meant, findings, accepted = Counter(), [], 0
    for text, line, foundation in zip(texts, ours, theirs):
        loose, wire, why, form = line.split(" ", 3)
        value = python_reads(text)
        too_deep = value is not None and depth(value[0]) > MAXIMUM_DEPTH
        if too_deep:
            meant[f"nested more deeply than {MAXIMUM_DEPTH}: refused, python3 goes on"] += 1
        expected = value is not None and not too_deep
        accepted += expected
        if (loose == "1") != expected:
            findings.append(f"RFC 8259: {loose}, python3: {expected}: {text[:200]!r}")
        elif expected:
            if form != render(value[0]):
                findings.append(f"another value: {form[:200]} for {text[:200]!r}")
            reason = forbidden(value[0])
            if (wire == "1") != (reason is None):
                findings.append(f"wire: {wire} ({why}), python3: {reason}: {text[:200]!r}")
            elif reason:
                meant[f"{why}: refused on the wire, python3 takes it"] += 1
        if (foundation == "1") != expected:
            reason = why_foundation(text, value)
            if reason:
                meant[reason] += 1
            else:
                findings.append(f"Foundation: {foundation}, expected {expected}: {text[:200]!r}")
    print(f"{len(texts):,} texts, {accepted:,} of them JSON by RFC 8259")
    for reason, count in meant.most_common():
        print(f"  meant, {count:,} times: {reason}")
    for finding in findings[:40]:
        print(f"  FINDING {finding}")
    print(f"{len(findings)} differences that are not meant")
    sys.exit(1 if findings else 0)


main()
