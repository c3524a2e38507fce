"""What a role may have is counted in whatever history the daemon goes on with."""

import unittest
from types import SimpleNamespace

import support  # noqa: F401
from effects import put
from history import History
from judges.quotas import Quotas
from restores import NEWEST, Held
from run import Asked
from states import Part, Readback, Write
from values import Number

CONFIGURATION = {"roles": {"bounded": {"quotas": {"items": 3}}, "app": {}}}


def item(number):
    return "settings", "bounded", f"k{number}"


class Counts(unittest.TestCase):
    def setUp(self):
        self.history, self.failures = History(), []
        self.run_ = SimpleNamespace(history=self.history, world=None, events=[{"do": "start", "configuration": CONFIGURATION}],
                                    fail=lambda judge, kind, words: self.failures.append(kind))
        self.judge = Quotas(self.run_)
        for number in range(1, 5):
            self.history.took(Write(number, "settings.put", number, [Part(item(number), put("a"))], answered=number + 0.5, rev=number))
        self.history.settle(None)

    def puts(self, number, rev, kind=None):
        """One more put of the role, and what becomes of it."""
        asked = Asked(number, "w", "bounded", "1", None, "settings.put", {"domain": "bounded", "key": f"k{number}"}, number, 0, 0)
        asked.answered = number + 0.5
        if kind is None:
            self.history.took(Write(number, "settings.put", number, [Part(item(number), put("b"))], answered=number + 0.5, rev=rev))
        result = {"rev": Number(rev)} if kind is None else None
        self.judge.answered(asked, result, kind, {"data": {"kind": kind, "hint": "items that this role may have"}})
        self.history.settle(None)
        self.judge.settled(Readback({}, set(), rev, number + 1))
        return self.failures

    def restore(self, rev):
        self.history.go_on_from(rev, Held("backup", "r", rev, {}, 1, 1, 2).holds, NEWEST)

    def test_an_item_too_many_is_told(self):
        self.assertEqual(self.puts(9, 5), ["beyond"])

    def test_what_a_restore_has_brought_is_counted(self):
        self.restore(3)
        self.assertEqual(self.puts(9, 4), ["beyond"])

    def test_what_a_restore_has_left_behind_is_not(self):
        self.restore(2)
        self.assertEqual(self.puts(9, 3), [])
        self.assertEqual(self.puts(10, 4), ["beyond"])

    def test_a_refusal_with_room_left_is_told(self):
        self.restore(2)
        self.assertEqual(self.puts(9, 2, "quotaExceeded"), ["within"])

    def test_what_was_done_before_is_judged_by_no_bound_of_now(self):
        self.restore(4)
        self.assertEqual(self.puts(4, 4), [])


if __name__ == "__main__":
    unittest.main()
