"""The scripted run on disks that are full, each time at another place: tmpfs, ext4 on a loop device, no inodes left.

Before each run a file takes all room but a little, or files all inodes but a few. What was acknowledged is there, what was refused is not, reads go on,
and when the room is back the same daemon takes changes again.
"""

import os
import shutil
import subprocess
import time

from client import Gone, Refused
from daemon import StartFailed
from disks import Image, SmallDisk
from scripted import Account, Script


class SmallImage(Image):
    def __init__(self, work, megabytes, inodes=None):
        super().__init__(work, "ext4")
        self.SIZES = {"ext4": megabytes << 20}
        self.MAKERS = {"ext4": ["mkfs.ext4", "-q", "-F", "-m", "0", *(["-N", str(inodes)] if inodes else [])]}
        self.format()
        self.ballast = os.path.join(self.mount_point, "ballast-of-the-proof")

    free = SmallDisk.free
    fill = SmallDisk.fill
    release = SmallDisk.release


class Inodes:
    """Takes all inodes of a disk but some."""

    def __init__(self, disk):
        self.disk = disk
        self.place = os.path.join(disk.mount_point, "inodes-of-the-proof")

    def fill(self, leave):
        os.makedirs(self.place, exist_ok=True)
        at = len(os.listdir(self.place))
        try:
            while os.statvfs(self.disk.mount_point).f_ffree > leave:
                with open(os.path.join(self.place, str(at)), "x"):
                    at += 1
        except OSError:
            pass

    def release(self):
        shutil.rmtree(self.place, ignore_errors=True)


def writes_again(daemon, seconds=15.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with daemon.connect() as connection:
                connection.call("settings.put", domain="probe", key="p", value=time.monotonic_ns())
                return True
        except (Refused, Gone):
            time.sleep(0.02)
    return False


def one_run(daemon, filler, leave, found):
    """A new directory whose disk gets full in the midst of the script."""
    shutil.rmtree(daemon.data, ignore_errors=True)
    account, wrong = Account(), []
    ended = "start failed"
    filler.fill(leave)
    try:
        daemon.start()
        with daemon.connect() as connection:
            ended = account.perform(connection, Script(1))
            if ended == "through":
                # Nothing is lost to readers, full or not.
                wrong += account.judge(connection)
    except StartFailed as error:
        if daemon.process.poll() is None or daemon.process.returncode < 0:
            wrong.append(f"start: {error}")
    except Gone:
        ended = "gone"
    filler.release()
    if ended == "through":
        if not writes_again(daemon):
            wrong.append("takes no changes when there is room again")
    elif ended == "gone":
        wrong.append(f"the daemon ended: {daemon.wait(5)} {daemon.last_words()}")
    daemon.kill()
    try:
        daemon.start()
        with daemon.connect() as connection:
            wrong += account.judge(connection)
            aside = [notice["what"] for notice in connection.call("storage.status").get("recovered", [])]
            if "durable" in aside:
                wrong.append("tables and log were set aside")
        if daemon.stop() != 0:
            wrong.append(f"does not drain: {daemon.last_words()}")
    except Exception as error:
        wrong.append(f"afterwards: {type(error).__name__} {error}")
    daemon.kill()
    found["runs"] += 1
    found["acknowledged"] += account.acknowledged
    found["noSpace"] += sum(count for (_, kind), count in account.refused.items() if kind == "noSpace")
    found["other"].update(f"{method} {kind}" for method, kind in account.refused if kind != "noSpace")
    found["ends"][ended] = found["ends"].get(ended, 0) + 1
    return [f"with {leave} left: {text}" for text in wrong + account.faults]


def series(proof, title, daemon, filler, places):
    report = proof.report
    found = {"runs": 0, "acknowledged": 0, "noSpace": 0, "other": set(), "ends": {}}
    wrong = []
    for at, leave in enumerate(places):
        report.progress(f"{title}: {at + 1} of {len(places)}, {len(wrong)} wrong")
        wrong += one_run(daemon, filler, leave, found)
    for text in wrong[:6]:
        report.note(text)
    report.check(
        title, not wrong and found["noSpace"] > 0,
        f"{found['runs']} runs, {found['acknowledged']} acknowledged, {found['noSpace']} noSpace, {len(wrong)} wrong; "
        f"ends {found['ends']}; other refusals {sorted(found['other'])}")


def places(proof, most, count, unit):
    """Where it gets full: everywhere, at random places of each part."""
    return [int((at + proof.random.random()) * most / count) // unit * unit for at in range(count)]


def run(proof):
    count = 120 if proof.is_full else 5
    for title, make in (
        ("tmpfs of 20 MiB", lambda: SmallDisk(proof.work, 20)),
        ("ext4 of 32 MiB", lambda: SmallImage(proof.work, 32)),
    ):
        disk = make()
        daemon = proof.daemon(disk.data)
        daemon.environment = {"KURA_MIN_FREE_BYTES": "0"}
        try:
            series(proof, f"{title}, full", daemon, disk, places(proof, min(disk.free, 14 << 20), count, 4096))
        finally:
            proof.kill_all()
            disk.destroy()
    for title, make in (
        ("ext4 without inodes", lambda: SmallImage(proof.work, 64, 256)),
    ):
        disk = make()
        daemon = proof.daemon(disk.data)
        daemon.environment = {"KURA_MIN_FREE_BYTES": "0"}
        try:
            series(proof, title, daemon, Inodes(disk), list(range(0, 48, 1 if proof.is_full else 9)))
        finally:
            proof.kill_all()
            disk.destroy()
