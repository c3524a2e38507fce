"""Runs seeds on real daemons: `real.py --seed N [--seeds COUNT] --requests M [--kills]`."""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter

import plan
from generator import Generator
from judges import JUDGES
from run import Run
from shrink import shrink
from values import text


def run_seed(world, generator, judges=JUDGES):
    run = Run(world, judges)
    run.judges.append(Observer(generator))
    while (event := generator.next(run)) is not None:
        run.perform(event)
        if event["do"] == "send" and run.is_up:
            run.take(world.advance(0))
        if run.failures:
            break
    return run


def run_list(world, events, judges=JUDGES):
    """A kept list of events; what fails first ends it."""
    run = Run(world, judges)
    for event in events:
        run.perform(event)
        if event["do"] == "send" and run.is_up:
            run.take(world.advance(0))
        if run.failures:
            break
    return run


class Observer:
    """Lets the generator learn from replies, and from nothing else."""

    def __init__(self, generator):
        self.answered = generator.answered

    def __getattr__(self, name):
        return lambda *_: None


class Trace:
    """Tells what is asked, answered and told, line by line."""

    lines = []

    def __init__(self, run):
        self.run = run
        Trace.lines = []

    def say(self, words):
        self.lines.append(words)

    def sent(self, asked):
        self.say(f"{asked.sent:6} {asked.client:>4} -> {asked.number} {asked.method} {text(asked.params)[:400]}")

    def answered(self, asked, result, kind, error):
        self.say(f"{asked.answered:6} {asked.client:>4} <- {asked.number} {text(asked.reply.get('result', asked.reply.get('error')))[:400]}")

    def abandoned(self, asked):
        self.say(f"{self.run.tick:6} {asked.client:>4} -- {asked.number} will not be answered")

    def told(self, client, method, params):
        self.say(f"{self.run.tick:6} {client:>4} <- {method} {text(params)[:400]}")

    def stopped(self, was_clean):
        self.say(f"{self.run.tick:6} ended, {'cleanly' if was_clean else 'killed'}")

    def __getattr__(self, name):
        return lambda *_: None


def fresh(make, remove, program, body):
    """Runs on a world of its own, of which nothing is left."""
    work = tempfile.mkdtemp(prefix="ksim.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    world = make(work, program)
    try:
        return body(world)
    finally:
        world.kill()
        remove(work, ignore_errors=True)


def shorten(path, perform):
    def fails(events):
        run = perform(events)
        return " ".join(run.failures[0][:2]) if run.failures else None

    events = plan.load(path)
    kind = fails(events)
    if kind is None:
        sys.exit("the list does not fail")
    short = shrink(events, fails, kind)
    plan.save(short, path + ".short")
    print(f"[{kind}] {len(short)} of {len(events)} events: {path}.short")
    for event in short:
        print(plan.story(event))


def main(make, remove):
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--requests", type=int, default=300)
    options.add_argument("--kills", action="store_true")
    options.add_argument("--keep", help="write the events of a run that fails to FILE.SEED")
    options.add_argument("--from", dest="kept", help="run this list of events")
    options.add_argument("--shrink", action="store_true", help="make the list of --from shorter, to FILE.short")
    options.add_argument("--judges", action="store_true", help="tell what is judged how")
    options.add_argument("--trace", action="store_true", help="tell the run")
    chosen = options.parse_args()
    judges = [Trace, *JUDGES] if chosen.trace or chosen.keep else JUDGES
    if chosen.judges:
        for judge in JUDGES:
            print(f"{judge.name}: {judge.sentence}")
        return
    program = os.environ.get("KURAD", "kurad")
    # Whoever ends a try with SIGTERM leaves no daemon behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if chosen.shrink:
        shorten(chosen.kept, lambda events: fresh(make, remove, program, lambda world: run_list(world, events)))
        return
    begun, failed, asked, starts, methods = time.monotonic(), 0, 0, 0, Counter()
    for seed in range(chosen.seed, chosen.seed + chosen.seeds):
        if chosen.kept:
            run = fresh(make, remove, program, lambda world: run_list(world, plan.load(chosen.kept), judges))
        else:
            run = fresh(make, remove, program, lambda world: run_seed(world, Generator(seed, chosen.requests, chosen.kills), judges))
        asked, starts = asked + run.count, starts + run.starts
        for method, kinds in run.methods.items():
            for kind, count in kinds.items():
                methods[method, kind] += count
        if chosen.trace:
            print("\n".join(Trace.lines))
        if run.failures:
            failed += 1
            print(f"seed {seed}: " + "; ".join(f"[{judge}/{kind}] {words}" for judge, kind, words in run.failures[:3]), flush=True)
            if chosen.keep:
                plan.save(run.events, f"{chosen.keep}.{seed}")
                with open(f"{chosen.keep}.{seed}.txt", "w", encoding="utf-8") as file:
                    file.write("\n".join(Trace.lines) + "\n")
    took = time.monotonic() - begun
    succeeded = {method for method, kind in methods if kind == "ok"}
    print(f"{chosen.seeds} seeds, {failed} failed, {asked} requests, {starts} starts, {took:.1f} s; "
          f"{len(succeeded)} methods succeeded, {len({m for m, _ in methods})} were answered")
    if os.environ.get("SIMULATE_KINDS"):
        for (method, kind), count in sorted(methods.items()):
            print(f"  {method} {kind} {count}")
    sys.exit(1 if failed else 0)
