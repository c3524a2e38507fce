"""The same schedules on the simulated disk and on a real one.

A schedule is made while it is played in the simulation, from what is answered there. Until a kill or a cut leaves a request open the
replies are the same; behind it the model allows several outcomes, and the judges hold each daemon to one of them. Power is cut where root
may mount.
"""

import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import simulated
from observers import Observer
from generator import Generator
from judges import JUDGES
from real import Powered, Real
from run import Run
from session import temper
from tree import TREE
from values import canonical

# What is answered the same whatever time it is, and waits for nothing but the disk.
METHODS = [
    *(f"settings.{name}" for name in "get getMany put put delete list putMany increment count scopes export import".split()),
    *(f"documents.{name}" for name in "put put get getMany putMany delete deleteMany patch increment".split()),
    *(f"documents.{name}" for name in "restore attach attachment detach list".split()),
    *(f"secrets.{name}" for name in "put get getMany delete versions".split()), "blobs.put", "blobs.stat", "blobs.delete", "models.put",
    "models.delete",
    "transaction.apply", "transaction.apply", "changes.list",
]
# Those that others overtake, or whose revision depends on what is under way: they are asked for alone.
ALONE = {"documents.list", "documents.deleteMany", "documents.attach", "documents.attachment", "blobs.put", "blobs.stat", "blobs.delete",
         "changes.list"}
PROMPT = [name for name in METHODS if name not in ALONE]
# It is as of what the tables have, which is no less than what it must show.
LAGGING = "documents.list"
# Members of replies that tell of time, or are made at random.
OWN = re.compile("At$|^(epoch|token|cursor|ageMs|lastUsed)$")
NAME = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MILLISECOND = 1_000_000


def schedule(seed, may_cut):
    """Steps, and the generator that makes their requests."""
    generator = Generator(f"{seed}/both", 10**6, kills=False)
    for name in ("descriptors", "relaxed", "spoiling", "notifications"):
        generator.switches[name] = False
    generator.spoil_chance = 0
    dice = random.Random(f"{seed}/steps")

    def steps():
        yield {"do": "start", "configuration": {"caches": {"minFreeBytes": 0}}}
        for _ in range(dice.choice([1, 2, 2])):
            for _ in range(dice.choice([5, 15, 30])):
                yield {"do": "ask", "line": generator.member(dice.choice(METHODS))}
            if dice.random() < 0.8:
                lines = [generator.member(dice.choice(PROMPT)) for _ in range(dice.choice([2, 5, 20]))]
                yield {"do": "burst", "lines": lines, "seams": int(3000 ** dice.random()), "span": int(50 ** dice.random() * MILLISECOND)}
            yield {"do": "cut" if may_cut and dice.random() < 0.5 else "kill"}
            yield {"do": "start", "configuration": {"caches": {"minFreeBytes": 0}}}
            yield {"do": "settle"}
    return steps(), generator


class Replies:
    """What was answered, in order, until something was left open."""

    def __init__(self):
        self.all, self.is_open = [], False

    def answered(self, asked, result, kind, error):
        if asked.client == "w" and not self.is_open:
            reply = same_everywhere(asked.reply)
            if asked.method == LAGGING and result is not None:
                reply["result"].pop("rev")
            self.all.append((asked.method, asked.params, reply))

    def __getattr__(self, name):
        return lambda *_: None


class Learning(Observer):
    """From what is the same everywhere."""

    def __init__(self, generator):
        self.answered = lambda asked, *words: None if asked.method == LAGGING else generator.answered(asked, *words)


def same_everywhere(value, name=""):
    if OWN.search(name):
        return "its own"
    if isinstance(value, dict):
        return {key: same_everywhere(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [same_everywhere(part) for part in value]
    return NAME.sub("a name", value) if type(value) is str else value


def play(world, steps, linger, observers=()):
    """The run, what it was answered, and the steps as they were."""
    run, replies, played = Run(world, JUDGES), Replies(), []
    run.judges += [replies, *observers]
    for step in steps:
        played.append(step)
        if step["do"] == "ask":
            run.perform({"do": "send", "client": "w", "lines": [step["line"]]})
            run.wait_for_answers()
        elif step["do"] == "burst":
            run.perform({"do": "send", "client": "w", "lines": step["lines"]})
            linger(run, step)
        else:
            replies.is_open |= step["do"] in ("kill", "cut") and bool(run.pending.get("w"))
            run.perform(step)
            if step["do"] == "start":
                run.perform({"do": "connect", "client": "w", "role": "admin"})
        if run.failures:
            break
    return run, replies, played


def seams(run, step):
    run.take(run.world.advance(10**10, seams=step["seams"]))


def moments(run, step):
    until = run.world.now + step["span"]
    while run.is_up and (left := until - run.world.now) > 0:
        run.take(run.world.advance(left))


def difference(one, other):
    """The first reply that is not the same, or None."""
    for at, ((method, params, reply), (_, _, real)) in enumerate(zip(one.all, other.all)):
        if canonical(reply) != canonical(real):
            return f"reply {at}, {method} {canonical(params)[:300]}: {canonical(reply)[:300]} simulated, {canonical(real)[:300]} real"
    return None


class Pair:
    """What a worker has: the simulation, and a place on a real disk."""

    def __init__(self, kernel, program, places):
        self.kernel, self.program, self.places = kernel, program, places

    def run(self, seed):
        place, disk = self.places[(multiprocessing.current_process()._identity or (1,))[0] % len(self.places)]
        steps, generator = schedule(seed, disk is not None)
        world = simulated.SimulatedWorld(self.kernel, self.program, seed, TREE, None, None, temper(seed))
        try:
            run, replies, played = play(world, steps, seams, [Learning(generator)])
        finally:
            world.stop()
        outcome = {"seed": seed, "found": told("simulated", run), "counts": Counter(step["do"] for step in played),
                   "replies": len(replies.all)}
        if outcome["found"]:
            return outcome
        work = tempfile.mkdtemp(prefix="schedule.", dir=place)
        real = Powered(work, str(self.program), disk) if disk else Real(work, str(self.program))
        try:
            run, others, _ = play(real, played, moments)
            outcome["found"] = told("real", run) or difference(replies, others)
            outcome["same"] = min(len(replies.all), len(others.all))
        finally:
            real.kill()
            shutil.rmtree(work, ignore_errors=True)
            if disk:
                shutil.rmtree(disk.data, ignore_errors=True)
        return outcome


def told(where, run):
    return f"{where}: [{run.failures[0][0]}/{run.failures[0][1]}] {run.failures[0][2]}" if run.failures else None


_pair = None


def begin(pair):
    global _pair
    _pair = pair


def one(seed):
    try:
        return _pair.run(seed)
    except Exception:
        return {"seed": seed, "found": traceback.format_exc(limit=6), "counts": Counter()}


def disks(work, count):
    """File systems whose power can be cut; none where nobody may mount."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "prove.d"))
    from disks import Disk
    made = []
    try:
        for at in range(count):
            os.mkdir(os.path.join(work, str(at)))
            made.append(Disk(os.path.join(work, str(at)), "ext4"))
    except RuntimeError:
        for disk in made:
            disk.destroy()
        return None
    return made


def compare(kernel, program, count, seeds, jobs):
    """Runs so many schedules on both. Returns how many differ."""
    begun, sums, failed, same = time.monotonic(), Counter(), 0, 0
    with ExitStack() as stack:
        work = stack.enter_context(tempfile.TemporaryDirectory(prefix="kura-both.", dir="/var/tmp"))
        mounted = disks(work, jobs)
        for disk in mounted or ():
            stack.callback(disk.destroy)
        places = [(os.path.dirname(disk.file), disk) for disk in mounted] if mounted else [(work, None)]
        with multiprocessing.get_context("fork").Pool(jobs, begin, (Pair(kernel, program, places),)) as pool:
            for outcome in pool.imap_unordered(one, seeds or [random.SystemRandom().randrange(1 << 48) for _ in range(count)]):
                sums += outcome["counts"]
                same += outcome.get("same", 0)
                if outcome["found"]:
                    failed += 1
                    print(f"FOUND schedule {outcome['seed']}: {outcome['found']}", flush=True)
    total = sums["ask"] + sums["burst"]
    print(f"{len(seeds or range(count)):,} schedules on both disks in {time.monotonic() - begun:.0f} s: {total:,} requests and "
          f"bursts, {sums['kill']:,} kills, "
          f"{sums['cut']:,} power cuts{'' if mounted else ' (nobody may mount here)'}, {same:,} replies "
          f"compared; {failed or 'nothing'} found")
    return failed
