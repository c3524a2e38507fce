"""Claims of models and blobs: who may fetch or make what is missing."""

from dataclasses import dataclass

from judges.base import Judge
from values import whole

SECOND = 1_000_000_000
# About the one key that they name; with a token they end the claim of that token alone.
ENDS = {"models.put", "models.touch", "blobs.put", "blobs.touch"}
LOOKS = {"get", "getMany", "list", "stat", "statMany", "describe", "scopes", "findMissing", "delete", "deleteMany", "beginUpload",
         "appendUpload", "abortUpload"}


@dataclass
class Holder:
    token: str
    client: str
    since: int                # ticks
    until: int                # nanoseconds; it may be held longer
    with_connection: bool


class Leases(Judge):
    name = "leases"
    sentence = ("exactly, by token and by the world's clock: a claim of a key has one holder at a time; the next is given only after the "
                "one before has put, touched or failed, has left, or its time and what it was renewed for is over; a token is given once")

    def __init__(self, run):
        super().__init__(run)
        self.holders = {}         # by store, namespace, key, variant
        self.given = set()
        # What was asked for since all was quiet, and what it ends; a claim may be won ahead of it and told behind it.
        self.ends = []

    def sent(self, asked):
        params = asked.params
        if not isinstance(asked.method, str) or not asked.method.startswith(("models.", "blobs.")) or not isinstance(params, dict):
            return
        store, action = asked.method.split(".")
        if "spoilt" in asked.note or action in LOOKS:
            return
        if asked.method in ENDS:
            self.end(asked, lambda key, holder: key[:3] == (store, params.get("namespace"), params.get("key"))
                     and params.get("token", holder.token) == holder.token)
        elif action == "fail":
            self.end(asked, lambda key, holder: params.get("token") == holder.token)
        elif action == "putMany":
            self.end(asked, lambda key, holder: key[0] == store and key[2] in [entry.get("key") for entry in params.get("entries", ())])
        elif action == "renew":
            span = (whole(params.get("leaseSeconds")) or 0) * SECOND
            for holder in self.holders.values():
                if holder.token == params.get("token"):
                    holder.until = min(holder.until, asked.sent_at + span)
        else:
            # It may be about any key: bounds that are set may push a claim out.
            self.end(asked, lambda key, holder: key[0] == store)

    def end(self, asked, is_over):
        self.ends.append((asked.sent, is_over))
        self.drop(is_over)

    def drop(self, is_over):
        self.holders = {key: holder for key, holder in self.holders.items() if not is_over(key, holder)}

    def answered(self, asked, result, kind, error):
        if result is None or not isinstance(asked.params, dict):
            return
        params = asked.params
        if asked.method in ("models.renew", "blobs.renew"):
            for holder in self.holders.values():
                if holder.token == params["token"]:
                    holder.until = asked.sent_at + whole(params["leaseSeconds"]) * SECOND
        if asked.method not in ("models.get", "blobs.get") or "token" not in result:
            return
        key = asked.method.split(".")[0], params["namespace"], params["key"], params.get("variant")
        holder, now = self.holders.get(key), self.run.world.now
        if params.get("claim") is not True:
            self.fail("unasked", f"request {asked.number} is given a token of {key}, and has not asked for one")
        if result["token"] in self.given:
            self.fail("again", f"request {asked.number} is given a token of {key} that was given before")
        self.given.add(result["token"])
        if holder and holder.since < asked.sent and now < holder.until:
            self.fail("two", f"request {asked.number} wins {key}, which client {holder.client} holds for "
                             f"{(holder.until - now) / SECOND:.3f} s still")
        seconds = whole(params.get("leaseSeconds"))
        holder = Holder(result["token"], asked.client, asked.answered, asked.sent_at + (30 if seconds is None else seconds) * SECOND,
                        seconds is None)
        self.holders[key] = holder
        if any(sent >= asked.sent and is_over(key, holder) for sent, is_over in self.ends):
            del self.holders[key]

    def closed(self, client):
        self.drop(lambda key, holder: holder.client == client)

    def stopped(self, was_clean):
        self.holders = {}

    def settled(self, readback):
        self.ends = []
