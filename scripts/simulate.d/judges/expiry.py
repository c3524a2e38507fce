"""Secrets that expire, under accounts of their own, which no other judge looks at."""

from judges.base import Judge
from makers.secrets import FLEETING, moment

SECOND = 10**9


class Expiry(Judge):
    name = "expiry"
    sentence = ("exactly: a secret with expiresAt is not shown once the wall clock has come there, nor once so much time has passed in one "
                "process, whatever the wall clock does")

    def __init__(self, run):
        super().__init__(run)
        self.due = {}             # by value: when it has expired, by the wall clock and, in the process that took it, by time that passes
        self.asked = {}           # by request: both clocks when it was sent

    def clocks(self):
        return self.run.world.wall, self.run.world.now

    def started(self):
        self.due = {value: (wall, None) for value, (wall, _) in self.due.items()}

    def sent(self, asked):
        if not isinstance(asked.params, dict) or asked.params.get("account") != FLEETING:
            return
        self.asked[asked.number] = self.clocks()

    def answered(self, asked, result, kind, error):
        if asked.number not in self.asked or result is None:
            return
        wall, now = self.asked.pop(asked.number)
        if asked.method == "secrets.put" and "expiresAt" in asked.params:
            at = moment(asked.params["expiresAt"])
            # It was taken between the two clocks of the request.
            if at is not None:
                self.due[asked.params["secret"]] = at, self.run.world.now + max(at - min(wall, self.clocks()[0]), 0)
        elif asked.method == "secrets.get" and result.get("secret") in self.due:
            by_wall, by_time = self.due[result["secret"]]
            if wall > by_wall + SECOND and self.clocks()[0] > by_wall + SECOND:
                self.fail("shown", f"request {asked.number} shows a secret of {by_wall} at {wall} by the wall clock")
            elif by_time is not None and now > by_time + SECOND:
                self.fail("lives on", f"request {asked.number} shows a secret {(now - by_time) / SECOND:.1f} s behind its expiry, by the "
                                      "time that passed")
