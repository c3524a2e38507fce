"""The daemon as a whole: numbers when all is quiet, what is sealed, epochs."""

import base64

from judges.base import Judge
from values import text, whole

CANARY = b"canary-"


class Transactions(Judge):
    name = "transactions"
    sentence = "exactly: all operations of a transaction share a revision and are there together or not at all, across kills and cuts; a failed one names its operation"

    def answered(self, asked, result, kind, error):
        # A repeated key of secrets is answered with the first result, whatever is asked for.
        if asked.method != "transaction.apply" or asked.is_repeat:
            return
        operations = asked.params.get("operations") if isinstance(asked.params, dict) else None
        if result is not None and isinstance(operations, list) and len(result["results"]) != len(operations):
            self.fail("results", f"request {asked.number} has {len(operations)} operations and {len(result['results'])} results")
        for inner in result["results"] if result is not None else ():
            if "rev" in inner and whole(inner["rev"]) > whole(result["rev"]):
                self.fail("rev", f"request {asked.number} was done at {result['rev']}, an operation of it at {inner['rev']}")
        if kind == "conflict" and "operation" not in error["data"]:
            self.fail("operation", f"request {asked.number} conflicts and does not tell which operation")


class RequestKeys(Judge):
    name = "request keys"
    sentence = "exactly: the same write under the same key is done once and answered with the same result, on whatever connection and after whatever end"


class Undo(Judge):
    name = "undo"
    sentence = "exactly, by the registers: what was refused changed nothing; a revision or value that no acknowledged or unanswered write explains is a fault"


class Quotas(Judge):
    name = "numbers"
    sentence = "exactly, when all is quiet and known: the settings and documents that storage.status counts, with their bytes, are the model's"

    def answered(self, asked, result, kind, error):
        if asked.method == "storage.status" and result is not None and whole(result["foldedRev"]) > whole(result["rev"]):
            self.fail("folded", f"request {asked.number}: more is folded ({result['foldedRev']}) than there is ({result['rev']})")

    def settled(self, readback):
        from readback import ask
        replies = ask(self.run, [("storage.status", {})])
        if not replies or "result" not in replies[0] or readback is None:
            return
        if self.run.history.loose:
            return
        for store in ("settings", "documents"):
            told = replies[0]["result"][store]
            found = [(item, value) for item, (value, _) in readback.items.items() if item[0] == store]
            if any(self.history.is_spelled_otherwise(*readback.items[item]) for item, _ in found):
                continue
            if not all(item[:2] in readback.scopes for item, _ in found):
                continue
            size = sum(len(text(value)) + (len(item[2].encode()) if store == "settings" else 0) for item, value in found)
            if (whole(told["count"]), whole(told["bytes"])) != (len(found), size):
                self.fail("status", f"storage.status tells {text(told)} of {store}; there are {len(found)} with {size} bytes")


class Canary(Judge):
    name = "canary"
    sentence = "exactly: no value that was given to be sealed is on the disk in clear, nor as base64"

    def settled(self, readback):
        if self.run.starts % 3 == 0 or self.run.count > 200:
            self.look()

    def look(self):
        marks = [CANARY, *(base64.b64encode(b" " * shift + CANARY)[4:12] for shift in (1, 2)), base64.b64encode(CANARY)[:8]]
        for path, data in self.run.world.files():
            found = next((mark for mark in marks if mark in data), None)
            if found:
                at = data.index(found)
                self.fail("clear", f"{path} has {data[max(0, at - 40):at + 60]!r} at {at}")
                return


class Histories(Judge):
    name = "histories"
    sentence = "by invariant: the epoch stays the same over every end that has damaged nothing, and revisions that are told never exceed those given out"

    def __init__(self, run):
        super().__init__(run)
        self.epoch = None

    def answered(self, asked, result, kind, error):
        if result is None or not isinstance(result.get("epoch"), str):
            return
        if asked.method in ("storage.status", "session.hello") or asked.method == "changes.watch" and \
                not set(asked.params.get("stores") or []) & {"models", "blobs", "storage"}:
            if self.epoch not in (None, result["epoch"]):
                self.fail("epoch", f"request {asked.number}: another history began, {result['epoch']} after {self.epoch}")
            self.epoch = result["epoch"]
        # A start that ends while a cache is read has that cache dropped by the next one.
        if any(notice["what"] != "caches" for notice in result.get("recovered", ())):
            self.fail("recovered", f"request {asked.number}: {text(result['recovered'])[:500]}")
