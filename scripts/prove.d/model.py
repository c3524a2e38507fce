"""What one writer has sent and what it has been promised.

A writer owns its domain, collection, service and namespace, uses one connection and gets its replies in order, so its
changes have one order. After any fault the daemon must hold the state after some prefix of them: all that were
acknowledged, then any number of those still unanswered, none skipped, none halved. This is stronger than "each item is at
least as new as acknowledged": it covers order across items and rooms and the atomicity of putMany and transactions too.
Blobs are a cache: they may be lost, but what is shown under a key is something that was put there, whole.
"""

import base64
import collections
import json
import random

import rooms
from client import request
from rooms import DELETE, INCREMENT, PUT, TOUCH

# Of effects, pairs of item and kind: what was put is known by the number.
Sent = collections.namedtuple("Sent", "number effects")
# What an item holds: `content` is None (absent), the number of the change that wrote it, or a counter's value.
Held = collections.namedtuple("Held", "content rev")
ABSENT = Held(None, 0)


# MARK: Contents, each a function of the number of its change, so that damage shows

def padding(number):
    """Mostly short text, now and then some pages of it."""
    mixed = number * 2654435761 % 4294967296
    length = 4000 + mixed % 16000 if mixed % 97 == 0 else 20 + mixed % 180
    return (f"{number:08x}" * (length // 8 + 1))[:length]


def value(number):
    return {"n": number, "p": padding(number)}


def secret(number):
    return {"n": str(number), "p": padding(number)}


def data(number):
    """An attachment's or a blob's, in Base64: some lie in tables, some in files."""
    length = 100 if number % 3 else 20_000 + number % 7 * 5000
    return base64.b64encode((f"{number:08x}".encode() * (length // 8 + 1))[:length]).decode()


CONTENTS = {"s": value, "d": value, "x": secret, "a": data, "b": data}


def number_of(room, shown):
    """The number that a content was made of; a counter is its own. Damage gives text, which equals no number."""
    if shown is None or isinstance(shown, int):
        return shown
    try:
        number = int(base64.b64decode(shown)[:8], 16) if room in "ab" else int(shown["n"])
        if shown == CONTENTS[room](number):
            return number
    except (TypeError, KeyError, ValueError):
        pass
    return "damaged: " + json.dumps(shown)[:80]


class Model:
    """The changes of one writer. A mixed one writes to all stores, others to settings and documents."""

    def __init__(self, index, seed, depth, is_mixed):
        self.index = index
        self.scope = f"w{index}"
        self.depth = depth
        # Attachments and blobs have files of their own, and faults of their own that leave the daemon alive.
        # Where there are none, an internal error is a fault.
        self.is_mixed = is_mixed
        self.random = random.Random(f"{seed}/{index}")
        self.names = {room: [f"{room}{at}" for at in range(60 if is_mixed else 250)] for room in "sd"}
        self.names |= {"x": [f"x{at}" for at in range(12)], "b": [f"b{at}" for at in range(12)]}
        # Documents that hold attachments: they are not deleted.
        self.holders = [f"h{at}" for at in range(8)] if is_mixed else []
        self.counters = [f"c{at}" for at in range(4)]
        # How many blobs were found, and not.
        self.counts = collections.Counter()
        self.number = 0
        self.clear()

    def clear(self):
        """Forgets everything: the data directory is new. Numbers go on."""
        self.state = {}
        self.pending = collections.deque()
        # Those answered with outcomeUnknown: they may be there or not, in order, like the pending ones.
        self.unknown = []
        # By item of a cache the numbers that were put there.
        self.cached = collections.defaultdict(set)
        self.highest_rev = 0
        # Acknowledged changes since somebody set this to 0.
        self.acknowledged = 0
        # What contradicts the protocol: (moment, text).
        self.faults = []
        self.begin_round()

    def begin_round(self):
        """A new connection: what an earlier one left open has been settled. `take_back` reaches back to here."""
        assert not self.pending and not self.unknown
        self.before = dict(self.state), self.highest_rev
        self.replies = []
        # By kind of error, how often it was met and when first; when a change was acknowledged last.
        self.errors = collections.Counter()
        self.first_error = {}
        self.last_ok = 0

    # MARK: Sending

    def next_change(self):
        """Makes up the next change and counts it as sent; returns its line."""
        self.number += 1
        chances = PLAIN + MIXED if self.is_mixed else PLAIN
        [(_, make, *room)] = self.random.choices(chances, [chance for chance, *_ in chances])
        method, params, effects = make(self, *room)
        self.pending.append(Sent(self.number, [(item, kind) for item, kind, _ in effects]))
        return request(self.number, method, params)

    def any_item(self, room):
        return room, self.scope, self.random.choice(self.names[room])

    def put(self, room):
        return rooms.put(self.any_item(room), CONTENTS[room](self.number))

    def delete(self, room):
        return rooms.delete(self.any_item(room))

    def put_settings(self):
        items = [("s", self.scope, name) for name in self.random.sample(self.names["s"], 5)]
        deleted = items[4:] if self.random.random() < 0.5 else []
        return rooms.many([rooms.put(item, value(self.number)) for item in items[:4]], [rooms.delete(item) for item in deleted])

    def put_documents(self):
        names = self.random.sample(self.names["d"], 4)
        return rooms.many([rooms.put(("d", self.scope, name), value(self.number)) for name in names])

    def increment(self):
        return rooms.increment(("s", self.scope, self.random.choice(self.counters)))

    def put_together(self):
        return rooms.together([self.put(room) for room in "sdx"])

    def attach(self):
        holder = "d", self.scope, self.random.choice(self.holders)
        if self.state.get(holder, ABSENT).content is None:
            return rooms.put(holder, value(self.number))
        change = rooms.put(("a", self.scope, holder[2], "n"), data(self.number))
        return change._replace(effects=[*change.effects, (holder, TOUCH, None)])

    def cache(self):
        """A cache's change has no revision, and no promise: it has no effects."""
        change = self.put("b")
        self.cached[change.effects[0][0]].add(self.number)
        return change._replace(effects=[])

    # MARK: Answers

    def take_reply(self, reply, moment):
        """Takes the reply to the oldest unanswered change, come at `moment`; returns its error kind, or None."""
        change = self.pending.popleft()
        if reply["id"] != change.number:
            raise AssertionError(f"reply {reply['id']} came where {change.number} was due")
        if "error" in reply:
            kind = (reply["error"].get("data") or {}).get("kind", "?")
            self.errors[kind] += 1
            self.first_error.setdefault(kind, moment)
            if kind == "outcomeUnknown":
                self.unknown.append(change)
            elif kind not in ("noSpace", "shuttingDown", "overloaded") and not (kind == "internalError" and self.is_mixed):
                self.fault(f"unexpected error {json.dumps(reply['error'])}", moment)
            return kind
        self.last_ok = moment
        if not change.effects:
            return None
        if self.unknown:
            self.fault(f"change {change.number} acknowledged after outcomeUnknown", moment)
        result = reply["result"]
        rev = result["rev"]
        self.acknowledged += 1
        self.replies.append((moment, change, rev))
        self.apply(self.state, change, rev)
        item, kind = change.effects[0]
        if kind == INCREMENT and result["value"] != self.state[item].content:
            self.fault(f"{item[2]} became {result['value']}, not {self.state[item].content}", moment)
        if rev and rev <= self.highest_rev:
            self.fault(f"revision {rev} follows {self.highest_rev}", moment)
        self.highest_rev = max(self.highest_rev, rev)
        return None

    def fault(self, text, moment):
        self.faults.append((moment, f"{self.scope}: {text}"))

    def take_back(self, moment):
        """Counts what was acknowledged after `moment` as unanswered; returns how many changes."""
        self.faults = [fault for fault in self.faults if fault[0] <= moment]
        kept = [reply for reply in self.replies if reply[0] <= moment]
        late = [change for _, change, _ in self.replies[len(kept):]]
        self.pending = collections.deque([*late, *self.unknown, *self.pending])
        self.unknown = []
        self.state, self.highest_rev = dict(self.before[0]), self.before[1]
        for _, change, rev in kept:
            self.apply(self.state, change, rev)
            self.highest_rev = max(self.highest_rev, rev)
        self.replies = kept
        self.acknowledged -= len(late)
        return len(late)

    @staticmethod
    def apply(state, change, rev):
        for item, kind in change.effects:
            before = state.get(item, ABSENT).content
            if kind == PUT:
                # An attachment's revision is its document's.
                state[item] = Held(change.number, 0 if item[0] == "a" else rev)
            elif kind == TOUCH:
                state[item] = Held(before, rev)
            elif kind == DELETE:
                state[item] = ABSENT
            else:
                state[item] = Held((before or 0) + 1, rev)


# How often which change is made: (parts of the sum, maker, its room). A mixed writer makes these, and those below.
PLAIN = [
    (45, Model.put, "s"), (25, Model.put, "d"), (10, Model.put_settings), (5, Model.put_documents), (5, Model.increment),
    (5, Model.delete, "s"), (5, Model.delete, "d"),
]
MIXED = [
    (33, Model.put, "x"), (7, Model.delete, "x"), (38, Model.put_together), (27, Model.attach), (17, Model.cache),
]
