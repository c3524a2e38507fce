"""Compares what the daemon holds with what the writers' models allow."""

import mixed
from model import ABSENT, Item, content


class Outcome:
    """Sums of one or many verifications."""

    def __init__(self):
        self.verified = 0
        self.items = 0
        self.lost = 0
        self.torn = 0
        self.wrong = 0
        self.beyond = 0
        self.remarks = []

    def add(self, other):
        for name in ("verified", "items", "lost", "torn", "wrong", "beyond"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.remarks += other.remarks

    @property
    def clean(self):
        return not (self.lost or self.torn or self.wrong)

    def remark(self, text):
        if len(self.remarks) < 8:
            self.remarks.append(text)

    def __str__(self):
        found = f"{self.lost} lost, {self.torn} torn, {self.wrong} wrong"
        return f"{found}; {self.items} items read in {self.verified} verifications"


def observe(connection, models):
    """Reads every key of every writer: ({scope: {key: Item}}, global revision, remarks on what contradicts itself)."""
    remarks = []
    status = connection.call("storage.status")
    rev = status["rev"]
    if status["foldedRev"] > rev:
        remarks.append(f"foldedRev {status['foldedRev']} is beyond rev {rev}")
    seen = {}
    for model in models:
        items = seen[model.scope] = {}
        keys = [key for key in model.keys if key[0] == "s"]
        replies = connection.call_all([("settings.get", {"domain": model.scope, "key": name}) for _, name in keys])
        for key, reply in zip(keys, replies):
            items[key] = Item(content(reply.get("value")), reply["rev"])
        ids = model.names["d"]
        reply = connection.call("documents.getMany", collection=model.scope, ids=ids)
        for document in reply["documents"]:
            items["d", document["id"]] = Item(content(document["value"]), document["rev"])
        for missing in reply["missing"]:
            items["d", missing] = ABSENT
        if len(reply["documents"]) + len(reply["missing"]) != len(ids):
            remarks.append(f"{model.scope}: getMany answered another number of documents than asked for")
        present = sum(key[0] == "s" and item.content is not None for key, item in items.items())
        listed = connection.call("settings.list", domain=model.scope, limit=1000)
        if "cursor" not in listed and len(listed["values"]) != present:
            remarks.append(f"{model.scope}: list has {len(listed['values'])} settings, get found {present}")
        if isinstance(model, mixed.MixedModel):
            mixed.observe(connection, model, items, remarks)
        for key, item in items.items():
            if key[0] == "a":
                continue
            if (item.content is None) != (item.rev == 0) or item.rev > rev:
                remarks.append(f"{model.scope}: {key[1]} has revision {item.rev}, content {item.content}, global {rev}")
    return seen, rev, remarks


def judge(model, seen):
    """Judges one writer's items and adopts them as its new promise: what was shown must stay too."""
    outcome = Outcome()
    outcome.items = len(seen)
    candidates = model.unknown + list(model.pending)
    expected = {key: model.state.get(key, ABSENT) for key in seen}
    different = {key for key in seen if expected[key].content != seen[key].content}
    allowed = {key: {expected[key].content} for key in different}
    applied = 0
    # What an unanswered change has touched has a revision that nobody was told.
    touched = set()
    for change in candidates:
        if not different:
            break
        model.apply(expected, change, 0)
        applied += 1
        touched.update(key for key, _ in change.effects)
        for key, _ in change.effects:
            (different.discard if expected[key].content == seen[key].content else different.add)(key)
            allowed.setdefault(key, {model.state.get(key, ABSENT).content}).add(expected[key].content)
    if different:
        explain(model, seen, allowed, outcome)
    else:
        outcome.beyond = applied
        for key, item in seen.items():
            promised = model.state.get(key, ABSENT)
            if promised.content == item.content and promised.rev not in (0, item.rev) and key not in touched:
                outcome.wrong += 1
                outcome.remark(f"{model.scope}: {key[1]} was acknowledged at {promised.rev}, is now {item.rev}")
    model.state = dict(seen)
    model.pending.clear()
    model.unknown = []
    return outcome


def explain(model, seen, allowed, outcome):
    """No prefix of the unanswered changes gives what is there: says what is the matter with it."""
    for key, item in seen.items():
        promised = model.state.get(key, ABSENT).content
        if item.content in allowed.get(key, {promised}):
            continue
        is_damaged = isinstance(item.content, str)
        if not is_damaged and item.rev <= model.highest_rev:
            outcome.lost += 1
        else:
            outcome.wrong += 1
        outcome.remark(f"{model.scope}: {key[1]} holds {item.content} (rev {item.rev}), acknowledged was {promised}")
    if not outcome.lost and not outcome.wrong:
        outcome.torn += 1
        outcome.remark(f"{model.scope}: what is there is no prefix of what was sent")


def verify(daemon, models):
    """Reads everything from the running daemon and judges it."""
    with daemon.connect() as connection:
        seen, rev, remarks = observe(connection, models)
    total = Outcome()
    for model in models:
        total.add(judge(model, seen[model.scope]))
        if rev < model.highest_rev:
            total.wrong += 1
            total.remark(f"{model.scope}: global revision {rev} is below the acknowledged {model.highest_rev}")
        # What was shown is promised from now on; after a loss the count starts from what is left.
        model.highest_rev = min(rev, max([model.highest_rev] + [item.rev for item in model.state.values()]))
    total.verified = 1
    total.wrong += len(remarks)
    for remark in remarks:
        total.remark(remark)
    return total
