"""What the sections share: where to work, how much to do, and the round of fault, restart and verification."""

import os
import random

from crew import Crew
from daemon import Daemon, StartFailed
from model import Model
from verify import Outcome, verify


class Proof:
    def __init__(self, work, report, is_full, seed):
        self.work = work
        self.report = report
        self.is_full = is_full
        self.seed = seed
        self.random = random.Random(seed)
        self.daemons = []

    def daemon(self, data, profile="small"):
        daemon = Daemon(self.work, data, profile)
        self.daemons.append(daemon)
        return daemon

    def directory(self, name):
        """A path for a data directory on the work directory's own file system; not made."""
        return os.path.join(self.work, name)

    def crew(self, name, writers=8, kind=Model):
        return Crew(f"{self.seed}/{name}", writers, kind)

    def kill_all(self):
        for daemon in self.daemons:
            daemon.kill()
        self.daemons = []


class Tally:
    """Sums over the rounds of one section, and how many of them lost something."""

    def __init__(self, report):
        self.report = report
        self.outcome = Outcome()
        self.rounds = 0
        self.rounds_with_loss = 0
        self.acknowledged = 0
        self.unanswered = 0
        self.late = 0
        self.failed_starts = 0
        self.faults = []

    def verify(self, daemon, crew, starts=True):
        """Starts `daemon` (unless it runs) and verifies; returns whether it started."""
        self.rounds += 1
        self.acknowledged += crew.acknowledged
        self.unanswered += crew.unanswered
        for model in crew.models:
            model.acknowledged = 0
        self.faults += crew.take_faults()
        if starts:
            try:
                daemon.start()
            except StartFailed as error:
                self.failed_starts += 1
                self.report.note(f"round {self.rounds}: start failed: {error}")
                daemon.kill()
                return False
        found = verify(daemon, crew.models)
        self.rounds_with_loss += not found.clean
        self.outcome.add(found)
        return True

    def check(self, name, detail=""):
        """The verdict: nothing lost, torn or wrong, every start succeeded, and there was something to lose."""
        for fault in (self.faults + self.outcome.remarks)[:8]:
            self.report.note(fault)
        passed = self.outcome.clean and not self.failed_starts and not self.faults and self.acknowledged > 0
        text = f"{self.rounds} rounds, {self.acknowledged} acknowledged, {self.outcome}"
        if self.failed_starts:
            text += f", {self.failed_starts} failed starts"
        if self.faults:
            text += f", {len(self.faults)} protocol faults"
        return self.report.check(name, passed, text + (f"; {detail}" if detail else ""))
