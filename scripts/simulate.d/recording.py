"""Makes a list of events of a recording of `kura record` (proto-docs/storage.md, "Recording").

Connections become clients, and requests are sent at their recorded times, each after all replies that came before it in the recording.
What these had minted (ids, revisions, cursors, tokens) becomes a reference to this run's reply, by the rules of `kura replay`. Secrets
are the replaced ones. What a descriptor held is in no recording: it becomes a file of as many zeros, or an empty one that may be written to.
"""

import hashlib
import json
from typing import NamedTuple

from plan import Damaged, Minted
from schemas import METHODS, parameters
from values import Number, counted, text, whole

FORMAT = 1
# Numbers that the daemon mints, beside revisions, each within its connection.
NUMBERS = {"subscription", "version"}
# Texts that clients may choose as well: what a request had before is no news in a reply.
OWN = {"id", "ids", "secret", "secretBase64", "dataBase64"}
MEMBERS = {"jsonrpc", "id", "method", "params"}
# Of enum PassedKind in kernel.h.
EMPTY = 1
# They write to the descriptor that they are given.
WRITERS = {"documents.export", "storage.bundle", "storage.backup", "storage.record"}
LARGEST = 64 << 20
# Nanoseconds.
LATEST = 1 << 62
EVERYTHING = [{"store": "*", "scope": "*", "allow": ["list", "read", "write", "use", "admin"]},
              {"store": "secrets", "scope": "*", "allow": ["read"]},
              {"store": "storage", "scope": "*", "allow": ["monitor", "backup"]}]
NOBODY = "(no method)"


class Recording(NamedTuple):
    events: list
    seed: int                 # the same for the same recording
    notes: list               # sentences on what is not in it
    requests: int
    kinds: dict               # by a request's name: the error that it was answered with; None: a result


def is_recording(path):
    with open(path, "rb") as file:
        return file.read(13) == b'{"recording":'


def load(path):
    """Raises Damaged when it is no recording, or a newer version's."""
    with open(path, "rb") as file:
        data = file.read()
    *lines, rest = data.split(b"\n")
    reader = Reader()
    for number, line in enumerate(lines, 1):
        try:
            reader.take(json.loads(line, parse_int=Number, parse_float=Number), number)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Damaged(f"line {number} of {path} is none of a recording: {why(error)}") from error
    if reader.head is None:
        raise Damaged(f"{path} has no whole line of a recording")
    reader.is_whole &= not rest
    return Recording(reader.list(), int.from_bytes(hashlib.sha256(data).digest()[:6], "big"), list(reader.notes()), reader.requests, reader.kinds)


def why(error):
    """In words what a damaged line lacks."""
    if isinstance(error, KeyError):
        return f'it has no "{error.args[0]}"'
    return f"it is no JSON ({error})" if isinstance(error, ValueError) else "a member is of another kind, or out of range"


class Reader:
    def __init__(self):
        self.head = self.version = None
        self.events = []
        self.roles = {}           # by connection
        self.requests = self.others = self.count = self.dropped = self.files = 0
        self.kinds = {}
        self.is_whole = False
        self.at = -1
        self.told = []            # requests that were answered since the last event
        self.open = {}            # by connection and id: names of requests without a reply, in their order
        self.held = {}            # by connection: the sizes of descriptors that no request has taken
        self.passed = []          # those that the line's requests take
        self.sent = set()         # texts of requests
        self.texts, self.numbers = {}, {}

    def take(self, line, number):
        if number == 1:
            self.head = line
            self.version = line["version"]
            if whole(line["recording"]) > FORMAT:
                raise Damaged(f"it was recorded by a newer version: format {line['recording']}, and this simulator knows {FORMAT}")
            return
        moment = whole(line["at"]) * 1000
        if not 0 <= moment < LATEST:
            raise TypeError("the world's clock does not go that far")
        connection = whole(line.get("connection"))
        if "end" in line:
            self.is_whole = True
        elif "dropped" in line:
            self.dropped += whole(line["dropped"])
        elif "role" in line:
            if not isinstance(line["role"], str) or not line["role"].isprintable() or not 1 <= len(line["role"].encode()) <= 64:
                raise TypeError("no configuration has such a role")
            self.roles[connection] = line["role"]
            self.do(moment, {"do": "connect", "client": name(connection), "role": line["role"]})
        elif "request" in line:
            self.request(moment, connection, line["request"])
        elif "reply" in line:
            self.reply(connection, text(line["reply"]), line)
        elif "descriptor" in line:
            self.descriptor(connection, line["descriptor"])
        elif line["closed"]:
            self.do(moment, {"do": "close", "client": name(connection)})

    def do(self, moment, event):
        """The event comes at its time, and behind the replies that came before it."""
        if moment > self.at or self.told:
            self.events.append({"do": "until", "at": moment, **({"answered": self.told} if self.told else {})})
            self.at, self.told = max(moment, self.at), []
        self.events.append(event)

    # MARK: Requests

    def request(self, moment, connection, line):
        if isinstance(line, str) and not isinstance(line, Number) or line == []:
            # A line that was no JSON stands as a text.
            made, self.others = line or "[]", self.others + 1
        elif isinstance(line, list):
            made = [self.member(connection, member) for member in line]
        else:
            made = self.member(connection, line)
        passed, self.passed = self.passed, []
        self.do(moment, {"do": "send", "client": name(connection), "lines": [made], **({"descriptors": passed} if passed else {})})

    def member(self, connection, request):
        self.requests += 1
        self.remember(request.get("params") if isinstance(request, dict) else None)
        method = request.get("method") if isinstance(request, dict) else None
        is_whole = (isinstance(method, str) and not isinstance(method, Number) and request.keys() <= MEMBERS and request.get("jsonrpc") == "2.0"
                    and isinstance(request.get("params", {}), (dict, list)))
        made = {"method": method, **self.call(connection, request)} if is_whole else {"method": NOBODY, "raw": request}
        if isinstance(request, dict) and "id" in request and not isinstance(request["id"], (dict, list, bool)):
            self.expect(connection, made, request["id"])
        elif is_whole and "id" in request:
            made = {"method": NOBODY, "raw": request}
        if is_whole and method in METHODS and self.asks(method, request.get("params")) and self.held.get(connection):
            size = self.held[connection].pop(0)
            content = bytes(size) if size and method not in WRITERS else EMPTY
            self.passed.append(content)
            if method == "blobs.put":
                made["note"] = {"content": hashlib.blake2b(b"" if content == EMPTY else content, digest_size=32).hexdigest()}
        return made

    def expect(self, connection, made, identifier):
        self.count += 1
        waiting = self.open.setdefault(connection, {}).setdefault(text(identifier), [])
        made["as"] = f"{connection}.{self.count}"
        # The run knows what is under way by its id.
        made["id"] = made["as"] if waiting and "raw" not in made else identifier
        waiting.append(made["as"])

    def remember(self, tree):
        if isinstance(tree, dict):
            for part in tree.values():
                self.remember(part)
        elif isinstance(tree, list):
            for part in tree:
                self.remember(part)
        elif isinstance(tree, str) and not isinstance(tree, Number) and tree not in self.texts:
            self.sent.add(tree)

    @staticmethod
    def asks(method, params):
        """Whether the request takes a descriptor."""
        places = [parameter["name"] for parameter in parameters(method)]
        if isinstance(params, list):
            return "fd" in places and places.index("fd") < len(params) and params[places.index("fd")] is True
        return isinstance(params, dict) and params.get("fd") is True

    def descriptor(self, connection, facts):
        self.files += 1
        size = 0 if facts["mode"] == "write" else min(max(0, whole(facts["bytes"])), LARGEST)
        self.held.setdefault(connection, []).append(size)

    # MARK: What replies mint

    def reply(self, connection, identifier, line):
        waiting = self.open.get(connection, {}).get(identifier)
        if not waiting:
            return
        request = waiting.pop(0)
        self.told.append(request)
        self.kinds[request] = line.get("error")
        if "minted" in line:
            self.learn(connection, request, ("error", "data") if "error" in line else ("result",), line["minted"], "")

    def learn(self, connection, request, path, value, member):
        if isinstance(value, dict):
            for inner, part in value.items():
                self.learn(connection, request, (*path, inner), part, inner)
        elif isinstance(value, list):
            for at, part in enumerate(value):
                self.learn(connection, request, (*path, at), part, member)
        elif isinstance(value, Number):
            # No revision is 0: it stands for nothing, or for the beginning.
            if (kind := kind_of(member)) and value != "0":
                self.numbers[kind, connection if kind != "rev" else 0, value] = Minted(value, request, path)
        elif isinstance(value, str) and not (member in OWN and value in self.sent):
            self.texts[value] = Minted(value, request, path)

    def call(self, connection, call):
        """The parameters of a request, or of a call in another's parameters, with what they refer to."""
        if "params" not in call:
            return {}
        method, params = call.get("method"), call["params"]
        table = parameters(method) if isinstance(method, str) and method in METHODS else []
        schemas = {parameter["name"]: parameter["schema"] for parameter in table}
        if isinstance(params, list):
            names = [*schemas, *[None] * len(params)]
            return {"params": [self.value(connection, part, schemas.get(inner, {}), inner) for inner, part in zip(names, params)]}
        return {"params": self.value(connection, params, {"properties": schemas}, None)}

    def value(self, connection, value, schema, member):
        if isinstance(value, dict):
            known, more = schema.get("properties", {}), schema.get("additionalProperties")
            more = more if isinstance(more, dict) else {}
            made = {inner: self.value(connection, part, known.get(inner, more), inner if inner in known else None) for inner, part in value.items()}
            return made | self.call(connection, value) if {"method", "params"} <= known.keys() else made
        if isinstance(value, list):
            return [self.value(connection, part, schema.get("items", {}), member) for part in value]
        if isinstance(value, Number):
            kind = kind_of(member) if schema.get("type") == "integer" else None
            return self.numbers.get((kind, connection if kind != "rev" else 0, value), value)
        return self.texts.get(value, value) if isinstance(value, str) else value

    # MARK: The end

    def list(self):
        roles = {role: {"grants": EVERYTHING} for role in sorted(set(self.roles.values()) - {"admin"})}
        start = {"do": "start", "configuration": {"roles": roles, "caches": {"minFreeBytes": 0}}}
        return [start, *self.events, {"do": "settle"}]

    def notes(self):
        yield f"recorded of kurad {self.version}: {counted(self.requests, 'request')} on {counted(len(self.roles), 'connection')}; what came before is not in it"
        if self.others:
            yield f"{counted(self.others, 'line')} of it without a request, sent all the same"
        if not self.is_whole:
            yield "it has no end: the recording was cut off"
        if self.dropped:
            yield f"{self.dropped} requests and replies are not in it, since they came too fast"
        if self.files:
            yield f"what {counted(self.files, 'descriptor')} held is not in it: files of as many zeros stand for that"
        if roles := sorted(set(self.roles.values()) - {"admin"}):
            yield f"what {', '.join(roles)} may do is not in it: here everything, but for secrets in access groups"


def name(connection):
    return f"c{connection}"


def kind_of(member):
    if member and (member == "rev" or member.endswith("Rev")):
        return "rev"
    return member if member in NUMBERS else None

