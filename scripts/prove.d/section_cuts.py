"""Power cuts under writers of all stores: settings, documents, secrets, attachments, transactions over three of them, and blobs.

The controls are the same without a sync: none of the process's (`strike.c`), and none of the log's.
"""

import os
import time

from disks import Image
from mixed import MixedModel
from proof import Tally
from section_calls import compile_striker

KINDS = ["ext4", "xfs"]
CUTS = {"full": 500, "quick": 3}
CONTROLS = {"full": 20, "quick": 3}
# A new file system now and then, so that first starts are cut too; in between, recovered directories are cut again.
ROUNDS_PER_FORMAT = 10
WRITERS = 5


def one_cut(proof, daemon, image, crew):
    """Returns how many replies came after the cut had begun; nobody would have got them."""
    image.prepare_cut()
    crew.start(daemon)
    crew.wait_until_busy(everybody=False)
    time.sleep(proof.random.uniform(0.02, 0.3))
    moment = image.cut()
    daemon.kill()
    crew.finish()
    image.remount()
    return crew.take_back(moment)


def rounds(proof, image, count, tally, name, arm):
    """`arm` makes the daemon what it is to be in the rounds; it is itself again when it is asked what it has."""
    crew = proof.crew(f"{image.kind}{name}", WRITERS, MixedModel)
    daemon = proof.daemon(image.data)
    for number in range(count):
        proof.report.progress(
            f"{image.kind}{name}: cut {number + 1} of {count}, lost in {tally.rounds_with_loss}, {tally.failed_starts} failed starts")
        if number and number % 50 == 0:
            proof.report.note(
                f"{image.kind}{name}: {number} of {count} cuts, {tally.acknowledged} acknowledged, {tally.outcome}")
        if number % ROUNDS_PER_FORMAT == 0:
            daemon.kill()
            image.format()
            crew.clear()
            faults = arm(daemon, True)
            daemon.start(faults)
        elif number == 0 or name:
            daemon.kill()
            faults = arm(daemon, True)
            daemon.start(faults)
        tally.late += one_cut(proof, daemon, image, crew)
        arm(daemon, False)
        if not tally.verify(daemon, crew):
            image.format()
            crew.clear()
            arm(daemon, True)
            daemon.start(faults)
    daemon.kill()
    image.destroy()
    return crew


def run(proof):
    report = proof.report
    library = compile_striker(proof.work)
    size = "full" if proof.is_full else "quick"
    cuts = int(os.environ.get("CUTS") or CUTS[size])
    controls = int(os.environ.get("CONTROLS") or CONTROLS[size])

    def nothing(daemon, on):
        return ""

    def without_syncs(daemon, on):
        daemon.environment = {"LD_PRELOAD": library, "STRIKE": "s:skip:1+", "STRIKE_ROOT": daemon.data} if on else {}
        return ""

    def without_log_syncs(daemon, on):
        return "log.sync:skip:1+"

    for kind in os.environ.get("KINDS", "").split() or KINDS:
        image = Image(proof.work, kind)
        report.check(f"{kind}: a cut keeps the synced and drops the unsynced", image.proves_itself())
        tally = Tally(report)
        crew = rounds(proof, image, cuts, tally, "", nothing)
        counts = {}
        for model in crew.models:
            for name, value in model.counts.items():
                counts[name] = counts.get(name, 0) + value
        tally.check(
            f"{kind}: {cuts} power cuts under writers of all stores",
            f"{tally.unanswered} unanswered at the cuts, {tally.late} of them answered too late; {counts}")
        for name, arm in () if controls == 0 else ((" no syncs", without_syncs), (" no log syncs", without_log_syncs)):
            control = Tally(report)
            rounds(proof, image, controls, control, name, arm)
            # Here loss is what is asked for; that the daemon starts is not.
            report.check(
                f"{kind}: control,{name}, loses", control.rounds_with_loss + control.failed_starts > 0,
                f"lost in {control.rounds_with_loss} of {control.rounds} cuts, {control.outcome.lost} items, "
                f"{control.failed_starts} failed starts")
