"""A sync that fails: the outcome is unknown, the daemon says so and ends, and nothing acknowledged is lost."""

import os
import subprocess
import time

from daemon import StartFailed
from proof import Tally


class Exits:
    """How the daemon ended after its syncs failed."""

    def __init__(self):
        self.statuses = []
        self.seconds = []
        self.unknown = 0
        self.other = {}

    def take(self, daemon, crew, deadline=20.0):
        """Waits for the end of the daemon and of the writers."""
        status = daemon.wait(deadline)
        ended = time.monotonic()
        daemon.kill()
        crew.finish()
        self.statuses.append(status)
        for kind, count in crew.errors().items():
            if kind == "outcomeUnknown":
                self.unknown += count
            else:
                self.other[kind] = self.other.get(kind, 0) + count
        # The writers see the failure through the first outcomeUnknown; without one, through their end.
        moments = [result.first_error.get("outcomeUnknown") for result in crew.results]
        seen = [moment for moment in moments if moment]
        if seen and status is not None:
            self.seconds.append(ended - min(seen))

    @property
    def passed(self):
        ended = all(status is not None and status > 0 for status in self.statuses)
        return ended and self.unknown > 0 and not self.other and max(self.seconds, default=0) < 2.0

    def __str__(self):
        text = f"exits {self.statuses}, {self.unknown} outcomeUnknown"
        if self.seconds:
            text += f", gone {max(self.seconds) * 1000:.0f} ms after the first"
        return text + (f", other errors {self.other}" if self.other else "")


def fault_point(proof, daemon, crew):
    tally, exits = Tally(proof.report), Exits()
    hits = [3, 10, 50, 200, 400] if proof.is_full else [3, 50]
    for hit in hits:
        try:
            daemon.start(f"log.sync:fail:{hit}")
            crew.start(daemon)
        except StartFailed:
            proof.report.note(f"log.sync:fail:{hit} struck while starting")
            daemon.kill()
            continue
        exits.take(daemon, crew)
        tally.verify(daemon, crew)
        daemon.kill()
    tally.check("log.sync:fail loses nothing acknowledged", f"hits {hits}")
    proof.report.check("log.sync:fail: outcomeUnknown, exit ≠ 0 in 2 s", exits.passed, str(exits))


def attach(daemon, hit):
    """Has strace make the `hit`th fdatasync of each thread fail; returns strace once it is attached, and its output.

    Only that one fails, later ones would succeed: a daemon that tried again would take the lost pages for synced.
    """
    trace = os.path.join(daemon.work, "strace")
    tracer = subprocess.Popen(
        ["strace", "-f", "-p", str(daemon.process.pid), "-e", "trace=fdatasync,fsync",
         "-e", f"inject=fdatasync:error=EIO:when={hit}", "-o", trace],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 10
    while not is_traced(daemon.process.pid):
        if time.monotonic() > deadline or tracer.poll() is not None:
            raise RuntimeError(f"strace: {tracer.stderr.read().decode(errors='replace') if tracer.poll() else 'slow'}")
        time.sleep(0.01)
    return tracer, trace


def is_traced(pid):
    """Whether every thread of the process has a tracer."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status") as status:
            if "TracerPid:\t0\n" in status.read():
                return False
    return True


def injected(proof, daemon, crew):
    """The kernel's own word: fdatasync returns EIO to whoever calls it."""
    tally, exits = Tally(proof.report), Exits()
    struck = 0
    hits = [1, 2, 5, 20, 50] if proof.is_full else [1, 5]
    for hit in hits:
        daemon.start()
        tracer, trace = attach(daemon, hit)
        crew.start(daemon)
        exits.take(daemon, crew)
        tracer.wait()
        tracer.stderr.close()
        with open(trace) as lines:
            struck += any("(INJECTED)" in line for line in lines)
        tally.verify(daemon, crew)
        daemon.kill()
    tally.check("fdatasync = EIO loses nothing acknowledged", f"calls {hits} of a thread")
    proof.report.check(
        "fdatasync = EIO: outcomeUnknown, exit ≠ 0 in 2 s", exits.passed and struck == len(hits),
        f"{exits}, struck in {struck} of {len(hits)}")


def run(proof):
    daemon = proof.daemon(proof.directory("data"))
    crew = proof.crew("sync")
    fault_point(proof, daemon, crew)
    injected(proof, daemon, crew)
