"""What scripts/simulate does with its words: which seeds, how many at once, and what is told of them."""

import argparse
import hashlib
import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import kernel
import plan
import planted
import recording
from compared import Remarks
from run import Run
from schemas import METHODS
from session import Session
from values import counted

ROOT = Path(__file__).resolve().parents[2]
SEEDS = random.SystemRandom()
KEPT = ROOT / "Tests/Simulator/kept"
# As many as two processors run in a minute: a faster machine runs no others.
TREE_SECONDS, TREE_SEEDS = 60, 24
SHORT = "usage: scripts/simulate [SEED…] [--minutes N] [--seeds N] [--from FILE] [OPTION…]; --help tells the rest"
EVENTS = {name.removeprefix("do_") for name in dir(Run) if name.startswith("do_")}


class Words(argparse.ArgumentParser):
    def error(self, message):
        """The line that matters alone."""
        self.exit(2, f"{SHORT}\nsimulate: {message}\n")


def number(kind, least, what):
    """A type of words: a number that is no less."""
    def read(word):
        try:
            value = kind(word)
        except ValueError:
            value = None
        # What is no number at all is not less either.
        if value is None or not value >= least:
            raise argparse.ArgumentTypeError(f"{what}, and not {word!r}")
        return value
    return read


COUNT = number(int, 1, "it takes a whole number from 1 on")
MINUTES = number(float, 0.001, "it takes a number of minutes, above 0")
SEED = number(int, 0, "a seed is a whole number from 0 on")


def parsed(words):
    options = Words(add_help=False, allow_abbrev=False)
    options.add_argument("seed", nargs="*", type=SEED)
    for name, kind in (("minutes", MINUTES), ("seeds", COUNT), ("requests", COUNT), ("jobs", COUNT), ("planted", COUNT), ("real", COUNT)):
        options.add_argument(f"--{name}", type=kind)
    options.add_argument("--from", dest="lists", action="append", default=[])
    options.add_argument("--keep", default=str(ROOT / ".build/simulate/found"))
    for name in ("kept", "judges", "twice", "no-shrink", "coverage", "plant", "search-planted", "self-test", "help"):
        options.add_argument(f"--{name}", action="store_true")
    options.add_argument("--trace", action="store_const", const="all")
    options.add_argument("--trace-requests", dest="trace", action="store_const", const="requests")
    # No word behind --trace is its own: a seed may stand there.
    return options.parse_args(["--trace-requests" if word == "--trace=requests" else word for word in words])


def tree_seeds():
    """Seeds that are the same for all who have the same sources: what a developer runs first is what CI runs."""
    tree = subprocess.run(["git", "-C", ROOT, "write-tree"], capture_output=True, text=True).stdout.strip()
    return random.Random(int.from_bytes(hashlib.sha256(tree.encode()).digest()[:8], "big"))


class Wrong(Exception):
    """What was asked for cannot be done."""


def daemon(chosen):
    is_planted = chosen.planted or chosen.search_planted
    program = ROOT / (".build/planted/kurad" if is_planted else ".build/release/kurad")
    if "KURAD" in os.environ:
        program = Path(os.environ["KURAD"]).resolve()
    if not program.is_file() or not os.access(program, os.X_OK):
        raise Wrong(f"{program} is not there; build it with: scripts/{'simulate --plant' if is_planted else 'build kurad'}")
    numbers = {fault["number"] for fault in planted.read_all()}
    asked = {chosen.planted} if chosen.planted else set(chosen.seed) if chosen.search_planted else set()
    if strange := sorted(asked - numbers):
        raise Wrong(f"there is no planted fault {strange[0]}: python3 scripts/simulate.d/planted.py list")
    if is_planted and not planted.has_them(program):
        raise Wrong(f"{program} was built without planted faults; those are in the build of: scripts/simulate --plant")
    return program


def look_through(lists):
    """Tells what recordings lack, before anything is run."""
    for path in lists:
        if recording.is_recording(path):
            for note in recording.load(path).notes:
                print(f"{path}: {note}")
        else:
            plan.look(path, EVENTS)


class Told:
    """What all seeds came to."""

    def __init__(self):
        self.runs = self.failed = self.most_in_vain = 0
        self.nearest = ""    # the name of the run that came to most_in_vain
        self.sums = Counter()
        self.met = Counter()
        self.remarks = Remarks()
        self.done = Counter()     # by method: how often it was answered with a result

    def take(self, outcome):
        self.runs += 1
        if (in_vain := outcome["sums"].pop("most in vain")) > self.most_in_vain:
            self.most_in_vain, self.nearest = in_vain, outcome["name"]
        self.sums.update(outcome["sums"])
        self.met.update(outcome["met"])
        self.done.update(outcome["done"])
        if "remarks" in outcome:
            self.remarks.take(*outcome["remarks"])
        if outcome["found"]:
            self.failed += 1
            print(f"FOUND {outcome['name']}: {outcome['found']}", flush=True)
            if outcome.get("kept"):
                print(f"  kept: {outcome['kept']}, {counted(outcome['events'], 'event')}; tell it with: scripts/simulate --trace=requests --from "
                      f"{outcome['kept']}", flush=True)
            if outcome.get("trace"):
                print(outcome["trace"])
        elif outcome.get("trace"):
            print(outcome["trace"])

    def tell(self, seconds):
        for line in self.remarks.lines():
            print(line)
        sums = self.sums
        words = {name: counted(sums[name], name.removesuffix("s")) for name in ("requests", "faults", "starts", "kills", "seams")}
        print(f"{counted(self.runs, 'run')} in {seconds:.0f} s: {words['requests']} and {sums['own']:,} of its own, {words['faults']}, {words['starts']}, "
              f"{counted(sums['cuts'], 'power cut')}, {words['kills']}, {counted(sums['moves'], 'restore')}, {words['seams']} (at most "
              f"{self.most_in_vain:,} without progress, in {self.nearest}), {counted(sums['nanoseconds'] // 10**9, 'simulated second')}; "
              f"{counted(sums['methods'] // max(self.runs, 1), 'method')} a run; {self.failed or 'nothing'} found")


def coverage(told):
    seldom = ", ".join(f"{method} {told.done[method]}" for method in sorted(METHODS, key=lambda method: told.done[method])
                       if told.done[method] < 10)
    print(f"{len(told.done.keys() & METHODS.keys())} of {len(METHODS)} methods were answered with a result. The seldom ones, and "
          f"how often: {seldom or 'none'}")
    kinds = sorted({fault for fault, _ in told.met})
    methods = sorted(METHODS.keys() | {method for _, method in told.met})
    print(f"{len(told.met)} of {len(kinds) * len(methods)} pairs of {len(kinds)} faults and {len(methods)} methods have met. By fault: how "
          f"often it struck, how many methods it met, "
          "and those that it never did (of half of them or fewer):")
    for fault in kinds:
        absent = [method for method in methods if (fault, method) not in told.met]
        struck = sum(count for (name, _), count in told.met.items() if name == fault)
        words = ", ".join(absent) if len(absent) * 2 <= len(methods) else f"{len(absent)} of them"
        print(f"  {fault:18} {struck:7,} {len(methods) - len(absent):4}  {words}")


_session = None


def begin(session, processors):
    global _session
    _session = session
    session.processor = processors[(multiprocessing.current_process()._identity or (1,))[0] % len(processors)]


def one(item):
    return _session.run(*item)


def items(chosen, begun):
    """What is run, one after the other: ("seed", number), ("list", path) or ("recording", (path, seed)); no seed: its own."""
    recordings = [path for path in chosen.lists if recording.is_recording(path)]
    for path in chosen.lists:
        if path in recordings:
            seeds = chosen.seed or [SEEDS.randrange(1 << 48) for _ in range(chosen.seeds or 0)] or [None]
            yield from (("recording", (path, seed)) for seed in seeds)
        else:
            yield "list", path
    if chosen.kept:
        for path in sorted(KEPT.glob("*.events")):
            yield "list", str(path)
    if chosen.seed and not recordings:
        yield from (("seed", seed) for seed in chosen.seed)
    if chosen.seed or chosen.lists or chosen.kept and not (chosen.minutes or chosen.seeds):
        return
    seeds = SEEDS if chosen.minutes or chosen.seeds else tree_seeds()
    until = begun + (chosen.minutes * 60 if chosen.minutes else TREE_SECONDS if not chosen.seeds else 10**9)
    count = 0
    most = chosen.seeds or (TREE_SEEDS if not chosen.minutes else None)
    while time.monotonic() < until and (most is None or count < most):
        yield "seed", seeds.randrange(1 << 48)
        count += 1


def main(words, text):
    chosen = parsed(words)
    if chosen.help:
        print(text.strip())
        return 0
    if chosen.judges:
        from judges import JUDGES
        for judge in JUDGES:
            print(f"{judge.name}: {judge.sentence}")
        return 0
    if chosen.self_test:
        return 1 if kernel.test() else 0
    if chosen.plant:
        return planted.build()
    try:
        program = daemon(chosen)
        look_through(chosen.lists)
    except (Wrong, plan.Damaged, OSError) as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    if chosen.real:
        import both
        jobs = min(chosen.jobs or len(os.sched_getaffinity(0)), chosen.real)
        return 1 if both.compare(kernel.built(), program, chosen.real, chosen.seed, jobs) else 0
    session = Session(kernel.built(), program, chosen)
    processors = sorted(os.sched_getaffinity(0))
    if chosen.search_planted:
        import plantedsearch
        return plantedsearch.search(session, processors, chosen)
    jobs = min(chosen.jobs or len(processors), len(chosen.seed) or 10**6)
    begun, told = time.monotonic(), Told()
    if jobs == 1 or chosen.trace:
        begin(session, processors)
        for item in items(chosen, begun):
            told.take(one(item))
    else:
        context = multiprocessing.get_context("fork")
        with context.Pool(jobs, begin, (session, processors)) as pool:
            # No further ahead than keeps everybody at work: what is given out is run.
            waiting = []
            for item in items(chosen, begun):
                waiting.append(pool.apply_async(one, (item,)))
                while len(waiting) > jobs:
                    told.take(waiting.pop(0).get())
            for outcome in waiting:
                told.take(outcome.get())
    if chosen.coverage:
        coverage(told)
    told.tell(time.monotonic() - begun)
    return 1 if told.failed else 0
