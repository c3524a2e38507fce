"""The daemon as a whole: numbers when all is quiet, what is sealed, epochs."""

import base64

from judges.base import Judge
from ledger import operations_of
from places import PASSPHRASE_FILE
from values import same, text, whole

CANARY = b"canary-"
# What is said when it cannot be noted what was acknowledged, and what the next start tells then.
UNNOTED, UNKNOWN_END = b"what was acknowledged is not noted", "'acknowledged', which says up to where changes were acknowledged, is missing"
CLEAR = ("settings.", "documents.", "models.", "blobs.")


class Transactions(Judge):
    name = "transactions"
    sentence = ("exactly: all operations of a transaction share a revision and are there together or not at all, across kills and "
                "cuts; a failed one names its operation")

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
    sentence = ("exactly: the same write under the same key is done once and answered with the same result, on whatever connection and "
                "after whatever end")


def refused_ones(item, value):
    """Requests about an item that is there which do a part of their work before they are refused."""
    store, scope, key = item
    if store == "settings":
        good, bad = {"domain": scope, "key": "undone", "value": 1}, {"domain": scope, "key": key, "value": 2, "ifRev": 2**53 - 1}
    else:
        good, bad = {"collection": scope, "id": "undone", "value": 1}, {"collection": scope, "id": key, "value": 2, "ifRev": 2**53 - 1}
    yield f"{store}.put", bad
    yield f"{store}.delete", {name: part for name, part in bad.items() if name != "value"}
    yield "transaction.apply", {"operations": [{"method": f"{store}.put", "params": good}, {"method": f"{store}.put", "params": bad}]}
    if store == "settings":
        yield "settings.putMany", {"domain": scope, "values": {"undone": 1, key: 2}, "ifRev": 0}
    else:
        documents = [{"id": good["id"], "value": 1}, {"id": key, "value": 2, "ifRev": 2**53 - 1}]
        yield "documents.putMany", {"collection": scope, "documents": documents}
        yield "documents.patch", {"collection": scope, "id": key,
                                  "jsonPatch": [{"op": "add", "path": "/undone", "value": 1}, {"op": "remove", "path": "/not/there"}]}
        yield "transaction.apply", {"operations": [{"method": "documents.delete", "params": {"collection": scope, "id": key}},
                                                   {"method": "documents.patch",
                                                    "params": {"collection": scope, "id": key, "mergePatch": {}}}]}


class Undo(Judge):
    name = "undo"
    sentence = ("exactly: what was refused changed nothing. By the registers, where a revision or value that no acknowledged or "
                "unanswered write explains is a fault; and in some quiet moments by reading everything before and after requests that "
                "do a part before they are refused")

    def settled(self, readback):
        from readback import ask, read_back
        if readback is None or not self.run.is_up or self.run.faults_active or self.run.starts % 3:
            return
        for store in ("settings", "documents"):
            item = next((item for item in readback.items if item[0] == store and item[1:] != ("undone",)), None)
            if item is None:
                continue
            requests = list(refused_ones(item, readback.items[item][0]))
            for request, reply in zip(requests, ask(self.run, requests) or ()):
                if "error" not in reply:
                    self.fail("done", f"{request[0]} {text(request[1])[:300]} was done: {text(reply)[:200]}")
                    return
        after = read_back(self.run)
        for item in after.items.keys() | readback.items.keys() if after is not None else ():
            one, other = readback.items.get(item), after.items.get(item)
            # A secret that is sealed anew after a rotation has another revision by itself.
            is_sealed_anew = item[0] == "secrets" and self.history.is_rewrapped
            # What nobody waits for any more may be done between the two.
            if self.history.loose_parts(item):
                continue
            if item[:2] in after.scopes & readback.scopes and \
                    (one is None or other is None or one[1] != other[1] and not is_sealed_anew or not same(one[0], other[0])):
                self.fail("changed", f"{item} was {str(one)[:150]} before requests that were refused, and is {str(other)[:150]}")
                return


class Numbers(Judge):
    name = "numbers"
    sentence = ("exactly, when all is quiet and known: the settings and documents that storage.status counts, with their bytes, are "
                "the model's")

    def answered(self, asked, result, kind, error):
        if asked.method == "storage.status" and result is not None and whole(result["foldedRev"]) > whole(result["rev"]):
            self.fail("folded", f"request {asked.number}: more is folded ({result['foldedRev']}) than there is ({result['rev']})")

    def settled(self, readback):
        from readback import ask
        replies = ask(self.run, [("storage.status", {})])
        if not replies or "result" not in replies[0] or readback is None:
            return
        for store in ("settings", "documents"):
            if any(part.item[0] == store for write in self.history.loose for part in write.parts):
                continue
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

    def __init__(self, run):
        super().__init__(run)
        self.is_spoken = False    # somebody else has the same letters in a value

    def sent(self, asked):
        self.is_spoken |= any(method.startswith(CLEAR) and CANARY.decode() in text(params)
                              for method, params in operations_of(asked.method, asked.params))

    def settled(self, readback):
        if not self.is_spoken and (self.run.starts % 3 == 0 or self.run.count > 200):
            self.look()

    def look(self):
        marks = [CANARY, *(base64.b64encode(b" " * shift + CANARY)[4:12] for shift in (1, 2)), base64.b64encode(CANARY)[:8]]
        for path, at, data in self.run.world.find(marks):
            if path != PASSPHRASE_FILE:
                self.fail("clear", f"{path} has {data!r} at {at}")
                return


class Histories(Judge):
    name = "histories"
    sentence = ("by invariant, also when all is quiet: the epoch stays the same over every end that has damaged nothing, and is a new one "
                "after a restore and with a bundle; no start tells of damage that is none, but for a log whose end could not be noted, as "
                "the run before has said; revisions that are told never exceed those given out")

    def __init__(self, run):
        super().__init__(run)
        self.epoch, self.past = None, set()
        # Lines of the daemon that were looked at, and whether one was UNNOTED.
        self.lines, self.is_unnoted = 0, False

    def started(self):
        """A start cannot know how far the log went when nobody could note it: it tells so, and begins another history."""
        output = self.run.world.output
        said, self.lines = b"".join(output[self.lines:]), len(output)
        if UNNOTED in said:
            self.is_unnoted, self.epoch = True, None

    def moved(self, held, rev, only):
        self.past.add(self.epoch)
        self.epoch = None

    def answered(self, asked, result, kind, error):
        if result is None or not isinstance(result.get("epoch"), str):
            return
        self.look_for_damage(result, f"request {asked.number}")
        if asked.method in ("storage.status", "session.hello") or asked.method == "changes.watch" and \
                not set(asked.params.get("stores") or []) & {"models", "blobs", "storage"}:
            self.look(result["epoch"], f"request {asked.number}")

    def settled(self, readback):
        from readback import ask
        replies = ask(self.run, [("storage.status", {})])
        if replies and "result" in replies[0]:
            self.look_for_damage(replies[0]["result"], "storage.status, when all is quiet")
            self.look(replies[0]["result"]["epoch"], "storage.status, when all is quiet")

    def look(self, epoch, where):
        if epoch in self.past:
            self.fail("old epoch", f"{where}: the history {epoch} is told, which another directory had")
        if self.epoch not in (None, epoch):
            self.fail("epoch", f"{where}: another history began, {epoch} after {self.epoch}")
        self.epoch = epoch

    def look_for_damage(self, result, where):
        # A start that ends while a cache is read has that cache dropped by the next one.
        notices = [notice for notice in result.get("recovered", ()) if notice["what"] != "caches"]
        if any(not (self.is_unnoted and UNKNOWN_END in notice["reason"]) for notice in notices):
            self.fail("recovered", f"{where}: {text(result['recovered'])[:500]}")
