"""Lists of events: kept, replayed with other minted values, and made shorter."""

import os
import tempfile
import unittest
from types import SimpleNamespace

import support  # noqa: F401
from generator import Generator
from plan import Minted, load, resolve, save
from restores import Shelf
from schemas import METHODS
from shrink import shrink
from values import Number


class Plans(unittest.TestCase):
    def test_references_take_what_this_run_has_minted(self):
        minted = Minted(Number(7), "3", ("result", "rev"), 1)
        self.assertEqual(resolve({"ifRev": minted}, {"3": {"result": {"rev": Number(41)}}}), {"ifRev": "42"})
        self.assertEqual(resolve({"ifRev": minted}, {}), {"ifRev": "8"})

    def test_a_kept_list_is_the_same_list(self):
        events = [{"do": "start", "configuration": {"roles": {}}},
                  {"do": "send", "client": "w1", "descriptors": [b"\x00\xff"],
                   "lines": [{"id": 1, "method": "settings.put",
                              "params": {"value": 1.5, "ifRev": Minted(2, "1", ("result", "changes", 0, "rev"))}}]}]
        path = os.path.join(tempfile.mkdtemp(), "events")
        save(events, path)
        again = load(path)
        self.assertEqual(again[1]["lines"][0]["params"]["ifRev"], Minted(2, "1", ("result", "changes", 0, "rev")))
        self.assertEqual(again[1]["descriptors"], [b"\x00\xff"])
        save(again, path + "2")
        with open(path, "rb") as one, open(path + "2", "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_the_events_that_matter_are_left(self):
        events = [{"do": "start"}, *({"do": "send", "number": at} for at in range(200))]

        def fails(candidate):
            numbers = {event.get("number") for event in candidate}
            return "both" if {17, 130} <= numbers and candidate[0]["do"] == "start" else None

        self.assertEqual(shrink(events, fails, "both"), [{"do": "start"}, {"do": "send", "number": 17}, {"do": "send", "number": 130}])

    def test_operations_of_transactions_are_left_out(self):
        line = {"method": "transaction.apply", "params": {"operations": ["a", "b", "c"]}}
        events = [{"do": "send", "lines": [{"method": "storage.ping"}, line]}]

        def fails(candidate):
            return "b" if any("b" in (line.get("params") or {}).get("operations", ()) for event in candidate
                              for line in event["lines"]) else None

        self.assertEqual(shrink(events, fails, "b"), [{"do": "send",
                                                       "lines": [{"method": "transaction.apply", "params": {"operations": ["b"]}}]}])


class Generators(unittest.TestCase):
    class Run:
        """As much of a run as a generator looks at."""

        def __init__(self):
            self.clients, self.pending, self.half_closed, self.is_up = {}, {}, set(), False
            self.shelf = Shelf()
            self.is_over = self.is_damaged = self.faults_active = False

        def perform(self, event):
            if event["do"] == "start":
                self.is_up = True
            elif event["do"] in ("kill", "cut"):
                self.is_up = False
                self.clients = {}
            elif event["do"] == "connect":
                self.clients[event["client"]] = len(self.clients)
                self.pending[event["client"]] = {}
            elif event["do"] in ("close", "reset"):
                self.clients.pop(event["client"], None)

    def events(self, seed, count=200):
        generator, run = Generator(seed, count), self.Run()
        while (event := generator.next(run)) is not None:
            run.perform(event)
            yield event

    def test_the_same_seed_makes_the_same_events(self):
        self.assertEqual(list(self.events(5)), list(self.events(5)))
        self.assertNotEqual(list(self.events(5)), list(self.events(6)))

    def test_what_was_made_is_asked_for(self):
        generator = Generator(1, 100)
        generator.run, generator.client = self.Run(), "w1"
        asked = SimpleNamespace(id="1", method="secrets.generate", batch=None, params={"service": "s0", "account": "key-e"})
        generator.answered(asked, {"rev": Number(3), "version": Number(1)}, None, None)
        methods = [generator.member()["method"] for _ in range(60)]
        self.assertLess(methods.index("secrets.sign"), methods.index("secrets.verifySignature"))

    def test_every_method_comes_in_some_seeds(self):
        seen = set()
        for seed in range(300):
            for event in self.events(seed, 400):
                for line in event.get("lines", ()):
                    seen |= {member["method"] for member in (line if isinstance(line, list) else [line]) if isinstance(member, dict)}
        self.assertEqual(sorted(METHODS.keys() - seen), [])


if __name__ == "__main__":
    unittest.main()
