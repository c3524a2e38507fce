"""The files that a start reads: each spoilt in one way in a copy of a directory that has something of everything.

A change is a text, so that it can be made again: `cut:N`, `zero:FROM:TO`, `set:OFFSET:HEX`, `text:FROM:TO:TEXT` (bytes from
FROM to TO become TEXT), `json:POINTER:KIND` (KIND is an extreme by its name below), `noise:SEED`, `empty`, `grow:N`.
"""

import json
import os
import random
import re
import time
from collections import Counter
from pathlib import Path

import contents
from contents import Found
from spoilt import Spoilt
from state import FAULTS, Tried
from tries import in_turns

NUMBERS = ["0", "-1", "1", "2147483648", "4294967296", "9007199254740992", "9223372036854775807", "9223372036854775808",
           "-9223372036854775808", "18446744073709551615", "18446744073709551616", "1e308", "1.5", "-0", "9" * 400]
KINDS = {f"n{at}": number for at, number in enumerate(NUMBERS)} | {
    "null": "null", "true": "true", "empty": '""', "long": '"' + "x" * (1 << 20) + '"', "list": "[]", "object": "{}",
    "deep": "[" * 5000 + "]" * 5000, "many": "[" + ",".join(["1"] * 100_000) + "]", "gone": None,
    "moment": '"9999-12-31T23:59:59.999Z"', "path": '"../../../../etc/passwd"', "zero": '"a\\u0000b"'}
INTEGERS = ["00", "ff", "7fffffff", "80000000", "ffffffff", "ffffff7f", "00000080", "7" + "f" * 15, "8" + "0" * 15, "f" * 16,
            "f" * 14 + "7f", "0" * 14 + "80", "0" * 16]
# What is configured; each number of it becomes extreme.
CONFIGURATION = {
    "profile": "small", "logLevel": "info", "slowMilliseconds": 100, "busyPollMicroseconds": 0, "bootAttempts": 3,
    "limits": {"lineBytes": 1 << 20, "batchItems": 100, "connections": 100, "outputBytes": 1 << 20, "stallSeconds": 30,
               "transfers": 2, "subscriptions": 10, "requestsPerTurn": 100},
    "caches": {"modelBytes": 1 << 20, "blobBytes": 1 << 22, "minFreeBytes": 1 << 20},
    "changes": {"retainBytes": 8 << 20, "retainSeconds": 3600},
    "secrets": {"auditBytes": 1 << 20}, "backups": {"every": "1h", "keep": {"daily": 2}}}
SMALL = 1 << 16


class Origin(Spoilt):
    """One directory, and how to start a copy of it that has one change."""

    name = "usual"

    def __init__(self, work):
        place = os.path.join(work, self.name)
        os.mkdir(place, 0o700)
        super().__init__(place, Tried)

    def files(self):
        """Pairs of a name and a path."""
        return [(path, os.path.join(self.origin, path)) for path in self.paths()]

    def attempt(self, path, change):
        return self.start(lambda place: apply(os.path.join(place, path), change))


class Recovered(Origin):
    """A directory after a start that had to set something aside."""

    name = "recovered"

    def __init__(self, work):
        super().__init__(work)
        daemon = Tried(self.work, "origin")
        apply(os.path.join(daemon.data, "durable/kura.sqlite"), "noise:1")
        # The ladder sets damaged tables aside at one of the next starts.
        for _ in range(8):
            daemon.launch()
            if daemon.settle() is None:
                break
        else:
            raise Found(f"no start gets past damaged tables: {daemon.last_words()}")
        with daemon.connect() as connection:
            self.before = contents.durable(connection)
        daemon.kill()


class Configured(Origin):
    """The configuration's file, which lies beside the copies: a wrong one is refused, and never ends in a trap."""

    name = "configured"

    def __init__(self, work):
        super().__init__(work)
        self.path = os.path.join(self.work, "kura.json")
        self.options = ["--config", self.path]
        if self.attempt("kura.json", "grow:0") != "whole":
            raise Found(f"the configuration of this script is refused: {self.words}")

    def files(self):
        return [("kura.json", self.path)]

    def attempt(self, path, change):
        Path(self.path).write_text(json.dumps(CONFIGURATION))
        return self.start(lambda _: apply(self.path, change))


ORIGINS = [Origin, Recovered, Configured]


def apply(path, change):
    kind, *words = change.split(":", 3)
    if kind in ("cut", "grow", "empty"):
        os.truncate(path, int(words[0]) + (os.path.getsize(path) if kind == "grow" else 0) if words else 0)
        return
    data = bytearray(Path(path).read_bytes())
    if kind == "zero":
        data[int(words[0]) : int(words[1])] = bytes(int(words[1]) - int(words[0]))
    elif kind == "set":
        data[int(words[0]) : int(words[0]) + len(words[1]) // 2] = bytes.fromhex(words[1])
    elif kind == "text":
        data[int(words[0]) : int(words[1])] = words[2].encode()
    elif kind == "noise":
        dice = random.Random(words[0])
        data = bytearray(dice.randbytes(min(len(data) or 1, SMALL))) + data[SMALL:]
    elif kind == "json":
        data = bytearray(changed(json.loads(data), words[0].split("/")[1:], words[1]).encode())
    Path(path).write_bytes(data)


def changed(value, pointer, kind):
    """JSON in which one place is extreme: what stands there is put in as it is, also when Python would not write it."""
    mark = "\u0001here\u0001"
    whole = [value]
    container, name = whole, 0
    for step in pointer:
        container = container[name]
        name = step.replace("~1", "/").replace("~0", "~") if isinstance(container, dict) else int(step)
    if kind == "gone" and pointer:
        del container[name]
    else:
        container[name] = mark
    return json.dumps(whole[0], separators=(",", ":")).replace(json.dumps(mark), KINDS[kind] or "")


def places(value, pointer=""):
    yield pointer
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from places(part, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")


def changes(path, dice):
    """What may be done to a file, in the order of promise."""
    size = os.path.getsize(path)
    with open(path, "rb") as reader:
        data = reader.read(SMALL)
    found = ["empty", "noise:1", "noise:2", "grow:1", "grow:1048576"]
    found += [f"cut:{size - 1}", f"cut:{size // 2}", "cut:1"] if size else []
    own = []
    try:
        value = json.loads(data)
        own = [f"json:{place}:{kind}" for place in places(value) for kind in KINDS if place or kind != "gone"]
    except ValueError:
        if size and size <= SMALL and all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in data):
            # Numbers as words.
            own = [f"text:{match.start()}:{match.end()}:{number}" for match in re.finditer(rb"\d+", data) for number in NUMBERS]
        elif size:
            own = [f"set:{place}:{number}" for place in range(0, min(size, 128), 4) for number in INTEGERS
                   if place + len(number) // 2 <= size]
            own += [f"zero:{place}:{place + 512}" for place in range(0, min(size, 8192) - 511, 512)]
    dice.shuffle(own)
    dice.shuffle(found)
    # A quarter is coarse.
    return in_turns([own[0::3], own[1::3], own[2::3], found])


def run(work, seconds, dice, seed):
    begun = time.monotonic()
    origins = [kind(work) for kind in ORIGINS]
    known = {path for path, _ in origins[0].files()}
    rows = [[(origin, path, change) for change in changes(name, dice)] for origin in origins for path, name in origin.files()
            if origin.name != "recovered" or path not in known or path.endswith(".json")]
    dice.shuffle(rows)
    cases = in_turns(rows)
    done, seen = 0, set()
    for origin, path, change in cases:
        if time.monotonic() > begun + seconds or len(seen) >= 20:
            break
        done += 1
        try:
            origin.attempt(path, change)
        except FAULTS as error:
            said = str(error)
            if (path, said[:60]) not in seen:
                seen.add((path, said[:60]))
                print(f"FOUND with seed {seed}: {said[-1500:]}\n"
                      f"  scripts/extremes try-start {origin.name}/{path} {change[:200]}", flush=True)
    counts = sum((origin.counts for origin in origins), Counter())
    print(f"extremes starts: {done:,} of {len(cases):,} changes of {len(rows)} files: " + ", ".join(
        f"{count} {kind}" for kind, count in sorted(counts.items())) + f", {len(seen)} found")
    return 1 if seen else 0


def again(work, file, change):
    name, _, path = file.partition("/")
    kinds = {kind.name: kind for kind in ORIGINS}
    if name not in kinds:
        print(f"extremes: no directory {name}; there are {', '.join(kinds)}")
        return 2
    origin = kinds[name](work)
    print(origin.attempt(path, change))
    print(Path(origin.work, "log-of-copies").read_text("utf-8")[-3000:], end="")
    return 0
