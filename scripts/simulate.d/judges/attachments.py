"""Attachments: what is given under a name of a document was put there last."""

import base64
import hashlib

from judges.caches import Cache
from values import whole

# What may take attachments away, or bring older ones back.
OTHERS = {"documents.delete", "documents.deleteMany", "documents.restore", "documents.drop", "documents.purge", "documents.import",
          "documents.put",
          "documents.putMany", "transaction.apply", "transaction.undo", "documents.configure"}


def digest(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


class Attachments(Cache):
    name = "attachments"
    sentence = ("exactly: an attachment that is given has the bytes, the size and the digest that were attached under its name, which "
                "nothing acknowledged since has replaced or taken away; one that was acknowledged is there, over kills and cuts, unless "
                "something after it may have taken it away, and is not refused as damaged while no bit has flipped; one whose file was "
                "damaged is whole when its content has come again")

    def __init__(self, run):
        super().__init__(run)
        self.taking = {}          # by request: its collection, while it may take attachments away
        self.taken = {}           # by collection: the tick at which such a request was last answered, or given up
        self.sizes = {}
        self.reading = {}         # by client: the descriptors' digests, in order

    def key(self, params):
        return params.get("collection"), params.get("id"), params.get("name")

    def sent(self, asked):
        params = asked.params
        if not isinstance(params, dict) or "spoilt" in asked.note or not all(isinstance(part, str) for part in self.key(params)
                                                                             if part is not None):
            return
        if asked.method == "documents.attach":
            data = base64.b64decode(params["data"]) if "data" in params else None
            if data is not None:
                self.sizes[digest(data)] = len(data)
            # What a descriptor holds is told by the reply.
            self.put(asked, self.key(params), digest(data) if data is not None else asked.number)
        elif asked.method == "documents.detach":
            self.put(asked, self.key(params), None)
        elif asked.method in OTHERS:
            self.taking[asked.number] = params.get("collection")

    def took(self, asked):
        if asked.number in self.taking:
            self.taken[self.taking.pop(asked.number)] = self.run.tick

    def abandoned(self, asked):
        super().abandoned(asked)
        self.took(asked)

    def may_have_taken(self, collection, since=0):
        """Whether an attachment of the collection may have gone, or come back, behind this tick."""
        return any(one in self.taking.values() or self.taken.get(one, -1) >= since for one in (collection, None))

    def stopped(self, was_clean):
        # Of relaxed ones the last may be missing: those of a cut are as if nobody had told of them.
        if self.history.was_cut:
            for puts in self.puts.values():
                for put in puts:
                    if not getattr(put, "durable", True):
                        put.answered = None

    def moved(self, held, rev, only):
        """What was attached or detached behind the revision has not happened."""
        self.by_request = {}
        for key, puts in self.puts.items():
            is_held = held.holds(("documents", key[0], None), only) and not held.seeded
            self.puts[key] = [put for put in puts if is_held and getattr(put, "rev", 0) <= rev
                              and (put.sent <= held.answered or rev != held.rev)]

    def answered(self, asked, result, kind, error):
        self.took(asked)
        params = asked.params
        if asked.number in self.by_request:
            if result is None and kind not in ("internalError", "outcomeUnknown"):
                self.forget(asked)
            else:
                self.attached(asked, result)
        elif asked.method == "documents.attachment" and isinstance(params, dict):
            if result is not None:
                self.given(asked, params, result)
            elif kind == "notFound":
                self.missed(asked)
            elif kind == "integrity":
                self.refused(asked)

    def attached(self, asked, result):
        for put in self.by_request[asked.number]:
            put.durable = result is not None and result.get("durable") is not False
            put.rev = whole(result.get("rev")) or 0 if result is not None else 0
            if result is None or asked.method != "documents.attach" or asked.is_repeat:
                continue
            if isinstance(put.content, str) and put.content != result["digest"]:
                self.fail("digest", f"request {asked.number} is told the digest {result['digest']}, which is not that of what it gave")
            put.content = result["digest"]
            if self.sizes.setdefault(result["digest"], whole(result["bytes"])) != whole(result["bytes"]):
                self.fail("bytes", f"request {asked.number} is told {result['bytes']} bytes")
        if result is None or asked.is_repeat:
            self.by_request.pop(asked.number)
        else:
            self.done(asked)

    def given(self, asked, params, result):
        key = self.key(params)
        unknown = any(not isinstance(put.content, str) and put.content is not None for put in self.puts.get(key, ()))
        if not self.may_have_taken(key[0]) and not unknown:
            self.gave(asked, key, result["digest"])
        data = None
        if "data" in result:
            data = base64.b64decode(result["data"])
        elif params.get("as") == "fd" and self.run.fd_contents[asked.client]:
            data = self.run.fd_contents[asked.client].pop(0)
        if data is not None and (digest(data) != result["digest"] or len(data) != whole(result["bytes"])):
            self.fail("bytes", f"request {asked.number} gives other bytes than its digest tells: {len(data)} bytes, {data[:60]!r}")

    def refused(self, asked):
        """A content that is damaged is whole again once it has come again; and none is damaged by itself."""
        if not (self.run.is_damaged or self.run.faults_active):
            self.fail("absent", f"request {asked.number} is refused, as if the content of {self.key(asked.params)} were damaged, and no "
                                "bit has flipped")
        contents = {put.content for put in self.puts.get(self.key(asked.params), ())} - {None}
        where = [path for path, _ in self.run.world.rotten]
        if where and all("/attachments/" in path for path in where) and contents and all(self.came_again(asked, content)
                                                                                         for content in contents):
            self.fail("again", f"request {asked.number} is refused for damage at {where}; the content has come again since")

    def came_again(self, asked, digest_):
        """Whether the content was attached and acknowledged after the last bit has flipped."""
        return any(put.content == digest_ and put.answered is not None and self.run.damaged_at < put.sent and put.answered < asked.sent
                                           for puts in self.puts.values() for put in puts)

    def missed(self, asked):
        key = self.key(asked.params)
        puts = self.puts.get(key, [])
        last = max((put for put in puts if put.content is not None and put.answered is not None and put.answered < asked.sent),
                   key=lambda put: put.answered, default=None)
        if last is None or self.may_have_taken(key[0], last.sent) or not getattr(last, "durable", True):
            return
        if not any(put.content is None and (put.answered is None or put.answered > last.sent) for put in puts):
            self.fail("lost", f"request {asked.number} finds no attachment {key}, which was acknowledged before and not taken away since")
