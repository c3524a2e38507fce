"""A scripted run whose file calls go wrong one by one, and one whose disk is full at another place each time."""

import collections
import copy
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from proof import takes_changes, until
from scripted import PATIENCE, Account, Findings, play, play_after

# Name: title, classes of calls, mode, whether all later ones are struck too.
SERIES = {
    "eio": ("a write, cut or allocation is EIO", "w", "EIO", ""),
    "sync": ("a sync is EIO", "s", "EIO", ""),
    "names": ("a name made, changed or removed is EIO", "n", "EIO", ""),
    "reads": ("a read is EIO", "r", "EIO", ""),
    "opens": ("an open is EIO", "o", "EIO", ""),
    "full": ("one write or name is ENOSPC", "wn", "ENOSPC", ""),
    "fullon": ("from there on all writes and names are ENOSPC", "wn", "ENOSPC", "+"),
    "emfile": ("from there on nothing can be opened (EMFILE)", "no", "EMFILE", "+"),
    "readonly": ("from there on all is read-only (EROFS)", "wn", "EROFS", "+"),
    "short": ("a write is short", "w", "short", ""),
    "kill": ("kill -9 before a write, sync or name", "wsn", "kill", ""),
    "tear": ("kill -9 in the midst of a write", "w", "tear", ""),
}


def striker(proof):
    """Compiles strike.c; returns the library's path."""
    library, source = proof.path("strike.so"), Path(__file__).with_name("strike.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def calls(proof):
    """Every file call goes wrong once: it fails, the disk is full from there on, or it is the last one before kill -9.

    The calls are struck in the process (strike.c, with LD_PRELOAD), counted over all its threads. Two acts are played: a new
    directory, and the start after a kill -9 with what follows. After each the daemon must end or stop by itself, start again
    without help, and show what was acknowledged and nothing that was refused.
    """
    stage = Stage(proof)
    for act in (1, 2):
        if act == 2:
            stage.play_first_act()
        for name in os.environ.get("SERIES", "").split() or SERIES:
            if os.environ.get("ACT", str(act)) == str(act):
                strike_series(proof, stage, act, *SERIES[name])


class Stage:
    """Where acts are played: a data directory that is made anew for each, as an earlier act has left it."""

    def __init__(self, proof):
        self.library = striker(proof)
        try:
            # Tables and log of a few MiB, written anew a thousand times: no disk has to do that.
            self.place = proof.open.enter_context(proof.disk("tmpfs", 512)).mount_point
        except RuntimeError:
            # Containers mostly may not mount.
            self.place = proof.path("tmpfs")
        self.daemon = proof.daemon(os.path.join(self.place, "data"))
        self.daemon.log = os.path.join(self.place, "kurad.log")
        self.calls, self.template = Path(self.place, "calls"), Path(self.place, "template")
        self.account = Account()

    def play_first_act(self):
        """What a kill -9 leaves after the first act is what the second finds."""
        shutil.rmtree(self.daemon.data, ignore_errors=True)
        ended, wrong = play(self.daemon, self.account, 1)
        if ended != "through" or self.account.refused:
            raise RuntimeError(f"the script does not play: {ended}, {wrong}, {self.account.refused}")
        self.daemon.call("settings.put", domain="app", key="unfolded", value=1)
        self.account.state["s", "app", "unfolded"] = 1
        self.account.acknowledged = 0
        self.daemon.kill()
        shutil.copytree(self.daemon.data, self.template)

    def run(self, act, classes, mode, number, found, place=None):
        """One run with one fault, at the number's call of all or of a place (call, path); adds to `found` what came of it. Returns
        the calls, as (number, class, call, path)."""
        daemon, account, specification = self.daemon, copy.deepcopy(self.account), f"{classes}:{mode}:{number}"
        shutil.rmtree(daemon.data, ignore_errors=True)
        if self.template.exists():
            shutil.copytree(self.template, daemon.data, symlinks=True)
        for path in (self.calls, Path(daemon.log)):
            path.unlink(missing_ok=True)
        daemon.environment = {
            "LD_PRELOAD": self.library, "STRIKE": specification, "STRIKE_ROOT": daemon.data, "STRIKE_LOG": self.calls}
        if place:
            daemon.environment["STRIKE_PLACE"] = " ".join(place)
        ended, wrong = play(daemon, account, act)
        end, objection = end_of(daemon, ended, mode)
        daemon.kill()
        if objection:
            wrong.append(f"{objection}: {daemon.last_words()}")
        daemon.environment = {}
        struck = [line.split(None, 3) for line in self.calls.read_text().splitlines()]
        wrong += account.faults + play_after(daemon, account, found)
        where = " ".join(struck[0]) if struck else "not reached"
        found.counts["struck"] += bool(struck)
        found.add(
            account, end if ended != "start failed" else f"start failed, {end}",
            [f"{specification} ({where}): {text}" for text in wrong])
        return struck


def end_of(daemon, ended, mode):
    """Stops the daemon when it lives; returns (how it ended, what is wrong with that)."""
    # It closes connections before it is gone.
    if ended == "gone" and daemon.wait(PATIENCE) is None:
        return "hangs", "closed the connection and does not end"
    status = daemon.stop(PATIENCE)
    if status is None:
        return "hangs", f"does not stop in {PATIENCE:.0f} s"
    if status < 0 and not (mode in ("kill", "tear") and status == -signal.SIGKILL):
        return f"signal {-status}", f"ended by signal {-status}"
    return f"exit {status}" if status >= 0 else "killed", None


def addressed(plays):
    """The calls of the shorter one of two plays, each as (place, number): a busy machine makes calls more. Threads take turns as they
    like, so a call is counted among those of its place (call, path); one that the other play lacks, among all."""
    counts = [collections.Counter((call, path) for _, _, call, path in play) for play in plays]
    met, calls_ = collections.Counter(), []
    for number, _, call, path in min(plays, key=len):
        place = call, path
        met[place] += 1
        is_common = met[place] <= min(count[place] for count in counts)
        calls_.append((place, (place, met[place]) if is_common else (None, int(number))))
    return calls_


def choose(calls_, limit, chance):
    """Which to strike: all, but of a call that comes very often on one file (the zeros that fill a segment) the first, the last, and
    some between."""
    places = collections.defaultdict(list)
    for at, (place, address) in enumerate(calls_):
        places[place].append((at, address))
    chosen = []
    for found in places.values():
        if len(found) <= limit:
            chosen += found
        elif limit < 4:
            chosen += chance.sample(found, limit)
        else:
            first, last = limit // 2, limit // 4
            chosen += found[:first] + found[-last:] + chance.sample(found[first:-last], limit - first - last)
    return [address for _, address in sorted(chosen, key=lambda each: each[0])]


def strike_series(proof, stage, act, title, classes, mode, goes_on):
    title = f"{'a new directory' if act == 1 else 'after a kill -9'}: {title}"
    series = proof.sittings.load(title) or Series(*chosen_calls(proof, stage, act, classes, mode, title))
    found = series.found
    for text in found.wrong[:6]:
        proof.note(f"in an earlier sitting: {text}")
    for place, number in proof.each(series.left(), title):
        before, begun = len(found.wrong), time.monotonic()
        stage.run(act, classes, mode, f"{number}{goes_on}", found, place)
        for text in found.wrong[before:][:3]:
            proof.note(text)
        series.done += 1
        series.seconds += time.monotonic() - begun
        proof.sittings.save(title, series)
    if found.refused:
        proof.note(f"refused: {found.refusals()}")
    # A run may have some calls less. With few runs that says nothing.
    enough = len(series.numbers) * 9 // 10 if len(series.numbers) >= 20 else 0
    proof.check(
        title, not found.wrong and found.counts["struck"] >= enough,
        f"{found}, {found.refused.total()} refused; {series.count} calls, {series.seconds:.0f} s")


class Series:
    """The calls that one series strikes, of how many, and what came of those that it has struck."""

    def __init__(self, numbers, count):
        self.numbers, self.count = numbers, count
        self.done, self.seconds, self.found = 0, 0.0, Findings()

    def left(self):
        return self.numbers[self.done:]


def chosen_calls(proof, stage, act, classes, mode, title):
    """Plays the act without a fault; returns (the calls to strike, how many there are)."""
    unharmed = Findings()
    # A mode counts the calls that it can strike.
    plays = [stage.run(act, classes, mode, 0, unharmed) for _ in range(2)]
    if unharmed.wrong or not all(plays):
        raise RuntimeError(f"{title}: the act does not play without a fault: {unharmed.wrong}")
    calls_ = addressed(plays)
    chosen = [(None, int(number)) for number in os.environ.get("AT", "").split()]
    if not chosen:
        # Of each series its own: an earlier sitting may have chosen those of the others.
        chance = random.Random(f"{proof.seed}/{title}")
        chosen = choose(calls_, int(os.environ.get("EACH_UP_TO") or proof.size(32, 1)), chance)
        runs = int(os.environ.get("RUNS") or proof.size(len(chosen), 12))
        order = sorted(chance.sample(range(len(chosen)), min(runs, len(chosen))))
        chosen = [chosen[at] for at in order]
    return chosen, len(calls_)


# MARK: Full disks

def disks(proof):
    """The disk is full, or has no inodes left, each time at another place of the script.

    Before each run a file takes all room but a little, or files all inodes but a few. What was acknowledged is there, what
    was refused is not, reads go on, and when the room is back the same daemon takes changes again.
    """
    count = proof.size(120, 5)
    for title, kind, megabytes in (("tmpfs of 20 MiB, full", "tmpfs", 20), ("ext4 of 32 MiB, full", "ext4", 32)):
        with proof.disk(kind, megabytes, make=["-m", "0"]) as disk:
            # Anywhere: at a random place of each part.
            most = min(disk.free, 14 << 20)
            places = [int((at + proof.random.random()) * most / count) // 4096 * 4096 for at in range(count)]
            fill_series(proof, title, disk, disk.fill, places)
    with proof.disk("ext4", 64, make=["-m", "0", "-N", "256"]) as disk:
        fill_series(proof, "ext4 without inodes", disk, disk.fill_inodes, range(0, 48, proof.size(1, 9)))


def fill_series(proof, title, disk, fill, places):
    found = Findings()
    daemon = proof.daemon(disk.data, environment={"KURA_MIN_FREE_BYTES": "0"})
    for leave in proof.each(places, title):
        # A new directory whose disk gets full in the midst of the script.
        shutil.rmtree(daemon.data, ignore_errors=True)
        fill(leave)
        account = Account()
        ended, wrong = play(daemon, account, 1)
        if ended == "through":
            # Nothing is lost to readers, full or not.
            with daemon.connect() as connection:
                wrong += account.judge(connection)
        elif (daemon.process.poll() or 0) < 0:
            wrong.append(f"ended by a signal: {daemon.last_words()}")
        disk.release()
        if ended == "through" and until(lambda: takes_changes(daemon), 15) is None:
            wrong.append("takes no changes when there is room again")
        if ended == "gone":
            wrong.append(f"the daemon ended: {daemon.wait(5)} {daemon.last_words()}")
        daemon.kill()
        wrong += account.faults + play_after(daemon, account, found)
        found.add(account, ended, [f"with {leave} left: {text}" for text in wrong])
    refusals = sum(count for (_, kind), count in found.refused.items() if kind == "noSpace")
    others = sorted(f"{method} {kind}" for method, kind in found.refused if kind != "noSpace")
    proof.check(title, not found.wrong and refusals > 0, f"{found}; {refusals} noSpace, other refusals {others}", found.wrong)
