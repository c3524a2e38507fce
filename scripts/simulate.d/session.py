"""One run after the other: a seed's, or that of a kept list. What fails is shrunk, and kept."""

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
from compared import Compared
from generator import Generator
from judges import JUDGES
from observers import Observer, Short, Trace
from run import Run
from schemas import METHODS
from shrink import shrink
from tree import TREE

REQUESTS = 400
# Tries, and how long they take: each may be one that never ends by itself.
SHRINKING, SHRINKING_SECONDS = 300, 600


def temper(seed):
    """How eagerly threads change, reads are split, the disk is slow, pages are cold, and threads stand still."""
    dice = random.Random(f"{seed}/temper")
    return {"switch": dice.choice([10, 100, 300, 700]), "split": dice.choice([0, 50, 400]), "slow": dice.choice([10, 100, 100, 2000]),
            "cold": dice.choice([0, 50, 500]), "stall": dice.choice([0, 0, 1, 10])}


def begun(seed):
    """A seed's world, as the list of its events begins."""
    return {"do": "world", "seed": seed, "temper": temper(seed), **upgrades.chosen(seed)}


class Session:
    def __init__(self, kernel, program, chosen):
        self.kernel, self.program = kernel, program
        self.requests = chosen.requests or REQUESTS
        self.trace, self.twice, self.shrinks = chosen.trace, chosen.twice, not chosen.no_shrink
        self.folder, self.planted = Path(chosen.keep), chosen.planted
        self.processor = None

    def run(self, kind, what):
        """What came of it, in plain values: it goes from a worker to whoever tells."""
        # The daemon's calls.
        trace = tempfile.TemporaryFile("w+") if self.trace == "all" else None
        teller = {"all": Trace, "requests": Short}.get(self.trace)
        compared = None
        if kind == "seed":
            head = begun(what)
            tried = self.attempt_seed(what, trace, teller)
        elif kind == "recording":
            path, seed = what
            recorded = recording.load(path)
            seed = recorded.seed if seed is None else seed
            head, compared = {"do": "world", "seed": seed, "temper": temper(seed)}, Compared(recorded.kinds)
            tried = Attempt(self, head, iter(recorded.events), trace, teller, [compared])
            reached = f", at request {tried.sums['requests']} of {recorded.requests}" if tried.found else ""
            what = f"{path}, seed {seed}{reached}"
        else:
            head, *events = plan.load(what)
            tried = Attempt(self, head, iter(events), trace, teller)
        outcome = {"name": f"{kind} {what}", "found": tried.found, "sums": tried.sums, "met": dict(tried.met), "done": tried.done}
        if compared:
            outcome["remarks"] = path, compared.remarks(is_whole=not tried.found)
        if self.twice and not tried.found:
            again = Attempt(self, head, iter(tried.events))
            if again.digest != tried.digest:
                outcome["found"] = f"[simulator/digest] {tried.digest} the first time, {again.digest} the second"
        if teller:
            outcome["trace"] = "\n".join(tried.teller.whole())
        if trace is not None:
            trace.seek(0)
            outcome["trace"] += "\n" + trace.read() + tried.output
            trace.close()
        if tried.found and kind != "list":
            outcome |= self._keep(head, tried)
        return outcome

    def attempt_seed(self, seed, trace=None, teller=None):
        return Attempt(self, begun(seed), Generator(seed, self.requests, kills=True, cuts=True, faults=True), trace, teller)

    def _keep(self, head, tried):
        events = tried.events
        if self.shrinks:
            until = time.monotonic() + SHRINKING_SECONDS

            def fails(candidate):
                return Attempt(self, head, iter(candidate)).kind if time.monotonic() < until else None
            events = shrink(events, fails, tried.kind, SHRINKING)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{head['seed']}.events"
        plan.save([head | {"found": tried.found[:400]}, *events], path)
        path, here = path.absolute(), Path.cwd()
        return {"kept": str(path.relative_to(here) if path.is_relative_to(here) else path), "events": len(events)}


class Attempt:
    """A world, and what is done in it until something fails or nothing is left to do."""

    def __init__(self, session, head, source, trace=None, teller=None, observers=()):
        world = simulated.SimulatedWorld(session.kernel, session.program, head["seed"], TREE | upgrades.tree(head), session.processor,
                                         trace,
                                         {name: int(value) for name, value in head["temper"].items()}, session.planted)
        self.world, world.fixture = world, head.get("fixture")
        self.run = Run(world, [teller, *JUDGES] if teller else JUDGES)
        self.teller = self.run.judges[0] if teller else None
        self.run.judges += observers
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
        self.output = b"".join(world.output).decode(errors="replace")
        self.done = {method: kinds["ok"] for method, kinds in self.run.methods.items() if kinds.get("ok")}
        asked = self.counts["requests"]
        self.sums = {"requests": asked, "own": self.run.count - asked, "faults": world.faults, "starts": world.starts, "seams": world.seams,
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
            if self.teller:
                self.teller.performs(event)
            before = run.count
            run.perform(event)
            if event["do"] == "send":
                self.counts["requests"] += run.count - before
                in_flight |= self._in_flight() if run.faults_active else set()
                run.take(self.world.advance(0))
            struck = self.world.take_struck()
            if self.teller:
                self.teller.struck(struck)
            for fault in struck:
                # A start is met too, and what works on when nothing is asked.
                self.met.update((fault, method) for method in in_flight or {event["do"] if event["do"] == "start" else "nobody"})
        self._judge()
        self.world.digest()
