"""What the world does to the daemon, made up from the seed: each seed switches kinds of mischief on and off, and many have none.

Quiet seeds are judged exactly to the last revision. The others meet rules by which calls fail, rooms that get small, clocks that
jump, clients that leave in the midst of a line, starts that are killed, and once near the end bits that flip at rest.
"""

import errno as e

from makers.blobs import digest

MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND
QUIET = 0.45
KINDS = ["errors", "storms", "weak", "slow", "hangs", "deaths", "room", "clock", "descriptors", "strangers", "half-lines", "stalls",
         "starts",
         "seams", "signals"]
# Those that are rules.
FAULTS = {"errors", "storms", "weak", "slow", "hangs", "deaths"}
# How many of the other seeds end with flipped bits.
ROT = 0.12
# What Linux can answer, by call. Pairs that seldom meet anything have more weight.
ERRORS = {
    "open": (6, [e.EIO, e.EMFILE, e.ENFILE, e.ENOMEM]),
    "read": (6, [e.EIO]),
    "write": (10, [e.EIO, e.ENOSPC, e.EDQUOT, e.EROFS]),
    "sync": (10, [e.EIO, e.ENOSPC, e.EDQUOT, e.EROFS]),
    "name": (8, [e.EIO, e.ENOSPC, e.EDQUOT, e.EROFS, e.ENOMEM]),
    "cut": (8, [e.EIO, e.ENOSPC, e.EDQUOT, e.EROFS, e.EINTR]),
    "look": (3, [e.EIO, e.ENOMEM]),
    "map": (4, [e.ENOMEM, e.EAGAIN]),
    "socket": (4, [e.EMFILE, e.ENOMEM, e.ENOBUFS, e.ECONNRESET, e.EINTR]),
    "thread": (1, [e.EAGAIN]),
    "memory": (3, [e.ENOMEM]),
}
# Parts of paths, and their weights.
PATHS = {"data/log": 6, "durable": 6, "cache": 4, "keys": 1, "boot.json": 1, "data/tmp": 1, "backups": 1, "blobs": 2, "attachments": 1,
         "audit": 1,
         "acknowledged": 1, "": 12}
# Of a restore, whose directory has a name of its own until it is whole.
ANYWHERE = {"": 4, "backups": 1, "restoring": 2, "/r": 2, "keys": 1}
# Of enum PassedKind: a file, empty, sealed, a directory, pipes, a large one, a socket, one that can only be written, a full pipe.
PASSED = range(10)
# Those that may be stored: the simulated kernel fills these, and only the reply tells with what.
STORED, EMPTY = (0, 2, 6), 1
# Seconds by which the wall clock leaps.
LEAPS = [1, 60, 3600, 86_400 * 40, 86_400 * 365 * 3]
ROTTEN = ["data/log", "durable", "cache", "keys", "boot.json", "slots", "audit", "acknowledged", ""]


class Mischief:
    def __init__(self, dice, keys):
        """`keys`: request keys are repeated, which are kept for a day only."""
        self.dice, self.keys = dice, keys
        self.is_quiet = dice.random() < QUIET
        self.kinds = [] if self.is_quiet else [kind for kind in KINDS if dice.random() < 0.4]
        self.rate = dice.choice([0.01, 0.04, 0.1])
        self.rots = not self.is_quiet and dice.random() < ROT
        self.rule_number = self.stranger_count = 0
        # Events until the faults end.
        self.left = None

    def is_on(self, kind):
        return kind in self.kinds

    # MARK: While it serves

    def next(self, run, client):
        """Events that come now, mostly none. `client`: somebody whose turn it is, or None."""
        dice = self.dice
        if self.is_quiet:
            return []
        if self.left is not None:
            self.left -= 1
            if self.left <= 0:
                self.left = None
                return [{"do": "clear"}]
        if not self.kinds or dice.random() > self.rate:
            return []
        kind = dice.choices(self.kinds, [3 if kind in FAULTS else 1 for kind in self.kinds])[0]
        if run.faults_active and kind in FAULTS | {"room", "descriptors"}:
            # One trouble seldom comes alone.
            if dice.random() < 0.6:
                return []
        return self.make(kind, client)

    def make(self, kind, client):
        dice = self.dice
        if kind in FAULTS:
            self.lasts()
            return [self.fault(kind, self.skip())]
        if kind == "room":
            self.lasts()
            return [{"do": "room", "bytes": int(dice.choice([0, 2**12, 2 ** dice.uniform(12, 25)]))}]
        if kind == "descriptors":
            self.lasts()
            return [{"do": "few", "count": dice.choice([3, 20, 30, 40, 60])}]
        if kind == "clock":
            return [{"do": "shift", "span": self.leap(LEAPS)}]
        if kind == "strangers":
            return self.stranger()
        if kind == "half-lines" and client:
            whole = '{"jsonrpc":"2.0","method":"settings.put","params":{"domain":"d0","key":"k0","value":"half"}}'
            line = dice.choice([whole, "[1,2,3,", '"é'])
            end = dice.choice(["close", "reset", "half_close"])
            return [{"do": "send", "client": client, "lines": [], "tail": line[: dice.randrange(1, len(line))]},
                    *([{"do": "advance", "span": MILLISECOND}] if dice.random() < 0.5 else []), {"do": end, "client": client}]
        if kind == "stalls" and client:
            # It reads again when all settles.
            return [{"do": "window", "client": client, "bytes": dice.choice([0, 1, 100, 5000])}]
        if kind == "seams":
            return [{"do": "advance", "span": SECOND, "seams": self.small(3000)}, {"do": "kill"}]
        if kind == "signals":
            return [{"do": "signal", "number": 15}, {"do": "advance", "span": SECOND, "seams": self.small(2000)},
                    {"do": "signal", "number": 15},
                    *({"do": "advance", "span": SECOND} for _ in range(4)), {"do": "kill"}]
        return []

    def stranger(self):
        """A client that passes descriptors of every kind, where they are wanted and where they are not."""
        dice, self.stranger_count = self.dice, self.stranger_count + 1
        name = f"x{self.stranger_count}"
        ping = {"id": f"{name}b", "method": "storage.ping", "params": {}}
        kinds = [dice.choice(PASSED) for _ in range(dice.choice([1, 1, 2, 5]))]
        note = {} if kinds[0] in STORED else {"content": digest(b"") if kinds[0] == EMPTY else "what cannot be stored"}
        wanted = {"id": f"{name}a", "method": "blobs.put", "params": {"namespace": "strange", "key": "k", "fd": True}, "note": note}
        return [{"do": "connect", "client": name, "role": "admin"},
                {"do": "send", "client": name, "lines": [wanted] * dice.choice([0, 1, 1]) + [ping], "descriptors": kinds},
                {"do": "advance", "span": dice.choice([MILLISECOND, 100 * MILLISECOND])}, {"do": "close", "client": name}]

    # MARK: Between an end and a start

    def start(self, start):
        """The events around a start: `start`, and before or after it what goes wrong."""
        dice = self.dice
        if self.is_quiet:
            return [start]
        before, behind = [], []
        if self.is_on("clock") and dice.random() < 0.3:
            # Request keys are kept for a day, by the clocks of two processes.
            before.append({"do": "shift", "span": self.leap(LEAPS[:3] if self.keys else LEAPS)})
        if self.is_on("starts") and dice.random() < 0.5:
            kind = dice.choice(["deaths", "deaths", "errors", "storms", "weak", "hangs"])
            self.lasts()
            before.append(self.fault(kind, self.small(1500)))
            behind = [{"do": "advance", "span": dice.choice([1, 10, 200]) * MILLISECOND} for _ in range(3)]
        if self.is_on("room") and dice.random() < 0.1:
            self.lasts()
            before.append({"do": "room", "bytes": dice.choice([0, 2**16, 2**22])})
        if self.is_on("descriptors") and dice.random() < 0.15:
            self.lasts()
            before.append({"do": "few", "count": dice.choice([3, 12, 20, 30, 50])})
        if self.is_on("seams") and dice.random() < 0.3:
            # Killed on its way, and perhaps once more.
            for _ in range(dice.choice([1, 1, 2, 3])):
                before += [{**start, "waits": False}, {"do": "advance", "span": SECOND, "seams": self.small(4000)},
                           {"do": dice.choice(["kill", "kill", "cut"])}]
        if self.is_on("starts") and dice.random() < 0.2:
            return [*before, {**start, "waits": False}, *behind]
        return [*before, start, *behind]

    def restore(self, event):
        """The events around a restore, which may fail or be stopped on its way; then it is tried again."""
        dice = self.dice
        if self.is_quiet:
            return [event]
        stopped = []
        if self.is_on("seams") and dice.random() < 0.5:
            stopped = [{**event, "seams": self.small(4000), "end": dice.choice(["kill", "cut"])} for _ in range(dice.choice([1, 1, 3]))]
        elif self.is_on("starts") and dice.random() < 0.6:
            self.lasts()
            kind = dice.choice(["deaths", "errors", "errors", "storms", "weak", "hangs", "slow"])
            stopped = [self.fault(kind, self.small(800), ANYWHERE), event]
            if dice.random() < 0.5:
                stopped.append({"do": "clear"})
        return [*stopped, event]

    # MARK: Bits at rest

    def rot(self, start):
        """Bits flip while it runs, or between a stop and a start."""
        dice = self.dice
        rots = [{"do": "rot", "part": dice.choice(ROTTEN), "place": dice.getrandbits(48), "mask": 1 << dice.randrange(8)}
                for _ in range(dice.choice([1, 1, 1, 2, 5]))]
        if dice.random() < 0.5:
            return rots
        return [{"do": dice.choice(["kill", "cut"])}, *rots, start]

    # MARK: Choices

    def lasts(self):
        self.left = self.dice.choice([5, 20, 60, 200])

    def small(self, most):
        """Any number below, and the small ones as often as the large ones."""
        return int(most ** self.dice.random())

    def skip(self):
        return self.dice.choice([0, 0, self.small(30), self.small(300)])

    def leap(self, spans):
        dice = self.dice
        return dice.choice([1, -1]) * int(dice.choice(spans) * SECOND * dice.uniform(0.5, 1.5))

    def fault(self, kind, skip, paths=PATHS):
        dice = self.dice
        self.rule_number += 1
        rule = {"number": self.rule_number, "skip": skip, "path": dice.choices(list(paths), list(paths.values()))[0]}
        if kind in ("errors", "storms"):
            call = dice.choices(list(ERRORS), [weight for weight, _ in ERRORS.values()])[0]
            rule |= {"calls": [call], "error": dice.choice(ERRORS[call][1]), "times": 1}
            if call in ("socket", "thread", "memory"):
                rule["path"] = ""
                rule["skip"] = min(skip, 40)
            if kind == "storms":
                # A disk that is full, read-only or broken is so for writes, names and syncs alike.
                if call in ("write", "name", "cut", "sync") and rule["error"] != e.EINTR and dice.random() < 0.7:
                    rule["calls"] = ["write", "name", "cut"] + ["sync"] * (rule["error"] == e.EIO)
                # No signal comes without end, and no call meets resets without end: each is of another client.
                endless = 3 if rule["error"] in (e.EINTR, e.ECONNRESET) else 0
                rule |= {"times": dice.choice([endless, endless, 3, 20]), "permille": dice.choice([1000, 1000, 300, 30])}
        elif kind == "weak":
            rule |= {"calls": [dice.choice(["read", "write", "socket"])], "error": "short", "times": 0,
                     "permille": dice.choice([1000, 200, 20])}
        elif kind == "slow":
            rule |= {"calls": self.some(), "error": "slow", "span": int(dice.choice([1, 30, 300, 3000]) * MILLISECOND),
                     "times": dice.choice([1, 5])}
        elif kind == "hangs":
            rule |= {"calls": self.some(), "error": "hang", "times": 1}
        else:
            action = dice.choice(["kill", "kill", "torn", "cut"])
            calls = ["open", "write", "write", "sync", "sync", "name", "cut", "read"]
            rule |= {"calls": ["write"] if action == "torn" else [dice.choice(calls)], "error": action, "times": 1}
        return {"do": "fault", "rule": rule}

    def some(self):
        return self.dice.choice([["sync"], ["sync"], ["write"], ["write", "sync", "name", "cut"], ["read"], ["open"], ["name"]])
