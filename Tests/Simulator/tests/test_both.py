"""Schedules that are run on the simulated and on a real disk."""

import unittest
from types import SimpleNamespace

import support  # noqa: F401
from both import METHODS, Replies, difference, same_everywhere, schedule
from schemas import METHODS as KNOWN
from values import Number


def told(*replies):
    made = Replies()
    for reply in replies:
        made.answered(SimpleNamespace(client="w", method="settings.get", params={}, reply=reply), None, None, None)
    return made


class Schedules(unittest.TestCase):
    def test_methods_are_known(self):
        self.assertEqual([name for name in METHODS if name not in KNOWN], [])

    def test_the_same_seed_makes_the_same_steps(self):
        steps = [list(schedule(7, True)[0]) for _ in range(2)]
        self.assertEqual(*steps)
        self.assertTrue({"start", "ask", "settle"} <= {step["do"] for step in steps[0]})

    def test_power_is_cut_where_that_can_be(self):
        done = [{step["do"] for seed in range(30) for step in schedule(seed, may_cut)[0]} for may_cut in (False, True)]
        self.assertNotIn("cut", done[0])
        self.assertIn("cut", done[1])


class Replying(unittest.TestCase):
    def test_another_reply_is_told(self):
        one, other = told({"result": {"rev": Number(1)}}), told({"result": {"rev": Number(2)}})
        self.assertIsNone(difference(one, told({"result": {"rev": Number(1)}})))
        self.assertIn("reply 0, settings.get", difference(one, other))

    def test_times_and_names_made_at_random_are_each_sides_own(self):
        one = {"createdAt": "2026-01-01", "id": "0198a1b2-0000-7000-8000-000000000001", "value": 5}
        other = {"createdAt": "2026-02-01", "id": "0198a1b2-0000-7000-8000-00000000ffff", "value": 5}
        self.assertEqual(same_everywhere(one), same_everywhere(other))
        self.assertNotEqual(same_everywhere(one), same_everywhere(other | {"value": 6}))

    def test_a_list_may_be_as_of_more_than_it_must_show(self):
        lists = []
        for rev in (8, 9):
            replies = Replies()
            asked = SimpleNamespace(client="w", method="documents.list", params={}, reply={"result": {"documents": [], "rev": Number(rev)}})
            replies.answered(asked, asked.reply["result"], None, None)
            lists.append(replies)
        self.assertIsNone(difference(*lists))

    def test_what_comes_behind_an_open_request_is_not_compared(self):
        one, other = told({"result": 1}), told({"result": 1})
        one.is_open = True
        for replies, value in ((one, 2), (other, 3)):
            replies.answered(SimpleNamespace(client="w", method="settings.get", params={}, reply={"result": value}), None, None, None)
        self.assertIsNone(difference(one, other))


if __name__ == "__main__":
    unittest.main()
