"""Damaged bytes: whatever is changed in the files of a stopped daemon, each acknowledged change is found, or told to be lost.

A log of three segments that nothing of is folded is damaged at every 512 bytes, in each of four ways, each time from the
same start, and by segments that are removed and renamed; then tables, keys and caches at places spread over the files. A
change that is neither there nor told is lost without a word.
"""

import collections
import hashlib
import itertools
import json
import os
from fnmatch import fnmatch
from pathlib import Path

import rooms
from client import Refused
from contents import Found
from daemon import Daemon
from kill import HELD
from spoilt import Spoilt

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


# MARK: Ways to change a directory

def change(data, path, kind, offset, random):
    content = bytearray(Path(data, path).read_bytes())
    kind(content, offset, random)
    Path(data, path).write_bytes(content)


def remove(data, *paths):
    for path in paths:
        Path(data, path).unlink()


def swap_names(data, *paths):
    first, second = (Path(data, path) for path in paths)
    aside = first.rename(f"{first}x")
    second.rename(first)
    aside.rename(second)


def write(connection, tag):
    """Settings one by one, some in one turn, and documents of a few kilobytes; returns by item its content and revision."""
    contents, found = {}, {}
    for at in range(SETTINGS):
        key = f"{tag}-{at}"
        text = hashlib.sha256(key.encode()).hexdigest() * (40 if at % 9 == 8 else 4)
        if at % 3 == 2:
            contents["d", "c", key] = {"t": text}
        else:
            contents["s", f"d{at % 4}", key] = text
    items = list(contents)
    while len(found) < len(items):
        # Every other time alone, so that some rows have many records and some have one.
        part = items[len(found) :][: 1 if len(found) % 10 < 5 else 5]
        results = connection.call_all([rooms.put(item, contents[item])[:2] for item in part])
        found |= {item: (contents[item], result["rev"]) for item, result in zip(part, results)}
    return found


def is_told(notices, scope, rev):
    """Whether a notice says that the revision is lost, and names its scope if it names any."""
    return any(
        notice["what"] == "durable" and notice["savedRev"] < rev <= notice["newestRev"]
        or any(
            lost["fromRev"] <= rev <= lost["toRev"] and lost.get("scope", scope) == scope for lost in notice.get("missing", []))
        for notice in notices)


class Again(Found):
    """A revision was given twice, or may be."""


class Damage(Spoilt):
    """A stopped daemon's directory, what was acknowledged in it, and what becomes of it under damage."""

    def __init__(self, proof):
        self.proof = proof
        super().__init__(proof.work, Daemon, ["--profile", "small"])
        self.newest = max(rev for _, rev in self.before.values())

    def fill(self, daemon):
        """Three segments, of which nothing is in the tables: each kill has the next start begin another.

        Returns by item its content and revision.
        """
        found = {}
        for number in range(ROUNDS):
            daemon.start(HELD)
            with daemon.connect() as connection:
                found |= write(connection, f"r{number}")
                self.epoch = connection.call("storage.status")["epoch"]
            daemon.kill()
        return found

    def compact(self):
        """From now on each run begins with all of it in the tables."""
        with self.daemon(self.work, self.origin, self.options).start() as daemon:
            daemon.call("storage.compact")
            daemon.stop()

    def series(self, title, runs):
        """Performs runs, lists of a name, a change to a directory and its arguments; gives the verdict on them."""
        ends, remarks = collections.Counter(), []
        for name, spoil, *arguments in self.proof.each(runs, title):
            try:
                end = self.start(lambda data: spoil(data, *arguments))
            except (Found, Refused, ValueError) as error:
                end = "again" if isinstance(error, Again) else "silent"
                remarks.append(f"{name}: {error}")
            if end.startswith("refused"):
                remarks.append(f"{name}: {end}, {self.words.splitlines()[-1][:160]}")
            ends[end.split()[0]] += 1
        passed = runs and not ends["silent"] and not ends["again"]
        if title == "undamaged":
            passed = ends["whole"] == 1
        counts = ", ".join(f"{ends[end]} {words}" for end, words in ENDS.items())
        self.proof.check(title, passed, f"{len(runs)} runs: {counts}", remarks)

    def compare(self, daemon):
        with daemon.connect() as connection:
            status = connection.call("storage.status")
            gone, refused = self.missing(connection)
            if refused and not connection.call("storage.status").get("damage"):
                raise Found(f"{refused} reads met damage, and the status does not say so")
            notices = status.get("recovered", [])
            if silent := [(scope, rev) for scope, rev in gone if not is_told(notices, scope, rev)]:
                told = json.dumps(notices)[:200]
                raise Found(f"{len(silent)} of {len(gone)} gone without a word, first {silent[0]}; told: {told}")
            next_rev = connection.call("settings.put", domain="d0", key="after", value=1)["rev"]
        if status["epoch"] == self.epoch and next_rev <= self.newest:
            raise Again(f"revision {next_rev} was given again, {self.newest} had been")
        if status["epoch"] == self.epoch and gone:
            raise Again("changes are gone, and the history has its old name")
        return "told" if gone or refused else "whole"

    def missing(self, connection):
        """Scopes and revisions of what is not there as it was acknowledged, and how many reads say themselves that the file is
        damaged."""
        gone, refused = [], 0
        for item, (content, rev) in self.before.items():
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
            (f"{kind.__name__} {path} at {offset}", change, path, kind, offset, self.proof.random)
            for path, offset in places for kind in kinds]

    def places(self, paths, extent=len):
        """Every 512 bytes of those of the files that are there; `extent` says how many bytes of a file count."""
        there = [path for path in paths if os.path.exists(os.path.join(self.origin, path))]
        return [(path, offset) for path in there for offset in range(0, extent(Path(self.origin, path).read_bytes()), STEP)]


def run(proof):
    damage = Damage(proof)
    logs = [path for path in damage.paths() if fnmatch(path, "log/*.log")]
    places = damage.places(logs, used)
    proof.note(f"{len(logs)} segments, {len(places) * STEP} bytes, {len(damage.before)} changes")
    damage.series("undamaged", [("undamaged", lambda data: None)])
    if not proof.is_full:
        places = places[proof.random.randrange(9) :: 9]
    for kind in (flip, cut, zero, swap):
        damage.series(f"{kind.__name__}s in the log", damage.strikes([kind], places))
    some = [chosen for count in range(len(logs)) for chosen in itertools.combinations(logs, count + 1)]
    removals = [(f"removal of {len(chosen)}", remove, *chosen) for chosen in some]
    swaps = [(f"names {one} and {two} swapped", swap_names, one, two) for one, two in itertools.combinations(logs, 2)]
    damage.series("segments removed and renamed", removals + swaps)
    damage.compact()
    for name, paths in OTHERS.items():
        places = damage.places(paths)
        places = proof.random.sample(places, min(proof.size(200, 24), len(places)))
        damage.series(f"damage to {name}", damage.strikes([flip, zero], sorted(places)))
