"""The past: what a document is said to have been, against the timelines."""

from judges.base import Snapshots
from values import ABSENT, ANY, same, text, whole

# Of one that a configuration names, what has aged is forgotten.
AGING = {"retainDays", "tombstoneDays"}
# Behind these words of the log a fold may have had no room for former versions.
SHORT = b"disk full", b"no space"


def destroys(asked):
    """The collection of which a request may destroy what was before; None for all others."""
    params = asked.params if isinstance(asked.params, dict) else {}
    collection = params.get("collection")
    is_aging = asked.method == "documents.configure" and AGING & params.keys()
    return collection if isinstance(collection, str) and (asked.method in ("documents.purge", "documents.drop") or is_aging) else None


class Past(Snapshots):
    name = "past"
    sentence = ("exactly, for the role admin: what a document was at a revision, and each version that is listed, is what it was then; no "
                "version between two that are listed is missing; compacted is an answer, but not of what its collection keeps, unless the disk was "
                "full; nothing is one where a purge or a drop has destroyed it")

    def __init__(self, run):
        super().__init__(run)
        self.destroyed = set()    # collections of which something may have been destroyed
        self.kept = {}            # of collections, how many former versions each document keeps, and from which revision on

    def sent(self, asked):
        if collection := destroys(asked):
            self.destroyed.add(collection)
        if asked.method == "documents.configure" and isinstance(asked.params, dict) and "history" in asked.params:
            self.kept.pop(asked.params.get("collection"), None)

    def moved(self, held, rev, only):
        self.kept.clear()

    def answered(self, asked, result, kind, error):
        if kind == "compacted" and asked.method == "documents.get":
            kept = self.kept.get(asked.params["collection"])
            if kept:
                self.later(asked, kept, self.was_kept)
        if result is None:
            return
        wanted = asked.params.get("history") if asked.method == "documents.configure" else None
        if isinstance(wanted, dict) and wanted.keys() == {"count"}:
            self.kept[asked.params["collection"]] = whole(wanted["count"]), whole(result["rev"])
        if asked.method == "documents.get" and "atRev" in asked.params and "default" not in asked.params:
            self.later(asked, result, self.was)
        elif asked.method == "documents.history":
            self.later(asked, result, self.listed)

    def was(self, asked, result):
        item = "documents", asked.params["collection"], asked.params["id"]
        rev = whole(asked.params["atRev"])
        value = result.get("value", ABSENT)
        if value is ABSENT and item[1] in self.destroyed:
            return
        self.expect(asked, item, rev, value, f"at {rev}")

    def was_kept(self, asked, kept):
        """What is kept for certain is known, whatever the log has let go of."""
        count, since = kept
        item = "documents", asked.params["collection"], asked.params["id"]
        rev = whole(asked.params["atRev"])
        changes = [entry.rev for entry in self.history.timelines.get(item, ()) if entry.rev]
        former = [change for change in changes if change > rev]
        if rev < since or item[1] in self.destroyed or self.history.loose_parts(item) or len(former) > count:
            return
        if len(former) == len(changes):
            return    # it came to be later, and the log may have forgotten that there was nothing before
        if {item, (*item[:2], None)} & self.history.ancient or any(word in line for line in self.run.world.output for word in SHORT):
            return
        self.fail("kept", f"request {asked.number}, {asked.method}: what {item} was at {rev} is not known, though {count} versions are kept "
                          f"since {since}, and it was changed at {changes}")

    def listed(self, asked, result):
        item = "documents", asked.params["collection"], asked.params["id"]
        above = None
        for version in result["versions"]:
            rev = whole(version["rev"])
            if above is not None and rev >= above:
                self.fail("order", f"request {asked.number}, {asked.method}: {item} has {rev} behind {above}")
            value = ABSENT if version.get("deleted") else version.get("value", ANY)
            self.expect(asked, item, rev, value, f"its version {rev}")
            if above is not None:
                self.expect(asked, item, above - 1, value, f"before its version {above}")
            above = rev

    def expect(self, asked, item, rev, value, where):
        """That the item may have been this as of the revision."""
        if rev < self.history.base or {item, (*item[:2], None)} & self.history.ancient:
            return
        states = self.history.may_be(item, rev)
        if states and not any(state.value is ANY or value is ANY or same(state.value, value) for state in states):
            self.fail("wrong", f"request {asked.number}, {asked.method}: {item}, {where}, is told as {str(value)[:100]!r}; it was "
                               f"{text(['absent' if s.value is ABSENT else s.value for s in states[:3]])[:200]}")
