"""What goes wrong around the daemon for a while: no descriptors, and a file system that turns read-only."""

import collections
import errno
import os
import resource
import subprocess
import time
from pathlib import Path

from client import Gone
from daemon import StartFailed
from proof import Tally, set_aside, takes_changes, told, until

SECONDS = 1.0


def limit(daemon, soft):
    """Sets how many descriptors it may have; returns how many it might before."""
    before, hard = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (soft, hard))
    return before


def descriptors(proof):
    """No descriptor is left, for a while: nobody loses anything, nothing is set aside, and all goes on when there are some."""
    daemon, crew, tally = proof.daemon(), proof.crew("descriptors", 5, is_mixed=True), Tally(proof)
    count = proof.size(40, 4)
    ends, kinds, recovered = collections.Counter(), collections.Counter(), []
    for number in proof.rounds(count, "round"):
        daemon.start()
        with crew.writing(daemon, pause=0.01):
            # Also fewer than it has open: then every attempt fails, and what is open stays.
            usual = limit(daemon, max(1, daemon.descriptors() + proof.random.randrange(-4, 6)))
            time.sleep(SECONDS)
            if daemon.process.poll() is None:
                limit(daemon, usual)
                recovered.append(until(lambda: takes_changes(daemon), 10))
        kinds += crew.errors()
        ends[daemon.stop()] += 1
        daemon.kill()
        tally.verify(daemon, crew)
        if durable := set_aside(daemon)[1]:
            tally.faults.append(f"round {number}: set aside: {durable}")
        daemon.kill()
    tally.check(f"{count} times {SECONDS:.0f} s without descriptors", f"refused {dict(kinds)}")
    proof.check("the daemon lives through it and drains", set(ends) == {0}, f"exits {dict(ends)}")
    proof.check(
        "new clients are served when there are some again", recovered and None not in recovered,
        ", ".join(sorted(set(map(told, recovered)))))
    few(proof)


def few(proof):
    """Starts with so few that something has to fail: it serves, or says why it does not."""
    served, refused, wrong = [], [], []
    for count in range(8, 60, proof.size(1, 4)):
        daemon = proof.daemon(proof.path(f"few-{count}"), prefix=["prlimit", f"--nofile={count}:{count}"])
        try:
            daemon.start(timeout=5)
            with daemon.connect() as connection:
                # Either may be refused.
                connection.ask("settings.put", domain="d", key="k", value=count)
                connection.ask("secrets.put", service="s", account="a", secret="x")
            served.append(count)
        except (StartFailed, AssertionError, Gone):
            # It has ended with a reason; or it serves, and has none for another client, and says so.
            refused.append(count)
        end = daemon.stop()
        if end != 0 and (count in served or end not in (1, 2)):
            wrong.append(f"{count}: exit {end} {daemon.last_words()}")
        daemon.kill()
        # The same directory serves when there are enough.
        daemon.prefix = []
        try:
            daemon.start()
            if set_aside(daemon)[1]:
                wrong.append(f"{count}: set aside")
            daemon.call("secrets.put", service="s", account="b", secret="x")
            daemon.stop()
        except Exception as error:
            wrong.append(f"{count}, afterwards: {type(error).__name__} {error}")
        daemon.kill()
    proof.check(
        "starts with few descriptors", not wrong and served and refused,
        f"served with {min(served, default=0)} and more, refused with {max(refused, default=0)} and fewer, {len(wrong)} wrong",
        wrong)


# MARK: Read-only

def trigger(disk):
    """What is written there is an error to ext4."""
    return f"/sys/fs/ext4/{disk.device}/trigger_fs_error"


def break_it(disk):
    """Makes ext4 see an error, at which it turns read-only; returns whether it has."""
    Path(trigger(disk)).write_text("tried by scripts/prove")
    # The mount's own flag stays; a write tells.
    try:
        Path(disk.mount_point, "probe").touch()
    except OSError as error:
        return error.errno == errno.EROFS
    return False


def readonly(proof):
    """The file system becomes read-only under writers, as ext4 does after an error: nothing acknowledged is lost, and nobody
    waits for ever."""
    with proof.disk("ext4", options=["errors=remount-ro"]) as disk:
        if os.path.exists(trigger(disk)):
            readonly_rounds(proof, disk, proof.size(40, 3))
        else:
            proof.note(f"skipped: this kernel has no {trigger(disk)}")


def readonly_rounds(proof, disk, count):
    tally, daemon, crew = Tally(proof), proof.daemon(disk.data), proof.crew("readonly", 5, is_mixed=True)
    ends, kinds, seconds, still = collections.Counter(), collections.Counter(), [], 0
    for number in proof.rounds(count, "round"):
        daemon.kill()
        if number % 10 == 0:
            disk.format()
            crew.clear()
        daemon.start()
        with crew.writing(daemon):
            time.sleep(proof.random.uniform(0.02, 0.3))
            moment = time.monotonic()
            still += not break_it(disk)
            status = daemon.wait(20)
            if status is None:
                # It goes on for readers; it must refuse, and drain.
                crew.stop()
                ends[f"stopped {daemon.stop()}"] += 1
            else:
                seconds.append(time.monotonic() - moment)
                ends[f"exit {status}"] += 1
            daemon.kill()
        kinds += crew.errors()
        disk.unmount()
        # Its exit status is 1 when something was repaired.
        subprocess.run(["e2fsck", "-fy", disk.file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        disk.mount()
        tally.verify(daemon, crew)
    tally.check(f"{count} times read-only under writers of all stores", f"refused {dict(kinds)}")
    proof.check(
        "it was read-only, and the daemon ends by itself", not still and set(ends) == {"exit 1"},
        f"{dict(ends)}, at most {max(seconds, default=0) * 1000:.0f} ms later")
    # A start on it says so and touches nothing.
    daemon.kill()
    disk.unmount()
    disk.mount("ro")
    daemon.launch()
    status = daemon.settle()
    proof.check(
        "a start on a read-only file system is refused", status in (1, 2),
        "it serves" if status is None else daemon.last_words(1).strip()[:160])
    daemon.kill()
    disk.unmount()
    disk.mount()
    tally = Tally(proof)
    tally.counts["acknowledged"] = 1
    tally.verify(daemon, crew)
    tally.check("and everything is there when it can be written again")
