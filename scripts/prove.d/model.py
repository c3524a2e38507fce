"""What one writer has sent and what it has been promised.

A writer owns its domain and its collection, uses one connection and gets its replies in order, so its changes have one
order. After any fault the daemon must hold the state after some prefix of them: all that were acknowledged, then any
number of those still unanswered, none skipped, none halved. This is stronger than "each key is at least as new as
acknowledged": it covers order across keys and rooms and the atomicity of putMany too.
"""

import collections
import json
import random

from client import render

Change = collections.namedtuple("Change", "number effects line")
# An item's state: `content` is None (absent), the number of the change that wrote it, or a counter's value.
Item = collections.namedtuple("Item", "content rev")
ABSENT = Item(None, 0)
# `touch`: another revision, the same content.
PUT, DELETE, INCREMENT, TOUCH = "put", "delete", "increment", "touch"


def padding(number):
    """Mostly short text, now and then some pages of it; a function of the number, so that damage shows."""
    mixed = number * 2654435761 % 4294967296
    length = 4000 + mixed % 16000 if mixed % 97 == 0 else 20 + mixed % 180
    return (f"{number:08x}" * (length // 8 + 1))[:length]


def value(number):
    return {"n": number, "p": padding(number)}


def content(value_seen):
    """The content that a stored value shows; damage gives text, which equals no content."""
    if value_seen is None or isinstance(value_seen, int):
        return value_seen
    number = value_seen.get("n") if isinstance(value_seen, dict) else None
    if isinstance(number, int) and value_seen == value(number):
        return number
    return "damaged: " + json.dumps(value_seen)[:80]


class Model:
    """The changes of one writer. Keys are pairs of room (`s` settings, `d` documents) and name."""

    # Whether an internal error is a fault: a file that cannot be written is one, where nothing else is wrong.
    is_strict = True

    def __init__(self, index, seed, depth, keys=250):
        self.index = index
        self.scope = f"w{index}"
        self.depth = depth
        self.random = random.Random(f"{seed}/{index}")
        self.names = {"s": [f"k{at}" for at in range(keys)], "d": [f"d{at}" for at in range(keys)]}
        # Those that are put and deleted at random.
        self.loose = self.names["d"]
        self.counters = [f"c{at}" for at in range(4)]
        self.clear()

    def clear(self):
        """Forgets everything: the data directory is new. Numbers go on."""
        self.number = getattr(self, "number", 0)
        self.state = {}
        self.pending = collections.deque()
        # Those answered with outcomeUnknown: they may be there or not, in order, like the pending ones.
        self.unknown = []
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

    @property
    def keys(self):
        rooms = [(room, name) for room, names in self.names.items() for name in names]
        return rooms + [("s", name) for name in self.counters]

    # MARK: Sending

    def next_change(self):
        """Makes up the next change and counts it as sent."""
        self.number += 1
        number, choose = self.number, self.random.random()
        scope, random_ = self.scope, self.random
        setting, document = random_.choice(self.names["s"]), random_.choice(self.loose)
        if choose < 0.45:
            call = "settings.put", {"domain": scope, "key": setting, "value": value(number)}
            effects = [(("s", setting), PUT)]
        elif choose < 0.70:
            call = "documents.put", {"collection": scope, "id": document, "value": value(number)}
            effects = [(("d", document), PUT)]
        elif choose < 0.80:
            names = random_.sample(self.names["s"], 5)
            put, removed = names[:4], names[4:] if choose < 0.75 else []
            values = {name: value(number) for name in put}
            call = "settings.putMany", {"domain": scope, "values": values, "delete": removed}
            effects = [(("s", name), PUT) for name in put] + [(("s", name), DELETE) for name in removed]
        elif choose < 0.85:
            names = random_.sample(self.loose, 4)
            call = "documents.putMany", {
                "collection": scope, "documents": [{"id": name, "value": value(number)} for name in names]}
            effects = [(("d", name), PUT) for name in names]
        elif choose < 0.90:
            counter = random_.choice(self.counters)
            call = "settings.increment", {"domain": scope, "key": counter}
            effects = [(("s", counter), INCREMENT)]
        elif choose < 0.95:
            call = "settings.delete", {"domain": scope, "key": setting}
            effects = [(("s", setting), DELETE)]
        else:
            call = "documents.delete", {"collection": scope, "id": document}
            effects = [(("d", document), DELETE)]
        return self.sent(number, effects, render(number, *call))

    def sent(self, number, effects, line):
        change = Change(number, effects, line)
        self.pending.append(change)
        return change

    # MARK: Answers

    def take_reply(self, reply, moment):
        """Takes the reply to the oldest unanswered change, come at `moment`; returns its error kind, or None."""
        change = self.pending.popleft()
        if reply["id"] != change.number:
            raise AssertionError(f"reply {reply['id']} came where {change.number} was due")
        if "error" in reply:
            kind = (reply["error"].get("data") or {}).get("kind", "?")
            if kind == "outcomeUnknown":
                self.unknown.append(change)
            elif kind not in ("noSpace", "shuttingDown", "overloaded") and (kind != "internalError" or self.is_strict):
                self.fault(f"unexpected error {json.dumps(reply['error'])}", moment)
            return kind
        if self.unknown and change.effects:
            self.fault(f"change {change.number} acknowledged after outcomeUnknown", moment)
        result = reply["result"]
        if not change.effects:
            # A cache's: no revision, and no promise.
            return None
        rev = result["rev"]
        self.acknowledged += 1
        self.replies.append((moment, change, rev))
        self.apply(self.state, change, rev)
        key, kind = change.effects[0]
        if kind == INCREMENT and result["value"] != self.state[key].content:
            self.fault(f"{key[1]} became {result['value']}, not {self.state[key].content}", moment)
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
        self.pending.extendleft(reversed(self.unknown))
        self.unknown = []
        self.pending.extendleft(reversed(late))
        self.state, self.highest_rev = dict(self.before[0]), self.before[1]
        for _, change, rev in kept:
            self.apply(self.state, change, rev)
            self.highest_rev = max(self.highest_rev, rev)
        self.replies = kept
        self.acknowledged -= len(late)
        return len(late)

    @staticmethod
    def apply(state, change, rev):
        for key, kind in change.effects:
            if kind == PUT:
                # An attachment's revision is its document's.
                state[key] = Item(change.number, 0 if key[0] == "a" else rev)
            elif kind == TOUCH:
                state[key] = Item(state.get(key, ABSENT).content, rev)
            elif kind == DELETE:
                state[key] = ABSENT
            else:
                state[key] = Item((state.get(key, ABSENT).content or 0) + 1, rev)
