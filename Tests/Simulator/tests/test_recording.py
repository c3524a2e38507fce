"""A recording becomes a list of events, which means the same in a run that mints other values; session.recording is a real one."""

import argparse
import json
import os
import tempfile
import unittest

import support  # finds the simulator
import kernel
import plan
import recording
import session
from judges.base import Judge
from plan import Minted

RECORDING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "session.recording")
HEAD = {"recording": 1, "version": "0", "startedAt": "2026-01-01T00:00:00.000Z", "leftOut": []}
END = {"at": 99, "end": {}}


def written(lines, end="\n"):
    path = os.path.join(tempfile.mkdtemp(), "recording")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines) + end)
    return path


def events(*lines, connections=(1,)):
    opened = [{"at": 0, "connection": number, "role": "admin"} for number in connections]
    return recording.load(written([HEAD, *opened, *lines, END]))[0]


def request(identifier, method, /, at=1, connection=1, **params):
    return {"at": at, "connection": connection, "request": {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}}


def reply(identifier, at=2, connection=1, **more):
    return {"at": at, "connection": connection, "reply": identifier, **more}


def sent(made):
    return [line for event in made if event["do"] == "send" for line in event["lines"]]


class Recordings(unittest.TestCase):
    def test_requests_come_at_their_times_and_behind_the_replies_before_them(self):
        made = events(request(7, "storage.ping", at=5), reply(7, at=6), request(8, "storage.ping", at=9, connection=2), {"at": 11, "connection": 1, "closed": True},
                      connections=(1, 2))
        steps = [(event["do"], event.get("at", event.get("client")), event.get("answered")) for event in made]
        self.assertEqual(steps, [("start", None, None), ("until", 0, None), ("connect", "c1", None), ("connect", "c2", None), ("until", 5000, None), ("send", "c1", None),
                                 ("until", 9000, ["1.1"]), ("send", "c2", None), ("until", 11000, None), ("close", "c1", None), ("settle", None, None)])

    def test_minted_values_are_those_of_this_run(self):
        made = events(
            request(1, "documents.put", collection="c", value=1), reply(1, minted={"id": "01a2", "rev": 5}),
            request(2, "documents.put", collection="c", id="01a2", value={"rev": 5, "of": ["01a2"]}, ifRev=5))
        self.assertEqual(sent(made)[1]["params"], {"collection": "c", "id": Minted("01a2", "1.1", ("result", "id")), "ifRev": Minted("5", "1.1", ("result", "rev")),
                                                   "value": {"rev": "5", "of": [Minted("01a2", "1.1", ("result", "id"))]}})

    def test_a_conflict_tells_a_revision_too(self):
        made = events(request(1, "settings.put", domain="d", key="k", value=1), reply(1, error="conflict", minted={"currentRev": 4}),
                      request(2, "transaction.apply", operations=[{"method": "settings.put", "params": {"domain": "d", "key": "k", "value": 4, "ifRev": 4}}]),
                      request(3, "session.can", method="settings.put", params={"domain": "d", "key": "k", "ifRev": 4}),
                      {"at": 3, "connection": 1, "request": {"jsonrpc": "2.0", "id": 4, "method": "changes.list", "params": [4]}})
        rev = Minted("4", "1.1", ("error", "data", "currentRev"))
        _, whole, can, places = sent(made)
        self.assertEqual(whole["params"]["operations"][0]["params"], {"domain": "d", "key": "k", "value": "4", "ifRev": rev})
        self.assertEqual(can["params"]["params"]["ifRev"], rev)
        self.assertEqual(places["params"], [rev])

    def test_what_a_client_has_chosen_is_its_own_and_no_revision_is_0(self):
        made = events(request(1, "documents.put", collection="c", id="mine", value=1), reply(1, minted={"id": "mine", "rev": 0}),
                      request(2, "documents.get", collection="c", id="mine"), request(3, "changes.list", afterRev=0))
        self.assertEqual(sent(made)[1]["params"]["id"], "mine")
        self.assertEqual(sent(made)[2]["params"]["afterRev"], "0")

    def test_subscriptions_are_their_connections_own(self):
        made = events(request(1, "changes.watch", afterRev=0), reply(1, minted={"subscription": 1}), request(2, "changes.unwatch", subscription=1),
                      request(1, "changes.unwatch", connection=2, subscription=1), connections=(1, 2))
        self.assertEqual([line["params"].get("subscription") for line in sent(made)], [None, Minted("1", "1.1", ("result", "subscription")), "1"])

    def test_an_id_that_is_under_way_twice_is_told_apart(self):
        made = events(request(1, "changes.wait", afterRev=0), request(1, "storage.ping"), reply(1), reply(1), request(1, "storage.ping"))
        self.assertEqual([line["id"] for line in sent(made)], ["1", "1.2", "1"])
        self.assertEqual([event["answered"] for event in made if "answered" in event], [["1.1", "1.2"]])

    def test_what_is_no_request_is_sent_as_it_came(self):
        odd = {"jsonrpc": "2.0", "id": 3, "method": "storage.ping", "priority": 9}
        made = sent(events({"at": 1, "connection": 1, "request": "xxx"}, {"at": 1, "connection": 1, "request": odd}, {"at": 1, "connection": 1, "request": [1, odd]},
                           {"at": 1, "connection": 1, "request": []}))
        self.assertEqual([made[0], made[3]], ["xxx", "[]"])
        self.assertEqual((made[1]["raw"]["priority"], made[1]["id"], made[1]["method"]), ("9", "3", recording.NOBODY))
        self.assertEqual([member["raw"] for member in made[2]][0], "1")

    def test_descriptors_go_with_the_requests_that_take_them(self):
        passed = [{"at": 1, "connection": 1, "descriptor": {"kind": "file", "bytes": size, "mode": "both"}} for size in (3, 9)]
        made = events(*passed, request(1, "storage.ping"), request(2, "blobs.put", namespace="b", key="k", fd=True), request(3, "documents.export", collection="c", fd=True))
        self.assertEqual([event.get("descriptors") for event in made if event["do"] == "send"], [None, [b"\0\0\0"], [recording.EMPTY]])

    def test_a_recording_tells_what_it_lacks(self):
        cut = [HEAD, {"at": 0, "connection": 1, "role": "app"}, {"at": 1, "dropped": 4}, '{"at":2,"conn']
        made, _, notes, *_ = recording.load(written(cut, end=""))
        self.assertEqual(made[0]["configuration"]["roles"], {"app": {"grants": recording.EVERYTHING}})
        self.assertTrue(any("cut off" in note for note in notes) and any(note.startswith("4 requests") for note in notes) and any("app" in note for note in notes), notes)

    def test_what_is_damaged_or_newer_is_refused(self):
        for lines in ([HEAD, {"at": 1}], [HEAD, "{"], [{**HEAD, "recording": 2}], [HEAD, {"at": 1, "connection": 1, "what": 1}]):
            with self.assertRaises(recording.Damaged):
                recording.load(written(lines))
        self.assertFalse(recording.is_recording(os.path.join(os.path.dirname(RECORDING), "support.py")))

    def test_a_list_of_it_is_the_same_list(self):
        made, path = recording.load(RECORDING)[0], os.path.join(tempfile.mkdtemp(), "events")
        plan.save(made, path)
        again = plan.load(path)
        plan.save(again, path + "2")
        with open(path, "rb") as one, open(path + "2", "rb") as other:
            self.assertEqual(one.read(), other.read())
        self.assertEqual([event.get("descriptors") for event in again], [event.get("descriptors") for event in made])


class Sure(Judge):
    """Finds a fault where there is none: a document that is given a second member."""

    name = "sure"

    def answered(self, asked, result, kind, error):
        if asked.method == "documents.patch":
            self.fail("patched", f"it was answered with {kind}")


@unittest.skipUnless(os.access(support.DAEMON, os.X_OK), "there is no daemon")
class Played(unittest.TestCase):
    def play(self, what, judges, twice=False, trace=None):
        self.folder = tempfile.mkdtemp()
        chosen = argparse.Namespace(requests=None, trace=trace, twice=twice, no_shrink=False, keep=self.folder, planted=None)
        known, session.JUDGES = session.JUDGES, judges
        try:
            return session.Session(kernel.built(), support.DAEMON, chosen).run(*what)
        finally:
            session.JUDGES = known

    def kinds(self, what):
        """Which errors were answered, and which in the recording."""
        kinds = {}

        class Kinds(Judge):
            def answered(self, asked, result, kind, error):
                kinds[asked.name] = kind

        self.assertIsNone(self.play(what, [*session.JUDGES, Kinds])["found"])
        with open(RECORDING, encoding="utf-8") as file:
            wanted = [line.get("error") for line in map(json.loads, file) if line.get("reply") is not None]
        names = [name for event in recording.load(RECORDING)[0] for name in event.get("answered", ())]
        return [kinds.get(name) for name in names], wanted[:len(names)]

    def test_a_real_one_is_answered_as_it_was(self):
        self.assertEqual(*self.kinds(("recording", (RECORDING, 7))))

    def test_a_request_waits_for_the_replies_that_came_before_it(self):
        made = [event | {"at": 0} if event["do"] == "until" else event for event in recording.load(RECORDING)[0]]
        path = os.path.join(tempfile.mkdtemp(), "events")
        plan.save([{"do": "world", "seed": 7, "temper": {"switch": 100, "split": 50, "slow": 20_000, "cold": 0}}, *made], path)
        self.assertEqual(*self.kinds(("list", path)))

    def test_what_no_judge_can_read_is_sent_all_the_same(self):
        odd = [("models.put", {"namespace": [1], "key": {}, "value": 1}), ("models.putMany", {"entries": 1}), ("settings.override", {"domain": {}}),
               ("blobs.put", {"namespace": "b", "key": "k", "data": "?"}), ("documents.drop", {"collection": [[]]}), ("documents.drop", [1, 2, 3, 4])]
        lines = [{"at": 1, "connection": 1, "request": {"jsonrpc": "2.0", "id": at, "method": method, "params": params}} for at, (method, params) in enumerate(odd)]
        path = written([HEAD, {"at": 0, "connection": 1, "role": "admin"}, *lines, END])
        self.assertIsNone(self.play(("recording", (path, 1)), session.JUDGES)["found"])

    def test_what_no_method_is_called_is_refused_rightly(self):
        ask = [("transaction.apply", {"operations": [{"method": "settings.put", "params": {"domain": "d", "key": "k", "value": 1}}, {"method": "settings.putt", "params": {}}]}),
               ("transaction.apply", [[{"method": "\u00fc"}]]), ("settings.putt", {}), ("settings.get", None), ("settings.get", 5), ("settings.get", "x")]
        lines = [{"at": 1, "connection": 1, "request": {"jsonrpc": "2.0", "id": at, "method": method, "params": params}} for at, (method, params) in enumerate(ask)]
        path = written([HEAD, {"at": 0, "connection": 1, "role": "admin"}, *lines, END])
        self.assertIsNone(self.play(("recording", (path, 1)), session.JUDGES)["found"])

    def test_the_same_seed_is_the_same_run(self):
        self.assertIsNone(self.play(("recording", (RECORDING, None)), session.JUDGES, twice=True)["found"])

    def test_one_that_fails_is_kept_as_a_list_that_fails(self):
        outcome = self.play(("recording", (RECORDING, 7)), [*session.JUDGES, Sure])
        self.assertIn("sure/patched", outcome["found"])
        self.assertLessEqual(outcome["events"], 5)
        self.assertEqual(outcome["kept"], os.path.join(self.folder, "7.events"))
        self.assertTrue(outcome["name"].endswith(", seed 7, at request 6 of 19"), outcome["name"])
        self.assertIn("sure/patched", self.play(("list", outcome["kept"]), [*session.JUDGES, Sure])["found"])

    def test_a_trace_marks_where_the_fault_was_found(self):
        for level in ("requests", "all"):
            lines = self.play(("recording", (RECORDING, 7)), [*session.JUDGES, Sure], trace=level)["trace"].splitlines()
            at = next(at for at, line in enumerate(lines) if line.lstrip().startswith("FOUND [sure/patched]"))
            self.assertIn("<- 6 ", lines[at - 1])


if __name__ == "__main__":
    unittest.main()
