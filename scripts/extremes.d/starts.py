"""The files that a start reads: each spoilt in one way in a copy of a directory that has something of everything.

A change is a text, so that it can be made again: `cut:N`, `zero:FROM:TO`, `set:OFFSET:HEX`, `text:FROM:TO:TEXT` (bytes from FROM to TO
become TEXT), `json:POINTER:KIND` (KIND is an extreme by its name below), `noise:SEED`, `empty`, `grow:N`.
"""

import json
import os
import random
import re
import stat
import time

import contents
from starting import Spoilt
from stranger import Daemon, Found

NUMBERS = ["0", "-1", "1", "2147483648", "4294967296", "9007199254740992", "9223372036854775807", "9223372036854775808",
           "-9223372036854775808", "18446744073709551615", "18446744073709551616", "1e308", "1.5", "-0", "9" * 400]
KINDS = {f"n{at}": number for at, number in enumerate(NUMBERS)} | {
    "null": "null", "true": "true", "empty": '""', "long": '"' + "x" * (1 << 20) + '"', "list": "[]", "object": "{}",
    "deep": "[" * 5000 + "]" * 5000, "many": "[" + ",".join(["1"] * 100_000) + "]", "gone": None, "moment": '"9999-12-31T23:59:59.999Z"',
    "path": '"../../../../etc/passwd"', "zero": '"a\\u0000b"'}
INTEGERS = ["00", "ff", "7fffffff", "80000000", "ffffffff", "ffffff7f", "00000080", "7fffffffffffffff", "8000000000000000", "f" * 16,
            "f" * 14 + "7f", "0" * 14 + "80", "0" * 16]
# What is configured; each number of it becomes extreme.
CONFIGURATION = {
    "profile": "small", "logLevel": "info", "slowMilliseconds": 100, "busyPollMicroseconds": 0, "bootAttempts": 3,
    "limits": {"lineBytes": 1 << 20, "batchItems": 100, "connections": 100, "outputBytes": 1 << 20, "stallSeconds": 30, "transfers": 2,
               "subscriptions": 10, "requestsPerTurn": 100},
    "caches": {"modelBytes": 1 << 20, "blobBytes": 1 << 22, "minFreeBytes": 1 << 20}, "changes": {"retainBytes": 8 << 20, "retainSeconds": 3600},
    "secrets": {"auditBytes": 1 << 20}, "backups": {"every": "1h", "keep": {"daily": 2}}}
SMALL = 1 << 16


class Origin:
    """One directory, and how to start a copy of it."""

    def __init__(self, spoilt, name):
        self.spoilt = spoilt
        self.name = name

    def files(self):
        for path in self.spoilt.paths():
            yield path, os.path.join(self.spoilt.origin, path)

    def attempt(self, path, change):
        def spoil(place):
            name = os.path.join(place, path)
            mode = stat.S_IMODE(os.stat(name).st_mode)
            apply(name, change)
            os.chmod(name, mode)

        return self.spoilt.start(spoil)


def apply(path, change):
    kind, *words = change.split(":", 3)
    if kind in ("cut", "grow", "empty"):
        os.truncate(path, int(words[0]) + (os.path.getsize(path) if kind == "grow" else 0) if words else 0)
        return
    with open(path, "rb") as reader:
        data = bytearray(reader.read())
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
    with open(path, "wb") as writer:
        writer.write(data)


def changed(value, pointer, kind):
    """JSON in which one place is extreme: what stands there is put in as it is, also when Python would not write it."""
    mark = "\u0001here\u0001"

    def walk(value, pointer):
        if not pointer:
            return mark
        copy = dict(value) if isinstance(value, dict) else list(value)
        name = pointer[0].replace("~1", "/").replace("~0", "~")
        name = name if isinstance(value, dict) else int(name)
        if kind == "gone" and len(pointer) == 1:
            del copy[name]
        else:
            copy[name] = walk(copy[name], pointer[1:])
        return copy

    text = json.dumps(walk(value, pointer), separators=(",", ":"))
    return text if kind == "gone" and pointer else text.replace(json.dumps(mark), KINDS[kind] or "")


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
    found = ["empty", "noise:1", "noise:2", "grow:1", "grow:1048576"] + ([f"cut:{size - 1}", f"cut:{size // 2}", "cut:1"] if size else [])
    own = []
    try:
        value = json.loads(data)
        own = [f"json:{place}:{kind}" for place in places(value) for kind in KINDS if place or kind != "gone"]
    except ValueError:
        is_text = size and size <= SMALL and all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in data)
        if is_text:
            # Numbers as words.
            own = [f"text:{match.start()}:{match.end()}:{number}" for match in re.finditer(rb"\d+", data) for number in NUMBERS]
        elif size:
            own = [f"set:{place}:{number}" for place in range(0, min(size, 128), 4) for number in INTEGERS if place + len(number) // 2 <= size]
            own += [f"zero:{place}:{place + 512}" for place in range(0, min(size, 8192) - 511, 512)]
    dice.shuffle(own)
    dice.shuffle(found)
    # A quarter is coarse.
    mixed = []
    while own or found:
        mixed += own[:3] + found[:1]
        own, found = own[3:], found[1:]
    return mixed


def origins(work):
    """The usual directory, one after a start that had to set something aside, and one of a configuration."""
    def room(name):
        place = os.path.join(work, name)
        os.mkdir(place, 0o700)
        return place

    usual = Origin(Spoilt(room("usual")), "usual")
    place = room("recovered")
    recovered = Origin(Spoilt(place), "recovered")
    daemon = Daemon(place, "origin")
    apply(os.path.join(daemon.data, "durable/kura.sqlite"), "noise:1")
    # The ladder sets damaged tables aside at one of the next starts.
    for _ in range(8):
        daemon.launch()
        if daemon.settle() is None:
            break
    else:
        raise Found(f"no start gets past damaged tables: {daemon.words()}")
    with daemon.connect() as connection:
        recovered.spoilt.before = contents.durable(connection)
    daemon.kill()
    place = room("configured")
    configured = Origin(Spoilt(place), "configured")
    return [usual, recovered, Configured(configured.spoilt)]


class Configured(Origin):
    """The configuration's file, which lies beside the copies: a wrong one is refused, and never ends in a trap."""

    def __init__(self, spoilt):
        super().__init__(spoilt, "configured")
        self.path = os.path.join(spoilt.work, "kura.json")
        spoilt.options = ["--config", self.path]

    def files(self):
        self.write()
        yield "kura.json", self.path

    def write(self):
        with open(self.path, "w", encoding="utf-8") as writer:
            json.dump(CONFIGURATION, writer)

    def attempt(self, path, change):
        self.write()
        return self.spoilt.start(lambda _: apply(self.path, change))


def run(work, seconds, dice, seed):
    begun = time.monotonic()
    rows = []
    for origin in origins(work):
        if origin.name == "configured" and not origin.attempt("kura.json", "grow:0") == "whole":
            raise Found(f"the configuration of this script is refused: {origin.spoilt.words}")
        rows += [[(origin, path, change) for change in changes(name, dice)] for path, name in origin.files()
                 if origin.name != "recovered" or path not in known(rows) or path.endswith(".json")]
    dice.shuffle(rows)
    done, findings, seen, whole = 0, 0, set(), sum(map(len, rows))
    while any(rows) and time.monotonic() < begun + seconds and findings < 20:
        for row in rows:
            if not row or time.monotonic() > begun + seconds:
                continue
            origin, path, change = row.pop(0)
            done += 1
            try:
                origin.attempt(path, change)
            except Found as error:
                said = str(error)
                if (path, said[:60]) not in seen:
                    seen.add((path, said[:60]))
                    findings += 1
                    print(f"FOUND with seed {seed}: {said[-1500:]}\n  scripts/extremes try-start {origin.name}/{path} {change[:200]}", flush=True)
    counts = {}
    for spoilt in {id(row[0][0].spoilt): row[0][0].spoilt for row in rows if row}.values():
        for kind, count in spoilt.counts.items():
            counts[kind] = counts.get(kind, 0) + count
    print(f"extremes starts: {done:,} of {whole:,} changes of {len(rows)} files: " + ", ".join(
        f"{count} {kind}" for kind, count in sorted(counts.items())) + f", {findings} found")
    return 1 if findings else 0


def known(rows):
    return {row[0][1] for row in rows if row}


def again(work, file, change):
    name, _, path = file.partition("/")
    for origin in origins(work):
        if origin.name == name:
            print(origin.attempt(path, change))
            with open(os.path.join(origin.spoilt.work, "log-of-copies"), encoding="utf-8") as log:
                print(log.read()[-3000:], end="")
            return 0
    print(f"extremes: no directory {name}; there are usual, recovered and configured")
    return 2


