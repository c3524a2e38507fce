"""The mischief is what Linux and the simulated kernel can do, and what faults excuse is no more than that."""

import errno
import random
import unittest
from types import SimpleNamespace

import support  # noqa: F401  (finds the simulator)
from adversity import Adversity
from judges.caches import Blobs, digest
from mischief import ERRORS, KINDS, PASSED, Mischief
from run import Asked
from simulated import ACTIONS, CALLS, SimulatedWorld
from world import Accepted, Refused


class World:
    output = [b"a word"]


class TheMischief(unittest.TestCase):
    def rules(self):
        for seed in range(200):
            mischief = Mischief(random.Random(seed), keys=True)
            mischief.is_quiet = False
            for kind in KINDS:
                for event in mischief.make(kind, "w1"):
                    if event["do"] == "fault":
                        yield kind, event["rule"]

    def test_rules_name_calls_and_errors_of_linux(self):
        for _, rule in self.rules():
            self.assertTrue(set(rule["calls"]) <= set(CALLS), rule)
            self.assertTrue(rule["error"] in ACTIONS or rule["error"] in errno.errorcode, rule)
            self.assertLess(len(rule["path"].encode()), 64)

    def test_no_rule_ends_each_process_there_is(self):
        for _, rule in self.rules():
            if rule["error"] in ("kill", "cut", "torn"):
                self.assertEqual(rule["times"], 1)

    def test_a_quiet_seed_has_none(self):
        mischief = Mischief(random.Random(1), keys=True)
        mischief.is_quiet = True
        self.assertEqual(mischief.next(None, "w1"), [])
        self.assertEqual(mischief.start({"do": "start"}), [{"do": "start"}])

    def test_calls_have_errors(self):
        # A close may hang, and never fails.
        self.assertEqual(set(ERRORS), set(CALLS) - {"close"})


class TheQueue(unittest.TestCase):
    def test_one_client_waits_for_a_start_that_takes_long(self):
        world = object.__new__(SimulatedWorld)
        world._monotonic, world._due, world._process, connects = 0, [], True, []

        def turn(until, for_news=True):
            world._monotonic = until
            if connects == [1] and until > 50_000_000:
                world._due = [Refused(1)]
            elif until > 200_000_000 and connects:
                world._due = [Accepted(connects[-1])]

        world.connect = lambda role: connects.append(len(connects) + 1) or connects[-1]
        world._turn, world.close = turn, lambda number: None
        self.assertTrue(world._wait_until_it_serves())
        self.assertEqual(connects, [1, 2])


class Strangers(unittest.TestCase):
    def judged(self, kind, stored):
        """The kinds of failures when a descriptor of this kind is told to be stored."""
        failures = []
        judge = Blobs(SimpleNamespace(history=None, fail=lambda *words: failures.append(words[1])))
        mischief = Mischief(SimpleNamespace(random=lambda: 0, choice=lambda choices: kind if choices is PASSED else 1), keys=True)
        [line] = mischief.stranger()[1]["lines"][:1]
        asked = Asked(1, "x1", "admin", "x1a", None, line["method"], line["params"], 1, 0, 0, note=line["note"], answered=2)
        judge.sent(asked)
        judge.answered(asked, {"stored": True, "digest": stored}, None, None)
        return failures

    def test_what_is_no_file_cannot_be_stored(self):
        for kind in PASSED:
            self.assertEqual(self.judged(kind, digest(b"anything")), [] if kind in (0, 2, 6) else ["digest"], kind)
        self.assertEqual(self.judged(1, digest(b"")), [])


class WhatFaultsExcuse(unittest.TestCase):
    def run_under(self, **state):
        run = Adversity()
        run.world, run.is_draining = World(), False
        for name, value in state.items():
            setattr(run, name, value)
        return run

    def test_nothing_without_one(self):
        for code in (0, 1, 2, -9, -10, -6):
            self.assertFalse(self.run_under().may_end(code, ""), code)

    def test_an_end_with_a_word_under_one(self):
        run = self.run_under(faults_active=True, is_fresh=False)
        self.assertTrue(run.may_end(1, ""))
        for code in (0, 2, -6, -9):
            self.assertFalse(run.may_end(code, ""), code)

    def test_no_end_of_a_process_that_began_behind_it(self):
        self.assertFalse(self.run_under(faults_active=True, is_fresh=True).may_end(1, ""))

    def test_a_second_signal_ends_a_drain_with_1(self):
        self.assertFalse(self.run_under(is_draining=True, terminations=1).may_end(1, ""))
        self.assertTrue(self.run_under(is_draining=True, terminations=2).may_end(1, ""))


if __name__ == "__main__":
    unittest.main()
