"""What the sections share: where to work, how much to do, what was found, and the round of fault, restart and verification."""

import contextlib
import os
import random
import sys
import time

from client import Gone, Refused
from crew import Crew
from daemon import Daemon, StartFailed
from disks import Disk
from verify import Outcome, verify


class Proof:
    """One section's. Its daemons and disks are gone when it is closed."""

    def __init__(self, work, is_full, seed, sittings):
        self.work = work
        self.is_full = is_full
        self.seed = seed
        self.sittings = sittings
        self.random = random.Random(seed)
        # (name, passed, detail) of each check.
        self.rows = []
        self.open = contextlib.ExitStack()

    def size(self, full, quick):
        """How often, or how long."""
        return full if self.is_full else quick

    def path(self, name):
        """A path on the work directory's own file system; nothing is made there."""
        return os.path.join(self.work, name)

    def daemon(self, data=None, profile="small", **more):
        daemon = Daemon(self.work, data, ["--profile", profile], **more)
        self.open.callback(daemon.kill)
        return daemon

    def crew(self, name, writers=8, is_mixed=False):
        return Crew(f"{self.seed}/{name}", writers, is_mixed)

    @contextlib.contextmanager
    def disk(self, *arguments, **more):
        """A `Disk`, formatted and mounted; when it goes, all daemons are killed."""
        disk = Disk(self.work, *arguments, **more)
        self.open.callback(disk.destroy)
        with self.open:
            yield disk

    # MARK: What was found

    def note(self, text):
        print(f"   {text}", flush=True)

    def check(self, name, passed, detail="", remarks=()):
        """A verdict, printed at once; some of the remarks stand before it."""
        for remark in list(remarks)[:6]:
            self.note(remark)
        self.rows.append((name, bool(passed), detail))
        self.note(f"{'ok  ' if passed else 'FAIL'} {name}" + (f": {detail}" if detail else ""))

    def each(self, values, what):
        """Yields the values; shows where the loop is, to a person only."""
        values = list(values)
        for at, value in enumerate(values):
            if sys.stdout.isatty():
                print(f"\r   {what}: {at + 1} of {len(values)}\x1b[K\r", end="", flush=True)
            yield value

    def rounds(self, count, what):
        return self.each(range(count), what)


class Tally(Outcome):
    """What the rounds of one section have found, and how many of them lost something."""

    def __init__(self, proof):
        super().__init__()
        self.proof = proof
        self.faults = []

    def verify(self, daemon, crew, starts=True):
        """Starts `daemon` (unless it runs) and verifies; returns whether it started."""
        self.counts["rounds"] += 1
        for model in crew.models:
            self.counts["acknowledged"] += model.acknowledged
            self.counts["unanswered"] += len(model.pending) + len(model.unknown)
            self.faults += [text for _, text in model.faults]
            model.acknowledged, model.faults = 0, []
        try:
            if starts:
                daemon.start()
        except StartFailed as error:
            self.counts["failed starts"] += 1
            self.proof.note(f"round {self.counts['rounds']}: start failed: {error}")
            daemon.kill()
            return False
        found = verify(daemon, crew.models)
        self.counts["rounds with loss"] += not found.clean
        self.add(found)
        return True

    def check(self, name, detail=""):
        """The verdict: nothing lost, torn or wrong, every start succeeded, and there was something to lose."""
        passed = self.clean and not self.counts["failed starts"] and not self.faults and self.counts["acknowledged"] > 0
        text = f"{self.counts['rounds']} rounds, {self.counts['acknowledged']} acknowledged, {self}"
        if self.counts["failed starts"]:
            text += f", {self.counts['failed starts']} failed starts"
        if self.faults:
            text += f", {len(self.faults)} protocol faults"
        self.proof.check(name, passed, text + (f"; {detail}" if detail else ""), self.faults + self.remarks)


def until(holds, seconds, pause=0.02):
    """Asks again and again whether `holds()`; the seconds until it did, None when it never does in so many."""
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        if holds():
            return time.monotonic() - begun
        time.sleep(pause)
    return None


def told(seconds):
    """The seconds that `until` has returned, in words."""
    return "never" if seconds is None else f"after {seconds * 1000:.0f} ms"


def takes_changes(daemon):
    """Whether a new client's change is taken now."""
    try:
        with daemon.connect(timeout=5) as connection:
            connection.call("settings.put", domain="probe", key="p", value=time.monotonic_ns())
        return True
    except (Refused, Gone, TimeoutError):
        return False


def has_room(daemon, length=0):
    """Whether changes are taken, a document of that length among them; no other refusal than noSpace is expected."""
    try:
        daemon.call("documents.put", collection="probe", id="p", value={"at": time.monotonic_ns(), "x": "x" * length})
        daemon.call("settings.put", domain="probe", key="p", value=time.monotonic_ns())
        return True
    except Refused as error:
        if error.kind != "noSpace":
            raise
        return False


def set_aside(daemon):
    """What the daemon says that its start has set aside or dropped; and of that, tables and log."""
    notices = daemon.call("storage.status").get("recovered", [])
    return notices, [notice for notice in notices if notice["what"] == "durable"]
