"""What was refused has changed nothing, whatever else goes on by itself."""

import unittest
from types import SimpleNamespace
from unittest.mock import patch

import support  # noqa: F401
from judges.whole import Undo
from states import Readback

ITEM = ("secrets", "s", "a")


class WhatWasRefused(unittest.TestCase):
    def judged(self, is_rewrapped, after):
        failures = []
        history = SimpleNamespace(is_rewrapped=is_rewrapped, loose_parts=lambda item: [])
        run = SimpleNamespace(history=history, is_up=True, faults_active=False, starts=3, fail=lambda *words: failures.append(words[1]))
        readbacks = [Readback({ITEM: found}, {ITEM[:2]}, 9, 1) for found in (("a", 5), after)]
        with patch("readback.read_back", lambda run: readbacks[1]):
            Undo(run).settled(readbacks[0])
        return failures

    def test_a_revision_stays_unless_secrets_are_sealed_anew(self):
        self.assertEqual(self.judged(False, ("a", 5)), [])
        self.assertEqual(self.judged(False, ("a", 9)), ["changed"])
        self.assertEqual(self.judged(True, ("a", 9)), [])
        self.assertEqual(self.judged(True, ("b", 9)), ["changed"])


if __name__ == "__main__":
    unittest.main()
