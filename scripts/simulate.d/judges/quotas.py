"""Quotas of roles: how many settings and documents the roles app and bounded may have."""

from judges.base import Judge
from values import ABSENT, ANY

CREATES = {"settings.put", "documents.put"}
CACHES = ("models.", "blobs.")
# By role: whether an item lies where it may write.
SCOPES = {"app": lambda item: item[:2] == ("settings", "d0") or item[0] == "documents" and item[1].startswith("c"),
          "bounded": lambda item: item[:2] == ("settings", "bounded")}


class Quotas(Judge):
    name = "quotas"
    sentence = ("exactly, for single puts of the roles app and bounded, and while nothing of unknown outcome is about: none is "
                "acknowledged that adds an item beyond the role's bound, and none is refused within it when no cache was written (what "
                "caches hold counts too, and they forget by themselves)")

    def __init__(self, run):
        super().__init__(run)
        self.done, self.refused = [], []
        # An earlier release may have filled them.
        self.caches_are_written = bool(getattr(run.world, "fixture", None))

    def bounds(self, role):
        """The least and the greatest that may be in force: a configuration is read again some time after it was put there."""
        since, found = 0, []
        for at, event in enumerate(self.run.events):
            if event["do"] == "start" and at:
                since = len(found)
            if event["do"] in ("start", "configure"):
                found.append(event["configuration"].get("roles", {}).get(role, {}).get("quotas", {}).get("items"))
        found = found[max(0, since - 1):]
        return (None, None) if None in found or not found else (int(min(map(int, found))), int(max(map(int, found))))

    def sent(self, asked):
        if isinstance(asked.method, str) and asked.method.startswith(CACHES) and asked.method.split(".")[1].startswith(("put", "begin",
                                                                                                                        "commit")):
            self.caches_are_written = True

    def answered(self, asked, result, kind, error):
        if asked.role not in SCOPES or asked.method not in CREATES or asked.is_repeat or not isinstance(asked.params, dict):
            return
        if result is not None:
            self.done.append((asked, int(result["rev"]), result))
        elif kind == "quotaExceeded" and "items" in error["data"].get("hint", "") and not self.caches_are_written:
            self.refused.append((asked, self.history.newest))

    def stopped(self, was_clean):
        self.done, self.refused = [], []

    def counted(self, role, rev):
        """How many items there are for sure in the role's scopes, and how many there may be."""
        least = most = 0
        for item in self.history.known_items:
            if SCOPES[role](item):
                there = [state.value is not ABSENT or state.value is ANY for state in self.history.may_be(item, rev)]
                least += all(there) and all(state.value is not ANY for state in self.history.may_be(item, rev))
                most += any(there)
        return least, most

    def settled(self, readback):
        done, refused, self.done, self.refused = self.done, self.refused, [], []
        bounds = {role: self.bounds(role) for role in SCOPES}
        if readback is None:
            return
        for asked, rev, result in done:
            _, most = bounds[asked.role]
            # What a log has brought along was done under other bounds.
            if most is None or rev <= self.history.base:
                continue
            store = asked.method.split(".")[0]
            item = store, *((asked.params["domain"], asked.params["key"]) if store == "settings"
                            else (asked.params["collection"], result["id"]))
            before = self.history.may_be(item, rev - 0.5)
            if all(state.value is ABSENT for state in before) and self.counted(asked.role, rev)[0] > most:
                self.fail("beyond", f"request {asked.number}, {asked.method}, makes item {self.counted(asked.role, rev)[0]} at {rev}, and "
                                    f"{most} are allowed")
        for asked, rev in refused:
            least, _ = bounds[asked.role]
            # As many as there were at any time meanwhile; what is under way counts.
            if least is None or self.history.loose or any(self.counted(asked.role, at)[1] >= least for at in self.revisions(asked, rev)):
                continue
            self.fail("within", f"request {asked.number}, {asked.method}, is refused when there were {self.counted(asked.role, rev)[1]} "
                                f"items, and {least} are allowed")

    def revisions(self, asked, rev):
        entries = [entry for timeline in self.history.timelines.values() for entry in timeline]
        floor = max((entry.rev for entry in entries if entry.known < asked.sent), default=0)
        return {floor, rev, *(entry.rev for entry in entries if floor <= entry.rev and entry.sent <= asked.answered)}
