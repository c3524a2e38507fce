"""Has faults meet methods that they seldom do: a rule, and behind it requests of many methods that wait for what it strikes.

Replies leave in the order of the requests. So what follows a write on one connection is in flight until the write is synced.
"""

import errno as e

from mischief import ERRORS, MILLISECOND

# Every fault that a rule can be: the call, and what it meets with.
FAULTS = [(call, error) for call, (weight, errors) in ERRORS.items() if weight for error in errors]
FAULTS += [(call, "short") for call in ("read", "write", "socket")]
FAULTS += [(call, error) for error in ("slow", "hang") for call in ("sync", "write", "name", "cut", "read", "open")]
FAULTS += [(call, error) for error in ("kill", "cut") for call in ("open", "write", "sync", "name", "cut", "read")] + [("write", "torn")]
# What makes such calls, whatever else is asked.
PROVOKERS = {
    "open": ["storage.backup", "blobs.put", "backups.list"], "read": ["storage.check", "backups.verify", "storage.backup"],
    "write": ["settings.put", "blobs.put"], "sync": ["settings.put", "documents.put"],
    "name": ["blobs.put", "storage.backup", "documents.attach"],
    "cut": ["storage.backup", "blobs.put", "documents.import"], "look": ["backups.list", "storage.quarantine", "storage.backup"],
    "map": ["blobs.get", "storage.check", "documents.find"], "socket": ["storage.ping"],
    "thread": ["storage.backup", "documents.watch", "documents.find", "secrets.unlock", "blobs.put"], "memory": ["secrets.put", "documents.find"],
}
# What one turn holds when its commit fails: what waits, what keeps the turn, what changes the log, and what is about others of the turn.
WAITING = ["documents.list", "documents.find", "documents.deleteMany", "secrets.destroyVersion", "changes.wait", "storage.backup", "documents.purge",
           "secrets.rotate", "documents.aggregate"]
KEEPING = ["models.put", "models.put", "blobs.put", "models.invalidate"]
CHANGING = ["settings.put", "documents.put", "secrets.put", "settings.putMany", "documents.putMany", "transaction.apply"]
OTHERS = ["storage.ping", "documents.watch", "documents.unwatch", "rpc.cancel", "rpc.cancel", "settings.get", "documents.get", "models.get"]
# The log's rows, and not what is made of it in advance.
TURN_FAULTS = [("write", ".log", error) for error in (e.ENOSPC, e.ENOSPC, e.EDQUOT, e.EIO)] + [("sync", ".log", e.EIO)]
# Requests of a hunt, and hunts of a seed. They come on top of the requests that are wanted.
MOST, HUNTS = 24, 8


class Hunts:
    """`rarity`: of each method, how much more seldom than others it is asked for; 0 for those that are off."""

    def __init__(self, dice, rarity):
        self.dice, self.rarity = dice, rarity
        self.rate, self.left = dice.choice([0.1, 0.2]), HUNTS

    def next(self, generator, run):
        """Events that come now, mostly none."""
        dice = self.dice
        if generator.mischief.left is not None or not self.left or dice.random() > self.rate:
            return []
        self.left -= 1
        generator.client = "hunter"
        if dice.random() < 0.5:
            return self.turn(generator)
        asked = generator.asked
        call, error = dice.choice(FAULTS)
        chosen = dice.choices(list(self.rarity), list(self.rarity.values()), k=dice.choice([6, MOST]))
        writes = ["settings.put", *dice.sample(PROVOKERS[call], 1)]
        lines = [generator.member(method) for method in [*writes, *chosen]]
        rule = self.rule(generator, call, error, "", skip=dice.choice([0, 0, 1, 3]))
        if error == "slow":
            rule["span"] = dice.choice([3, 30, 300]) * MILLISECOND
        return self.events(generator, asked, rule, lines)

    def turn(self, generator):
        """Many requests for one turn, whose commit fails."""
        dice, asked = self.dice, generator.asked
        # What waits does so for a change before it, and is awaited by what comes behind.
        kinds = [kind for kind, most in ((CHANGING, 2), (WAITING, 3), (KEEPING, 2), (OTHERS, 2), (CHANGING, 2), (OTHERS, 1))
                 for _ in range(dice.randint(0, most))]
        if dice.random() < 0.3:
            dice.shuffle(kinds)
        chosen = [dice.choice(kind) for kind in kinds] + [dice.choice(CHANGING)]
        lines = [generator.member(method) for method in chosen if method in self.rarity]
        lines.append(generator.member("storage.ping"))
        if generator.is_on("outOfOrder"):
            lines.insert(0, generator.hello("hunter"))
        call, path, error = dice.choice(TURN_FAULTS)
        return self.events(generator, asked, self.rule(generator, call, error, path, skip=dice.choice([0, 0, 0, 1])), lines)

    def rule(self, generator, call, error, path, skip):
        generator.mischief.rule_number += 1
        return {"number": generator.mischief.rule_number, "skip": skip, "path": path, "calls": [call], "error": error,
                "times": 1 if error in ("kill", "cut", "torn", "hang") else self.dice.choice([1, 2, 5])}

    def events(self, generator, asked, rule, lines):
        descriptors, generator.descriptors, generator.asked = generator.descriptors, [], asked
        generator.mischief.left = self.dice.choice([3, 10])
        return [{"do": "connect", "client": "hunter", "role": "admin"}, {"do": "fault", "rule": rule},
                {"do": "send", "client": "hunter", "lines": lines, **({"descriptors": descriptors} if descriptors else {})},
                *({"do": "advance", "span": span * MILLISECOND} for span in (1, 20, 200))]
