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
import recording
from schemas import METHODS
from session import Session

ROOT = Path(__file__).resolve().parents[2]
SEEDS = random.SystemRandom()
KEPT = ROOT / "Tests/Simulator/kept"
TREE_SECONDS = 60


def parsed(words, text):
    options = argparse.ArgumentParser(usage=text.split("usage: ", 1)[1], add_help=False)
    options.add_argument("seed", nargs="*", type=int)
    for name, kind in (("minutes", float), ("seeds", int), ("requests", int), ("jobs", int), ("planted", int), ("real", int)):
        options.add_argument(f"--{name}", type=kind)
    options.add_argument("--from", dest="lists", action="append", default=[])
    options.add_argument("--keep", default=str(ROOT / ".build/simulate/found"))
    for name in ("kept", "judges", "trace", "twice", "no-shrink", "coverage", "plant", "search-planted", "self-test", "help"):
        options.add_argument(f"--{name}", action="store_true")
    return options.parse_args(words)


def tree_seeds():
    """Seeds that are the same for all who have the same sources: what a developer runs first is what CI runs."""
    tree = subprocess.run(["git", "-C", ROOT, "write-tree"], capture_output=True, text=True).stdout.strip()
    return random.Random(int.from_bytes(hashlib.sha256(tree.encode()).digest()[:8], "big"))


def daemon(planted):
    if "KURAD" in os.environ:
        return Path(os.environ["KURAD"]).resolve()
    return ROOT / (".build/planted/kurad" if planted else ".build/release/kurad")


class Told:
    """What all seeds came to."""

    def __init__(self):
        self.runs = self.failed = self.most_in_vain = 0
        self.sums = Counter()
        self.met = Counter()
        self.done = Counter()     # by method: how often it was answered with a result

    def take(self, outcome):
        self.runs += 1
        self.most_in_vain = max(self.most_in_vain, outcome["sums"].pop("most in vain"))
        self.sums.update(outcome["sums"])
        self.met.update(outcome["met"])
        self.done.update(outcome["done"])
        if outcome["found"]:
            self.failed += 1
            print(f"FOUND {outcome['name']}: {outcome['found']}", flush=True)
            if outcome.get("kept"):
                print(f"  kept: {outcome['kept']}, {outcome['events']} events; tell it with: scripts/simulate --trace --from "
                      f"{outcome['kept']}", flush=True)
            if outcome.get("trace"):
                print(outcome["trace"])
        elif outcome.get("trace"):
            print(outcome["trace"])

    def tell(self, seconds):
        sums = self.sums
        print(f"{self.runs:,} runs in {seconds:.0f} s: {sums['requests']:,} requests, {sums['faults']:,} "
              f"faults, {sums['starts']:,} starts, "
              f"{sums['cuts']:,} power cuts, {sums['kills']:,} kills, {sums['moves']:,} restores, {sums['seams']:,} seams (at most "
              f"{self.most_in_vain:,} without progress), {sums['nanoseconds'] / 1e9:,.0f} simulated seconds; "
              f"{sums['methods'] // max(self.runs, 1)} methods a run; {self.failed or 'nothing'} found")


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
    while time.monotonic() < until and (not chosen.seeds or count < chosen.seeds):
        yield "seed", seeds.randrange(1 << 48)
        count += 1


def main(words, text):
    chosen = parsed(words, text)
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
        import planted
        return planted.build()
    program = daemon(chosen.planted or chosen.search_planted)
    if not os.access(program, os.X_OK):
        missing = "simulate --plant" if chosen.planted or chosen.search_planted else "build kurad"
        print(f"simulate: {program} is not there; build it with: scripts/{missing}", file=sys.stderr)
        return 2
    try:
        for path in filter(recording.is_recording, chosen.lists):
            for note in recording.load(path)[2]:
                print(f"{path}: {note}")
    except (recording.Damaged, OSError) as error:
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
