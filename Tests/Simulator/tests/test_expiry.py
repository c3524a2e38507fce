"""Secrets that expire, and requests that must be answered though a call hangs."""

import unittest
from types import SimpleNamespace

import support  # noqa: F401
from adversity import Adversity
from judges.expiry import SECOND, Expiry
from makers.secrets import FLEETING, moment

AT = "2026-01-01T00:00:10Z"


class Expiring(unittest.TestCase):
    def setUp(self):
        self.failures = []
        self.world = SimpleNamespace(wall=moment(AT) - 5 * SECOND, now=0)
        self.judge = Expiry(SimpleNamespace(world=self.world, history=None, fail=lambda *words: self.failures.append(words[1])))
        self.count = 0

    def ask(self, method, result, **params):
        self.count += 1
        asked = SimpleNamespace(number=self.count, method=method, params={"service": "s", "account": FLEETING, **params})
        self.judge.sent(asked)
        self.judge.answered(asked, result, None, None)

    def put(self):
        self.ask("secrets.put", {"rev": "1"}, secret="v", expiresAt=AT)

    def pass_time(self, wall, now):
        self.world.wall += wall * SECOND
        self.world.now += now * SECOND

    def shown(self):
        self.ask("secrets.get", {"secret": "v"})
        return self.failures

    def test_before_its_time_it_is_shown(self):
        self.put()
        self.pass_time(4, 4)
        self.assertEqual(self.shown(), [])

    def test_behind_its_time_by_the_wall_clock_it_is_not(self):
        self.put()
        self.pass_time(7, 0)
        self.assertEqual(self.shown(), ["shown"])

    def test_a_clock_that_is_put_back_gives_it_no_more_time(self):
        self.put()
        self.pass_time(-3600, 7)
        self.assertEqual(self.shown(), ["lives on"])

    def test_another_process_has_the_wall_clock_alone(self):
        self.put()
        self.judge.started()
        self.pass_time(-3600, 7)
        self.assertEqual(self.shown(), [])

    def test_what_is_no_time_is_none(self):
        self.assertIsNone(moment("soon"))
        self.assertIsNone(moment("2026-13-01T00:00:00Z"))


class World:
    now = 0

    def fault(self, rule):
        pass

    def clear(self):
        pass

    def advance(self, span):
        self.now += span
        return []


class Insisting(unittest.TestCase):
    def run_with(self, *events):
        run = Adversity()
        run.world, run.failures, run.is_up, run.clients = World(), [], True, {"actor": 1}
        run.pending = {"actor": {"1": SimpleNamespace(name="1", number=7, method="settings.get")}}
        run.take = lambda events: None
        for event in events:
            getattr(run, f"do_{event['do']}")(event)
        return [kind for _, kind, _ in run.failures]

    insist = {"do": "insist", "span": SECOND, "answered": ["1"]}
    hang = {"do": "fault", "scene": True, "rule": {"error": "hang"}}
    other = {"do": "fault", "rule": {"error": 5}}

    def test_what_is_not_answered_is_a_fault(self):
        self.assertEqual(self.run_with(self.insist), ["held up"])
        self.assertEqual(self.run_with(self.hang, self.insist), ["held up"])

    def test_other_faults_excuse_it(self):
        self.assertEqual(self.run_with(self.other, self.insist), [])
        self.assertEqual(self.run_with(self.other, self.hang, self.insist), [])
        self.assertEqual(self.run_with(self.hang, self.other, self.insist), [])

    def test_what_is_answered_is_none(self):
        self.assertEqual(self.run_with({**self.insist, "answered": ["2"]}), [])

    def test_an_end_that_does_not_come_is_one(self):
        self.assertEqual(self.run_with({"do": "insist", "span": SECOND, "ended": True}), ["held up"])


if __name__ == "__main__":
    unittest.main()
