"""Subscriptions are judged for as long as the daemon has them."""

import unittest
from types import SimpleNamespace

import support  # noqa: F401
from judges.feed import Feed
from run import Asked
from values import Number


def asked(method, params, sent, identifier='"1"'):
    return Asked(sent, "w1", "admin", identifier, None, method, params, sent, 0, 0)


class Ends(unittest.TestCase):
    def setUp(self):
        self.judge = Feed(SimpleNamespace(history=None))

    def watch(self, sent):
        self.judge.answered(asked("changes.watch", {}, sent), {"subscription": Number(1), "rev": Number(5), "epoch": "e"}, None, None)

    def unwatch(self, sent, identifier='"1"'):
        request = asked("changes.unwatch", {"subscription": Number(1)}, sent, identifier)
        self.judge.sent(request)
        if identifier is not None:
            self.judge.answered(request, {"ended": True}, None, None)

    def test_an_end_asked_for_by_a_notification_is_one(self):
        self.watch(1)
        self.assertEqual(len(self.judge.places), 1)
        self.unwatch(2, None)
        self.assertEqual(len(self.judge.places), 0)

    def test_an_end_may_be_told_ahead_of_the_beginning(self):
        self.unwatch(2)
        self.watch(1)
        self.assertEqual(len(self.judge.places), 0)

    def test_an_end_of_what_was_not_there_ends_nothing_that_follows(self):
        self.unwatch(1, None)
        self.watch(2)
        self.assertEqual(len(self.judge.places), 1)


if __name__ == "__main__":
    unittest.main()
