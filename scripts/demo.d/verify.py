"""What must be there after the kill: every change that was acknowledged, and nothing that nobody sent."""

import records


class Verdict:
    """Counts; `lost` names what was acknowledged and is not there as it should be."""

    def __init__(self):
        self.acknowledged = 0
        self.found = 0
        self.unanswered = 0
        self.unanswered_stored = 0
        self.untouched = 0
        self.lost = []


def documents(client, first, sent, acknowledged):
    """Reads all documents and compares them.

    first: (value, rev) by (collection, id), as the first load left them
    sent: keys that the second load was to change
    acknowledged: rev by key, of the changes that were acknowledged
    """
    verdict = Verdict()
    for (collection, name), (value, rev) in _read(client, first):
        key = (collection, name)
        old, old_rev = first[key]
        new = records.changed(old)
        if key in acknowledged:
            verdict.acknowledged += 1
            if value == new and rev == acknowledged[key]:
                verdict.found += 1
            else:
                verdict.lost.append(f"{collection}/{name}: rev {rev}, not {acknowledged[key]} as acknowledged")
        elif key in sent and value == new and rev > old_rev:
            # Sent, stored, and killed before the reply: allowed, nobody was told anything.
            verdict.unanswered += 1
            verdict.unanswered_stored += 1
        elif value == old and rev == old_rev:
            verdict.unanswered += key in sent
            verdict.untouched += key not in sent
        else:
            verdict.lost.append(f"{collection}/{name}: rev {rev} holds neither the first load's value nor the second's")
    return verdict


def _read(client, keys):
    """Yields (key, (value, rev)) for each key; an absent document is (None, 0)."""
    by_collection = {}
    for collection, name in keys:
        by_collection.setdefault(collection, []).append(name)
    for collection, names in by_collection.items():
        for start in range(0, len(names), 1000):
            part = names[start : start + 1000]
            reply = client.call("documents.getMany", collection=collection, ids=part)
            found = {document["id"]: (document["value"], document["rev"]) for document in reply["documents"]}
            for name in part:
                yield (collection, name), found.get(name, (None, 0))


def launches(client, acknowledged):
    """The counter's value, and a fault when it lost an acknowledged step or made one up."""
    value = client.call("settings.get", domain="app", key="launches").get("value", 0)
    # One step may have been under way.
    return value, None if acknowledged <= value <= acknowledged + 1 else f"launches: {value}, acknowledged {acknowledged}"


def theme(client, acknowledged, rev):
    """The theme, and a fault when it is neither the one that was acknowledged at `rev` nor the next after it."""
    found = client.call("settings.get", domain="app", key="theme")
    # The next one, that may have been under way, is the other of the two.
    is_same = found["rev"] == rev and found["value"] == acknowledged
    is_next = found["rev"] > rev and found["value"] in {"dark", "light"} - {acknowledged}
    return found.get("value"), None if is_same or is_next else f"theme: {found}, acknowledged {acknowledged} at {rev}"
