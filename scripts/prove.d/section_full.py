"""A full disk: noSpace to exactly those not stored, reads go on, freed space is used without a restart."""

import random
import time

from client import Connection, Refused, Gone
from crew import processes
from daemon import StartFailed
from disks import SmallDisk
from proof import Tally

MEGABYTES = 24


def read(path, scopes, pipe):
    """Reads random settings and documents until told to stop; sends (latencies in seconds, errors)."""
    latencies, errors = [], []
    choose = random.Random(len(scopes))
    try:
        with Connection(path) as connection:
            while not pipe.poll():
                scope, number = choose.choice(scopes), choose.randrange(250)
                begun = time.monotonic()
                try:
                    if choose.random() < 0.5:
                        connection.call("settings.get", domain=scope, key=f"k{number}")
                    else:
                        connection.call("documents.get", collection=scope, id=f"d{number}")
                except Refused as error:
                    errors.append(str(error))
                latencies.append(time.monotonic() - begun)
                time.sleep(0.0005)
    except (Gone, TimeoutError) as error:
        errors.append(f"{type(error).__name__} {error}")
    pipe.send((latencies, errors))


class Reader:
    """A process that reads while the disk is full."""

    def __init__(self, daemon, crew):
        self.pipe, theirs = processes.Pipe()
        scopes = [model.scope for model in crew.models]
        self.child = processes.Process(target=read, args=(daemon.socket, scopes, theirs), daemon=True)
        self.child.start()

    def finish(self):
        self.pipe.send("stop")
        result = self.pipe.recv()
        self.child.join()
        return result


def wait_for_no_space(disk, daemon, crew, seconds=20.0):
    """Keeps the disk full until the writers are refused, and 2 s more; returns whether they were."""
    # The writers report at their end only, so a write of our own tells.
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        disk.fill(leave=0)
        try:
            with daemon.connect() as connection:
                connection.call("settings.put", domain="probe", key="p", value=time.monotonic_ns())
        except Refused as error:
            if error.kind == "noSpace":
                time.sleep(2)
                return True
            raise
        time.sleep(0.02)
    return False


def one_event(proof, disk, daemon, crew, tally, sums):
    crew.start(daemon, pause=0.01)
    crew.wait_until_busy()
    time.sleep(0.2)
    reader = Reader(daemon, crew)
    disk.fill(leave=proof.random.randrange(2 << 20))
    sums["refused"] += wait_for_no_space(disk, daemon, crew)
    latencies, errors = reader.finish()
    sums["latencies"] += latencies
    sums["read errors"] += errors
    crew.finish()
    sums["noSpace"] += crew.errors().get("noSpace", 0)
    sums["other"] += [kind for kind in crew.errors() if kind != "noSpace"]
    # The disk is still full: what was refused must not be there, what was acknowledged must.
    tally.verify(daemon, crew, starts=False)
    start_while_full(disk, daemon, crew, tally, sums)

    crew.start(daemon, pause=0.05)
    time.sleep(0.3)
    released = time.monotonic()
    disk.release()
    crew_deadline = released + 10
    while time.monotonic() < crew_deadline and not can_write(daemon):
        time.sleep(0.02)
    sums["recovered"].append(time.monotonic() - released)
    time.sleep(0.5)
    crew.finish()
    # Every writer must have been served again, not only the probe.
    late = [result for result in crew.results if not result.last_ok or result.last_ok < released]
    sums["not served"] += len(late)
    tally.verify(daemon, crew, starts=False)


def start_while_full(disk, daemon, crew, tally, sums):
    """kill -9 and start with not a byte free: reads must be possible again."""
    daemon.kill()
    disk.fill(leave=0)
    try:
        daemon.start()
    except StartFailed as error:
        sums["failed starts"].append(str(error).splitlines()[-1])
        disk.release()
        daemon.start()
    tally.verify(daemon, crew, starts=False)
    disk.fill(leave=0)


def can_write(daemon):
    try:
        with daemon.connect() as connection:
            connection.call("settings.put", domain="probe", key="p", value=time.monotonic_ns())
        return True
    except Refused as error:
        if error.kind != "noSpace":
            raise
        return False


def run(proof):
    report = proof.report
    disk = SmallDisk(proof.work, MEGABYTES)
    try:
        events(proof, disk)
    finally:
        proof.kill_all()
        disk.destroy()


def events(proof, disk):
    report, tally = proof.report, Tally(proof.report)
    daemon, crew = proof.daemon(disk.data), proof.crew("full")
    sums = {name: 0 for name in ["refused", "noSpace", "not served"]}
    sums.update({name: [] for name in ["latencies", "read errors", "other", "failed starts", "recovered"]})
    count = 5 if proof.is_full else 2
    daemon.start()
    for number in range(count):
        report.progress(f"event {number + 1} of {count}")
        one_event(proof, disk, daemon, crew, tally, sums)
        # And what was there at the end is there after a restart, one in two an unclean one.
        if number % 2:
            daemon.kill()
        elif daemon.stop() != 0:
            report.note("SIGTERM did not end in exit 0")
        if not tally.verify(daemon, crew):
            # Said and counted; the next event needs a daemon that runs.
            disk.clear()
            crew.clear()
            daemon.start()
    tally.check("full disk: stored = acknowledged, refused = absent")
    report.check(
        "full disk: noSpace, and no other error", sums["refused"] == count and not sums["other"],
        f"{sums['noSpace']} noSpace in {sums['refused']} of {count} events, others {sorted(set(sums['other']))}")
    latencies = sorted(sums["latencies"]) or [0]
    p99 = latencies[int(len(latencies) * 0.99)] * 1000
    for error in sums["read errors"][:4]:
        report.note(error)
    report.check(
        "full disk: reads go on", not sums["read errors"] and len(latencies) > 100,
        f"{len(latencies)} reads, {len(sums['read errors'])} errors, "
        f"p99 {p99:.1f} ms, longest {latencies[-1] * 1000:.1f} ms")
    for error in sums["failed starts"]:
        report.note(error)
    report.check(
        "full disk: kill -9, then it starts and reads", not sums["failed starts"],
        f"{len(sums['failed starts'])} of {count} starts failed")
    slowest = max(sums["recovered"])
    report.check(
        "space freed: writes succeed within 10 s, no restart", slowest < 10 and not sums["not served"],
        f"slowest {slowest * 1000:.0f} ms, {sums['not served']} writers not served")
