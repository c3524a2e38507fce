"""Debian's iso-codes as documents: which list goes into which collection, under which id."""

import json
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
    records = {}
    for collection, name, key in LISTS:
        with open(DIRECTORY / f"iso_{name}.json", encoding="utf-8") as file:
            values = json.load(file)[name]
        documents = {(collection, value[key]): value for value in values}
        if len(documents) != len(values):
            raise ValueError(f"iso_{name}.json: {key} is not unique")
        records.update(documents)
    return records


def changed(value):
    """What the second load stores in a record's place."""
    return {**value, "load": 2}
