"""Debian's iso-codes as documents, and what must be there of them after the kill."""

import json
from collections import Counter
from pathlib import Path

DIRECTORY = Path("/usr/share/iso-codes/json")
# collection, list, member that names a record
LISTS = [
    ("countries", "3166-1", "alpha_2"),
    ("countries-former", "3166-3", "alpha_4"),
    ("currencies", "4217", "alpha_3"),
    ("languages", "639-3", "alpha_3"),
    ("languages-639-2", "639-2", "alpha_3"),
    ("language-groups", "639-5", "alpha_3"),
    ("scripts", "15924", "alpha_4"),
    ("subdivisions", "3166-2", "code"),
]


def read():
    """All records, as {(collection, id): value}."""
    records, count = {}, 0
    for collection, name, key in LISTS:
        values = json.loads((DIRECTORY / f"iso_{name}.json").read_text("utf-8"))[name]
        records.update({(collection, value[key]): value for value in values})
        count += len(values)
        if len(records) != count:
            raise ValueError(f"iso_{name}.json: {key} is not unique")
    return records


def changed(value):
    """What the second load stores in a record's place."""
    return {**value, "load": 2}


def compare(connection, first, acknowledged):
    """Reads all documents and compares them: every change that was acknowledged, and nothing that nobody sent.

    first: (value, rev) by (collection, id), as the first load left them; the second load was to change them all
    acknowledged: rev by key, of the changes that were acknowledged

    Returns counts (acknowledged, found, unanswered, unanswered and stored), and what is not there as it should be.
    """
    counts, lost = Counter(), []
    for key, (value, rev) in _stored(connection, first):
        old, old_rev = first[key]
        is_new = value == changed(old)
        if key in acknowledged:
            counts["acknowledged"] += 1
            if is_new and rev == acknowledged[key]:
                counts["found"] += 1
            else:
                lost.append(f"{'/'.join(key)}: rev {rev}, not {acknowledged[key]} as acknowledged")
        elif is_new and rev > old_rev or (value, rev) == (old, old_rev):
            # Sent, and killed before the reply: it may be stored, nobody was told anything.
            counts["unanswered"] += 1
            counts["stored"] += is_new
        else:
            lost.append(f"{'/'.join(key)}: rev {rev} holds neither the first load's value nor the second's")
    return counts, lost


def _stored(connection, keys):
    """Yields (key, (value, rev)) for each key; an absent document is (None, 0)."""
    for collection, _, _ in LISTS:
        names = [name for own, name in keys if own == collection]
        for start in range(0, len(names), 1000):
            part = names[start : start + 1000]
            reply = connection.call("documents.getMany", collection=collection, ids=part)
            found = {document["id"]: (document["value"], document["rev"]) for document in reply["documents"]}
            yield from (((collection, name), found.get(name, (None, 0))) for name in part)
