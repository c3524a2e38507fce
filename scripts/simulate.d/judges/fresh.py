"""Models that were fetched while they were invalidated."""

from dataclasses import dataclass

from judges.base import Judge

# What gives entries other tags.
WRITES = {"models.put", "models.putMany", "models.delete", "models.deleteMany", "models.configure"}


@dataclass
class Won:
    place: tuple              # namespace and key
    tags: list                # of the entry that is to be fetched anew
    at: int                   # tick


class Fresh(Judge):
    name = "freshness"
    sentence = ("exactly, while nobody else writes in the namespace: what is touched with a token that was won before the key was "
                "invalidated, by itself or by a tag that it was shown with, is answered as stale")

    def __init__(self, run):
        super().__init__(run)
        self.forget()

    def forget(self):
        self.won = {}             # by token
        self.marks = []           # invalidations that were answered
        self.under_way = {}       # by request: the namespace that it may change

    def stopped(self, was_clean):
        self.forget()

    def settled(self, readback):
        # Whatever nobody waits for any more was done.
        self.under_way = {}

    def sent(self, asked):
        if asked.method in WRITES and isinstance(asked.params, dict):
            space = asked.params.get("namespace")
            self.under_way[asked.number] = space
            self.won = {token: won for token, won in self.won.items() if won.place[0] != space}

    def answered(self, asked, result, kind, error):
        params = asked.params
        self.under_way.pop(asked.number, None)
        if result is None or not isinstance(params, dict):
            return
        if asked.method == "models.get" and "token" in result and "value" in result and params["namespace"] not in self.under_way.values():
            self.won[result["token"]] = Won((params["namespace"], params["key"]), result.get("tags", []), asked.answered)
        elif asked.method == "models.invalidate" and result["invalidated"]:
            self.marks.append(asked)
        elif asked.method == "models.touch" and result["touched"] and "stale" not in result:
            won = self.won.get(params.get("token"))
            mark = won and next((mark for mark in self.marks if won.at < mark.sent and mark.answered < asked.sent
                                 and covers(mark.params, won)), None)
            if mark:
                self.fail("fresh", f"request {asked.number} has {won.place} be fresh, which request {mark.number} invalidated after its "
                                   "token was won")


def covers(params, won):
    space, key = won.place
    return params["namespace"] == space and ("tag" not in params or params["tag"] in won.tags) and key.startswith(params.get("prefix", ""))
