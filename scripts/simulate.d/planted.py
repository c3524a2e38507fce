"""Faults that the history has repaired, planted again: Tests/Simulator/planted has the lists.

The simulator has to find them. All are in one build, and one of them is on: `planted(N)` is true where KURA_PLANTED is N. A fault is a
`number` (1 to 99 in A.json, 101 to 199 in B.json, 201 to 299 in C.json), its `name`, the `origin` that tells of its repair, its `class`, what it `needs` to show, and
`places`: a `file`, the `text` in it that occurs once, and its `replacement`, with the old fault where `planted(N)` is true and the code as it was
elsewhere. What defines `planted` is Sources/KuraBytes/Planted.swift, which only the copy has.

usage: python3 scripts/simulate.d/planted.py check              whether all of them can be planted
       python3 scripts/simulate.d/planted.py apply DIRECTORY    plants them in a copy of the sources
       python3 scripts/simulate.d/planted.py list               what they are

Exit status: 0 all is well, 1 something cannot be planted, 2 bad usage.
"""

import json
import mmap
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NUMBERS = {"A": range(1, 100), "B": range(101, 200), "C": range(201, 300)}
WORDS = ["number", "name", "origin", "class", "needs", "places"]
PLACE = ["file", "text", "replacement"]
ASKED = re.compile(r"\bplanted\((\d+)\)")
IMPORT = re.compile(r"^(public |package )?import KuraBytes$", re.MULTILINE)


def read_all(root=ROOT):
    """All faults, in the order of their numbers; each knows its `list`."""
    faults = []
    for path in sorted((root / "Tests/Simulator/planted").glob("*.json")):
        faults += [{**fault, "list": path.stem} for fault in json.loads(path.read_text("utf-8"))]
    return sorted(faults, key=lambda fault: fault.get("number", 0))


def plant(faults, root):
    """The files as they are with all faults in them, and why some cannot be planted."""
    wrong, spans, whole = [], {}, []
    numbers = set()
    for fault in faults:
        number = fault.get("number")
        if set(fault) - {"beyond"} != {"list", *WORDS} or not fault["places"]:
            wrong.append(f"{fault['list']}.json: fault {number} does not have {', '.join(WORDS)}")
            continue
        if number in numbers:
            wrong.append(f"{fault['list']}.json: there is a fault {number} already")
        if number not in NUMBERS.get(fault["list"], ()):
            wrong.append(f"{fault['list']}.json: fault {number} has a number of another list")
        numbers.add(number)
        if any(set(place) != set(PLACE) for place in fault["places"]):
            wrong.append(f"{fault['list']}.json: a place of fault {number} does not have {', '.join(PLACE)}")
            continue
        whole.append(fault)
        asked = {int(other) for place in fault["places"] for other in ASKED.findall(place["replacement"])}
        if asked != {number}:
            wrong.append(f"{fault['list']}.json: the replacements of fault {number} ask for planted of {sorted(asked)}")
    files = {}
    for fault in whole:
        for place in fault["places"]:
            name, text = place["file"], place["text"]
            if name not in files:
                path = root / name
                files[name] = path.read_text("utf-8") if path.is_file() else ""
            count = files[name].count(text) if text else 0
            if count != 1:
                wrong.append(f"{name}: the text of fault {fault['number']} occurs {count} times: {text.strip().splitlines()[:1]}")
                continue
            start = files[name].index(text)
            spans.setdefault(name, []).append((start, start + len(text), place["replacement"], fault["number"]))
    planted = {}
    for name, places in spans.items():
        places.sort()
        for before, after in zip(places, places[1:]):
            if before[1] > after[0]:
                wrong.append(f"{name}: the places of faults {before[3]} and {after[3]} overlap")
        text = files[name]
        for start, end, replacement, _ in reversed(places):
            text = text[:start] + replacement + text[end:]
        if ASKED.search(text) and not name.startswith("Sources/KuraBytes/") and len(IMPORT.findall(text)) != 1:
            wrong.append(f"{name}: it asks for planted, and does not import KuraBytes once")
        planted[name] = text
    return planted, wrong


def check(root=ROOT):
    """Why some of the faults cannot be planted; nothing when all can."""
    return plant(read_all(root), root)[1]


def apply(directory, root=ROOT):
    """Plants all faults of `root` in a copy of its sources. Changes nothing there when some cannot be planted."""
    planted, wrong = plant(read_all(root), directory)
    if not wrong:
        for name, text in planted.items():
            (directory / name).write_text(text, "utf-8")
    return wrong


ASKS = '''import Glibc

private let number: Int32 = unsafe getenv("KURA_PLANTED").map { unsafe atoi($0) } ?? 0

/// Whether this fault is there.
public func planted(_ fault: Int32) -> Bool { number == fault }
'''


def has_them(program):
    """Whether a daemon was built with the planted faults: it asks for their number."""
    with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"KURA_PLANTED") >= 0


def build():
    """Builds the daemon with all of them, in a copy of what is committed, into .build/planted/kurad. Returns an exit status."""
    copy = ROOT / ".build/planted/sources"
    if not (copy / ".git").exists():
        subprocess.run(["git", "clone", "-q", ROOT, copy], check=True)
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["git", "-C", copy, "fetch", "-q", ROOT, "HEAD"], check=True)
    subprocess.run(["git", "-C", copy, "checkout", "-q", "--force", head], check=True)
    wrong = apply(copy)
    if wrong:
        print("\n".join(wrong))
        return 1
    (copy / "Sources/KuraBytes/Planted.swift").write_text(ASKS, "utf-8")
    if subprocess.run(["scripts/build", "kurad"], cwd=copy).returncode:
        return 1
    shutil.copy2(copy / ".build/release/kurad", ROOT / ".build/planted/kurad")
    return 0


def main(words):
    match words:
        case ["check"]: wrong = check()
        case ["apply", directory] if Path(directory, "Sources").is_dir():
            if Path(directory).resolve() == ROOT:
                print("these are the sources themselves: plant in a copy", file=sys.stderr)
                return 2
            wrong = apply(Path(directory))
        case ["list"]:
            for fault in read_all():
                print(f"{fault['number']:3}  {fault['class']}: {fault['name']} ({fault['origin']})")
            return 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    print("\n".join(wrong) if wrong else f"{len(read_all())} faults can be planted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
