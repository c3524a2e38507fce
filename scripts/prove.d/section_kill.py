"""kill -9 at random moments, and at every fault point of the durable path."""

import signal
import time

from client import Gone
from daemon import StartFailed
from proof import Tally

POINTS = [
    "log.append", "log.commit", "log.sync", "log.segmentChange", "log.prepare", "log.retire",
    "fold.slice", "fold.commit", "fold.checkpoint", "recover.copy",
    "vfs.write@log", "vfs.write@durable", "vfs.sync@durable", "vfs.write", "vfs.sync", "vfs.read",
]
HITS = [1, 2, 5]
# Come to once, by a start after an unclean stop: there is no second hit.
ONCE_A_START = {"recover.copy"}
REACH_SECONDS = 10.0


def load(proof, daemon, crew, seconds):
    """Writers for `seconds`, then kill -9."""
    crew.start(daemon)
    crew.wait_until_busy()
    time.sleep(seconds)
    daemon.kill()
    crew.finish()


def random_kills(proof, daemon, crew):
    tally = Tally(proof.report)
    count = 200 if proof.is_full else 20
    killed_starting = 0
    daemon.start()
    for number in range(count):
        proof.report.progress(f"kill {number + 1} of {count}")
        load(proof, daemon, crew, proof.random.uniform(0, 0.3))
        if number % 4 == 3:
            # Once more while it recovers.
            daemon.launch()
            time.sleep(proof.random.uniform(0, 0.06))
            killed_starting += daemon.kill()
        if not tally.verify(daemon, crew):
            daemon.start()
    longest = max(daemon.starts) * 1000
    tally.check(
        f"{count} kills -9 at random moments lose nothing",
        f"{killed_starting} also while starting; longest start {longest:.0f} ms")


def drains(proof, daemon, crew):
    """SIGTERM under load: everything begun is answered, exit 0."""
    tally = Tally(proof.report)
    exits = []
    for _ in range(3):
        crew.start(daemon)
        crew.wait_until_busy()
        time.sleep(0.1)
        exits.append(daemon.stop())
        if exits[-1] is None:
            daemon.kill()
        crew.finish()
        tally.verify(daemon, crew)
    tally.check("SIGTERM under load loses nothing")
    proof.report.check("SIGTERM drains and exits 0", exits == [0, 0, 0], f"exits {exits}")


def dies_at(daemon, crew, faults, tally):
    """Has an armed daemon recover, read and write; returns how it ended: `struck`, `not reached` or another exit."""
    try:
        daemon.start(faults)
        tally.verify(daemon, crew, starts=False)
        crew.start(daemon)
        status = daemon.wait(REACH_SECONDS)
        daemon.kill()
        crew.finish()
    except (StartFailed, Gone):
        status = daemon.wait(1)
        daemon.kill()
    if status is None:
        return "not reached"
    return "struck" if status == -signal.SIGKILL else f"exit {status}"


def kills_at_points(proof, daemon, crew):
    report = proof.report
    for point in POINTS:
        tally = Tally(report)
        ends = {}
        wanted = HITS[:1] if point in ONCE_A_START else HITS
        # There are very many of these, so some later ones too.
        hits = wanted + ([40, 300] if point.startswith("vfs.") else [])
        for hit in hits:
            report.progress(f"{point} {hit}")
            # An unclean stop with something to recover comes before each.
            load(proof, daemon, crew, 0.1)
            ends[hit] = dies_at(daemon, crew, f"{point}:kill:{hit}", tally)
            if not tally.verify(daemon, crew):
                daemon.start()
        reached = [hit for hit in hits if ends[hit] == "struck"]
        tally.check(f"kill at {point} loses nothing", "hits " + ", ".join(f"{hit} {ends[hit]}" for hit in hits))
        if missed := [hit for hit in wanted if hit not in reached]:
            report.check(f"kill at {point} was reached", False, f"hits {missed} were not within {REACH_SECONDS:.0f} s")


def kills_while_creating(proof):
    """kill -9 at each write and sync of the very first start; the next start must make it good."""
    report = proof.report
    for point in ["vfs.write", "vfs.sync"]:
        struck, failed = 0, []
        for hit in range(1, 60 if proof.is_full else 12):
            daemon = proof.daemon(proof.directory(f"new-{point}-{hit}"))
            try:
                daemon.start(f"{point}:kill:{hit}")
                daemon.kill()
                break  # A start has no more of them.
            except StartFailed:
                struck += 1
            try:
                daemon.start()
            except StartFailed as error:
                failed.append(hit)
                report.note(f"{point}:kill:{hit} on a new directory, then start: {error}")
            daemon.kill()
        report.check(
            f"kill at each {point} of a first start", struck > 0 and not failed, f"{struck} kills, failed {failed}")


def run(proof):
    daemon = proof.daemon(proof.directory("data"))
    crew = proof.crew("kill")
    random_kills(proof, daemon, crew)
    drains(proof, daemon, crew)
    kills_at_points(proof, daemon, crew)
    daemon.kill()
    kills_while_creating(proof)
