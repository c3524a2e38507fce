"""What the disk proves once bits have flipped, and what may be lost without a word behind it."""

import struct
import unittest

import support  # noqa: F401
from effects import put
from history import History
from proof import BACK, FRONT, NOTE, SEGMENT, crc32c, proven
from run import Run
from states import Part, Readback, Write

ITEM, OTHER, SALT = ("settings", "d", "k"), ("settings", "d", "l"), b"saltsalt"


def seal(data):
    return data + struct.pack("<I", crc32c(data))


def slot(rev):
    return seal(NOTE + struct.pack("<Q", rev) + b"e" * 36)


def note(*revs):
    return b"".join(slot(rev).ljust(512, b"\0") for rev in revs)


def frame(mark, rev, synced):
    return seal(struct.pack("<II", mark, 8) + SALT + struct.pack("<QQqQI", rev - 1, rev, 0, synced, 1))


def segment(*rows, synced=0):
    head = seal(SEGMENT + struct.pack("<II", 4, 1) + SALT + struct.pack("<Q", synced)).ljust(512, b"\0")
    return head.ljust(4096, b"\0") + head + b"".join(frame(FRONT, *row) + b"records!" + frame(BACK, *row) for row in rows)


def flipped(content, offset):
    return content[:offset] + bytes([content[offset] ^ 4]) + content[offset + 1 :]


class Proofs(unittest.TestCase):
    def test_the_sum_is_castagnoli_s(self):
        self.assertEqual(crc32c(b"123456789"), 0xE3069283)

    def test_the_newest_whole_slot_counts(self):
        self.assertEqual(proven(note(3, 5), [], False), 5)
        self.assertEqual(proven(flipped(note(3, 5), 520), [], False), 3)
        self.assertEqual(proven(b"", [], False), 0)

    def test_a_row_proves_what_was_synced_before_it(self):
        # The fifth lies in two sectors, so that a power cut may have torn it.
        rows = segment(*((rev, rev - 1) for rev in range(1, 6)))
        self.assertEqual(proven(note(1, 0), [rows], False), 4)
        # Without one of its frames it proves as much; without both nothing.
        self.assertEqual(proven(b"", [flipped(rows, len(rows) - 10)], False), 4)
        self.assertEqual(proven(b"", [flipped(flipped(rows, len(rows) - 10), len(rows) - 110)], False), 4)

    def test_a_row_in_one_sector_was_written_as_a_whole(self):
        rows = segment((1, 0), (2, 0))
        self.assertEqual(proven(b"", [rows], False), 2)
        self.assertEqual(proven(b"", [flipped(rows, len(rows) - 60)], False), 2)
        self.assertEqual(proven(b"", [flipped(rows, len(rows) - 10)], False), 1)

    def test_where_no_cut_came_a_row_was_written_and_proves_those_before_it(self):
        rows = segment(*((rev, 0) for rev in range(1, 6)))
        self.assertEqual(proven(b"", [rows], True), 5)
        # A kill may have left its front alone.
        self.assertEqual(proven(b"", [flipped(rows, len(rows) - 10)], True), 4)

    def test_a_head_proves_what_was_synced_when_it_was_made(self):
        self.assertEqual(proven(b"", [segment(synced=7)], False), 7)
        self.assertEqual(proven(b"", [flipped(segment(synced=7), 3)], False), 7)


class Torn(unittest.TestCase):
    def torn(self, rev, found):
        """What is faulty when the disk proves this revision and these items are found. Two puts were acknowledged."""
        history = History()
        for number, item in ((1, ITEM), (2, OTHER)):
            history.took(Write(number, "settings.put", number, [Part(item, put("value"))], answered=number + 0.5, rev=number))
        history.settle(None)
        history.tear(rev)
        history.settle(Readback(found, {ITEM[:2]}, 2, 9))
        return [kind for kind, _ in history.faults], history.has_torn

    def test_what_is_not_proved_may_be_gone(self):
        first, both = {ITEM: ("value", 1)}, {ITEM: ("value", 1), OTHER: ("value", 2)}
        self.assertEqual(self.torn(1, first), ([], True))
        self.assertEqual(self.torn(1, both), ([], False))
        self.assertEqual(self.torn(0, {}), ([], True))

    def test_what_is_proved_is_missed_and_so_is_what_came_before_what_is_left(self):
        self.assertEqual(self.torn(2, {ITEM: ("value", 1)}), (["lost"], False))
        self.assertEqual(self.torn(0, {OTHER: ("value", 2)}), (["suffix", "lost"], False))


class World:
    now, output, rotten = 7_000_000_000, [b"a word"], [("/data/log/000001.log", 5000)]


class Silent(unittest.TestCase):
    def test_who_cannot_be_asked_is_not_silent(self):
        run = Run(World(), [])
        run.is_damaged, run.doubts = True, ["a doubt"]
        run.judge_damage(None)
        self.assertEqual(run.failures, [])


if __name__ == "__main__":
    unittest.main()
