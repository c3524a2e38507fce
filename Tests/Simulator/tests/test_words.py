"""What scripts/simulate is told, and what it says: bad usage is status 2 and a sentence, and nothing is run."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import support
import main
import planted
from compared import Remarks

RECORDING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "session.recording")
WORLD = json.dumps({"do": "world", "seed": 1, "temper": {}})


def told(*words, daemon=support.DAEMON):
    """The status, and what was printed."""
    out, known = io.StringIO(), os.environ.get("KURAD")
    os.environ["KURAD"] = str(daemon)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                status = main.main([*words, "--jobs", "1"], "the help")
            except SystemExit as end:
                status = end.code
    finally:
        os.environ.pop("KURAD") if known is None else os.environ.update(KURAD=known)
    return status, out.getvalue()


def file(content, name="file"):
    path = os.path.join(tempfile.mkdtemp(), name)
    with open(path, "wb") as made:
        made.write(content if isinstance(content, bytes) else content.encode())
    os.chmod(path, 0o755)
    return path


class Usage(unittest.TestCase):
    def test_a_number_that_means_nothing_is_refused_in_a_line(self):
        for words in (["--requests", "0"], ["--jobs", "0"], ["--seeds", "0"], ["--minutes", "nan"], ["--minutes", "-1"], ["--planted", "0"], ["-3"], ["three"]):
            status, said = told(*words)
            self.assertEqual((status, len(said.splitlines())), (2, 2), said)
            self.assertIn(words[-1], said.splitlines()[1])

    def test_a_word_that_is_none_is_named_below_the_usage_in_short(self):
        self.assertEqual(told("--frob"), (2, f"{main.SHORT}\nsimulate: unrecognized arguments: --frob\n"))

    def test_a_seed_may_stand_behind_trace(self):
        self.assertEqual([(main.parsed(words).trace, main.parsed(words).seed) for words in (["--trace", "5"], ["--trace=requests", "5"], ["5"])],
                         [("all", [5]), ("requests", [5]), (None, [5])])


class Files(unittest.TestCase):
    def refused(self, content, word):
        status, said = told("--from", file(content), daemon=file("KURA_PLANTED"))
        self.assertEqual((status, len(said.splitlines())), (2, 1), said)
        self.assertIn(word, said)

    def test_what_is_no_list_and_no_recording_is_refused_with_a_sentence(self):
        for content, word in (("", "it is empty"), ("hello\n", "Expecting value"), (b"\xff\xfe", "decode"), ("[1]\n", "a line is no event"), ('{"do":"start"}\n', "it does not begin with"),
                              (f'{WORLD}\n{{"do":"fly"}}\n', "there is no event 'fly'")):
            self.refused(content, f"neither a list of events that simulate has kept nor a recording of 'kura record': {word}" if word != "decode" else word)

    def test_a_recording_that_is_damaged_is_refused_in_words(self):
        head = json.dumps({"recording": 1, "version": "0"}, separators=(",", ":"))
        for content, word in (('{"recording":1', "no whole line"), ('{"recording":1}\n', 'no "version"'), (f'{head}\n{{"connection":1}}\n', 'line 2'), (f"{head}\n{{\n", "it is no JSON"),
                              (f'{head}\n{{"at":1}}\n', 'it has no "closed"'), (f"{head}\n[]\n", "another kind"),
                              (f'{head}\n{{"at":1,"connection":1,"role":[]}}\n', "another kind"), (f'{head}\n{{"at":{10**30},"dropped":1}}\n', "out of range"), (f'{head}\n{{"at":1,"connection":1,"role":""}}\n', "out of range")):
            self.refused(content, word)

    def test_what_is_not_there_is_named(self):
        self.assertEqual(told("--from", "/nowhere", daemon=file(""))[0], 2)


class Planted(unittest.TestCase):
    def test_a_daemon_without_planted_faults_is_refused(self):
        status, said = told("--planted", "3", "1", daemon=file(b"\0kurad\0"))
        self.assertEqual(status, 2)
        self.assertIn("built without planted faults", said)
        self.assertTrue(planted.has_them(file(b"\0KURA_PLANTED\0")))
        self.assertIn("KURA_PLANTED", planted.ASKS)

    def test_a_fault_that_nobody_has_planted_is_refused(self):
        for words in (["--planted", "100"], ["--search-planted", "100"]):
            self.assertEqual(told(*words, daemon=file("KURA_PLANTED"))[0], 2)


class Remarked(unittest.TestCase):
    def test_each_is_told_once_with_how_often_it_was_so(self):
        remarks = Remarks()
        for run in range(3):
            remarks.take("a", {("1.1", "a result"): f"of {run}"} if run else {})
        remarks.take("b", {})
        self.assertEqual(list(remarks.lines())[1:], ["  of 1, in 2 of 3 runs"])


@unittest.skipUnless(os.access(support.DAEMON, os.X_OK), "there is no daemon")
class Played(unittest.TestCase):
    def recorded(self, *changes):
        with open(RECORDING, encoding="utf-8") as original:
            content = original.read()
        for old, new in changes:
            self.assertEqual(content.count(old), 1)
            content = content.replace(old, new)
        return file(content)

    def test_a_recording_and_its_run_count_alike(self):
        status, said = told("--from", RECORDING)
        self.assertEqual(status, 0)
        self.assertIn("19 requests on 2 connections", said)
        self.assertRegex(said, r"\n1 run in \d+ s: 19 requests and \d+ of its own, 0 faults, 1 start, .*; nothing found\n$")
        self.assertNotIn("otherwise", said)

    def test_a_recorded_error_that_does_not_come_is_a_remark(self):
        status, said = told("--from", self.recorded(('"reply":5,"minted":{"rev":5}', '"reply":5,"error":"integrity"'), ('"reply":9,"error":"conflict"', '"reply":9')), "1", "2")
        self.assertEqual(status, 0)
        self.assertRegex(said, r"otherwise than in the recording, which is no fault by itself:\n  request 6, of connection 1, documents.patch .*: integrity in the recording, a result here, in 2 of 2 runs\n"
                               r"  request 10, of connection 1, settings.put .*: a result in the recording, conflict here, in 2 of 2 runs\n2 runs in")

    def test_what_is_not_answered_is_a_remark(self):
        ask = '{"at":844669,"connection":%d,"request":{"jsonrpc":"2.0","id":99,"method":"storage.ping"}}\n{"at":844670,"connection":%d,"reply":99}\n{"at":845118,"end"'
        said = told("--from", self.recorded(('{"at":845118,"end"', ask % (9, 9))))[1]
        self.assertIn("request 20, of connection 9: a result in the recording, not sent, since its connection is gone here", said)

    def test_the_short_trace_has_requests_faults_and_ends_and_no_calls(self):
        events = [json.loads(WORLD) | {"temper": {"switch": 10, "split": 0, "slow": 10, "cold": 0}}, {"do": "start", "configuration": {"caches": {"minFreeBytes": 0}}},
                  {"do": "connect", "client": "a", "role": "admin"}, {"do": "fault", "rule": {"calls": ["sync"], "error": 5, "path": "", "number": 1}},
                  {"do": "send", "client": "a", "lines": [{"id": 1, "method": "settings.put", "params": {"domain": "d", "key": "k", "value": 1}}]},
                  {"do": "until", "at": 10**9}, {"do": "settle"}]
        path = file("".join(json.dumps(event) + "\n" for event in events))
        status, said = told("--from", path, "--trace=requests")
        self.assertEqual(status, 0, said)
        for words in ("-> 1 settings.put", '"do":"fault"', "struck: sync EIO", "the daemon has ended with 1"):
            self.assertIn(words, said)
        self.assertNotIn("/home/kura", said)
        self.assertIn("/home/kura", told("--from", path, "--trace")[1])


if __name__ == "__main__":
    unittest.main()
