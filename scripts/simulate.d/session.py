"""One run after the other: a seed's, or that of a kept list. What fails is shrunk, and kept."""

import os
import random
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import plan
import recording
import simulated
import upgrades
from generator import Generator
from judges import JUDGES
from observers import Observer, Trace
from run import Run
from schemas import METHODS
from shrink import shrink
from tree import TREE

REQUESTS = 400
# Tries, and how long they take: each may be one that never ends by itself.
SHRINKING, SHRINKING_SECONDS = 300, 600


def temper(seed):
    """How eagerly threads change, reads are split, the disk is slow and pages are cold."""
    dice = random.Random(f"{seed}/temper")
    return {"switch": dice.choice([10, 100, 300, 700]), "split": dice.choice([0, 50, 400]), "slow": dice.choice([10, 100, 100, 2000]),
            "cold": dice.choice([0, 50, 500])}


def begun(seed):
    """A seed's world, as the list of its events begins."""
    return {"do": "world", "seed": seed, "temper": temper(seed), **upgrades.chosen(seed)}


class Session:
    def __init__(self, kernel, program, chosen):
        self.kernel, self.program = kernel, program
        self.requests = chosen.requests or REQUESTS
        self.is_traced, self.twice, self.shrinks = chosen.trace, chosen.twice, not chosen.no_shrink
        self.folder, self.planted = Path(chosen.keep), chosen.planted
        self.processor = None

    def run(self, kind, what):
        """What came of it, in plain values: it goes from a worker to whoever tells."""
        trace = tempfile.TemporaryFile("w+") if self.is_traced else None
        if kind == "seed":
            head = begun(what)
            tried = self.attempt_seed(what, trace)
        elif kind == "recording":
            path, seed = what
            events, own, _ = recording.load(path)
            head = {"do": "world", "seed": own if seed is None else seed, "temper": temper(own if seed is None else seed)}
            what = f"{path}, seed {head['seed']}"
            tried = self._attempt(head, iter(events), trace)
        else:
            head, *events = plan.load(what)
            tried = self._attempt(head, iter(events), trace)
        outcome = {"name": f"{kind} {what}", "found": tried.found, "sums": tried.sums, "met": dict(tried.met), "done": tried.done}
        if self.twice and not tried.found:
            again = self._attempt(head, iter(tried.events), None)
            if again.digest != tried.digest:
                outcome["found"] = f"[simulator/digest] {tried.digest} the first time, {again.digest} the second"
        if trace is not None:
            trace.seek(0)
            outcome["trace"] = "\n".join(tried.lines) + "\n" + trace.read() + tried.output
        if tried.found and kind != "list":
            outcome |= self._keep(head, tried)
        return outcome

    def attempt_seed(self, seed, trace=None):
        return self._attempt(begun(seed), Generator(seed, self.requests, kills=True, cuts=True, faults=True), trace)

    def _attempt(self, head, source, trace=None):
        return Attempt(self, head, source, trace)

    def _keep(self, head, tried):
        events = tried.events
        if self.shrinks:
            until = time.monotonic() + SHRINKING_SECONDS

            def fails(candidate):
                return self._attempt(head, iter(candidate)).kind if time.monotonic() < until else None
            events = shrink(events, fails, tried.kind, SHRINKING)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{head['seed']}.events"
        plan.save([head | {"found": tried.found[:400]}, *events], path)
        return {"kept": os.path.relpath(path), "events": len(events)}


class Attempt:
    """A world, and what is done in it until something fails or nothing is left to do."""

    def __init__(self, session, head, source, trace):
        world = simulated.SimulatedWorld(session.kernel, session.program, head["seed"], TREE | upgrades.tree(head), session.processor,
                                         trace,
                                         {name: int(value) for name, value in head["temper"].items()}, session.planted)
        self.world, world.fixture = world, head.get("fixture")
        self.run = Run(world, [Trace, *JUDGES] if trace else JUDGES)
        self.met, self.counts = Counter(), Counter()
        self.kind = self.found = None
        try:
            self._go(source)
        except simulated.NotSimulated as call:
            self._fail("simulator", "call", f"{call} is not simulated")
        except simulated.Spins as spin:
            self._fail("liveness", "spins", str(spin))
        except simulated.Died as death:
            self._fail("liveness", "died", str(death))
        except Exception:
            self._fail("simulator", "error", traceback.format_exc(limit=6))
        finally:
            world.stop()
        self.events, self.digest = self.run.events, world.told
        self.lines = list(Trace.lines) if trace else []
        self.output = b"".join(world.output).decode(errors="replace")
        self.done = {method: kinds["ok"] for method, kinds in self.run.methods.items() if kinds.get("ok")}
        self.sums = {"requests": self.run.count, "faults": world.faults, "starts": world.starts, "seams": world.seams,
                     "nanoseconds": world.now,
                     "cuts": self.counts["cut"], "kills": self.counts["kill"], "methods": len(self.run.methods), "moves": self.run.moves,
                     "most in vain": world.most_in_vain}

    def _fail(self, judge, kind, words):
        self.run.failures.append((judge, kind, words))
        self._judge()

    def _in_flight(self):
        return {asked.method for client in self.run.clients for asked in self.run.pending[client].values() if asked.method in METHODS}

    def _judge(self):
        if self.run.failures and not self.found:
            judge, kind, words = self.run.failures[0]
            self.kind, self.found = f"{judge}/{kind}", f"[{judge}/{kind}] {words}"

    def _go(self, source):
        run = self.run
        made = isinstance(source, Generator)
        if made:
            run.judges.append(Observer(source))
        while not run.failures:
            event = source.next(run) if made else next(source, None)
            if event is None:
                break
            self.counts[event["do"]] += 1
            in_flight = self._in_flight() if run.faults_active else set()
            run.perform(event)
            if event["do"] == "send":
                in_flight |= self._in_flight() if run.faults_active else set()
                run.take(self.world.advance(0))
            for fault in self.world.take_struck():
                # A start is met too, and what works on when nothing is asked.
                self.met.update((fault, method) for method in in_flight or {event["do"] if event["do"] == "start" else "nobody"})
        self._judge()
        self.world.digest()
