"""Several worlds under one seed: one clock for all, and a network between them.

All worlds stand at the same moment whenever anything is decided. From there each goes on for a slice of time, in an order that the seed
picks, and what their daemons have sent meanwhile enters the network. A message takes at least a slice, so none comes before it was sent.

Whoever talks to the daemons is an actor: it has a `site` (the world where it lives) and is told `came(wire, line)`, `lost(wire)` and, once
its `wakes` has come, `woke()`. A wire is an actor's connection to the daemon of a world. Its messages keep their order, those of several
wires do not. Where the network is cut off they are held. A wire that is held for long is lost with all that is on its way, and each end
learns of it at a time of its own.

Actors react, so a history is no list of events. What goes wrong by itself is one: worlds of the same seed under a shorter list are the same
history until that differs, and `shrink` finds the shortest list that still fails.
"""

import hashlib
import heapq
import random
from dataclasses import dataclass, field
from typing import Any

from world import Closed, Ended, Line, Refused

MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND
# Nanoseconds; the greatest is the least time that a message takes.
SLICES = [MILLISECOND // 5, MILLISECOND, 5 * MILLISECOND]
CLIENT, DAEMON = 0, 1


@dataclass(eq=False)
class Wire:
    number: int
    actor: Any
    to: int                   # the world of the daemon
    role: str
    connection: int | None = None
    is_lost: bool = False     # nothing is carried any more
    latest: list = field(default_factory=lambda: [0, 0])          # by direction: when the last message on its way comes
    held: list = field(default_factory=lambda: [[], []])          # by direction: what waits for the network

    def ends(self, end):
        """From where to where a message for this end goes."""
        return (self.to, self.actor.site) if end == CLIENT else (self.actor.site, self.to)


class Worlds:
    def __init__(self, seed, make, count, configuration=None, weather=None):
        """`make(seed)` makes a world. `weather`: events of another one's `weathered`, which go wrong here and nothing else does."""
        # Apart: the rest is the same where less goes wrong.
        self.dice, self.clouds = random.Random(f"worlds {seed}"), random.Random(f"weather {seed}")
        self.weathered = []       # what has gone wrong by itself, which `shrink` makes shorter
        self.forecast = None if weather is None else list(weather)
        self.worlds = [make(f"{seed}/{number}") for number in range(count)]
        self.configuration = configuration or {"roles": {}, "caches": {"minFreeBytes": 0}}
        self.now = 0
        self.is_up = [False] * count
        self.actors = []
        self.wires = []
        self.cut_off = set()      # pairs of worlds: from where to where nothing goes
        self.agenda = []          # when, in which order, what
        self.entries = self.count = 0
        self.is_rough = False
        self.counts = {"messages": 0, "held": 0, "lost": 0, "cuts": 0, "ends": 0}
        self.story = hashlib.blake2b(digest_size=16)   # what has come, and what went wrong

    def stop(self):
        for world in self.worlds:
            world.stop()

    def digest(self):
        """Of all that was told, in the network and by the daemons, and of the disks."""
        parts = [self.story.hexdigest(), *(world.digest() for world in self.worlds)]
        return hashlib.blake2b(" ".join(parts).encode(), digest_size=16).hexdigest()

    def tell(self, *words):
        self.story.update(f"{self.now} {words}\n".encode())

    def later(self, span, action, *words):
        self.entries += 1
        heapq.heappush(self.agenda, (self.now + span, self.entries, action, words))

    # MARK: Time

    def go_on(self, span, until=lambda: False):
        """Lets so much time pass, or less when `until` holds. Returns whether it does."""
        end = self.now + span
        while not until():
            if self.now >= end:
                return False
            self.slice(min(self.dice.choice(SLICES), end - self.now))
        return True

    def slice(self, span):
        self.now += span
        for number in self.dice.sample(range(len(self.worlds)), len(self.worlds)):
            for event in self.worlds[number].reach(self.now):
                self.take(number, event)
        while self.agenda and self.agenda[0][0] <= self.now:
            _, _, action, words = heapq.heappop(self.agenda)
            action(*words)
        for actor in self.actors:
            if actor.wakes is not None and actor.wakes <= self.now:
                actor.wakes = None
                actor.woke()
        if self.is_rough:
            self.weather(span)

    def take(self, number, event):
        if isinstance(event, Ended):
            self.tell("ended", number, event.code)
            self.ended(number)
            return
        wire = next((wire for wire in self.wires if (wire.to, wire.connection) == (number, event.connection)), None)
        if wire and isinstance(event, Line):
            self.carry(wire, CLIENT, event.data)
        elif wire and isinstance(event, (Closed, Refused)):
            self.lose(wire, known_at=DAEMON)

    # MARK: Daemons

    def start(self, number):
        if not self.is_up[number]:
            self.tell("start", number)
            self.is_up[number] = True
            self.worlds[number].start(self.configuration, waits=False)

    def end(self, number, how):
        """`how`: kill, or cut (the power)."""
        if self.is_up[number]:
            self.tell(how, number)
            getattr(self.worlds[number], how)()
            self.ended(number)

    def ended(self, number):
        self.is_up[number] = False
        self.counts["ends"] += 1
        for wire in [wire for wire in self.wires if wire.to == number]:
            self.lose(wire, known_at=DAEMON)

    # MARK: The network

    def connect(self, actor, to, role="admin"):
        self.count += 1
        wire = Wire(self.count, actor, to, role)
        self.wires.append(wire)
        self.carry(wire, DAEMON, None)
        return wire

    def send(self, wire, data):
        self.carry(wire, DAEMON, data)

    def close(self, wire):
        self.lose(wire, known_at=CLIENT)

    def carry(self, wire, end, data):
        """A message is on its way to an end of the wire; None: the wire itself."""
        if wire.is_lost:
            return
        self.counts["messages"] += 1
        wire.latest[end] = max(self.now + self.delay(*wire.ends(end)), wire.latest[end])
        self.later(wire.latest[end] - self.now, self.arrive, wire, end, data)

    def delay(self, start, end):
        if start == end:
            return 0
        return SLICES[-1] + int(self.dice.expovariate(1 / (self.dice.choice([1, 1, 1, 20]) * 5 * MILLISECOND)))

    def arrive(self, wire, end, data):
        if wire.is_lost:
            pass
        elif wire.held[end] or wire.ends(end) in self.cut_off:
            if not wire.held[end]:
                # Whoever waits for an answer gives up.
                self.later(int(self.dice.uniform(0.1, 5) * SECOND), lambda: wire.held[end] and self.lose(wire))
            self.counts["held"] += 1
            wire.held[end].append(data)
        else:
            self.hand_over(wire, end, data)

    def hand_over(self, wire, end, data):
        self.tell("arrives", wire.number, end, data)
        if end == CLIENT:
            wire.actor.came(wire, data)
        elif data is None and not self.is_up[wire.to]:
            self.lose(wire, known_at=DAEMON)
        elif data is None:
            wire.connection = self.worlds[wire.to].connect(wire.role)
        else:
            self.worlds[wire.to].send(wire.connection, data + b"\n")

    def lose(self, wire, known_at=None):
        """`known_at`: the end that knows already."""
        if wire.is_lost:
            return
        self.tell("lost", wire.number)
        self.counts["lost"] += 1
        wire.is_lost, wire.held = True, [[], []]
        self.wires.remove(wire)
        for end in {CLIENT, DAEMON} - {known_at}:
            self.later(self.delay(*wire.ends(end)), self.hear, wire, end)

    def hear(self, wire, end):
        if end == CLIENT:
            wire.actor.lost(wire)
        elif wire.connection is not None and self.is_up[wire.to]:
            self.worlds[wire.to].close(wire.connection)

    def cut(self, start, end):
        """Nothing goes from the one to the other any more; the other way it does."""
        self.tell("cut off", start, end)
        self.counts["cuts"] += 1
        self.cut_off.add((start, end))

    def heal(self, start, end):
        self.tell("heals", start, end)
        self.cut_off.discard((start, end))
        for wire in self.wires:
            for side in (CLIENT, DAEMON):
                if wire.held[side] and wire.ends(side) == (start, end):
                    self.later(self.delay(start, end), self.flush, wire, side)

    def flush(self, wire, end):
        if wire.ends(end) not in self.cut_off:
            held, wire.held[end] = wire.held[end], []
            for data in held:
                if not wire.is_lost:
                    self.hand_over(wire, end, data)

    # MARK: What goes wrong by itself

    def weather(self, span):
        """About once in half a second something happens, which ends a while later."""
        if self.forecast is not None:
            while self.forecast and self.forecast[0]["at"] <= self.now:
                self.strike(self.forecast.pop(0))
            return
        dice = self.clouds
        if dice.random() > span / (SECOND // 2):
            return
        one, other = dice.sample(range(len(self.worlds)), 2)
        kind = dice.choice(["both ways", "one way", "one way", "lost", "kill", "cut"])
        if kind == "lost" and self.wires:
            self.strike({"at": self.now, "do": "lose", "wire": dice.choice(self.wires).number})
        elif kind in ("kill", "cut"):
            self.strike({"at": self.now, "do": kind, "world": one, "span": int(dice.uniform(0, 1) * SECOND)})
        elif kind != "lost":
            for pair in [(one, other), (other, one)][: 2 if kind == "both ways" else 1]:
                self.strike({"at": self.now, "do": "cut off", "pair": pair, "span": int(dice.uniform(0.05, 3) * SECOND)})

    def strike(self, event):
        self.weathered.append(event)
        if event["do"] == "lose":
            for wire in [wire for wire in self.wires if wire.number == event["wire"]]:
                self.lose(wire)
        elif event["do"] == "cut off":
            self.cut(*event["pair"])
            self.later(event["span"], self.heal, *event["pair"])
        else:
            self.end(event["world"], event["do"])
            self.later(event["span"], self.start, event["world"])

    def calm(self):
        """Nothing goes wrong any more."""
        self.is_rough = False
        for pair in sorted(self.cut_off):
            self.heal(*pair)
        for number in range(len(self.worlds)):
            self.start(number)
