"""Power cuts on file systems of our own, ext4 and xfs. Each series has a control that must lose."""

import collections
import contextlib
import itertools
import os
import time

import rooms
from calls import striker
from client import Gone, Refused
from crew import Child
from daemon import StartFailed
from proof import Tally
from verify import Outcome, verify

KINDS = (os.environ.get("KINDS") or "ext4 xfs").split()
# Environment variables and fault points of a daemon.
UNHARMED = {}, ""
WITHOUT_LOG_SYNCS = {}, "log.sync:skip:1+"

# A series of cuts. `busy` writers have had a reply, and `seconds` pass, before the power goes; a new file system now and
# then has first starts cut too: in between, recovered directories are cut again.
Series = collections.namedtuple("Series", "crew busy seconds rounds_per_format title")


def cut_rounds(proof, disk, count, series, label, armed):
    """Cuts the power under writers again and again; returns (tally, crew)."""
    tally, crew, daemon = Tally(proof), proof.crew(disk.kind + label, **series.crew), proof.daemon(disk.data)
    started = False
    for number in proof.rounds(count, f"{disk.kind}{label} cut"):
        is_new = number % series.rounds_per_format == 0 or not started
        if is_new or armed != UNHARMED:
            # The verifying daemon was one that syncs.
            daemon.kill()
            if is_new:
                disk.format()
                crew.clear()
            daemon.environment, faults = armed
            daemon.start(faults)
            daemon.environment = {}
        with crew.writing(daemon, busy=series.busy):
            time.sleep(proof.random.uniform(*series.seconds))
            moment = disk.cut()
            daemon.kill()
        disk.remount()
        # Nobody would have got the replies that came after the cut had begun.
        tally.counts["late"] += crew.take_back(moment)
        started = tally.verify(daemon, crew)
    daemon.kill()
    return tally, crew


def cut_series(proof, series, count, control_count, controls):
    """`controls` are pairs of a label and what such a daemon is armed with."""
    for kind in KINDS:
        with proof.disk(kind) as disk:
            proof.check(f"{kind}: a cut keeps the synced and drops the unsynced", disk.proves_itself())
            tally, crew = cut_rounds(proof, disk, count, series, "", UNHARMED)
            blobs = sum((model.counts for model in crew.models), collections.Counter())
            tally.check(
                f"{kind}: {count} power cuts {series.title}",
                f"{tally.counts['unanswered']} unanswered at the cuts, {tally.counts['late']} of them answered too late"
                + (f"; {dict(blobs)}" if blobs else ""))
            for label, armed in controls if control_count else ():
                found = cut_rounds(proof, disk, control_count, series, label, armed)[0].counts
                # Here loss is what is asked for; that the daemon starts is not.
                proof.check(
                    f"{kind}: control,{label}, loses", found["rounds with loss"] + found["failed starts"] > 0,
                    f"lost in {found['rounds with loss']} of {found['rounds']} cuts, {found['lost']} items, "
                    f"{found['failed starts']} failed starts")


def powercut(proof):
    """Power cuts under load: what was acknowledged must be there after the file system has come back."""
    series = Series({}, None, (0.05, 0.4), 5, "lose nothing")
    cut_series(proof, series, proof.size(50, 3), proof.size(10, 3), [(" without log syncs", WITHOUT_LOG_SYNCS)])


def cuts(proof):
    """Under writers of all stores: settings, documents, secrets, attachments, transactions over three of them, and blobs."""
    without_syncs = {"LD_PRELOAD": striker(proof), "STRIKE": "s:skip:1+", "STRIKE_ROOT": proof.work}
    count = int(os.environ.get("CUTS") or proof.size(500, 3))
    control_count = int(os.environ.get("CONTROLS") or proof.size(20, 3))
    controls = [(" no syncs", (without_syncs, "")), (" no log syncs", WITHOUT_LOG_SYNCS)]
    series = Series({"writers": 5, "is_mixed": True}, 1, (0.02, 0.3), 10, "under writers of all stores")
    cut_series(proof, series, count, control_count, controls)


# MARK: What was shown

# Syncs are delayed so that the page cache holds commits that were never synced.
SLOW = "log.sync:sleep=200:1+"
# The control leaves out the recovery's copy, by which the next daemon syncs what it finds.
WITHOUT_COPY = "recover.copy:skip:1+"


def readthenlost(proof):
    """What a daemon has shown after kill -9 must survive a power cut: nothing is read and then lost.

    The daemon started next finds commits that were never synced; showing them without syncing them first would be a promise
    that a power cut breaks.
    """
    for kind in KINDS:
        with proof.disk(kind) as disk:
            count = proof.size(20, 3)
            found, remarks, text = shown_rounds(proof, disk, count, "")
            proof.check(
                f"{kind}: what was read after kill -9 survives a power cut", not found["lost"] and not remarks, text, remarks)
            proof.check(f"{kind}: the rounds had unsynced writes to show", found["exposed"], f"{found['exposed']} of {count}")
            disk.format()
            found, _, text = shown_rounds(proof, disk, proof.size(10, 3), WITHOUT_COPY)
            proof.check(f"{kind}: control ({WITHOUT_COPY}) loses", found["lost"], text)


def shown_rounds(proof, disk, count, recovery_faults):
    """Returns (counts of rounds, remarks, all of it in words)."""
    found, total, remarks = collections.Counter(), Outcome(), []
    crew, daemon = proof.crew(disk.kind + recovery_faults), proof.daemon(disk.data)
    for _ in proof.rounds(count, f"{disk.kind} {recovery_faults} round"):
        daemon.start(SLOW)
        with crew.writing(daemon, busy=1):
            time.sleep(proof.random.uniform(0.1, 0.5))
            daemon.kill()
        try:
            daemon.start(recovery_faults)
            first, rev = verify(daemon, crew.models), daemon.call("storage.status")["rev"]
            disk.cut()
            daemon.kill()
            disk.remount()
            daemon.start()
            second, went_back = verify(daemon, crew.models), daemon.call("storage.status")["rev"] < rev
            daemon.kill()
        except StartFailed as error:
            remarks.append(f"start failed: {error}")
            daemon.kill()
            disk.format()
            crew.clear()
            continue
        found["exposed"] += first.counts["beyond"] > 0
        found["beyond"] += first.counts["beyond"]
        found["lost"] += went_back or not second.clean
        remarks += first.remarks + second.remarks
        total.add(second)
    text = (
        f"lost in {found['lost']} of {count} rounds ({found['exposed']} showed unacknowledged writes, "
        f"{found['beyond']} in all), {total}")
    return found, remarks + [text for model in crew.models for _, text in model.faults], text


# MARK: Relaxed durability

FLUSH_SECONDS = 1
# What the flush itself, and a crowded machine, may take beyond that.
SLACK_SECONDS = 1.0


def count_up(daemon, domain, first, pause):
    """Writes 1, 2, 3 … to one key, one request at a time, from `first` on until the daemon is gone.

    Returns every acknowledgement, as moment, value and result.
    """
    acknowledged = []
    with contextlib.suppress(Gone, Refused, TimeoutError), daemon.connect() as connection:
        for value in itertools.count(first):
            result = connection.call("settings.put", domain=domain, key="n", value=value)
            acknowledged.append((time.monotonic(), value, result))
            time.sleep(pause)
    return acknowledged


def newest(acknowledged, moment):
    """The last value that was acknowledged before `moment`; 0 when there was none."""
    return max((value for at, value, _ in acknowledged if at < moment), default=0)


def relaxed(proof):
    """A relaxed domain loses its last seconds at most, its neighbours nothing."""
    for kind in KINDS:
        with proof.disk(kind) as disk:
            relaxed_cuts(proof, disk, proof.size(15, 2))


def relaxed_cuts(proof, disk, count):
    daemon = proof.daemon(disk.data).start()
    daemon.call("settings.configure", domain="loose", durability="relaxed", flushSeconds=FLUSH_SECONDS)
    # Cuts in which something was so, and all acknowledgements.
    found, loose, tight = collections.Counter(), 0, 0
    for _ in proof.rounds(count, f"{disk.kind} relaxed cut"):
        # A strict change takes the relaxed ones before it along: they come seldom, so that there is something to lose.
        counters = Child(count_up, daemon, "loose", loose + 1, 0.001), Child(count_up, daemon, "tight", tight + 1, 0.7)
        time.sleep(proof.random.uniform(FLUSH_SECONDS + 1, FLUSH_SECONDS + 3))
        moment = disk.cut()
        daemon.kill()
        relaxed, strict = (counter.result() for counter in counters)
        disk.remount()
        daemon.start()
        kept_loose = max(loose, newest(relaxed, moment - FLUSH_SECONDS - SLACK_SECONDS))
        kept_tight = max(tight, newest(strict, moment))
        with daemon.connect() as connection:
            loose, tight = (rooms.read(connection, ("s", domain, "n")) or 0 for domain in ("loose", "tight"))
        rev = daemon.call("storage.status")["rev"]
        found["acknowledged"] += len(relaxed + strict)
        found["tight lost"] += tight < kept_tight
        found["loose lost"] += loose < newest(relaxed, moment)
        found["too much"] += loose < kept_loose
        found["reused"] += rev < max(result["rev"] for _, _, result in relaxed + strict)
        words = [{result.get("durable", True) for _, _, result in replies} for replies in (relaxed, strict)]
        found["wrong words"] += False not in words[0] or words[1] != {True}
    for name, passed, detail in (
        (f"{count} power cuts: strict changes beside relaxed ones are kept", not found["tight lost"],
         f"{found['acknowledged']} acknowledged of both kinds, strict lost in {found['tight lost']} cuts"),
        (f"relaxed changes lose {FLUSH_SECONDS} s at most", not found["too much"],
         f"more lost in {found['too much']} cuts; control: something was lost in {found['loose lost']} of {count}"),
        ("control: relaxed changes can be lost", found["loose lost"], ""),
        ("no revision that a client has seen comes again", not found["reused"], f"in {found['reused']} cuts"),
        ("replies say what is not durable yet", not found["wrong words"], f"wrong in {found['wrong words']} rounds"),
    ):
        proof.check(f"{disk.kind}: {name}", passed, detail)
