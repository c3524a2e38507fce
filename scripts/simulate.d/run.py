"""Performs events on a world, keeps what was asked and answered, and has the judges look at it."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import demand
import world as w
from adversity import CUT, Adversity
from ledger import Ledger
from plan import resolve
from quiet import Quiet
from readback import read_back
from restores import Restoring
from schemas import named
from values import parse, text, whole

# Characters that a drain finds of a connection; of more it may leave some.
READ_AT_ONCE = 100_000
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError)


@dataclass(eq=False)
class Asked:
    number: int
    client: Any
    role: str
    id: str | None            # its text; None: a notification
    name: str | None          # what events call it: its id, when they do not say otherwise
    method: Any
    params: Any               # by name, when they can be
    sent: int                 # ticks: what was sent behind an answer has a higher one
    sent_at: int
    wall: int                 # nanoseconds since 1970 when it was sent; less when the clock went back before it was answered
    note: dict = field(default_factory=dict)
    answered: int | None = None
    answered_at: int | None = None
    reply: dict | None = None
    batch: int | None = None
    is_repeat: bool = False   # of a write that was done before under its key


class Run(Adversity, Restoring, Quiet):
    def __init__(self, world, judges, stop_at_first=True):
        Adversity.__init__(self)
        Restoring.__init__(self)
        self.world = world
        self.ledger = Ledger(self)
        self.history = self.ledger.history
        self.events = []
        self.failures = []
        self.tick = 0
        self.count = 0
        self.replies = {}
        self.clients = {}         # by the event's name: the world's number
        self.names = {}           # the other way round
        self.roles = {}
        self.pending = defaultdict(dict)   # by client, by text of the id
        self.half_closed = set()
        self.slow = set()         # clients that do not read all that comes
        self.allowed_to_close = set()
        self.fd_contents = defaultdict(list)
        self.is_up = False
        self.is_draining = False
        self.drained_at = 0       # the tick at which a drain began
        self.configuration = {}
        # When it was changed last, or to be read again: a tick, and nanoseconds.
        self.configured = 0, 0
        self.starts = 0
        self.began = 0            # when it served first
        self.methods = defaultdict(lambda: defaultdict(int))
        self.judges = [make(self) for make in judges]

    # MARK: Events

    def perform(self, event):
        self.events.append(event)
        getattr(self, "do_" + event["do"])(event)

    def do_start(self, event):
        if self.is_up:
            return
        self.configuration = event["configuration"]
        self.is_up, self.is_draining, self.terminations = True, False, 0
        self.lines_before, self.signals = len(self.world.output), set()
        self.is_cramped = self.is_few
        self.starts += 1
        self.ledger.grow_old(self.world.wall)
        for judge in self.judges:
            judge.started()
        serves = self.world.start(self.configuration, **({"waits": False} if event.get("waits") is False else {}))
        self.take(self.world.advance(0))
        if self.starts == 1:
            self.began = self.world.now
        if self.is_damaged:
            self.look_for_torn()
        if serves is False and self.is_up and self.is_fresh:
            self.fail("liveness", "start", "the daemon does not serve within ten seconds of its start")
        if self.starts == 1 and getattr(self.world, "fixture", None) and self.is_up:
            self.history.begin(read_back(self))

    def do_connect(self, event):
        if not self.is_up or event["client"] in self.clients:
            return
        number = self.world.connect(event["role"])
        self.clients[event["client"]] = number
        self.names[number] = event["client"]
        self.roles[event["client"]] = event["role"]

    def do_arrive(self, event):
        """Somebody connects and asks at once, before the daemon has looked."""
        self.do_connect(event)
        self.do_send(event)

    def do_send(self, event):
        client = event["client"]
        if client not in self.clients or client in self.half_closed:
            return
        self.tick += 1
        data, descriptors = [], [bytes(d) if isinstance(d, bytes) else int(d) for d in event.get("descriptors", ())]
        for line in event["lines"]:
            if isinstance(line, str):
                data.append(line.encode())
                continue
            members = line if isinstance(line, list) else [line]
            batch = self.tick if isinstance(line, list) else None
            texts = [self.ask(client, member, batch) for member in members]
            data.append(("[" + ",".join(texts) + "]" if isinstance(line, list) else texts[0]).encode())
        # A line that the client leaves in its midst.
        tail = event.get("tail", "").encode()
        self.world.send(self.clients[client], b"".join(part + b"\n" for part in data) + tail, descriptors)

    def ask(self, client, member, batch):
        self.count += 1
        params = resolve(member.get("params"), self.replies)
        identifier = resolve(member.get("id"), {})
        sent = {"jsonrpc": "2.0"}
        if "id" in member:
            sent["id"] = identifier
        sent["method"] = member["method"]
        if "params" in member:
            sent["params"] = params
        written = text(identifier) if "id" in member else None
        asked = Asked(self.count, client, self.roles[client], written, member.get("as", written), member["method"],
                      named(member["method"], params), self.tick, self.world.now, self.world.wall, resolve(member.get("note", {}), {}),
                      batch=batch)
        if asked.id is not None:
            self.pending[client][asked.id] = asked
        self.ledger.sent(asked)
        self.shelf.sent(asked)
        for judge in self.judges:
            try:
                judge.sent(asked)
            except UNREADABLE:
                # The generator says what it has spoilt; a recording has what anybody has sent.
                if "as" not in member:
                    raise
                asked.note.setdefault("spoilt", "")
        # `raw`: what is no request.
        return text(resolve(member["raw"], {}) if "raw" in member else sent)

    def do_advance(self, event):
        if self.is_up:
            self.take(self.world.advance(int(event["span"]), **({"seams": int(event["seams"])} if "seams" in event else {})))

    def do_pass(self, event):
        """The whole span passes, whatever comes in it."""
        until = self.world.now + int(event["span"])
        while self.is_up and (left := until - self.world.now) > 0:
            self.take(self.world.advance(left))

    def do_until(self, event):
        """Time passes up to this moment of the run, and as long as these requests have no answer."""
        while self.is_up and (left := self.began + int(event["at"]) - self.world.now) > 0:
            self.take(self.world.advance(left))
        if not self.faults_active:
            names = set(event.get("answered", ()))
            self.wait_for_answers(lambda asked: asked.name in names)

    def do_half_close(self, event):
        if event["client"] in self.clients:
            self.half_closed.add(event["client"])
            self.world.half_close(self.clients[event["client"]])

    def do_close(self, event):
        self.leave(event["client"], self.world.close)

    def do_reset(self, event):
        self.leave(event["client"], self.world.reset)

    def do_window(self, event):
        if event["client"] in self.clients:
            if int(event["bytes"]) >= 0:
                self.slow.add(event["client"])
            else:
                self.slow.discard(event["client"])
            self.world.window(self.clients[event["client"]], int(event["bytes"]))

    def do_signal(self, event):
        if self.is_up:
            self.signals.add(int(event["number"]))
            if int(event["number"]) == 15:
                if not self.is_draining:
                    self.is_draining, self.drained_at = True, self.tick
                self.terminations += 1
            self.configured = self.tick, self.world.now
            self.world.signal(int(event["number"]))

    def do_configure(self, event):
        self.allowed_to_close |= set(self.clients)
        self.configuration, self.configured = event["configuration"], (self.tick, self.world.now)
        self.world.configure(event["configuration"])

    def do_kill(self, event):
        if self.is_up:
            self.world.kill()
            self.gone(was_clean=False)

    def do_cut(self, event):
        """Also of a machine on which no daemon runs: what was in its memory goes."""
        if self.starts:
            self.world.cut()
            self.history.cut(self.world.now)
            if self.is_up:
                self.gone(was_clean=False)

    def number(self, value):
        return whole(resolve(value, self.replies)) or 0

    def do_demand(self, event):
        """The daemon makes room for a throw-away one."""
        if self.faults_active or self.is_damaged:
            return
        self.do_kill({})
        self.is_up = self.world.start_throw_away()
        if self.is_up:
            demand.play(self)
            self.do_kill({})
        else:
            self.fail("faults on demand", "start", "a throw-away daemon does not serve within ten seconds")

    def do_settle(self, event):
        """Everything asked is answered, everything that is stored is read, and the judges look."""
        if not self.is_up and not self.faults_active or self.is_over:
            return
        self.end_faults()
        readback = read_back(self) if self.is_up else None
        self.wait_for_quiet()
        self.history.settle(readback)
        self.collect()
        if self.is_up:
            for judge in self.judges:
                judge.settled(readback)

    def collect(self):
        for kind, words in self.history.faults:
            store = next((name for name in ("settings", "documents", "secrets") if f"('{name}'" in words), "transactions")
            self.fail(store, kind, words)
        for kind, words in self.ledger.faults:
            self.fail("request keys" if kind == "key" else "model", kind, words)
        self.history.faults, self.ledger.faults = [], []

    # MARK: Coming in

    def take(self, events):
        for event in events:
            self.tick += 1
            if isinstance(event, w.Line):
                self.line(self.names.get(event.connection), event.data)
            elif isinstance(event, w.Descriptor):
                self.fd_contents[self.names.get(event.connection)].append(event.data)
            elif isinstance(event, w.Ended):
                self.is_up = False
                if event.code == CUT:
                    self.history.cut(self.world.now)
                for judge in self.judges:
                    judge.ended(event.code, event.text)
                self.gone(event.code == 0)
            elif isinstance(event, w.Refused):
                self.closed(self.names.get(event.connection), was_refused=True)
            elif isinstance(event, w.Closed):
                self.closed(self.names.get(event.connection))

    def line(self, client, data):
        if client is None:
            return
        try:
            message = parse(data)
        except ValueError:
            self.fail("liveness", "line", f"client {client} was sent what is no JSON: {data[:200]!r}")
            return
        if isinstance(message, list):
            for reply in message:
                self.reply(client, reply)
        elif "method" in message:
            self.tell("told", client, message["method"], message.get("params"))
        else:
            self.reply(client, message)

    def reply(self, client, reply):
        identifier = text(reply.get("id"))
        asked = self.pending[client].pop(identifier, None)
        if asked is None:
            if identifier != "null":
                self.fail("liveness", "id", f"client {client} was answered under an id that it did not ask, or twice: {text(reply)[:300]}")
            return
        asked.answered, asked.answered_at, asked.reply = self.tick, self.world.now, reply
        self.replies[asked.name] = reply
        error, result = reply.get("error"), reply.get("result")
        kind = ((error or {}).get("data") or {}).get("kind")
        self.methods[asked.method][kind or "ok"] += 1
        # Whatever happens later without a word has a higher revision than this.
        if isinstance(result, dict) and result.get("rev") is not None:
            self.history.newest = max(self.history.newest, whole(result["rev"]) or 0)
        self.notice(kind, result)
        try:
            self.ledger.answered(asked, result, error)
            self.shelf.answered(asked, result, kind)
        except UNREADABLE as error_:
            self.fail("model", "form", f"request {asked.number}, {asked.method}: {error_!r} for {text(reply)[:300]}")
        self.tell("answered", asked, result, kind, error)

    def tell(self, what, *words):
        """Tells all judges; a reply that one cannot read has another form than it should."""
        for judge in self.judges:
            try:
                getattr(judge, what)(*words)
            except UNREADABLE as error:
                self.fail(judge.name, "form", f"{error!r} for {[getattr(word, 'reply', word) for word in words]!s:.400}")

    # MARK: Ends

    def abandon(self, client):
        """Nothing more will be answered here."""
        for asked in self.pending.pop(client, {}).values():
            self.ledger.leave(asked)
            for judge in self.judges:
                judge.abandoned(asked)

    def leave(self, client, how):
        number = self.clients.pop(client, None)
        if number is None:
            return
        # What has come already counts.
        how(number)
        self.abandon(client)
        self.names.pop(number, None)
        self.half_closed.discard(client)
        for judge in self.judges:
            judge.closed(client)

    def closed(self, client, was_refused=False):
        """The daemon has ended a connection by itself, or nobody has listened."""
        if client not in self.clients:
            return
        lost = self.pending.get(client)
        is_excused = was_refused or self.faults_active or self.is_cramped or self.is_draining or client in self.allowed_to_close
        if lost and not is_excused and self.is_up:
            first = next(iter(lost.values()))
            self.fail("liveness", "closed", f"client {client} was let go with {len(lost)} unanswered, first "
                                            f"{first.method} (request {first.number})")
        if not was_refused:
            self.judge_drain(client)
        self.names.pop(self.clients.pop(client), None)
        self.half_closed.discard(client)
        self.abandon(client)
        for judge in self.judges:
            judge.closed(client)

    def judge_drain(self, client):
        """What had come when a drain began is answered, beside calls that hang too."""
        own = self.allowed_to_close | self.slow | self.half_closed
        is_excused = self.faults_active and not self.is_scene or self.is_cramped or client in own
        lost = [asked for asked in self.pending[client].values() if asked.sent <= self.drained_at]
        is_short = sum(len(text(asked.params)) for asked in lost) < READ_AT_ONCE
        if self.is_draining and self.terminations == 1 and lost and not is_excused and is_short:
            self.fail("liveness", "undrained", f"client {client} was let go by a drain with {len(lost)} unanswered that had come before, "
                                               f"first "
                                               f"{lost[0].method} (request {lost[0].number})")

    def gone(self, was_clean):
        self.is_up = False
        for client in list(self.clients) if was_clean else ():
            self.judge_drain(client)
        for client in list(self.clients):
            self.names.pop(self.clients.pop(client), None)
            self.abandon(client)
            for judge in self.judges:
                judge.closed(client)
        self.half_closed, self.allowed_to_close = set(), set()
        for judge in self.judges:
            judge.stopped(was_clean)
