"""Models and blobs: what is given is what was put last, or nothing."""

import base64
import hashlib

from judges.base import Judge
from values import canonical, whole


class Put:
    def __init__(self, content, sent, answered=None):
        self.content, self.sent, self.answered = content, sent, answered
        self.known = None         # when a process before this one answered it


class Cache(Judge):
    """A register by key: a content that is given was put, and was not replaced for sure before it was asked for."""

    store = ""

    def __init__(self, run):
        super().__init__(run)
        self.puts = {}            # by key: all puts and removals, in the order in which they were sent
        self.by_request = {}
        self.bundled = {}         # by key: what the bundle that was begun with may have

    def put(self, asked, key, content):
        put = Put(content, asked.sent)
        self.puts.setdefault(key, []).append(put)
        self.by_request.setdefault(asked.number, []).append(put)

    def done(self, asked):
        for put in self.by_request.pop(asked.number, ()):
            put.answered = asked.answered

    def forget(self, asked):
        """Refused or declined: it was not stored."""
        refused = self.by_request.pop(asked.number, [])
        for key, puts in self.puts.items():
            if any(put in puts for put in refused):
                self.puts[key] = [put for put in puts if put not in refused]

    def abandoned(self, asked):
        self.by_request.pop(asked.number, None)

    def stopped(self, was_clean):
        # The last moments may be missing, so an earlier value may have come back.
        for puts in self.puts.values():
            for put in puts:
                put.known, put.answered = put.answered or put.known, None

    def moved(self, held, rev, only):
        """A restore begins with empty caches; a bundle may have models, which also go into the caches that are made later."""
        self.by_request = {}
        if held.kind == "bundle":
            self.bundled = {key: [put.content for put in puts] for key, puts in self.puts.items()
                            if held.holds((self.store, key[0], None))}
        self.puts = {key: [Put(content, 0) for content in contents] for key, contents in self.bundled.items()}

    def gave(self, asked, key, content):
        puts = self.puts.get(key, [])
        fits = [put for put in puts if put.content == content and put.sent <= asked.answered]
        if not fits:
            self.fail("foreign", f"request {asked.number}, {asked.method}, gives for {key} "
                                 f"{str(content)[:100]}, which nobody has put there")
        elif all(any(put.answered is not None and other.answered is not None and put.answered < other.sent and other.answered < asked.sent
                     for other in puts)
                 for put in fits):
            self.fail("old", f"request {asked.number}, {asked.method}, gives for {key} {str(content)[:100]}, which was replaced before")


class Models(Cache):
    name = store = "models"
    sentence = ("exactly, but for what is lost: a model that is given was put under its key, and nothing that was acknowledged since "
                "has replaced or removed it; what has come back over an end although it was replaced or removed is stale")

    def sent(self, asked):
        params = asked.params
        if not asked.method.startswith("models.") or not isinstance(params, dict) or "spoilt" in asked.note:
            return
        space = params.get("namespace")
        if asked.method == "models.put" and "value" in params:
            self.put(asked, (space, params.get("key")), canonical(params["value"]))
        elif asked.method == "models.putMany":
            for entry in params["entries"]:
                self.put(asked, (space, entry["key"]), canonical(entry["value"]))
        elif asked.method == "models.delete" and params.get("logical") is not True:
            self.put(asked, (space, params.get("key")), None)
        elif asked.method == "models.touch":
            # What has come back may be fresh from now on.
            for put in self.puts.get((space, params.get("key")), ()):
                put.known = None

    def answered(self, asked, result, kind, error):
        if not asked.method.startswith("models."):
            return
        params = asked.params
        if asked.number in self.by_request:
            if result is None and kind not in ("internalError", "outcomeUnknown"):
                self.forget(asked)
            elif asked.method == "models.put" and (result is None or result["stored"] is False):
                # It may have been handed to those that waited for it.
                self.by_request.pop(asked.number)
            elif asked.method == "models.putMany" and (result is None or result["declined"]):
                self.by_request.pop(asked.number)
            else:
                self.done(asked)
        elif result is not None and asked.method == "models.get" and "value" in result:
            self.gave(asked, (params["namespace"], params["key"]), canonical(result["value"]), result["state"])
        elif result is not None and asked.method == "models.getMany":
            for entry in result["entries"]:
                if "value" in entry:
                    self.gave(asked, (params["namespace"], entry["key"]), canonical(entry["value"]), entry["state"])

    def gave(self, asked, key, content, state):
        super().gave(asked, key, content)
        if state == "fresh":
            self.is_old(asked, key, content)

    def is_old(self, asked, key, content):
        puts = [(put, put.answered or put.known) for put in self.puts.get(key, ())]
        fits = [(put, answered) for put, answered in puts if put.content == content]
        if fits and all(any(answered and other and answered < by.sent and other < asked.sent for by, other in puts)
                        for _, answered in fits):
            self.fail("back", f"request {asked.number}, {asked.method}, gives for {key} {str(content)[:100]} as fresh, which was replaced "
                              "before the last end")


def digest(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


class Blobs(Cache):
    name = store = "blobs"
    sentence = ("exactly, but for what is lost: a blob that is given has the bytes and the digest that were put under its key, whole "
                "or the part that was asked for, and nothing that was acknowledged since has replaced or removed it")

    def __init__(self, run):
        super().__init__(run)
        self.contents = {}
        self.uploads = {}
        self.endings = {}         # by upload: the requests that end it and are not answered yet

    def moved(self, held, rev, only):
        super().moved(held, rev, only)
        self.puts, self.uploads, self.endings = {}, {}, {}

    def key(self, params):
        return params.get("namespace"), params.get("key"), params.get("variant")

    def sent(self, asked):
        params = asked.params
        if not isinstance(params, dict) or "spoilt" in asked.note:
            return
        if asked.method == "blobs.put":
            # What a stranger's descriptor holds is told by the reply.
            content = asked.note.get("content", asked.number)
            if "data" in params:
                data = base64.b64decode(params["data"])
                content = digest(data)
                self.contents[content] = data
            self.put(asked, self.key(params), content)
        elif asked.method == "blobs.delete":
            self.put(asked, self.key(params), None)
        elif asked.method == "blobs.appendUpload" and params.get("upload") in self.uploads:
            # It may be taken, whatever is heard of it.
            key, received = self.uploads[params["upload"]]
            data = base64.b64decode(params["data"])
            new = {known + data for known in received if len(known) == whole(params["offset"])} - received
            received |= new
            # Another connection's end of the upload may be done behind it.
            for ending in self.endings.get(params["upload"], ()):
                self.give(ending, key, new)
        elif asked.method == "blobs.commitUpload":
            # One whose beginning was not answered has a name that nobody knows.
            key, received = self.uploads.get(params.get("upload"), (None, ()))
            self.give(asked, key, received)
            if key is not None:
                self.endings.setdefault(params["upload"], []).append(asked)

    def give(self, ending, key, received):
        """What the end of an upload may have stored."""
        for data in received:
            self.contents[digest(data)] = data
            self.put(ending, key, digest(data))

    def answered(self, asked, result, kind, error):
        params = asked.params
        if asked.method == "blobs.commitUpload" and isinstance(params, dict) and isinstance(params.get("upload"), str):
            self.endings[params["upload"]] = [ending for ending in self.endings.get(params["upload"], ()) if ending is not asked]
        if asked.number in self.by_request:
            if result is None and kind not in ("internalError", "outcomeUnknown") or result is not None and result.get("stored") is False:
                self.forget(asked)
            else:
                self.stored(asked, result)
            return
        if result is None:
            return
        if asked.method == "blobs.beginUpload" and "upload" in result:
            self.uploads[result["upload"]] = self.key(params), {b""}
        elif asked.method == "blobs.appendUpload" and params["upload"] in self.uploads:
            key, received = self.uploads[params["upload"]]
            if not any(len(data) == whole(result["received"]) for data in received):
                self.fail("upload", f"request {asked.number}: {result['received']} bytes were received, and "
                                    f"{sorted(map(len, received))} sent")
        elif asked.method == "blobs.get" and result["found"]:
            self.got(asked, params, result)
        elif asked.method == "blobs.stat" and result["found"] and "digest" in result:
            self.gave(asked, self.key(params), result["digest"])

    def stored(self, asked, result):
        """Of what it may have been, the reply tells by its digest what it was."""
        if result is not None and "digest" in result:
            puts = self.by_request[asked.number]
            for put in puts:
                put.content = result["digest"] if put.content == asked.number else put.content
            if all(put.content != result["digest"] for put in puts if put.content is not None):
                self.fail("digest", f"request {asked.number}, {asked.method}, stored {result['digest']}, which was not given")
            for key, known in self.puts.items():
                self.puts[key] = [put for put in known if put not in puts or put.content in (None, result["digest"])]
        self.done(asked)

    def got(self, asked, params, result):
        key = params["namespace"], params["key"], None if result.get("isParent") else params.get("variant")
        if "digest" not in result:
            return
        self.gave(asked, key, result["digest"])
        data = None
        if "data" in result:
            data = base64.b64decode(result["data"])
        elif params.get("as") == "fd" and self.run.fd_contents[asked.client]:
            data = self.run.fd_contents[asked.client].pop(0)
            if "range" not in result and digest(data) != result["digest"]:
                self.fail("bytes", f"request {asked.number} gives a descriptor of other bytes than its digest tells: "
                                   f"{len(data)} bytes, {data[:60]!r}")
            return
        whole_data = self.contents.get(result["digest"])
        if data is None or whole_data is None:
            return
        start = whole(result.get("range", {}).get("offset")) or 0
        length = whole(result.get("range", {}).get("length"))
        if data != whole_data[start : None if length is None else start + length]:
            self.fail("bytes", f"request {asked.number} gives other bytes than were put")
