"""The past: what a document is said to have been, against the timelines."""

from judges.base import Snapshots
from values import ABSENT, ANY, same, text, whole

# After one of them what was before may be gone.
DESTROYING = {"documents.purge", "documents.drop", "documents.configure"}


class Past(Snapshots):
    name = "past"
    sentence = ("exactly, for the role admin: what a document was at a revision, and each version that is listed, is what it was then; no "
                "version between two that are listed is missing; compacted is an answer, and so is nothing where a purge or a drop has "
                "destroyed it")

    def __init__(self, run):
        super().__init__(run)
        self.destroyed = set()    # collections of which something may have been destroyed

    def sent(self, asked):
        collection = asked.params.get("collection") if isinstance(asked.params, dict) else None
        if asked.method in DESTROYING and isinstance(collection, str):
            self.destroyed.add(collection)

    def answered(self, asked, result, kind, error):
        if result is None:
            return
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
                               f"{text([state.value for state in states[:3]])[:200]}")
