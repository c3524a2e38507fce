"""kill -9 at random moments and at every fault point of the durable path, syncs that fail, and the start after."""

import collections
import os
import shutil
import signal
import statistics
import subprocess
import time
from pathlib import Path

from daemon import StartFailed
from client import Gone
from proof import Tally

# Where to kill, and at which of its times: of what comes very often at some later ones too, which need not be reached. A
# recovery copies once, in a start after an unclean stop.
POINTS = [
    ("log.append log.commit log.sync log.segmentChange log.prepare log.retire", (1, 2, 5), ()),
    ("fold.slice fold.commit fold.checkpoint", (1, 2, 5), ()),
    ("recover.copy", (1,), ()),
    ("vfs.write@log vfs.write@durable vfs.sync@durable vfs.write vfs.sync vfs.read", (1, 2, 5), (40, 300)),
]
REACH_SECONDS = 10.0
# Nothing is folded: the fold waits for ever before its first slice.
HELD = "fold.slice:sleep=3600000:1+"


def kill(proof):
    daemon, crew = proof.daemon(), proof.crew("kill")
    random_kills(proof, daemon, crew)
    drains(proof, daemon, crew)
    for points, hits, later in POINTS:
        for point in points.split():
            kills_at(proof, daemon, crew, point, hits, later)
    daemon.kill()
    for point in ("vfs.write", "vfs.sync"):
        kills_while_creating(proof, point)


def load(daemon, crew, seconds):
    """Writers for `seconds`, then kill -9."""
    with crew.writing(daemon):
        time.sleep(seconds)
        daemon.kill()


def random_kills(proof, daemon, crew):
    tally, count = Tally(proof), proof.size(200, 20)
    killed_starting = 0
    daemon.start()
    for number in proof.rounds(count, "kill"):
        load(daemon, crew, proof.random.uniform(0, 0.3))
        if number % 4 == 3:
            # Once more while it recovers.
            daemon.launch()
            time.sleep(proof.random.uniform(0, 0.06))
            killed_starting += daemon.kill()
        if not tally.verify(daemon, crew):
            daemon.start()
    tally.check(
        f"{count} kills -9 at random moments lose nothing",
        f"{killed_starting} also while starting; longest start {max(daemon.starts) * 1000:.0f} ms")


def drains(proof, daemon, crew):
    """SIGTERM under load: everything begun is answered, exit 0."""
    tally, exits = Tally(proof), []
    for _ in range(3):
        with crew.writing(daemon):
            time.sleep(0.1)
            exits.append(daemon.stop())
            daemon.kill()
        tally.verify(daemon, crew)
    tally.check("SIGTERM under load loses nothing")
    proof.check("SIGTERM drains and exits 0", exits == [0, 0, 0], f"exits {exits}")


def kills_at(proof, daemon, crew, point, wanted, later):
    tally, ends = Tally(proof), {}
    for hit in proof.each(wanted + later, point):
        # An unclean stop with something to recover comes before each.
        load(daemon, crew, 0.1)
        status = dies_at(daemon, crew, f"{point}:kill:{hit}", tally)
        ends[hit] = {None: "not reached", -signal.SIGKILL: "struck"}.get(status, f"exit {status}")
        if not tally.verify(daemon, crew):
            daemon.start()
    tally.check(f"kill at {point} loses nothing", "hits " + ", ".join(f"{hit} {end}" for hit, end in ends.items()))
    if missed := [hit for hit in wanted if ends[hit] != "struck"]:
        proof.check(f"kill at {point} was reached", False, f"hits {missed} were not within {REACH_SECONDS:.0f} s")


def dies_at(daemon, crew, faults, tally):
    """Has an armed daemon recover, read and write; returns its exit status, None when it lives on."""
    try:
        daemon.start(faults)
        tally.verify(daemon, crew, starts=False)
        with crew.writing(daemon, busy=0):
            status = daemon.wait(REACH_SECONDS)
            daemon.kill()
    except (StartFailed, Gone):
        status = daemon.wait(1)
        daemon.kill()
    return status


def kills_while_creating(proof, point):
    """kill -9 at each write or sync of the very first start; the next start must make it good."""
    struck, failed = 0, []
    for hit in range(1, proof.size(60, 12)):
        daemon = proof.daemon(proof.path(f"new-{point}-{hit}"))
        try:
            daemon.start(f"{point}:kill:{hit}").kill()
            break  # A start has no more of them.
        except StartFailed:
            struck += 1
        try:
            daemon.start()
        except StartFailed as error:
            failed.append(hit)
            proof.note(f"{point}:kill:{hit} on a new directory, then start: {error}")
        daemon.kill()
    proof.check(f"kill at each {point} of a first start", struck > 0 and not failed, f"{struck} kills, failed {failed}")


# MARK: Syncs that fail

def sync(proof):
    """The outcome is unknown, the daemon says so and ends, and nothing acknowledged is lost."""
    daemon, crew = proof.daemon(), proof.crew("sync")
    sync_series(proof, daemon, crew, "log.sync:fail", proof.size([3, 10, 50, 200, 400], [3, 50]), start_failing)
    # The kernel's own word: fdatasync returns EIO to whoever calls it.
    sync_series(proof, daemon, crew, "fdatasync = EIO", proof.size([1, 2, 5, 20, 50], [1, 5]), start_traced)


def sync_series(proof, daemon, crew, name, hits, start):
    """`start` has a daemon's syncs fail at a hit; it returns a question: whether that one was struck."""
    tally, statuses, errors, seconds, struck = Tally(proof), [], collections.Counter(), [], 0
    for hit in hits:
        try:
            was_struck = start(proof, daemon, hit)
        except StartFailed:
            proof.note(f"{name}:{hit} struck while starting")
            daemon.kill()
            continue
        with crew.writing(daemon, busy=0):
            statuses.append(daemon.wait(20))
            ended = time.monotonic()
            daemon.kill()
        struck += was_struck()
        errors += crew.errors()
        # The writers see the failure through the first outcomeUnknown.
        moments = [model.first_error["outcomeUnknown"] for model in crew.models if "outcomeUnknown" in model.errors]
        if moments and statuses[-1] is not None:
            seconds.append(ended - min(moments))
        tally.verify(daemon, crew)
        daemon.kill()
    tally.check(f"{name} loses nothing acknowledged", f"hits {hits}")
    proof.check(
        f"{name}: outcomeUnknown, exit ≠ 0 in 2 s",
        all(status is not None and status > 0 for status in statuses) and errors["outcomeUnknown"]
        # Whoever sends while it ends is told so.
        and set(errors) <= {"outcomeUnknown", "shuttingDown"}
        and max(seconds, default=0) < 2.0 and struck == len(statuses),
        f"exits {statuses}, {dict(errors)}, gone {max(seconds, default=0) * 1000:.0f} ms after the first, "
        f"struck in {struck} of {len(statuses)}")


def start_failing(proof, daemon, hit):
    daemon.start(f"log.sync:fail:{hit}")
    return lambda: True


def start_traced(proof, daemon, hit):
    """Has strace make the `hit`th fdatasync of each thread fail.

    Only that one fails, later ones would succeed: a daemon that tried again would take the lost pages for synced.
    """
    trace, injection = proof.path("strace"), f"inject=fdatasync:error=EIO:when={hit}"
    tracer = subprocess.Popen(
        ["strace", "-f", "-p", str(daemon.start().pid), "-e", "trace=fdatasync,fsync", "-e", injection, "-o", trace],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    # It says so once it has all threads.
    if "attached" not in (words := tracer.stderr.readline()):
        raise RuntimeError(words)

    def was_struck():
        tracer.communicate()
        return "(INJECTED)" in Path(trace).read_text()

    return was_struck


# MARK: The start after

# Documents of 1.7 KB each.
LONG = 32_600


def start(proof):
    """How long a start takes after kill -9 with 64 MiB in the log that are not folded."""
    daemon, template = proof.daemon(profile="default"), proof.path("template")
    daemon.start(HELD)
    with daemon.connect(timeout=60) as connection:
        connection.call_all([
            ("documents.put", {"collection": "c", "id": str(number), "value": {"n": number, "p": "x" * 1700}})
            for number in range(LONG)], window=200)
        status = connection.call("storage.status")
    daemon.kill()
    shutil.copytree(daemon.data, template)
    daemon.starts, counts = [], set()
    for _ in range(proof.size(8, 3)):
        shutil.rmtree(daemon.data)
        shutil.copytree(template, daemon.data)
        os.sync()
        daemon.start(timeout=60)
        counts.add(daemon.call("documents.count", collection="c")["count"])
        daemon.kill()
    seconds = daemon.starts
    proof.check(
        "start after kill -9 with a long log", counts == {LONG},
        f"{LONG} changes, {status['overlay']['bytes'] / (1 << 20):.1f} MiB not folded, log "
        f"{status['log']['bytes'] / (1 << 20):.1f} MiB: first reply after {statistics.median(seconds) * 1000:.0f} ms (median of "
        f"{len(seconds)}, {min(seconds) * 1000:.0f} to {max(seconds) * 1000:.0f})")
