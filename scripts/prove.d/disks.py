"""File systems of our own that can lose power, and be full."""

import contextlib
import fcntl
import os
import re
import shutil
import struct
import subprocess
import time
import uuid
from pathlib import Path

# The same number is XFS_IOC_GOINGDOWN and EXT4_IOC_SHUTDOWN, and the same flag is theirs.
GOING_DOWN = 0x8004587D
WITHOUT_LOG_FLUSH = 2


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout.strip()}")
    return done.stdout.strip()


def persistently(step, failure):
    """What `step` returns, tried again for ten seconds while it raises `failure`."""
    for _ in range(100):
        with contextlib.suppress(failure):
            return step()
        time.sleep(0.1)
    return step()


class Disk:
    """A tmpfs, or an ext4 or xfs in a file, mounted over a loop device.

    Its power can be cut: from then on nothing reaches the device, neither dirty pages nor the journal in memory. After
    mounting again only that is there which had been written and synced before. The loop device itself loses nothing: a disk
    that lies about flushing is not shown by this.
    """

    def __init__(self, work, kind, megabytes=None, make=(), options=()):
        """`make` are words of mkfs's command line, `options` those of mount's."""
        self.kind = kind
        self.megabytes = megabytes or {"ext4": 256, "xfs": 320}[kind]
        self.file = os.path.join(work, f"{kind}.img")
        self.make = [f"mkfs.{kind}", "-q", "-F" if kind == "ext4" else "-f", *make]
        self.options = list(options)
        self.mount_point = os.path.join(work, kind)
        self.data = os.path.join(self.mount_point, "data")
        self.ballast = os.path.join(self.mount_point, "ballast-of-the-proof")
        self.is_mounted = False
        os.makedirs(self.mount_point, exist_ok=True)
        self.format()

    def format(self):
        """Makes the file system anew and mounts it."""
        self.destroy()
        if self.kind != "tmpfs":
            with open(self.file, "wb") as file:
                file.truncate(self.megabytes << 20)
            run(*self.make, self.file)
        self.mount()

    def mount(self, *options):
        if self.kind == "tmpfs":
            run("mount", "-t", "tmpfs", "-o", f"size={self.megabytes}m,mode=0700", "tmpfs", self.mount_point)
        else:
            run("mount", "-t", self.kind, "-o", ",".join(["loop", *self.options, *options]), self.file, self.mount_point)
        self.is_mounted = True

    @property
    def device(self):
        """The name of its loop device, which has another one after each mount."""
        return os.path.basename(run("findmnt", "--noheadings", "--output", "SOURCE", self.mount_point))

    def unmount(self):
        """The kernel may hold it a moment longer than the processes that used it."""
        if self.is_mounted:
            persistently(lambda: run("umount", self.mount_point), RuntimeError)
        self.is_mounted = False

    def destroy(self):
        self.unmount()
        Path(self.file).unlink(missing_ok=True)

    # MARK: Power

    def cut(self):
        """Cuts the power; returns the monotonic time just before. Processes that use the file system get EIO.

        Unlike after a real cut they live on, and may take a sync for done that was not: of 100 cuts under appending
        writers, ext4's fdatasync returned 0 in 14 for a journal commit that the cut had discarded. What is said after
        the time returned proves nothing, because after a real cut nobody would have said it.
        """
        place = os.open(self.mount_point, os.O_RDONLY)
        moment = time.monotonic()
        try:
            fcntl.ioctl(place, GOING_DOWN, struct.pack("I", WITHOUT_LOG_FLUSH))
        finally:
            os.close(place)
        return moment

    def remount(self):
        """Brings the file system back after a cut, as a boot would. Nobody may have a file open on it."""
        # Somebody else's mount namespace, made meanwhile, may keep the dead one, which is then mounted once more.
        persistently(self.mount_alive, OSError)
        self.rename_kernel()

    def mount_alive(self):
        self.unmount()
        self.mount()
        # A dead one may still list what it has in memory.
        probe = Path(self.mount_point, "mounted")
        probe.touch()
        probe.unlink()

    def rename_kernel(self):
        """After a power cut another kernel runs, whose boot_id boot.json does not have."""
        boot = Path(self.data, "boot.json")
        if boot.exists():
            text = re.sub(rb',"check":\d+', b"", boot.read_bytes())
            boot.write_bytes(re.sub(rb'"kernel":"[^"]{36}"', b'"kernel":"%s"' % str(uuid.uuid4()).encode(), text))

    def proves_itself(self):
        """Whether a cut keeps what was synced and drops what was not, tried on a file of its own."""
        path, synced, unsynced = Path(self.mount_point, "probe"), b"s" * 131072, b"u" * 65536
        path.write_bytes(synced)
        run("sync", path, self.mount_point)
        with open(path, "r+b") as file:
            file.write(unsynced)
        self.cut()
        self.remount()
        return path.read_bytes() == synced

    # MARK: Room

    @property
    def free(self):
        """Bytes."""
        facts = os.statvfs(self.mount_point)
        return facts.f_bavail * facts.f_frsize

    def fill(self, leave):
        """Takes all room but `leave` bytes, with a file beside the data directory."""
        # Full is what is wanted.
        with contextlib.suppress(OSError), open(self.ballast, "ab", buffering=0) as file:
            while (left := self.free - leave) > 0:
                file.write(bytes(min(left, 1 << 20)))

    def fill_inodes(self, leave):
        """Takes all inodes but `leave`."""
        os.makedirs(self.ballast, exist_ok=True)
        with contextlib.suppress(OSError):
            while os.statvfs(self.mount_point).f_ffree > leave:
                Path(self.ballast, str(time.monotonic_ns())).touch()

    def release(self):
        """Gives back what was taken."""
        if os.path.isdir(self.ballast):
            shutil.rmtree(self.ballast)
        else:
            Path(self.ballast).unlink(missing_ok=True)

    def clear(self):
        self.release()
        shutil.rmtree(self.data)
