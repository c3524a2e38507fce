"""Compares what the daemon holds with what the writers' models allow."""

import base64
import collections
import hashlib

import rooms
from client import Refused
from model import ABSENT, Held, number_of

# Requests for many items: method, the parameter of the names, and what the reply calls the found ones and their names.
MANY = {"d": ("documents.getMany", "ids", "documents", "id"), "x": ("secrets.getMany", "accounts", "secrets", "account")}


class Outcome:
    """Sums of one or many verifications: lost, torn and wrong items; `beyond` counts unanswered changes that are there."""

    def __init__(self):
        self.counts = collections.Counter()
        self.remarks = []

    def add(self, other):
        self.counts += other.counts
        self.remarks += other.remarks

    @property
    def clean(self):
        return not (self.counts["lost"] or self.counts["torn"] or self.counts["wrong"])

    def count(self, what, remark):
        self.counts[what] += 1
        if len(self.remarks) < 8:
            self.remarks.append(remark)

    def __str__(self):
        found = ", ".join(f"{self.counts[what]} {what}" for what in ("lost", "torn", "wrong"))
        return f"{found}; {self.counts['items']} items read in {self.counts['verified']} verifications"


def observe(connection, model):
    """Reads every item of a writer: ({item: Held}, remarks on what contradicts itself)."""
    scope, items, remarks = model.scope, {}, []
    settings = [("s", scope, name) for name in model.names["s"] + model.counters]
    for item, reply in zip(settings, connection.call_all([rooms.get(item) for item in settings])):
        items[item] = Held(number_of("s", reply.get("value")), reply["rev"])
    present = sum(held.content is not None for held in items.values())
    listed = connection.call("settings.list", domain=scope, limit=1000)
    if "cursor" not in listed and len(listed["values"]) != present:
        remarks.append(f"{scope}: list has {len(listed['values'])} settings, get found {present}")
    for room in "dx" if model.is_mixed else "d":
        method, names, list_, name = MANY[room]
        wanted = model.names[room] + (model.holders if room == "d" else [])
        reply = connection.call(method, **{rooms.ROOMS[room].names[0]: scope, names: wanted})
        for found in reply[list_]:
            content = number_of(room, rooms.content((room,), found))
            items[room, scope, found[name]] = Held(content, found["rev"])
        items.update({(room, scope, missing): ABSENT for missing in reply["missing"]})
        if len(reply[list_]) + len(reply["missing"]) != len(wanted):
            remarks.append(f"{scope}: getMany answered another number of {list_} than asked for")
    for item, held in items.items():
        if (held.content is None) != (held.rev == 0):
            remarks.append(f"{scope}: {item[2]} has revision {held.rev}, content {held.content}")
    for item in [("a", scope, holder, "n") for holder in model.holders]:
        try:
            reply = rooms.fetch(connection, item)
        except Refused as error:
            items[item] = ABSENT if error.kind == "notFound" else Held(f"damaged: {error}", 0)
            continue
        items[item] = Held(number_of("a", reply["data"]), 0)
        if hashlib.blake2b(base64.b64decode(reply["data"]), digest_size=32).hexdigest() != reply["digest"]:
            remarks.append(f"{scope}: the attachment of {item[2]} has another digest")
    for item, numbers in model.cached.items():
        shown = number_of("b", rooms.read(connection, item))
        if shown is not None and shown not in numbers:
            remarks.append(f"{scope}: blob {item[2]} shows what was never put there")
        model.counts["blobs lost" if shown is None else "blobs kept"] += 1
    return items, remarks


def judge(model, seen):
    """Judges one writer's items and adopts them as its new promise: what was shown must stay too."""
    outcome, promised = Outcome(), {item: model.state.get(item, ABSENT) for item in seen}
    outcome.counts["items"] = len(seen)
    expected, unanswered = dict(promised), [*model.unknown, *model.pending]
    allowed = {item: {held.content} for item, held in promised.items()}
    # What an unanswered change has touched has a revision that nobody was told.
    touched = set()
    while unanswered and any(expected[item].content != held.content for item, held in seen.items()):
        change = unanswered.pop(0)
        model.apply(expected, change, 0)
        outcome.counts["beyond"] += 1
        for item, _ in change.effects:
            touched.add(item)
            allowed[item].add(expected[item].content)
    fits = all(expected[item].content == held.content for item, held in seen.items())
    for item, held in seen.items():
        if held.content not in allowed[item]:
            is_damaged = isinstance(held.content, str)
            outcome.count(
                "lost" if not is_damaged and held.rev <= model.highest_rev else "wrong",
                f"{model.scope}: {item[2]} holds {held.content} (rev {held.rev}), acknowledged was {promised[item].content}")
        elif fits and item not in touched and promised[item].rev not in (0, held.rev):
            outcome.count("wrong", f"{model.scope}: {item[2]} was acknowledged at {promised[item].rev}, is now {held.rev}")
    if not fits:
        outcome.counts["beyond"] = 0
        if outcome.clean:
            outcome.count("torn", f"{model.scope}: what is there is no prefix of what was sent")
    model.state = dict(seen)
    model.pending.clear()
    model.unknown = []
    return outcome


def verify(daemon, models):
    """Reads everything from the running daemon and judges it."""
    total = Outcome()
    with daemon.connect() as connection:
        status = connection.call("storage.status")
        rev = status["rev"]
        if status["foldedRev"] > rev:
            total.count("wrong", f"foldedRev {status['foldedRev']} is beyond rev {rev}")
        observed = [observe(connection, model) for model in models]
    for model, (seen, remarks) in zip(models, observed):
        total.add(judge(model, seen))
        highest_seen = max(held.rev for held in seen.values())
        if highest_seen > rev:
            remarks.append(f"{model.scope}: an item has revision {highest_seen}, the global one is {rev}")
        if rev < model.highest_rev:
            remarks.append(f"{model.scope}: global revision {rev} is below the acknowledged {model.highest_rev}")
        for remark in remarks:
            total.count("wrong", remark)
        # What was shown is promised from now on; after a loss the count starts from what is left.
        model.highest_rev = min(rev, max(model.highest_rev, highest_seen))
    total.counts["verified"] = 1
    return total
