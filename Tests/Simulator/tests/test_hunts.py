"""Faults that are brought to methods, and the throw-away daemon whose faults are asked for."""

import errno
import unittest
from collections import Counter
from types import SimpleNamespace
from unittest import mock

import support  # noqa: F401
import demand
from generator import Generator
from hunts import FAULTS, HUNTS, PROVOKERS
from restores import Shelf
from schemas import METHODS
from simulated import ACTIONS, CALLS
from values import Number


class Hunting(unittest.TestCase):
    def hunts(self, seeds=40):
        for seed in range(seeds):
            generator, run = Generator(seed, 400, faults=True), SimpleNamespace(pending={}, shelf=Shelf())
            if generator.hunts:
                generator.run, generator.client, generator.hunts.rate = run, "w1", 1
                for _ in range(5):
                    generator.mischief.left = None
                    yield generator.hunts.next(generator, run)

    def test_there_is_one_at_a_time(self):
        generator = next(made for made in (Generator(seed, 400, faults=True) for seed in range(20)) if made.hunts)
        generator.hunts.rate, generator.mischief.left = 1, 3
        self.assertEqual(generator.hunts.next(generator, None), [])

    def test_they_come_on_top_of_what_is_wanted_and_end(self):
        generator = next(made for made in (Generator(seed, 400, faults=True) for seed in range(20)) if made.hunts)
        generator.run, generator.client, generator.hunts.rate = SimpleNamespace(pending={}, shelf=Shelf()), "w1", 1
        found = []
        for _ in range(2 * HUNTS):
            generator.mischief.left = None
            found += [generator.hunts.next(generator, generator.run)]
        self.assertEqual((sum(map(bool, found)), generator.asked), (HUNTS, 0))

    def test_faults_are_what_the_kernel_knows(self):
        for call, error in FAULTS:
            self.assertIn(call, CALLS)
            self.assertTrue(error in ACTIONS or error in errno.errorcode)
        self.assertTrue({call for call, _ in FAULTS} <= set(PROVOKERS))
        self.assertTrue({name for names in PROVOKERS.values() for name in names} <= set(METHODS))

    def test_a_rule_comes_before_a_write_and_many_others(self):
        for connect, rule, send, *_ in self.hunts():
            self.assertEqual([connect["do"], rule["do"], send["do"]], ["connect", "fault", "send"])
            if rule["rule"]["path"] == ".log":
                # A turn, whose commit fails.
                self.assertEqual(send["lines"][-1]["method"], "storage.ping")
            else:
                self.assertEqual(send["lines"][0]["method"], "settings.put")
                self.assertGreater(len(send["lines"]), 4)
            if rule["rule"]["error"] in ("kill", "cut", "torn", "hang"):
                self.assertEqual(rule["rule"]["times"], 1)

    def test_methods_that_are_seldom_on_come_as_often_as_others(self):
        asked = Counter(line["method"] for events in self.hunts(300) for line in events[2]["lines"])
        self.assertGreater(len(asked), len(METHODS) * 0.95)
        self.assertGreater(asked["secrets.addSlot"] * 4, asked["settings.get"])

    def test_there_are_none_in_a_quiet_seed(self):
        self.assertTrue(all((Generator(seed, 10, faults=True).hunts is None) == Generator(seed, 10, faults=True).mischief.is_quiet
                            for seed in range(20)))


class Daemon:
    """Answers as a throw-away daemon would, but for one lie."""

    def __init__(self, lie=None):
        self.lie, self.struck, self.rev, self.now, self.is_full = lie, {}, 0, 0, False

    def __call__(self, run, requests):
        [(method, params)] = requests
        if method == "fault.inject" and params["kind"] == "gone":
            run.clients = {"readback": 1} if self.lie == "stays" else {}
            return self.result({"id": Number(1)})
        if method == "fault.inject":
            self.is_full |= params["kind"] == "full"
            if params["kind"] != "full" and self.lie != f"no {params['kind']}":
                self.struck[params["method"]] = params["kind"]
            return self.result({"id": Number(1)})
        if method == "fault.list":
            return self.result({"faults": [{}] if self.lie == "left" else []})
        if method == "fault.clear":
            was_full, self.is_full = self.is_full, self.is_full and self.lie == "stays full"
            return self.result({"cleared": Number(int(was_full))})
        kind = self.struck.pop(method, None) if self.lie != "again" else self.struck.get(method)
        if kind == "slow":
            run.world.now += 301_000_000
        elif kind or self.is_full and method == "settings.put":
            return [{"error": {"data": {"kind": kind or "noSpace"}}}]
        self.rev += 1
        return self.result({"rev": Number(self.rev), "value": "room" if self.lie != "lost" else 1})

    @staticmethod
    def result(value):
        return [{"result": value}]


class OnDemand(unittest.TestCase):
    def failures(self, lie=None):
        world = SimpleNamespace(now=0)
        world.advance = lambda span: setattr(world, "now", world.now + span)
        run = SimpleNamespace(failures=[], methods=mock.MagicMock(), world=world, do_connect=lambda event: None, take=lambda events: None,
                              allowed_to_close=set(), is_up=True, clients={})
        run.fail = lambda *words: run.failures.append(words[:2])
        with mock.patch.object(demand, "ask", Daemon(lie)):
            demand.play(run)
        return run.failures

    def test_faults_that_strike_as_they_should(self):
        self.assertEqual(self.failures(), [])

    def test_every_lie_is_told(self):
        for lie, kind in (("no conflict", "answer"), ("no overloaded", "answer"), ("no slow", "soon"), ("again", "answer"),
                          ("left", "left"),
                          ("stays full", "answer"), ("stays", "present"), ("lost", "lost")):
            self.assertEqual(self.failures(lie)[0], ("faults on demand", kind), lie)


if __name__ == "__main__":
    unittest.main()
