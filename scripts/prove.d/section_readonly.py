"""The file system becomes read-only under writers, as ext4 does after an error: nothing acknowledged is lost, and nobody waits for ever."""

import errno
import os
import time

from disks import Image, run as shell
from mixed import MixedModel
from proof import Tally


class Fragile(Image):
    """ext4 that goes read-only at its first error, and is made to see one."""

    def mount(self):
        shell("mount", "-t", "ext4", "-o", "errors=remount-ro", self.device, self.mount_point)
        self.is_mounted = True

    @property
    def trigger(self):
        return f"/sys/fs/ext4/{os.path.basename(self.device)}/trigger_fs_error"

    def break_it(self):
        moment = time.monotonic()
        with open(self.trigger, "w") as file:
            file.write("tried by scripts/prove")
        return moment

    @property
    def is_read_only(self):
        # The mount's own flag stays; a write tells.
        try:
            os.mkdir(os.path.join(self.mount_point, "probe"))
        except OSError as error:
            return error.errno == errno.EROFS
        os.rmdir(os.path.join(self.mount_point, "probe"))
        return False

    def repair(self):
        self.unmount()
        # 1: something was repaired.
        os.system(f"e2fsck -fy {self.device} >/dev/null 2>&1")
        self.mount()


def run(proof):
    report = proof.report
    image = Fragile(proof.work, "ext4")
    image.format()
    if not os.path.exists(image.trigger):
        report.note(f"skipped: this kernel has no {image.trigger}")
        image.destroy()
        return
    tally = Tally(report)
    crew = proof.crew("readonly", 5, MixedModel)
    daemon = proof.daemon(image.data)
    count = 40 if proof.is_full else 3
    ends, kinds, seconds, still = {}, {}, [], 0
    for number in range(count):
        report.progress(f"round {number + 1} of {count}")
        if number % 10 == 0:
            daemon.kill()
            image.format()
            crew.clear()
        daemon.kill()
        daemon.start()
        crew.start(daemon)
        crew.wait_until_busy()
        time.sleep(proof.random.uniform(0.02, 0.3))
        moment = image.break_it()
        still += not image.is_read_only
        status = daemon.wait(20)
        if status is None:
            # It goes on for readers; it must refuse, and drain.
            crew.flags[0] = 1
            status = daemon.stop(30)
            ends["stopped " + str(status)] = ends.get("stopped " + str(status), 0) + 1
        else:
            seconds.append(time.monotonic() - moment)
            ends["exit " + str(status)] = ends.get("exit " + str(status), 0) + 1
        daemon.kill()
        crew.finish()
        for kind, times in crew.errors().items():
            kinds[kind] = kinds.get(kind, 0) + times
        image.repair()
        tally.verify(daemon, crew)
    tally.check(f"{count} times read-only under writers of all stores", f"refused {kinds}")
    report.check(
        "it was read-only, and the daemon ends by itself", not still and set(ends) == {"exit 1"},
        f"{ends}, at most {max(seconds, default=0) * 1000:.0f} ms later")
    # A start on it says so and touches nothing.
    daemon.kill()
    image.unmount()
    shell("mount", "-t", "ext4", "-o", "ro", image.device, image.mount_point)
    image.is_mounted = True
    try:
        daemon.start()
        report.check("a start on a read-only file system is refused", False, "it serves")
    except Exception as error:
        status = daemon.process.poll()
        report.check("a start on a read-only file system is refused", status in (1, 2), f"{str(error).splitlines()[-1][:160]}")
    daemon.kill()
    image.unmount()
    image.mount()
    tally = Tally(report)
    tally.acknowledged = 1
    tally.verify(daemon, crew)
    tally.check("and everything is there when it can be written again")
    daemon.kill()
    image.destroy()
