"""What a role may not do it does not get by another way."""

from judges.base import Judge
from ledger import operations_of

SECOND = 1_000_000_000
SCOPES = ("domain", "collection", "service")
# Lacking one of them alone, it depends on what is there.
EITHER = (["create"], ["update"])


class Grants(Judge):
    name = "grants"
    sentence = ("exactly, two seconds after the configuration was read last: what was forbidden to a role is not done for it as an "
                "operation of a transaction, nor its result told under a request key that is known")

    def __init__(self, run):
        super().__init__(run)
        self.forbidden = {}       # by role, method and scope: the tick of the answer

    def stopped(self, was_clean):
        self.forbidden = {}

    def answered(self, asked, result, kind, error):
        # What was asked for before a configuration may be judged by another one.
        self.forbidden = {key: at for key, at in self.forbidden.items() if at > self.run.configured[0]}
        if not isinstance(asked.params, dict):
            return
        if kind == "forbidden" and asked.method != "transaction.apply" and error["data"].get("grant", {}).get("allow") not in EITHER and \
                asked.sent_at > self.run.configured[1] + 2 * SECOND:
            self.forbidden[self.key(asked.role, asked.method, asked.params)] = asked.answered
        elif result is not None and asked.method == "transaction.apply":
            for method, params in operations_of(asked.method, asked.params)[1:]:
                if self.forbidden.get(self.key(asked.role, method, params), asked.sent) < asked.sent:
                    self.fail("done", f"request {asked.number} is answered with a result, and {method} in it is forbidden to the role "
                                      f"{asked.role}")

    @staticmethod
    def key(role, method, params):
        return role, method, next((params[name] for name in SCOPES if isinstance(params.get(name), str)), None)
