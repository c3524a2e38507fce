"""The write bill against the disk's own count: what the daemon says that it has written, and what the loop device under its file system was given."""

import base64
import os
import random
import time

from disks import Image, run as command

# How far the two may be apart.
PART = 0.05
SECTOR = 512


class Disk(Image):
    """ext4 that has everything of its own written before it is used; `lazy` tables would be counted as somebody's."""

    MAKERS = {"ext4": ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]}
    SIZES = {"ext4": 1 << 30}

    @property
    def written(self):
        """Bytes that the device was given since it is there, once the kernel has nothing left to write."""
        command("sync", "-f", self.mount_point)
        with open(f"/sys/block/{os.path.basename(self.device)}/stat") as stat:
            return int(stat.read().split()[6]) * SECTOR


def told(connection):
    """Bytes on the bill, by kind of file, once everything is folded."""
    while True:
        status = connection.call("storage.status")
        if status["foldedRev"] == status["rev"] and not status["overlay"]["items"] and not status["disk"]["unwritten"]:
            break
        time.sleep(0.02)
    answer = connection.call("storage.diskWrites", window="month")
    return answer["totals"]["bytes"], answer["totals"]["blockBytes"]


def documents(connection, random_):
    """Large commits: the log, the fold's WAL and checkpoints."""
    for round_ in range(12):
        connection.call(
            "documents.putMany", collection="c",
            documents=[{"id": str(at), "value": random_.randbytes(1000).hex()} for at in range(1000)])


def blobs(connection, random_):
    """Contents as files."""
    for number in range(24):
        content = base64.b64encode(random_.randbytes(1 << 20)).decode()
        connection.call("blobs.put", namespace="n", key=str(number), data=content)


def settings(connection, random_):
    """Commits of one change each: less than a page, and each of them a sync."""
    for number in range(2000):
        connection.call("settings.put", domain="d", key=f"k{number % 50}", value=random_.randbytes(30).hex())


def run(proof):
    report = proof.report
    disk = Disk(proof.work, "ext4")
    try:
        disk.format()
        daemon = proof.daemon(disk.data, profile="default")
        daemon.start()
        with daemon.connect(timeout=120.0) as connection:
            for name, write in [
                ("documents in large commits", documents), ("blobs of a mebibyte", blobs), ("settings one by one", settings),
            ]:
                time.sleep(2)
                before = *told(connection), disk.written
                write(connection, random.Random(proof.seed))
                bytes_, blocks, device = (now - then for now, then in zip((*told(connection), disk.written), before))
                # Whole blocks: one in which a sync ends and the next commit begins is given twice.
                whole = bytes_ + blocks
                report.check(
                    f"the bill is the device's count within 5 %, {name}", abs(whole - device) <= PART * device,
                    f"told {bytes_:,} and {blocks:,} for whole blocks, device {device:,} bytes: {bytes_ / device:.3f}, {whole / device:.3f}")
        report.check("the daemon stops in order", daemon.stop() == 0)
    finally:
        proof.kill_all()
        disk.destroy()
