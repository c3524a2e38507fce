"""Damaged bytes: whatever is changed in the files of a stopped daemon, each acknowledged change is found, or told to be lost.

A log of three segments that nothing of is folded is damaged at every 512 bytes, in each of four ways, each time from the
same start, and by segments that are removed and renamed; then tables, keys and caches at places spread over the files. A
change that is neither there nor told is lost without a word.
"""

import collections
import hashlib
import itertools
import json
import shutil
from pathlib import Path

import rooms
from client import Refused
from daemon import StartFailed
from kill import HELD

STEP = 512
ROUNDS = 3
SETTINGS = 45
# What became of a run: name and words.
ENDS = {
    "whole": "found whole", "told": "told what is lost", "refused": "refused with a reason",
    "silent": "lost without a word", "again": "gave a revision twice"}
# Files that are no log: what was folded is in the tables, and the log has it still.
OTHERS = {
    "tables": ["durable/kura.sqlite", "durable/kura.sqlite-wal"],
    "the note of what was acknowledged": ["acknowledged"],
    "keys": ["keys/root.key", "keys/slots.json"],
    "caches": ["cache/cache.sqlite", "cache/blobs.sqlite", "cache/clean"],
    "notes of starts": ["boot.json", "writes", "audit", "ballast"],
}


# MARK: Ways to change the bytes of a file

def flip(content, offset, random):
    content[offset + random.randrange(min(STEP, len(content) - offset))] ^= 1 << random.randrange(8)


def cut(content, offset, random):
    del content[offset:]


def zero(content, offset, random):
    content[offset : offset + STEP] = bytes(len(content[offset : offset + STEP]))


def swap(content, offset, random):
    """Two sectors change places."""
    other = random.randrange(max(used(content) // STEP, 1)) * STEP
    first, second = content[offset : offset + STEP], content[other : other + STEP]
    if len(first) == len(second) == STEP:
        content[offset : offset + STEP], content[other : other + STEP] = second, first


def used(content):
    """Bytes up to the last that is not zero."""
    return len(content.rstrip(b"\0"))


def change(path, kind, offset, random):
    content = bytearray(path.read_bytes())
    kind(content, offset, random)
    path.write_bytes(content)


def swap_names(first, second):
    aside = first.rename(f"{first}x")
    second.rename(first)
    aside.rename(second)


def is_told(notices, scope, rev):
    """Whether a notice says that the revision is lost, and names its scope if it names any."""
    return any(
        notice["what"] == "durable" and notice["savedRev"] < rev <= notice["newestRev"]
        or any(
            lost["fromRev"] <= rev <= lost["toRev"] and lost.get("scope", scope) == scope for lost in notice.get("missing", []))
        for notice in notices)


class Damage:
    """A stopped daemon's directory, what was acknowledged in it, and what becomes of it under damage."""

    def __init__(self, proof):
        self.proof = proof
        self.random = proof.random
        self.daemon = proof.daemon()
        self.data = Path(self.daemon.data)
        self.template = Path(proof.path("template"))
        # By item its content and revision.
        self.values = {}
        # Three segments, of which nothing is in the tables: each kill has the next start begin another.
        for number in range(ROUNDS):
            self.daemon.start(HELD)
            with self.daemon.connect() as connection:
                self.write(connection, f"r{number}")
            self.epoch = self.daemon.call("storage.status")["epoch"]
            self.daemon.kill()
        self.newest = max(rev for _, rev in self.values.values())
        self.keep()

    def write(self, connection, tag):
        """Settings one by one, some in one turn, and documents of a few kilobytes."""
        contents = {}
        for at in range(SETTINGS):
            key = f"{tag}-{at}"
            text = hashlib.sha256(key.encode()).hexdigest() * (40 if at % 9 == 8 else 4)
            if at % 3 == 2:
                contents["d", "c", key] = {"t": text}
            else:
                contents["s", f"d{at % 4}", key] = text
        items, at = list(contents), 0
        while at < len(items):
            # Every other time alone, so that some rows have many records and some have one.
            part = items[at : at + (1 if at % 10 < 5 else 5)]
            for item, result in zip(part, connection.call_all([rooms.put(item, contents[item]) for item in part])):
                self.values[item] = contents[item], result["rev"]
            at += len(part)

    def keep(self):
        """From now on each run begins with what is there now."""
        shutil.rmtree(self.template, ignore_errors=True)
        shutil.copytree(self.data, self.template)

    def restore(self):
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(self.template, self.data, symlinks=True)

    # MARK: Runs

    def series(self, title, runs):
        """Performs runs, lists of a name, a change to the directory and its arguments; gives the verdict on them."""
        self.ends, self.remarks = collections.Counter(), []
        for name, damage, *arguments in self.proof.each(runs, title):
            self.run(name, damage, *arguments)
        passed = self.ends["runs"] and not self.ends["silent"] and not self.ends["again"]
        if title == "undamaged":
            passed = self.ends["whole"] == 1
        counts = ", ".join(f"{self.ends[end]} {words}" for end, words in ENDS.items())
        self.proof.check(title, passed, f"{self.ends['runs']} runs: {counts}", self.remarks)

    def end(self, what, text):
        self.ends[what] += 1
        self.remarks.append(text)

    def run(self, name, damage, *arguments):
        """Has the directory damaged as it was, starts, and counts what becomes of that."""
        self.restore()
        damage(*arguments)
        self.ends["runs"] += 1
        # The ladder of starts sets tables aside at the third.
        for attempt in range(4):
            try:
                self.daemon.start(timeout=60)
                break
            except StartFailed as error:
                if attempt == 3:
                    self.daemon.kill()
                    return self.end("refused", f"{name}: {str(error).strip().splitlines()[-1][:160]}")
        try:
            with self.daemon.connect() as connection:
                self.judge(connection, name)
        except (Refused, ValueError) as error:
            self.end("silent", f"{name}: {error}")
        self.daemon.kill()

    def judge(self, connection, name):
        status = connection.call("storage.status")
        notices = status.get("recovered", [])
        gone, refused = self.missing(connection)
        if refused and not connection.call("storage.status").get("damage"):
            self.end("silent", f"{name}: {refused} reads met damage, and the status does not say so")
        silent = [(scope, rev) for scope, rev in gone if not is_told(notices, scope, rev)]
        if silent:
            self.end(
                "silent", f"{name}: {len(silent)} of {len(gone)} gone without a word, first {silent[0]}; "
                f"told: {json.dumps(notices)[:200]}")
        else:
            self.ends["told" if gone or refused else "whole"] += 1
        next_rev = connection.call("settings.put", domain="d0", key="after", value=1)["rev"]
        if status["epoch"] == self.epoch:
            if next_rev <= self.newest:
                self.end("again", f"{name}: revision {next_rev} was given again, {self.newest} had been")
            if gone:
                self.end("again", f"{name}: changes are gone, and the history has its old name")

    def missing(self, connection):
        """Scopes and revisions of what is not there as it was acknowledged, and how many reads say themselves that the file is
        damaged."""
        gone, refused = [], 0
        for item, (content, rev) in self.values.items():
            try:
                if rooms.content(item, rooms.fetch(connection, item)) != content:
                    gone.append((item[1], rev))
            except Refused as error:
                if error.kind != "integrity":
                    raise
                refused += 1
        return gone, refused

    def strikes(self, kinds, places):
        """Runs that damage files in these ways, at each of the places, pairs of path and offset."""
        return [
            (f"{kind.__name__} {path} at {offset}", change, self.data / path, kind, offset, self.random)
            for path, offset in places for kind in kinds]

    def places(self, paths, extent=len):
        """Every 512 bytes of those of the files that are there; `extent` says how many bytes of a file count."""
        found = [(path, self.template / path) for path in paths if (self.template / path).exists()]
        return [(path, offset) for path, file in found for offset in range(0, extent(file.read_bytes()), STEP)]


def run(proof):
    damage = Damage(proof)
    names = sorted(path.name for path in damage.template.glob("log/*.log"))
    places = damage.places([f"log/{name}" for name in names], used)
    proof.note(f"{len(names)} segments, {len(places) * STEP} bytes, {len(damage.values)} changes")
    damage.series("undamaged", [("undamaged", lambda: None)])
    if not proof.is_full:
        places = places[proof.random.randrange(9) :: 9]
    for kind in (flip, cut, zero, swap):
        damage.series(f"{kind.__name__}s in the log", damage.strikes([kind], places))
    paths = [damage.data / "log" / name for name in names]
    some = [chosen for count in range(len(paths)) for chosen in itertools.combinations(paths, count + 1)]
    removals = [(f"removal of {len(chosen)}", lambda gone: [path.unlink() for path in gone], chosen) for chosen in some]
    swaps = [(f"names {one.name} and {two.name} swapped", swap_names, one, two) for one, two in itertools.combinations(paths, 2)]
    damage.series("segments removed and renamed", removals + swaps)
    damage.restore()
    damage.daemon.start().call("storage.compact")
    damage.daemon.stop()
    damage.keep()
    for name, paths in OTHERS.items():
        places = damage.places(paths)
        places = proof.random.sample(places, min(proof.size(200, 24), len(places)))
        damage.series(f"damage to {name}", damage.strikes([flip, zero], sorted(places)))
