"""Timelines: what may follow what, and what is told when it does not."""

import unittest
from types import SimpleNamespace

import support  # noqa: F401
from effects import anything, increment, parts_of, put, remove, restore
from history import History
from states import DESTROYED, Part, Read, Readback, Write
from values import ABSENT, ANY, Number

ITEM = ("settings", "d", "k")
VALUE = {"text": "long enough"}


def write(tick, rev, act, value=None, durable=True, **more):
    part = Part(ITEM, act, **({"plain": value} if value is not None else {}), **more)
    return Write(tick, "settings.put", tick, [part], answered=None if rev is None else tick + 1, rev=rev, durable=durable)


def found(value, rev, tick=100):
    return Readback({ITEM: (value, rev)} if value is not ABSENT else {}, {ITEM[:2]}, rev, tick)


class Registers(unittest.TestCase):
    def setUp(self):
        self.history = History()

    def kinds(self):
        return [kind for kind, _ in self.history.faults]

    def test_what_was_acknowledged_is_found(self):
        self.history.took(write(1, 5, put(VALUE), VALUE))
        self.history.settle(found(VALUE, 5))
        self.assertEqual(self.kinds(), [])

    def test_what_is_lost_is_told(self):
        self.history.took(write(1, 5, put(VALUE), VALUE))
        self.history.settle(found(ABSENT, 0))
        self.assertEqual(self.kinds(), ["lost"])

    def test_a_stale_read_is_told(self):
        self.history.took(write(1, 5, put("a"), "a"))
        self.history.took(write(3, 6, put("b"), "b"))
        self.history.showed(Read(ITEM, "a", 5, 10, 11, 9))
        self.history.settle(found("b", 6))
        self.assertEqual(self.kinds(), ["read"])

    def test_a_read_beside_a_write_may_show_either(self):
        self.history.took(write(1, 5, put("a"), "a"))
        self.history.took(write(3, 6, put("b"), "b"))
        self.history.showed(Read(ITEM, "a", 5, 3, 4, 9))
        self.history.settle(found("b", 6))
        self.assertEqual(self.kinds(), [])

    def test_an_unanswered_write_may_have_happened_or_not(self):
        for outcome in (found(VALUE, 7), found("a", 5)):
            self.history = History()
            self.history.took(write(1, 5, put("a"), "a"))
            self.history.left(write(3, None, put(VALUE), VALUE))
            self.history.settle(outcome)
            self.assertEqual(self.kinds(), [])

    def test_a_change_that_nobody_made_is_told(self):
        self.history.took(write(1, 5, put("a"), "a"))
        self.history.showed(Read(ITEM, "z", 9, 10, 11, 9))
        self.history.settle(found("z", 9))
        self.assertIn("revision", self.kinds())

    def test_a_condition_that_did_not_hold_is_told(self):
        self.history.took(write(1, 5, put("a"), "a"))
        self.history.took(write(3, 6, put("b"), "b", if_rev=4))
        self.history.settle(None)
        self.assertEqual(self.kinds(), ["order"])

    def test_sums_follow_each_other(self):
        self.history.took(write(1, 5, increment(1, Number(0))))
        self.history.took(write(3, 6, increment(2, Number(0))))
        self.history.settle(found(Number(3), 6))
        self.assertEqual(self.kinds(), [])

    def test_half_of_a_transaction_is_told(self):
        other = ("settings", "d", "other")
        both = Write(1, "transaction.apply", 1, [Part(ITEM, put(VALUE), plain=VALUE), Part(other, put(VALUE), plain=VALUE)])
        self.history.left(both)
        self.history.showed(Read(ITEM, VALUE, 8, 10, 11, 9))
        self.history.settle(Readback({ITEM: (VALUE, 8)}, {ITEM[:2]}, 8, 100))
        self.assertEqual(self.kinds(), ["lost"])

    def test_a_cut_takes_relaxed_changes_from_the_end(self):
        for outcome, expected in ((found("a", 5), []), (found("b", 6), []), (found(ABSENT, 0), ["suffix", "lost"])):
            self.history = History()
            self.history.took(write(1, 5, put("a"), "a"))
            self.history.took(write(3, 6, put("b"), "b", durable=False))
            self.history.took(write(5, 7, put("c"), "c", durable=False))
            self.history.cut(0)
            self.history.settle(outcome)
            self.assertEqual(self.kinds(), expected)

    def test_a_cut_takes_nothing_from_before_what_it_left(self):
        other = ("settings", "d", "other")
        later = Write(5, "settings.put", 5, [Part(other, put("c"), plain="c")], answered=6, rev=7, durable=False)
        for items, expected in (({ITEM: ("b", 6), other: ("c", 7)}, []), ({ITEM: ("b", 6)}, []), ({ITEM: ("a", 5)}, []),
                                ({ITEM: ("a", 5), other: ("c", 7)}, ["suffix", "lost"])):
            self.history = History()
            self.history.took(write(1, 5, put("a"), "a"))
            self.history.took(write(3, 6, put("b"), "b", durable=False))
            self.history.took(later)
            self.history.cut(0)
            self.history.settle(Readback(items, {ITEM[:2]}, 7, 100))
            self.assertEqual(self.kinds()[:2], expected)

    def test_a_cut_takes_what_was_relaxed_also_when_something_strict_follows_it(self):
        other = ("settings", "d", "other")
        for items, expected in (({ITEM: ("a", 5), other: ("c", 1_000_006)}, []), ({ITEM: ("b", 6), other: ("c", 1_000_006)}, []), ({ITEM: ("a", 5)}, ["suffix"])):
            self.history = History()
            self.history.took(write(1, 5, put("a"), "a"))
            self.history.took(write(3, 6, put("b"), "b", durable=False))
            self.history.cut(0)
            self.history.took(Write(5, "settings.put", 5, [Part(other, put("c"), plain="c")], answered=6, rev=1_000_006))
            self.history.settle(Readback(items, {ITEM[:2]}, 1_000_006, 100))
            self.assertEqual(self.kinds()[:1], expected)

    def test_each_cut_takes_from_the_end_of_what_came_before_it(self):
        other = ("settings", "d", "other")
        for items, expected in (({ITEM: ("a", 5), other: ("c", 7)}, []), ({ITEM: ("b", 6)}, []), ({ITEM: ("a", 5)}, []), ({}, ["suffix"])):
            self.history = History()
            self.history.took(write(1, 5, put("a"), "a"))
            self.history.took(write(3, 6, put("b"), "b", durable=False))
            self.history.cut(0)
            self.history.took(Write(5, "settings.put", 5, [Part(other, put("c"), plain="c")], answered=6, rev=7, durable=False))
            self.history.cut(0)
            self.history.settle(Readback(items, {ITEM[:2]}, 7, 100))
            self.assertEqual(self.kinds()[:1], expected)

    def test_a_cut_takes_nothing_that_was_due_to_be_synced(self):
        for cut_at, expected in ((5, []), (7, ["lost"])):
            self.history = History()
            self.history.took(write(1, 5, put("a"), "a"))
            relaxed = write(3, 6, put("b"), "b", durable=False)
            relaxed.answered_at = 500_000_000
            self.history.took(relaxed)
            self.history.cut(cut_at * 1_000_000_000)
            self.history.settle(found("a", 5))
            self.assertEqual(self.kinds(), expected)

    def test_an_account_in_two_groups_is_judged_in_the_first_alone(self):
        for groups in ([None, "team"], ["team", None]):
            self.history = History()
            for group in groups:
                self.history.meet_group("gu", group)
            self.assertTrue(self.history.is_main("gu", groups[0]))
            self.assertFalse(self.history.is_main("gu", groups[1]))
            self.assertTrue(self.history.is_grouped("gu"))
        self.history.meet_group("a", None)
        self.assertFalse(self.history.is_grouped("a"))
        self.assertEqual([self.history.is_main("g0", group) for group in ("team", None)], [True, False])

    def test_a_write_of_unknown_outcome_is_forgotten_once_its_item_was_looked_at(self):
        for scopes, expected in (({ITEM[:2]}, ["read"]), (set(), [])):
            self.history = History()
            self.history.took(write(1, 5, put("a"), "a"))
            self.history.left(write(3, None, remove))
            for tick in (100, 101):
                self.history.settle(Readback({ITEM: ("a", 5)}, scopes, 5, tick))
            self.history.showed(Read(ITEM, ABSENT, 0, 200, 201, 9))
            self.history.settle(None)
            self.assertEqual(self.kinds(), expected)

    def test_a_secret_loses_its_content_to_a_destroyed_version_alone(self):
        for part, expected in ((Part(ITEM, anything), []), (None, ["lost"])):
            self.history = History()
            self.history.took(write(1, 5, put("a"), "a"))
            if part is not None:
                self.history.left(Write(3, "secrets.destroyVersion", 3, [part]))
            self.history.settle(found(DESTROYED, 6 if part else 5))
            self.history.showed(Read(ITEM, ABSENT, 0, 200, 201, 9))
            self.history.settle(None)
            self.assertEqual(self.kinds(), expected)

    def test_what_is_there_unseen_is_not_absent(self):
        self.history.settle(found(ANY, 5))
        self.assertEqual(self.kinds(), [])
        self.history.meet(ITEM)
        self.history.settle(found(ANY, 5))
        self.assertEqual(self.kinds(), ["lost"])

    def test_an_import_that_replaces_removes_what_is_told_of_later(self):
        params = {"values": {"d": {"kept": "a"}}, "mode": "replace"}
        parts = parts_of("settings.import", params, {"rev": Number(6)}, SimpleNamespace(history=self.history))
        self.history.took(Write(3, "settings.import", 3, parts, answered=4, rev=6))
        self.history.took(write(2, 5, increment(1, Number(0))))
        self.history.settle(Readback({("settings", "d", "kept"): ("a", 6)}, {ITEM[:2]}, 6, 100))
        self.assertEqual(self.kinds(), [])

    def test_a_deletion_may_have_happened(self):
        self.history.took(write(1, 5, put("a"), "a"))
        self.history.left(write(3, None, remove))
        self.history.settle(found(ABSENT, 0))
        self.history.showed(Read(ITEM, ABSENT, 0, 200, 201, 9))
        self.history.settle(found(ABSENT, 0, 300))
        self.assertEqual(self.kinds(), [])

    def test_what_may_have_come_and_gone_may_be_restored(self):
        for unanswered, expected in (((put(VALUE), remove), []), ((remove,), ["order"])):
            self.history = History()
            for tick, act in enumerate(unanswered, 1):
                self.history.left(write(tick, None, act))
            for tick in (100, 101, 102):
                self.history.settle(found(ABSENT, 0, tick))
            self.history.took(write(200, 7, restore))
            self.history.settle(found(VALUE, 7, 300))
            self.assertEqual(self.kinds()[:1], expected)


if __name__ == "__main__":
    unittest.main()
