"""What a request key stands for, and when it may be forgotten: a day by the clock with which a process begins."""

import unittest
from types import SimpleNamespace

import support  # noqa: F401
from ledger import Ledger
from run import Asked
from values import Number

DAY = 24 * 3600 * 10**9
NOW = 2000 * DAY


class Keys(unittest.TestCase):
    def setUp(self):
        self.ledger = Ledger(SimpleNamespace())
        self.tick = 0

    def put(self, rev, wall=NOW):
        """A put under the key, answered with this revision; None: not at all. Returns whether it is taken for the first one's again."""
        self.tick += 2
        params = {"domain": "d", "key": "k", "value": "a value", "requestKey": "q"}
        asked = Asked(self.tick, "w", "admin", "1", None, "settings.put", params, self.tick, 0, wall, answered=self.tick + 1)
        self.ledger.sent(asked)
        if rev is None:
            self.ledger.leave(asked)
        else:
            self.ledger.answered(asked, {"rev": Number(rev)}, None)
        return asked.is_repeat

    def kinds(self):
        return [kind for kind, _ in self.ledger.faults]

    def test_what_was_done_is_told_again(self):
        self.put(5)
        self.ledger.grow_old(NOW + DAY // 2)
        self.assertTrue(self.put(5))
        self.assertEqual(self.kinds(), [])
        self.put(6)
        self.assertEqual(self.kinds(), ["key"])

    def test_a_clock_that_goes_back_makes_nothing_old(self):
        self.put(5)
        self.ledger.shift(-500 * DAY, [])
        self.ledger.grow_old(NOW - 500 * DAY)
        self.put(6)
        self.assertEqual(self.kinds(), ["key"])

    def test_behind_a_day_it_is_done_anew_or_told_again(self):
        for rev, is_told_again in ((5, True), (6, False)):
            self.setUp()
            self.put(5)
            self.ledger.grow_old(NOW + DAY)
            self.assertEqual(self.put(rev), is_told_again)
            self.assertEqual(self.kinds(), [])

    def test_what_nobody_was_told_of_may_be_done_behind_a_leap(self):
        self.put(None)
        self.ledger.shift(-DAY, [])
        self.ledger.grow_old(NOW)
        self.put(6)
        # The first may have been done as well.
        self.assertEqual((len(self.ledger.history.loose), len(self.ledger.history.acknowledged)), (1, 1))


if __name__ == "__main__":
    unittest.main()
