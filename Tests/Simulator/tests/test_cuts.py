"""A power cut is one, whoever causes it, and is known until somebody has read what it left."""

import unittest

import support  # noqa: F401
from history import History
from run import Run
from states import Readback
from world import Ended


class World:
    now, output = 7_000_000_000, [b"a word"]


class Cuts(unittest.TestCase):
    def test_a_cut_by_a_rule_is_a_cut(self):
        run = Run(World, [])
        run.is_up = True
        run.take([Ended(-10, "power cut")])
        self.assertTrue(run.history.was_cut)

    def test_a_kill_is_none(self):
        run = Run(World, [])
        run.is_up = True
        run.take([Ended(-9, "kill -9")])
        self.assertFalse(run.history.was_cut)

    def test_a_cut_is_known_until_somebody_has_read_what_it_left(self):
        history = History()
        history.cut(1)
        history.settle(None)
        self.assertTrue(history.was_cut)
        history.settle(Readback({}, set(), 9, 100))
        self.assertFalse(history.was_cut)


if __name__ == "__main__":
    unittest.main()
