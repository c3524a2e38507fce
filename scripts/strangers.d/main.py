"""usage: main.py [SECONDS [PART …]]"""

import os
import random
import shutil
import sys
import tempfile
import time

from kills import kills
from places import headers, kinds
from squatters import squatters
from stranger import Found
from tasks import tasks
from words import words

# What part of the time each may take.
PARTS = {"kinds": (kinds, 0.27), "headers": (headers, 0.25), "kills": (kills, 0.13), "squatters": (squatters, 0.03),
         "words": (words, 0.27), "tasks": (tasks, 0.05)}


class Run:
    """One run: its dice, its room, what it has found."""

    def __init__(self, seconds, seed):
        self.seconds = seconds
        self.seed = seed
        self.work = tempfile.mkdtemp(prefix="kura-strangers.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.findings = []

    def begin(self, name, share):
        self.name = name
        self.dice = random.Random(f"{self.seed}/{name}")
        self.until = time.monotonic() + self.seconds * share

    def is_late(self):
        return time.monotonic() > self.until

    def room(self, name):
        place = os.path.join(self.work, name)
        os.mkdir(place, 0o700)
        return place

    def guard(self, action, what, command):
        """Carries out; what it finds is said, and the part goes on."""
        try:
            action()
            return True
        except Found as error:
            self.findings.append(what)
            print(f"FOUND {self.name}: {what}: {str(error)[:1200]}\n  {command}", flush=True)
            return False


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 100
    wanted = sys.argv[2:] or list(PARTS)
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"strangers: no part {unknown[0]}; there are {' '.join(PARTS)}", file=sys.stderr)
        return 2
    seed = os.environ.get("SEED") or str(random.SystemRandom().randrange(10**9))
    run = Run(seconds, seed)
    print(f"seed {seed}", flush=True)
    whole = sum(PARTS[name][1] for name in wanted)
    try:
        for name in wanted:
            part, share = PARTS[name]
            run.begin(name, share / whole)
            begun, found = time.monotonic(), len(run.findings)
            said = "not begun"

            def attempt(part=part):
                nonlocal said
                said = part(run)

            run.guard(attempt, name, f"SEED={seed} scripts/strangers {seconds:g} {name}")
            print(f"{name}: {said}; {len(run.findings) - found} found, {time.monotonic() - begun:.0f} s", flush=True)
            shutil.rmtree(os.path.join(run.work, name), ignore_errors=True)
    finally:
        shutil.rmtree(run.work, ignore_errors=True)
    print(f"strangers: {len(wanted)} parts, {len(run.findings)} found")
    return 1 if run.findings else 0


sys.exit(main())
