"""Damaged bytes: whatever is changed in the files of a stopped daemon, each acknowledged change is found, or told to be lost.

A log of three segments that nothing of is folded is damaged at every 512 bytes, in each of five ways, each time from the same start; then
tables, keys and caches at places spread over the files. A change that is neither there nor told is lost without a word.
"""

import hashlib
import json
import os
import shutil

from client import Refused
from daemon import StartFailed

STEP = 512
ROUNDS = 3
SETTINGS = 45
# Nothing is folded: the fold waits for ever before its first slice.
HELD = "fold.slice:sleep=3600000:1+"


class Tally:
    """What became of the runs of one kind of damage."""

    def __init__(self):
        self.runs = self.whole = self.told = self.refused = self.silent = self.again = 0
        self.remarks = []

    def __str__(self):
        return (
            f"{self.runs} runs: {self.whole} found whole, {self.told} told what is lost, {self.refused} refused with a reason, "
            f"{self.silent} lost without a word, {self.again} gave a revision twice")


class Written:
    """What was acknowledged: values and revisions by key."""

    def __init__(self):
        self.values = {}
        self.newest = 0

    def put(self, connection, count, tag):
        """Settings one by one, some in one turn, and documents of a few kilobytes."""
        calls = []
        for at in range(count):
            key = f"{tag}-{at}"
            text = hashlib.sha256(key.encode()).hexdigest() * (40 if at % 9 == 8 else 4)
            if at % 3 == 2:
                calls.append(("documents.put", {"collection": "c", "id": key, "value": {"t": text}}, ("c", key, {"t": text})))
            else:
                calls.append(("settings.put", {"domain": f"d{at % 4}", "key": key, "value": text}, (f"d{at % 4}", key, text)))
        at = 0
        while at < len(calls):
            # Every other time alone, so that some rows have many records and some have one.
            part = calls[at : at + (1 if at % 10 < 5 else 5)]
            for result, (_, _, (scope, key, value)) in zip(
                    connection.call_all([(method, params) for method, params, _ in part]), part):
                self.values[scope, key] = (value, result["rev"])
                self.newest = max(self.newest, result["rev"])
            at += len(part)

    def missing(self, connection):
        """Revisions of what is not there as it was acknowledged, and how many reads say themselves that the file is damaged."""
        gone, refused = [], 0
        for (scope, key), (value, rev) in self.values.items():
            method, name = ("documents.get", {"collection": scope, "id": key}) if scope == "c" else (
                "settings.get", {"domain": scope, "key": key})
            try:
                if connection.call(method, **name).get("value") != value:
                    gone.append((scope, rev))
            except Refused as error:
                if error.kind != "integrity":
                    raise
                refused += 1
        return gone, refused


def fill(proof, daemon):
    """Three segments, of which nothing is in the tables: each kill has the next start begin another."""
    written = Written()
    for number in range(ROUNDS):
        daemon.start(HELD)
        with daemon.connect() as connection:
            written.put(connection, SETTINGS, f"r{number}")
            epoch = connection.call("storage.status")["epoch"]
        daemon.kill()
    return written, epoch


def told(notices, scope, rev):
    """Whether a notice says that the revision is lost, and names its scope if it names any."""
    for notice in notices:
        for one in notice.get("missing", []):
            if one["fromRev"] <= rev <= one["toRev"] and one.get("scope", scope) == scope:
                return True
        if notice["what"] == "durable" and notice["savedRev"] < rev <= notice["newestRev"]:
            return True
    return False


def trial(proof, daemon, written, epoch, tally, name):
    tally.runs += 1
    starts = 0
    while True:
        try:
            starts += 1
            daemon.start(timeout=60)
            break
        except StartFailed as error:
            # The ladder of starts sets tables aside at the third.
            if starts == 4:
                tally.refused += 1
                tally.remarks.append(f"{name}: {str(error).strip().splitlines()[-1][:160]}")
                daemon.kill()
                return
    with daemon.connect() as connection:
        status = connection.call("storage.status")
        notices = status.get("recovered", [])
        try:
            gone, refused = written.missing(connection)
        except (Refused, ValueError) as error:
            tally.silent += 1
            tally.remarks.append(f"{name}: {error}")
            daemon.kill()
            return
        if refused and not connection.call("storage.status").get("damage"):
            tally.silent += 1
            tally.remarks.append(f"{name}: {refused} reads met damage, and the status does not say so")
        silent = [(scope, rev) for scope, rev in gone if not told(notices, scope, rev)]
        next_rev = connection.call("settings.put", domain="d0", key="after", value=1)["rev"]
    daemon.kill()
    if silent:
        tally.silent += 1
        tally.remarks.append(f"{name}: {len(silent)} of {len(gone)} gone without a word, first {silent[0]}; told: {json.dumps(notices)[:200]}")
    elif gone or refused:
        tally.told += 1
    else:
        tally.whole += 1
    if next_rev <= written.newest and status["epoch"] == epoch:
        tally.again += 1
        tally.remarks.append(f"{name}: revision {next_rev} was given again, {written.newest} had been")
    if gone and status["epoch"] == epoch:
        tally.again += 1
        tally.remarks.append(f"{name}: changes are gone, and the history has its old name")


def used(path):
    """Bytes of a segment up to the last that is not zero."""
    with open(path, "rb") as file:
        return len(file.read().rstrip(b"\0"))


def overwrite(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def read(path, offset, count):
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(count)


def flip(proof, path, offset):
    count = min(STEP, os.path.getsize(path) - offset)
    at = offset + proof.random.randrange(count)
    overwrite(path, at, bytes([read(path, at, 1)[0] ^ 1 << proof.random.randrange(8)]))


def zero(proof, path, offset):
    overwrite(path, offset, bytes(min(STEP, os.path.getsize(path) - offset)))


def cut(proof, path, offset):
    os.truncate(path, offset)


def swap(proof, path, offset):
    """Two sectors change places."""
    end = max(used(path) // STEP, 1)
    other = proof.random.randrange(end) * STEP
    first, second = read(path, offset, STEP), read(path, other, STEP)
    if len(first) == len(second) == STEP:
        overwrite(path, offset, second)
        overwrite(path, other, first)


LOG_KINDS = {"flips": flip, "cuts": cut, "zeros": zero, "swaps": swap}


def segments(data):
    log = os.path.join(data, "log")
    return sorted(os.path.join(log, name) for name in os.listdir(log) if name.endswith(".log"))


def verdict(report, name, tally):
    for remark in tally.remarks[:6]:
        report.note(remark)
    report.check(name, not tally.silent and not tally.again and tally.runs > 0, str(tally))


def damage_log(proof, daemon, template, written, epoch):
    places = [
        (name, offset) for name in map(os.path.basename, segments(template))
        for offset in range(0, used(os.path.join(template, "log", name)), STEP)]
    if not proof.is_full:
        places = places[proof.random.randrange(9) :: 9]
    for kind, strike in LOG_KINDS.items():
        tally = Tally()
        for name, offset in places:
            restore(template, daemon.data)
            strike(proof, os.path.join(daemon.data, "log", name), offset)
            trial(proof, daemon, written, epoch, tally, f"{kind} {name} at {offset}")
            proof.report.progress(f"{kind} {tally.runs} of {len(places)}")
        verdict(proof.report, f"{kind} in the log", tally)
    names = [os.path.basename(path) for path in segments(template)]
    tally = Tally()
    for number in range(1, 1 << len(names)):
        restore(template, daemon.data)
        for bit, name in enumerate(names):
            if number >> bit & 1:
                os.unlink(os.path.join(daemon.data, "log", name))
        trial(proof, daemon, written, epoch, tally, f"removal {number:b}")
    for first, second in ((0, 1), (1, 2), (0, 2)):
        restore(template, daemon.data)
        paths = [os.path.join(daemon.data, "log", names[at]) for at in (first, second)]
        os.rename(paths[0], paths[0] + "x")
        os.rename(paths[1], paths[0])
        os.rename(paths[0] + "x", paths[1])
        trial(proof, daemon, written, epoch, tally, f"names {first} and {second} swapped")
    verdict(proof.report, "segments removed and renamed", tally)


def restore(template, data):
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(template, data, symlinks=True)


def damage_others(proof, daemon, written, epoch, template):
    """Files that are no log: what was folded is in the tables, and the log has it still."""
    for name, paths in (
            ("tables", ["durable/kura.sqlite", "durable/kura.sqlite-wal"]),
            ("the note of what was acknowledged", ["acknowledged"]),
            ("keys", ["keys/root.key", "keys/slots.json"]),
            ("caches", ["cache/cache.sqlite", "cache/blobs.sqlite", "cache/clean"]),
            ("notes of starts", ["boot.json", "writes", "audit", "ballast"])):
        tally = Tally()
        places = []
        for path in paths:
            whole = os.path.join(template, path)
            if os.path.exists(whole):
                size = os.path.getsize(whole)
                places += [(path, offset) for offset in range(0, size, STEP)]
        most = 200 if proof.is_full else 24
        if len(places) > most:
            places = proof.random.sample(places, most)
        for path, offset in sorted(places):
            for kind, strike in (("flip", flip), ("zero", zero)):
                restore(template, daemon.data)
                strike(proof, os.path.join(daemon.data, path), offset)
                trial(proof, daemon, written, epoch, tally, f"{kind} {path} at {offset}")
        verdict(proof.report, f"damage to {name}", tally)


def run(proof):
    daemon = proof.daemon(proof.directory("data"))
    written, epoch = fill(proof, daemon)
    template = proof.directory("template")
    shutil.copytree(daemon.data, template)
    proof.report.note(
        f"{len(segments(template))} segments, {sum(map(used, segments(template)))} bytes, {len(written.values)} changes")
    control = Tally()
    restore(template, daemon.data)
    trial(proof, daemon, written, epoch, control, "undamaged")
    proof.report.check("undamaged", control.whole == 1, str(control))
    damage_log(proof, daemon, template, written, epoch)
    restore(template, daemon.data)
    daemon.start()
    with daemon.connect() as connection:
        connection.call("storage.compact")
    daemon.stop()
    shutil.rmtree(template)
    shutil.copytree(daemon.data, template)
    damage_others(proof, daemon, written, epoch, template)
