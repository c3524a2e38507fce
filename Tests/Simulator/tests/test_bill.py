"""The bill is held against the disk when nothing is under way."""

import unittest
from types import SimpleNamespace
from unittest.mock import patch

import support  # noqa: F401
from judges.bill import Bill

NAMES = ("bytes", "syncs", "writes", "creates", "renames", "deletes", "metadataBytes")


class World:
    """A write is given at once, and billed when its call returns, a moment of the world later."""

    written = billed = syncs = 0

    def write(self, count):
        self.written += count
        self.syncs += 1

    def advance(self, span):
        self.billed = self.written
        return []


class TheBill(unittest.TestCase):
    def setUp(self):
        self.failures, self.unbilled = [], 0
        self.world = World()
        run = SimpleNamespace(world=self.world, is_up=True, faults_active=False, history=None, take=lambda events: None,
                              fail=lambda *words: self.failures.append(words[1]))
        self.judge = Bill(run)

    def settle(self):
        with patch("readback.ask", lambda run, requests: [{"result": self.bill()}]):
            self.judge.settled(None)

    def bill(self):
        told = dict.fromkeys(NAMES, 0) | {"bytes": self.world.billed - self.unbilled, "syncs": self.world.syncs}
        return {"totals": told | {"log": told["bytes"], "tables": 0, "caches": 0, "other": 0}, "files": [told], "startedAt": "now"}

    def test_a_write_under_way_is_waited_for(self):
        self.settle()
        self.world.write(100_000)
        self.settle()
        self.world.write(100_000)
        self.settle()
        self.assertEqual(self.failures, [])

    def test_what_is_not_billed_is_told(self):
        self.settle()
        self.world.write(100_000)
        self.unbilled = 40_000
        self.settle()
        self.assertEqual(self.failures, ["bytes"])


if __name__ == "__main__":
    unittest.main()
