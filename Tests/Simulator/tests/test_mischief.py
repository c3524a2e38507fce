"""The mischief is what Linux and the simulated kernel can do, and what faults excuse is no more than that."""

import errno
import random
import unittest

import support  # noqa: F401  (finds the simulator)
from adversity import Adversity
from mischief import ERRORS, KINDS, Mischief
from simulated import ACTIONS, CALLS


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
        self.assertEqual(set(ERRORS), set(CALLS))


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
