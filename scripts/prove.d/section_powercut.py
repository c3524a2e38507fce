"""Power cuts under load: what was acknowledged must be there after the file system has come back."""

import time

from disks import Image
from proof import Tally

KINDS = ["ext4", "xfs"]
# A new file system now and then, so that first starts are cut too; in between, recovered directories are cut again.
ROUNDS_PER_FORMAT = 5


def cut_under_load(proof, daemon, image, crew):
    """Starts the writers, cuts the power at a random moment, ends the daemon, and brings the file system back.

    Returns how many replies came after the cut had begun; nobody would have got them, so they count as unanswered.
    """
    image.prepare_cut()
    crew.start(daemon)
    crew.wait_until_busy()
    time.sleep(proof.random.uniform(0.05, 0.4))
    moment = image.cut()
    daemon.kill()
    crew.finish()
    image.remount()
    return crew.take_back(moment)


def rounds(proof, image, count, tally, faults=""):
    crew = proof.crew(f"{image.kind}{faults}")
    daemon = proof.daemon(image.data)
    for number in range(count):
        proof.report.progress(f"{image.kind} {faults} cut {number + 1} of {count}")
        if number % ROUNDS_PER_FORMAT == 0:
            daemon.kill()
            image.format()
            crew.clear()
            daemon.start(faults)
        elif faults:
            # The verifying daemon was one that syncs.
            daemon.kill()
            daemon.start(faults)
        tally.late += cut_under_load(proof, daemon, image, crew)
        if not tally.verify(daemon, crew):
            image.format()
            crew.clear()
            daemon.start(faults)
    daemon.kill()
    image.destroy()


def run(proof):
    report = proof.report
    for kind in KINDS:
        image = Image(proof.work, kind)
        report.check(f"{kind}: a cut keeps the synced and drops the unsynced", image.proves_itself())
        tally = Tally(report)
        count = 50 if proof.is_full else 3
        rounds(proof, image, count, tally)
        tally.check(
            f"{kind}: {count} power cuts lose nothing",
            f"{tally.unanswered} unanswered at the cuts, {tally.late} of them answered too late")

        control = Tally(report)
        count = 10 if proof.is_full else 3
        rounds(proof, image, count, control, "log.sync:skip:1+")
        # Here loss is what is asked for; that the daemon starts is not.
        report.check(
            f"{kind}: control without log syncs loses", control.rounds_with_loss > 0,
            f"lost in {control.rounds_with_loss} of {control.rounds} cuts, {control.outcome.lost} keys, "
            f"{control.failed_starts} failed starts")
