"""What a run knows of backups, of what they hold, and of the history that goes on from one."""

import unittest
from types import SimpleNamespace

import support  # noqa: F401
from effects import put, remove, restore
from history import History
from restores import NEWEST, Held, Shelf
from run import Run
from states import Part, Readback, Write
from values import ABSENT, Number
from world import Restored

ONE, OTHER, NOTE = ("settings", "d", "k"), ("settings", "e", "k"), ("documents", "c", "i")


def wrote(number, rev, item, act):
    return Write(number, "write", number, [Part(item, act)], answered=number + 0.5, rev=rev)


def readback(**more):
    found = {item: seen for item, seen in more["items"].items()}
    return Readback(found, {ONE[:2], OTHER[:2], NOTE[:2]}, 9, 100)


class Histories(unittest.TestCase):
    def setUp(self):
        self.history = History()
        for write in (wrote(1, 1, ONE, put("a")), wrote(2, 2, OTHER, put("b")), wrote(3, 3, NOTE, put("c")), wrote(4, 4, NOTE, remove),
                      wrote(5, 5, ONE, put("z"))):
            self.history.took(write)
        self.history.settle(None)

    def faults(self, items):
        self.history.settle(readback(items=items))
        return [kind for kind, _ in self.history.faults]

    def test_what_came_behind_the_backup_is_gone(self):
        self.history.go_on_from(3, Held("backup", "r", 3, {}, 1, 1, 2).holds, 2)
        self.assertEqual(self.faults({ONE: ("a", 1), OTHER: ("b", 2), NOTE: ("c", 3)}), [])
        self.history.took(wrote(6, 4, ONE, put("new")))
        self.assertEqual(self.faults({ONE: ("new", 4), OTHER: ("b", 2), NOTE: ("c", 3)}), [])

    def test_what_the_backup_held_is_missed(self):
        self.history.go_on_from(3, Held("backup", "r", 3, {}, 1, 1, 2).holds, 2)
        self.assertEqual(self.faults({ONE: ("z", 5), OTHER: ("b", 2), NOTE: ("c", 3)}), ["lost"])

    def test_a_part_is_alone(self):
        held = Held("backup", "r", 3, {}, 1, 1, 2, include=["settings"], left_out=[("settings", "e", "marked")])
        self.history.go_on_from(3, held.holds, 2)
        self.assertEqual(self.faults({ONE: ("a", 1)}), [])
        self.assertEqual(self.faults({ONE: ("a", 1), OTHER: ("b", 2)}), ["lost"])

    def test_the_log_adds_what_came_since(self):
        self.history.go_on_from(NEWEST, Held("backup", "r", 1, {}, 1, 1, 2).holds, NEWEST)
        self.assertEqual(self.faults({ONE: ("z", 5), OTHER: ("b", 2)}), [])

    def test_a_tombstone_is_in_a_backup_and_in_no_bundle(self):
        for seeded, expected in ((None, []), (0, ["order"])):
            self.setUp()
            self.history.go_on_from(4, lambda item: True, 5, seeded)
            self.history.took(wrote(7, 5, NOTE, restore))
            self.assertEqual(self.faults({ONE: ("a", 1), OTHER: ("b", 2), NOTE: ("c", 5)})[:1], expected)

    def test_what_came_from_a_bundle_goes_into_no_other(self):
        self.history.go_on_from(5, lambda item: True, 5, seeded=2)
        self.assertEqual(self.faults({ONE: ("z", 5)}), [])

    def test_a_write_without_a_reply_may_be_in_a_backup_that_was_asked_for_later(self):
        for sent, value, expected in ((2, "loose", []), (9, "loose", ["lost"])):
            self.setUp()
            self.history.left(Write(sent, "write", sent, [Part(OTHER, put(value))]))
            self.history.go_on_from(5, lambda item: True, 6)
            self.assertEqual(self.faults({ONE: ("z", 5), OTHER: (value, 3)}), expected)


def asked(number, method, **params):
    return SimpleNamespace(number=number, method=method, params=params, sent=number, answered=number + 1)


def made(shelf, number, name, method="storage.backup"):
    request = asked(number, method, name=name)
    shelf.sent(request)
    shelf.answered(request, {"name": name, "rev": Number(number), "counts": {}, "leftOut": []}, None)


class Shelves(unittest.TestCase):
    def test_what_was_acknowledged_is_there(self):
        shelf = Shelf()
        made(shelf, 1, "monday")
        self.assertEqual(shelf.names("backup"), ["monday"])

    def test_what_is_made_anew_and_not_answered_is_not_known(self):
        shelf = Shelf()
        made(shelf, 1, "monday")
        shelf.sent(asked(2, "storage.backup", name="monday"))
        self.assertEqual(shelf.names("backup"), [])

    def test_what_was_pruned_is_gone(self):
        shelf = Shelf()
        made(shelf, 1, "monday")
        made(shelf, 2, "tuesday")
        prune = asked(3, "backups.prune", names=["monday"])
        shelf.sent(prune)
        self.assertEqual(shelf.names("backup"), [])
        shelf.answered(prune, {"removed": ["monday"]}, None)
        self.assertEqual(shelf.names("backup"), ["tuesday"])

    def test_an_unclear_prune_leaves_no_backup_that_is_relied_on(self):
        shelf = Shelf()
        made(shelf, 1, "monday")
        prune = asked(3, "backups.prune", names=["monday"])
        shelf.sent(prune)
        shelf.answered(prune, None, "internalError")
        self.assertEqual(shelf.names("backup"), [])


class World:
    """Whose restores come to what they are told to."""

    now, data, output, lacks_key = 7_000_000_000, "/data", [b"a word"], False

    def restore(self, backup, words, *others):
        self.words = words
        return self.outcome

    def move(self):
        self.has_moved = True


class Restores(unittest.TestCase):
    def run_with(self, outcome, **state):
        world = World()
        world.outcome, world.has_moved = Restored(*outcome), False
        run = Run(world, [])
        made(run.shelf, 1, "monday")
        for name, value in state.items():
            setattr(run, name, value)
        run.do_restore({"backup": "monday"})
        return run

    def test_whole_or_not_at_all(self):
        for outcome, expected in (((0, "", True, False), []), ((0, "", False, False), ["absent"]), ((1, "no", True, False), ["half"]),
                                  ((1, "no", False, False), ["refused"]), ((None, "", False, False), []),
                                  ((-11, "", False, False), ["ended"])):
            run = self.run_with(outcome)
            self.assertEqual([kind for _, kind, _ in run.failures], expected, outcome)
            self.assertEqual(run.world.has_moved, outcome[2])

    def test_a_fault_excuses_a_refusal_and_that_its_words_are_lost(self):
        self.assertEqual(self.run_with((1, "no", False, False), faults_active=True).failures, [])
        self.assertEqual(self.run_with((1, " ", False, False), faults_active=True).failures, [])

    def test_a_refusal_has_words(self):
        run = self.run_with((1, "", False, False))
        run.failures.clear()
        run.judge_restore(run.shelf.held["backup", "monday"], Restored(1, " ", False, False), may_refuse=True)
        self.assertEqual([kind for _, kind, _ in run.failures], ["silent"])

    def test_without_a_root_key_nothing_is_proved(self):
        for lacks_key, expected in ((False, []), (True, ["--unproved"])):
            World.lacks_key = lacks_key
            self.addCleanup(setattr, World, "lacks_key", False)
            self.assertEqual(self.run_with((0, "", True, False)).world.words, expected)

    def test_what_was_stopped_when_all_was_there_is_gone_on_from(self):
        run = self.run_with((None, "", True, True))
        self.assertTrue(run.world.has_moved)

    def test_it_is_nothing_for_a_daemon_that_runs(self):
        self.assertFalse(self.run_with((0, "", True, False), is_up=True).world.has_moved)


if __name__ == "__main__":
    unittest.main()
