"""Full text search: single words over the model's text."""

import unicodedata

from judges.base import Snapshots
from matching import Unknown, at_path, matches
from values import ABSENT, ANY, Number, canonical, same, text, whole

UNKNOWN = object()


def words(value):
    """All strings of a value and below, in their order, as the tokenizer unicode61 parts them."""
    if isinstance(value, Number):
        return []
    if isinstance(value, str):
        plain = "".join(letter for letter in unicodedata.normalize("NFD", value.lower()) if unicodedata.category(letter) != "Mn")
        return "".join(letter if unicodedata.category(letter)[0] in "LN" else " " for letter in plain).split()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [word for part in parts for word in words(part)]


class Search(Snapshots):
    name, store = "search", "documents"
    sentence = ("exactly, for the role admin, for plain words and their beginnings: a search shows the documents that have all of them "
                "in the collection's search fields as of its revision, each once and as it was, and no others")

    def __init__(self, run):
        super().__init__(run)
        self.fields = {}          # by collection: the paths that are searched, or UNKNOWN
        self.changed = {}         # by collection: the tick at which they were last about to change, or had
        self.under_way = {}       # by request: the collection and its new fields
        self.tokenized = set()

    # MARK: What is searched

    def sent(self, asked):
        params = asked.params
        if asked.method not in ("documents.configure", "documents.drop") or not isinstance(params, dict) or "spoilt" in asked.note:
            return
        collection = params.get("collection")
        names = {"searchFields", "searchTokenizer", "requestKey"}
        if not isinstance(collection, str) or asked.method == "documents.configure" and not names & params.keys():
            return
        self.changed[collection] = asked.sent
        # Other tokenizers find other words.
        self.tokenized |= {collection} if "searchTokenizer" in params else set()
        self.under_way[asked.number] = collection, params.get("searchFields", UNKNOWN) if collection not in self.tokenized else UNKNOWN
        if asked.id is None:
            self.abandoned(asked)

    def moved(self, held, rev, only):
        super().moved(held, rev, only)
        self.fields = {}

    def abandoned(self, asked):
        if asked.number in self.under_way:
            collection, _ = self.under_way.pop(asked.number)
            self.fields[collection] = UNKNOWN

    def answered(self, asked, result, kind, error):
        if asked.number in self.under_way:
            collection, fields = self.under_way.pop(asked.number)
            self.changed[collection] = asked.answered
            if any(other == collection for other, _ in self.under_way.values()) or kind in ("outcomeUnknown", "internalError"):
                self.fields[collection] = UNKNOWN
            elif result is not None and asked.params.get("dryRun") is not True:
                self.fields[collection] = UNKNOWN if asked.is_repeat else fields
        elif asked.method == "documents.search" and result is not None:
            collection = asked.params["collection"]
            if len({document["id"] for document in result["documents"]}) < len(result["documents"]):
                self.fail("repeat", f"request {asked.number} shows a document twice")
            fields = self.fields.get(collection, UNKNOWN)
            is_sure = self.changed.get(collection, 0) < asked.sent and all(other != collection for other, _ in self.under_way.values())
            if isinstance(fields, list) and all(isinstance(field, str) for field in fields) and is_sure and "cursor" not in asked.params:
                self.later(asked, result, lambda asked, result: self.judge(asked, result, fields))

    # MARK: What is found

    def judge(self, asked, result, fields):
        params = asked.params
        wanted = params["query"].split()
        if not all(word.rstrip("*").isascii() and word.rstrip("*").isalnum() and not word.isupper() for word in wanted):
            return
        collection = params["collection"]
        items = self.history.items("documents", collection)
        rev = self.cover(asked, result, items)
        if rev is None:
            return
        shown = {document["id"]: document for document in result["documents"]}
        for item in items:
            states = self.history.may_be(item, rev)
            if any(state.value is ANY for state in states):
                return
            try:
                matching = [state for state in states if state.value is not ABSENT and self.has(state.value, item[2], fields, wanted)
                            and matches(params.get("where") or {}, state.value, item[2])]
            except Unknown:
                return
            document = shown.get(item[2])
            if document is None:
                if "cursor" not in result and len(matching) == len(states):
                    self.fail("missing", f"request {asked.number}, {text(params)[:200]}, as of {rev} lacks {item[2]!r}: "
                                         f"{text(states[0].value)[:200]}")
            elif not any(state.rev in (whole(document["rev"]), None) and ("fields" in params or same(state.value, document["value"]))
                         for state in matching):
                self.fail("wrong", f"request {asked.number}, {text(params)[:200]}, as of {rev} shows {item[2]!r} as "
                                   f"{text(document['value'])[:200]} of "
                          f"{document['rev']}; it was {[(canonical(s.value)[:150], s.rev) for s in states[:3]]}")
        for name in shown:
            if ("documents", collection, name) not in self.history.known_items:
                self.fail("wrong", f"request {asked.number} shows {name!r}, which nobody has written")

    @staticmethod
    def has(value, identifier, fields, wanted):
        found = {word for field in fields if (part := at_path(value, field, identifier)) is not ABSENT for word in words(part)}
        return all(any(word.startswith(one[:-1]) for word in found) if one.endswith("*") else one.lower() in found for one in wanted)
