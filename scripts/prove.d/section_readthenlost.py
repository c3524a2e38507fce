"""What a daemon has shown after kill -9 must survive a power cut: nothing is read and then lost.

Syncs are delayed so that the page cache holds commits that were never synced. The daemon started next finds them;
showing them without syncing them first would be a promise that a power cut breaks.
"""

import time

from daemon import StartFailed
from disks import Image
from verify import Outcome, verify

SLOW = "log.sync:sleep=200:1+"
# The control leaves out the recovery copy or, where there is no such switch, every sync of the recovering daemon.
CONTROLS = ["recover.copy:skip:1+", "log.sync:skip:1+,vfs.sync:skip:1+"]


class Shown:
    """What one series of rounds showed and lost."""

    def __init__(self):
        self.rounds = self.exposed = self.with_loss = self.beyond = self.failed_starts = 0
        self.first = Outcome()
        self.second = Outcome()
        self.revisions_lost = 0

    def __str__(self):
        text = f"lost in {self.with_loss} of {self.rounds} rounds"
        text += f" ({self.exposed} showed unacknowledged writes, {self.beyond} in all)"
        text += f", {self.second}"
        if self.failed_starts:
            text += f", {self.failed_starts} failed starts"
        return text


def revision(daemon):
    with daemon.connect() as connection:
        return connection.call("storage.status")["rev"]


def one_round(proof, image, daemon, crew, shown, recovery_faults):
    daemon.start(SLOW)
    crew.start(daemon)
    crew.wait_until_busy(everybody=False)
    time.sleep(proof.random.uniform(0.1, 0.5))
    daemon.kill()
    crew.finish()
    shown.rounds += 1
    try:
        daemon.start(recovery_faults)
        first = verify(daemon, crew.models)
        shown.first.add(first)
        shown.exposed += first.beyond > 0
        shown.beyond += first.beyond
        rev = revision(daemon)
        image.cut()
        daemon.kill()
        image.remount()
        daemon.start()
        second = verify(daemon, crew.models)
        went_back = revision(daemon) < rev
        shown.second.add(second)
        shown.revisions_lost += went_back
        shown.with_loss += not second.clean or went_back
        daemon.kill()
    except StartFailed as error:
        shown.failed_starts += 1
        if not recovery_faults:
            proof.report.note(f"{image.kind} round {shown.rounds}: {error}")
        daemon.kill()
        image.format()
        crew.clear()


def series(proof, image, count, recovery_faults=""):
    shown = Shown()
    crew = proof.crew(f"{image.kind}{recovery_faults}")
    daemon = proof.daemon(image.data)
    image.format()
    for number in range(count):
        proof.report.progress(f"{image.kind} {recovery_faults} round {number + 1} of {count}")
        one_round(proof, image, daemon, crew, shown, recovery_faults)
    daemon.kill()
    image.destroy()
    faults = crew.take_faults()
    if not recovery_faults:
        for remark in faults + shown.first.remarks + shown.second.remarks:
            proof.report.note(remark)
    return shown, faults


def known_control(proof):
    """The first control that the daemon understands."""
    daemon = proof.daemon(proof.directory("control"))
    for faults in CONTROLS:
        try:
            daemon.start(faults)
            daemon.kill()
            return faults
        except StartFailed:
            daemon.kill()
    return None


def run(proof):
    report = proof.report
    control = known_control(proof)
    for kind in ["ext4", "xfs"]:
        image = Image(proof.work, kind)
        count = 20 if proof.is_full else 3
        shown, faults = series(proof, image, count)
        clean = shown.first.clean and shown.second.clean and not (shown.revisions_lost or shown.failed_starts or faults)
        report.check(f"{kind}: what was read after kill -9 survives a power cut", clean, str(shown))
        report.check(
            f"{kind}: the rounds had unsynced writes to show", shown.exposed > 0, f"{shown.exposed} of {count}")
        if control is None:
            report.check(f"{kind}: control", False, "the daemon understands none of " + "; ".join(CONTROLS))
            continue
        count = 10 if proof.is_full else 3
        shown, _ = series(proof, image, count, control)
        report.check(f"{kind}: control ({control}) loses", shown.with_loss > 0, str(shown))
