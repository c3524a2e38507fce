"""Live queries: the list that a client keeps by their notifications is what a find of that revision shows."""

from judges.base import Judge
from judges.documents import Documents
from matching import Unknown, at_path
from values import order, same, text, whole


class Live(Judge):
    name = "live"
    sentence = ("exactly, for the role admin: after each notification of a live query the list that it makes equals the query by brute "
                "force as of its revision; one that was not asked for, or was ended, tells nothing, and one that goes on can be ended")

    def __init__(self, run):
        super().__init__(run)
        self.lists = {}           # by client and subscription: the request, its list, what came of a snapshot
        self.early = {}
        self.told_lists = []
        self.ending = set()       # whose end was asked for
        self.silent = set()       # clients that have begun some without a word
        self.documents = Documents(run)

    def sent(self, asked):
        if asked.method == "documents.watch" and asked.id is None:
            self.silent.add(asked.client)
        elif asked.method == "changes.unwatch" or asked.method == "documents.unwatch" and asked.id is None:
            self.ending |= {place for place in self.lists if place[0] == asked.client}

    def answered(self, asked, result, kind, error):
        if result is None or asked.role != "admin":
            return
        if asked.method == "documents.watch":
            place = asked.client, whole(result["subscription"])
            self.lists[place] = [asked, [], []]
            for early in self.early.pop(place, []):
                self.told(asked.client, *early)
        elif asked.method == "documents.unwatch":
            place = asked.client, whole(asked.params["subscription"])
            if place in self.lists and not result["ended"] and asked.batch is None and place not in self.ending:
                self.fail("ended", f"request {asked.number} does not end live query {place[1]}, which goes on")
            self.lists.pop(place, None)
            # What came before it was answered was right.
            self.early.pop(place, None)

    def told(self, client, method, params):
        if not method.startswith("documents."):
            return
        place = client, whole(params["subscription"])
        if place not in self.lists:
            self.early.setdefault(place, []).append((method, params))
            return
        state = self.lists[place]
        if method == "documents.ended":
            del self.lists[place]
            return
        if params.get("snapshot"):
            state[2] += [(document["id"], document.get("value"), document["rev"]) for document in params["documents"]]
            if params["hasMore"]:
                return
            state[1], state[2] = state[2], []
        else:
            self.apply(place, state, params["changes"])
        self.told_lists.append((place, state[0], list(state[1]), whole(params["rev"])))

    def apply(self, place, state, changes):
        gone = {change["id"] for change in changes if change["change"] in ("removed", "moved")}
        known = {name for name, _, _ in state[1]}
        items = [item for item in state[1] if item[0] not in gone]
        for change in changes:
            if change["change"] != "inserted" and change["id"] not in known:
                self.fail("change", f"client {place[0]}, live query {place[1]}: {change['id']!r} is "
                                    f"{change['change']}, which was not in the list")
            if change["change"] == "updated":
                items = [(name, change["value"], change["rev"]) if name == change["id"] else (name, value, rev) for name, value,
                         rev in items]
        for change in changes:
            if change["change"] in ("inserted", "moved"):
                items.insert(whole(change["position"]), (change["id"], change["value"], change["rev"]))
        state[1] = items

    def closed(self, client):
        self.lists = {place: state for place, state in self.lists.items() if place[0] != client}
        self.early = {place: state for place, state in self.early.items() if place[0] != client}
        self.ending = {place for place in self.ending if place[0] != client}
        self.silent.discard(client)

    def stopped(self, was_clean):
        if self.history.was_cut:
            self.told_lists = []

    def moved(self, held, rev, only):
        self.told_lists = []

    def settled(self, readback):
        for client, number in self.early:
            if client not in self.silent and self.run.roles[client] == "admin" and not self.run.pending[client]:
                self.fail("nobody's", f"client {client} is told of live query {number}, which it does not have")
        lists, self.told_lists = self.told_lists, []
        for place, asked, items, rev in lists if readback is not None else ():
            params = asked.params
            try:
                found = self.documents.definite(params["collection"], params.get("where") or {}, rev)
            except Unknown:
                continue
            if found is None or "afterRev" in params:
                continue
            wanted = self.ordered(params, found)
            names = [name for name, _, _ in items]
            if names != wanted or not all(same(value, found[name]) for name, value, _ in items):
                self.fail("list", f"client {place[0]}, live query {place[1]} (request {asked.number}, "
                                  f"{text(params)[:250]}) as of {rev} shows {names}; "
                          f"it was {wanted}")

    def ordered(self, params, found):
        names = sorted(found, key=str.encode)
        for part in reversed(params.get("sort") or ()):
            path, direction = next(iter(part.items())) if isinstance(part, dict) else (part, "asc")
            keys = {name: order(at_path(found[name], path, name)) for name in names}
            names.sort(key=lambda name: keys[name], reverse=direction == "desc")
        limit = whole(params.get("limit"))
        return names if limit is None else names[:limit]
