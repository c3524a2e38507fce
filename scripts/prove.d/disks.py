"""File systems that can lose power, and one that can be full."""

import os
import re
import shutil
import subprocess
import time
import uuid


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout.strip()}")
    return done.stdout.strip()


def unmount(path):
    """Unmounts `path`; the kernel may hold it a moment longer than the processes that used it."""
    for attempt in range(50):
        try:
            return run("umount", path)
        except RuntimeError:
            if attempt == 49:
                raise
            time.sleep(0.1)


class Image:
    """A file system in a file, mounted over a loop device, whose power can be cut.

    xfs_io's `shutdown` is XFS_IOC_GOINGDOWN (xfs) and EXT4_IOC_SHUTDOWN (ext4) with NOLOGFLUSH: from then on nothing
    reaches the device, neither dirty pages nor the journal in memory. After mounting again only that is there which
    had been written and synced before. The loop device itself loses nothing: a disk that lies about flushing is not
    shown by this.
    """

    SIZES = {"ext4": 256 << 20, "xfs": 320 << 20}
    MAKERS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}

    def __init__(self, work, kind):
        self.kind = kind
        self.file = os.path.join(work, f"{kind}.img")
        self.mount_point = os.path.join(work, kind)
        self.data = os.path.join(self.mount_point, "data")
        self.device = None
        self.is_mounted = False
        self.switch = None
        os.makedirs(self.mount_point, exist_ok=True)

    def format(self):
        """Makes the file system anew and mounts it."""
        self.destroy()
        with open(self.file, "wb") as file:
            file.truncate(self.SIZES[self.kind])
        run(*self.MAKERS[self.kind], self.file)
        self.device = run("losetup", "--find", "--show", self.file)
        self.mount()

    def mount(self):
        run("mount", "-t", self.kind, self.device, self.mount_point)
        self.is_mounted = True

    def prepare_cut(self):
        """Puts the switch in place, so that `cut` comes without the delay of starting a program."""
        self.switch = subprocess.Popen(
            ["xfs_io", "-x", self.mount_point], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def cut(self):
        """Cuts the power; returns the monotonic time just before. Processes that use the file system get EIO.

        Unlike after a real cut they live on, and may take a sync for done that was not: of 100 cuts under appending
        writers, ext4's fdatasync returned 0 in 14 for a journal commit that the cut had discarded. What is said after
        the time returned proves nothing, because after a real cut nobody would have said it.
        """
        if self.switch is None:
            self.prepare_cut()
        moment = time.monotonic()
        output = self.switch.communicate(b"shutdown\nquit\n")[0].decode()
        status, self.switch = self.switch.returncode, None
        if status != 0 or "cannot" in output or "Permission" in output:
            raise RuntimeError(f"xfs_io shutdown: {output}")
        return moment

    def remount(self):
        """Brings the file system back after a cut, as a boot would. Nobody may have a file open on it."""
        for attempt in range(100):
            self.unmount()
            self.mount()
            probe = os.path.join(self.mount_point, "mounted")
            try:
                # A dead one may still list what it has in memory.
                open(probe, "w").close()
                os.unlink(probe)
                self.rename_kernel()
                return
            except OSError:
                # Somebody else's mount namespace was made meanwhile and keeps the dead one; it was mounted once more.
                if attempt == 99:
                    raise
                time.sleep(0.1)

    def rename_kernel(self):
        """After a power cut another kernel runs, whose boot_id boot.json does not have."""
        path = os.path.join(self.data, "boot.json")
        if not os.path.exists(path):
            return
        with open(path, "r+b") as file:
            text = file.read()
            file.seek(0)
            file.write(re.sub(rb'"kernel":"[^"]{36}"', b'"kernel":"' + str(uuid.uuid4()).encode() + b'"', text))

    def unmount(self):
        if self.is_mounted:
            unmount(self.mount_point)
            self.is_mounted = False

    def destroy(self):
        if self.switch:
            self.switch.communicate(b"quit\n")
            self.switch = None
        self.unmount()
        if self.device:
            run("losetup", "-d", self.device)
            self.device = None
        if os.path.exists(self.file):
            os.unlink(self.file)

    def proves_itself(self):
        """Whether a cut keeps what was synced and drops what was not, tried on a file of its own."""
        self.format()
        try:
            path = os.path.join(self.mount_point, "probe")
            synced, unsynced = b"s" * 65536, b"u" * 65536
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
            os.pwrite(descriptor, synced * 2, 0)
            os.fsync(descriptor)
            directory = os.open(self.mount_point, os.O_RDONLY)
            os.fsync(directory)
            os.close(directory)
            os.pwrite(descriptor, unsynced, 0)
            os.close(descriptor)
            self.cut()
            self.remount()
            with open(path, "rb") as file:
                return file.read() == synced * 2
        finally:
            self.destroy()


class SmallDisk:
    """A tmpfs of a few MiB with a ballast file beside the data directory."""

    def __init__(self, work, megabytes):
        self.mount_point = os.path.join(work, "small")
        self.data = os.path.join(self.mount_point, "data")
        self.ballast = os.path.join(self.mount_point, "ballast-of-the-proof")
        os.makedirs(self.mount_point, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", self.mount_point)

    @property
    def free(self):
        """Bytes."""
        facts = os.statvfs(self.mount_point)
        return facts.f_bavail * facts.f_frsize

    def fill(self, leave):
        """Takes all space but `leave` bytes."""
        descriptor = os.open(self.ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            while (left := self.free - leave) > 0:
                if os.write(descriptor, bytes(min(left, 1 << 20))) == 0:
                    break
        except OSError:
            pass  # Full is what was wanted.
        finally:
            os.close(descriptor)

    def clear(self):
        self.release()
        shutil.rmtree(self.data)

    def release(self):
        if os.path.exists(self.ballast):
            os.unlink(self.ballast)

    def destroy(self):
        unmount(self.mount_point)
