"""Power cuts under relaxed durability: a relaxed domain loses its last seconds at most, its neighbours nothing."""

import threading
import time

from client import Gone, Refused
from disks import Image

FLUSH_SECONDS = 1
# What the flush itself, and a crowded machine, may take beyond that.
SLACK_SECONDS = 1.0
KINDS = ["ext4", "xfs"]


class Counter(threading.Thread):
    """Writes 1, 2, 3 … to one key, one request at a time, until the daemon is gone; keeps every acknowledgement."""

    def __init__(self, daemon, domain, first, pause):
        super().__init__(daemon=True)
        self.connection = daemon.connect()
        self.domain = domain
        self.next = first
        self.pause = pause
        self.acknowledged = []
        self.says_durable = set()

    def run(self):
        try:
            while True:
                result = self.connection.call("settings.put", domain=self.domain, key="n", value=self.next)
                self.acknowledged.append((time.monotonic(), self.next, result["rev"]))
                self.says_durable.add(result.get("durable", True))
                self.next += 1
                time.sleep(self.pause)
        except (Gone, Refused, TimeoutError):
            self.connection.close()

    def newest(self, moment):
        """The last value that was acknowledged before `moment`; 0 when there was none."""
        return max((value for at, value, _ in self.acknowledged if at < moment), default=0)


def read(daemon):
    with daemon.connect() as connection:
        loose, tight = connection.call_all(
            [("settings.get", {"domain": domain, "key": "n", "default": 0}) for domain in ("loose", "tight")])
        return loose["value"], tight["value"], connection.call("storage.status")["rev"]


def run(proof):
    count = 15 if proof.is_full else 2
    for kind in KINDS:
        image = Image(proof.work, kind)
        image.format()
        daemon = proof.daemon(image.data)
        daemon.start()
        with daemon.connect() as connection:
            connection.call("settings.configure", domain="loose", durability="relaxed", flushSeconds=FLUSH_SECONDS)
        tight_lost, loose_lost, too_much, reused, wrong_words = 0, 0, 0, 0, 0
        acknowledged, loose, tight = 0, 0, 0
        for number in range(count):
            proof.report.progress(f"{kind} relaxed cut {number + 1} of {count}")
            image.prepare_cut()
            # A strict change takes the relaxed ones before it along: they come seldom, so that there is something to lose.
            relaxed = Counter(daemon, "loose", loose + 1, 0.001)
            strict = Counter(daemon, "tight", tight + 1, 0.7)
            relaxed.start()
            strict.start()
            time.sleep(proof.random.uniform(FLUSH_SECONDS + 1, FLUSH_SECONDS + 3))
            moment = image.cut()
            daemon.kill()
            relaxed.join()
            strict.join()
            image.remount()
            daemon.start()
            before = loose, tight
            loose, tight, rev = read(daemon)
            acknowledged += len(relaxed.acknowledged) + len(strict.acknowledged)
            tight_lost += tight < strict.newest(moment) or tight < before[1]
            loose_lost += loose < relaxed.newest(moment)
            too_much += loose < max(relaxed.newest(moment - FLUSH_SECONDS - SLACK_SECONDS), before[0])
            seen = max(rev for _, _, rev in relaxed.acknowledged + strict.acknowledged)
            reused += rev < seen
            wrong_words += False not in relaxed.says_durable or strict.says_durable != {True}
        proof.report.check(
            f"{kind}: {count} power cuts: strict changes beside relaxed ones are kept", tight_lost == 0,
            f"{acknowledged} acknowledged of both kinds, strict lost in {tight_lost} cuts")
        proof.report.check(
            f"{kind}: relaxed changes lose {FLUSH_SECONDS} s at most", too_much == 0,
            f"more lost in {too_much} cuts; control: something was lost in {loose_lost} of {count}")
        proof.report.check(f"{kind}: control: relaxed changes can be lost", loose_lost > 0)
        proof.report.check(
            f"{kind}: no revision that a client has seen comes again", reused == 0, f"in {reused} cuts")
        proof.report.check(
            f"{kind}: replies say what is not durable yet", wrong_words == 0, f"wrong in {wrong_words} rounds")
        daemon.kill()
        image.destroy()
