"""Low storage: another process fills the disk; caches stop storing, are purged, and come back; what must last goes on."""

import os
import subprocess
import sys
import time

from client import Refused
from disks import Image, SmallDisk

MEGABYTES = 96
VALUE = "v" * 4000

FILLER = """
import os, sys
path, leave = sys.argv[1], int(sys.argv[2])
with open(path, "ab", buffering=0) as file:
    while True:
        facts = os.statvfs(path)
        left = facts.f_bavail * facts.f_frsize - leave
        if left <= 0: break
        try: file.write(bytes(min(left, 1 << 20)))
        except OSError: break
"""


class SmallImage(Image):
    """The same place in an ext4 of its own, with what `SmallDisk` offers."""

    SIZES = {"ext4": MEGABYTES << 20}

    def __init__(self, work):
        super().__init__(work, "ext4")
        self.format()
        self.ballast = os.path.join(self.mount_point, "ballast-of-the-proof")

    free = SmallDisk.free
    release = SmallDisk.release


def fill(disk, leave):
    """Another process takes all but `leave` bytes."""
    subprocess.run([sys.executable, "-c", FILLER, disk.ballast, str(leave)], check=True)


def wait(connection, holds, seconds=8.0):
    """Seconds until `holds` is true of storage.status; None when it never is."""
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        status = connection.call("storage.status")
        if holds(status):
            return time.monotonic() - begun
        time.sleep(0.02)
    return None


def put(connection, number):
    return connection.call("models.put", namespace="feed", key=f"k{number}", value=f"{number}{VALUE}")


def one_disk(proof, name, disk):
    report = proof.report
    daemon = proof.daemon(disk.data)
    daemon.start()
    with daemon.connect() as connection:
        connection.call("models.configure", namespace="memory", persist=False)
        stored = sum(put(connection, number)["stored"] for number in range(2000))
        report.check(f"{name}: entries are stored while there is room", stored == 2000, f"{stored} of 2000")
        space = connection.call("storage.status")["space"]
        fill(disk, leave=space["minFree"] // 2)
        low = wait(connection, lambda status: status["space"]["low"])
        # What wakes the daemon is the next request; nobody has to wait for its own look.
        report.check(f"{name}: another process fills the disk, and it is noticed", low is not None,
                     f"after {low:.2f} s" if low is not None else "never")
        result = put(connection, 9999)
        report.check(f"{name}: nothing is stored then", result == {"stored": False, "reason": "lowStorage"}, str(result))
        memory = connection.call("models.put", namespace="memory", key="k", value=1)
        report.check(f"{name}: what is in memory only goes on", memory["stored"], str(memory))
        refused = 0
        for number in range(200):
            try:
                connection.call("settings.put", domain="d", key=f"k{number}", value=number)
                connection.call("documents.put", collection="c", id=f"d{number}", value={"n": number})
            except Refused:
                refused += 1
        report.check(f"{name}: settings and documents go on", refused == 0, f"{refused} of 400 refused")
        purged = wait(connection, lambda status: not status["space"]["low"] or status["models"]["count"] == 0)
        after = connection.call("storage.status")
        report.check(
            f"{name}: caches give up what they have until there is room", purged is not None,
            f"{after['models']['count']} entries left, {after['space']['free']} bytes free, {after['space']['purgedBytes']} given up")
        # Whatever they gave up, the other process takes as well.
        fill(disk, leave=0)
        again = wait(connection, lambda status: status["space"]["low"])
        report.check(f"{name}: with not a byte left", again is not None and not put(connection, 9998)["stored"])
        disk.release()
        fine = wait(connection, lambda status: not status["space"]["low"])
        report.check(f"{name}: back to normal by itself", fine is not None, f"after {fine:.2f} s" if fine is not None else "never")
        result = put(connection, 10000)
        report.check(f"{name}: and caches store again", result["stored"], str(result))
    time.sleep(0.5)
    daemon.kill()
    daemon.start()
    with daemon.connect() as connection:
        found = connection.call("models.get", namespace="feed", key="k10000")
        report.check(f"{name}: what was stored then is there after a kill", found["state"] != "miss", found["state"])
        count = connection.call("settings.count", domain="d")["count"]
        report.check(f"{name}: and so is all that must last", count == 200, f"{count} of 200")
    daemon.stop()


def run(proof):
    for name, make in (("tmpfs", lambda: SmallDisk(proof.work, MEGABYTES)), ("ext4", lambda: SmallImage(proof.work))):
        disk = make()
        try:
            one_disk(proof, name, disk)
        finally:
            proof.kill_all()
            disk.destroy()
