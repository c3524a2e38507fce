"""The change feed: pages, waits and subscriptions, each held against the timelines."""

from judges.base import Judge
from values import ABSENT, ANY, same, text, whole

DURABLE = ("settings", "secrets", "documents")


def names_all(before, now, names):
    """Whether two states of a document differ in these members and no others, as far as they are known."""
    if before is ANY or now is ANY:
        return True
    return isinstance(before, dict) and isinstance(now, dict) and all(
        name in names for name in before.keys() | now.keys()
        if name not in before or name not in now or not same(before[name], now[name]))


class Feed(Judge):
    name = "feed"
    sentence = ("exactly, for the role admin: a page or notification tells each item that changed between the revision before it and "
                "its own, once, as it was then, in the order of revisions, and no other; subscriptions go on where they were; "
                "overflow, lost and compacted are answers; the members that a change names are all in which the document differs")

    def __init__(self, run):
        super().__init__(run)
        self.pages = []           # what, afterRev, rev, changes, params
        self.places = {}          # by client and subscription: params and the revision told so far
        self.over = {}           # by the same: when its end was asked for
        self.early = {}
        self.lost_from = 0

    # MARK: Taking in

    def answered(self, asked, result, kind, error):
        if result is None or asked.role != "admin":
            return
        params = asked.params
        if asked.method in ("changes.list", "changes.wait"):
            self.pages.append((f"request {asked.number}, {asked.method}", whole(params["afterRev"]), whole(result["rev"]),
                               result["changes"], params))
            if "lost" in result:
                self.pages.pop()
            elif asked.method == "changes.wait" and \
                    asked.answered_at - asked.sent_at > 12_000_000_000 + min(whole(params.get("timeoutMs")) or 30_000, 600_000) * 1_000_000:
                self.fail("late", f"request {asked.number} waited beyond its time")
        elif asked.method == "changes.watch" and set(params.get("stores") or DURABLE) <= set(DURABLE):
            place = asked.client, whole(result["subscription"])
            self.places[place] = [params, whole(result["rev"])]
            # Some may have come ahead of the reply, when it is part of a batch.
            for early in self.early.pop(place, []):
                self.told(asked.client, *early)
            if self.over.get(place, -1) >= asked.sent:
                del self.places[place]
        elif asked.method == "changes.unwatch" and result["ended"]:
            self.end(asked)

    def sent(self, asked):
        # A notification is carried out without a word.
        if asked.method == "changes.unwatch" and asked.id is None and isinstance(asked.params, dict) and "spoilt" not in asked.note:
            self.end(asked)

    def end(self, asked):
        """Also of a subscription whose number was guessed, or is told behind this answer."""
        place = asked.client, whole(asked.params.get("subscription"))
        self.places.pop(place, None)
        self.over[place] = asked.sent

    def told(self, client, method, params):
        if not method.startswith("changes."):
            return
        place = client, whole(params["subscription"])
        if place not in self.places:
            if self.run.roles.get(client) == "admin":
                self.early.setdefault(place, []).append((method, params))
            return
        state = self.places[place]
        if method == "changes.changed":
            rev = whole(params["rev"])
            if rev < state[1]:
                self.fail("backwards", f"client {client}, subscription {place[1]} is told of {rev} behind {state[1]}")
            self.pages.append((f"client {client}, subscription {place[1]}", state[1], rev, params["changes"], state[0]))
            state[1] = rev
        elif method == "changes.overflow":
            state[1] = whole(params["resyncRev"])
        elif method == "changes.lost":
            state[1] = whole(params["toRev"])

    def closed(self, client):
        for place in [place for place in self.places if place[0] == client]:
            del self.places[place]
        self.early = {place: kept for place, kept in self.early.items() if place[0] != client}

    def stopped(self, was_clean):
        if self.history.was_cut:
            self.pages = []

    def moved(self, held, rev, only):
        self.pages = []

    # MARK: Judging

    def settled(self, readback):
        pages, self.pages = self.pages, []
        if readback is None:
            return
        for page in pages:
            self.judge(*page)
        if not self.run.wait_until(lambda: self.first_behind() is None) and self.run.is_up:
            place, rev, item, changed = self.first_behind()
            self.fail("behind", f"client {place[0]}, subscription {place[1]} was told up to {rev}, and {item} changed at {changed}")

    def first_behind(self):
        """When all is quiet a subscription has been told of all that it wants; of the first that has not, what it lacks."""
        for place, (params, rev) in self.places.items():
            if place[0] in self.run.slow | self.run.half_closed:
                continue
            for item, timeline in self.history.timelines.items():
                if timeline and timeline[-1].rev > rev and self.wants(params, item) and timeline[-1].durable and \
                        self.is_sure(item, timeline, timeline[-1]):
                    return place, rev, item, timeline[-1].rev
        return None

    def wants(self, params, item):
        store, scope, key = item
        if store == "secrets" and (self.history.is_rewrapped or self.history.is_scrubbed or self.history.is_grouped(key)):
            return False
        return store in (params.get("stores") or DURABLE) and params.get("scope", scope) == scope and \
            key.startswith(params.get("prefix", ""))

    def judge(self, words, after, rev, changes, params):
        shown, last = {}, after
        for change in changes:
            at = whole(change["rev"])
            if not last <= at or at <= after or at > rev:
                self.fail("order", f"{words}: {at} comes behind {last}, in a page from {after} to {rev}")
            last = at
            if change.get("sealed") or change.get("dropped"):
                continue
            item = change["store"], change["scope"], change["key"]
            if item in shown and item[0] != "secrets":
                self.fail("repeat", f"{words}: {item} is told twice in a page from {after} to {rev}")
            shown[item] = change
            if self.known(item) and at > self.history.base:
                self.told_right(words, item, at, change)
                if "members" in change and after >= self.history.base:
                    self.named_right(words, item, after, at, change["members"], params)
        dropped = {(change["store"], change["scope"]): whole(change["rev"]) for change in changes if change.get("dropped")}
        if any(change.get("sealed") for change in changes):
            return
        for item, timeline in self.history.timelines.items():
            if not timeline or not self.wants(params, item):
                continue
            entry = next((entry for entry in reversed(timeline) if entry.rev <= rev), None)
            if entry is None or entry.rev <= after or entry.possible is None:
                continue
            if item in shown or item[:2] in dropped and dropped[item[:2]] >= entry.rev:
                continue
            if self.is_sure(item, timeline, entry):
                self.fail("gap", f"{words}: a page from {after} to {rev} lacks {item}, which changed at {entry.rev}: {text(changes)[:300]}")

    def is_sure(self, item, timeline, entry):
        """Whether the item did change at this very revision."""
        if entry.rev != int(entry.rev) or len(entry.possible) != 1 or entry.possible[0].value is ANY:
            return False
        index = timeline.index(entry)
        before = timeline[index - 1].possible if index else [None]
        if entry.possible[0].value is ABSENT:
            # A write of unknown outcome may have removed it already.
            if {item, (*item[:2], None)} & self.history.ancient or self.history.loose_parts(item):
                return False
            return bool(index) and all(state is not None and state.value not in (ABSENT, ANY) for state in before)
        return entry.possible[0].rev == entry.rev

    def known(self, item):
        return not (item[0] == "secrets" and (self.history.is_rewrapped or self.history.is_grouped(item[2])))

    def named_right(self, words, item, after, rev, names, params):
        if item[0] != "documents" or not params.get("members"):
            self.fail("unasked", f"{words}: {item} is told with members")
        if {item, (*item[:2], None)} & self.history.ancient or self.history.loose_parts(item):
            return
        befores, nows = self.history.may_be(item, after), self.history.may_be(item, rev)
        if befores and nows and not any(names_all(before.value, now.value, names) for before in befores for now in nows):
            self.fail("members", f"{words}: {item} is told at {rev} to differ in {names} from {after}; it was "
                                 f"{text([state.value for state in befores[:2]])[:200]} and is "
                                 f"{text([state.value for state in nows[:2]])[:200]}")

    def told_right(self, words, item, rev, change):
        if {item, (*item[:2], None)} & self.history.ancient and not self.history.has(item, rev):
            return
        states = self.history.may_be(item, rev)
        value = ABSENT if change.get("deleted") else change.get("value", ANY)
        if not any(same(state.value, value) and (value is ABSENT or state.value is not ABSENT) for state in states):
            self.fail("wrong", f"{words}: {item} is told at {rev} as {str(value)[:100]!r}; it was "
                               f"{[(str(s.value)[:80], s.rev) for s in states[:3]]}")
        elif not self.history.has(item, rev) and not self.history.loose_parts(item) and all(s.value is not ANY for s in states):
            if all(entry.rev == int(entry.rev) for entry in self.history.timelines.get(item, ())):
                self.fail("extra", f"{words}: {item} is told at {rev}, where nothing changed it")
