"""A scripted run over all stores, one request after the other, and what must be there after it was cut short.

Every request says what it changes. An acknowledged one is a promise, a refused one (an error of any kind but
outcomeUnknown) has changed nothing, and one that was not answered, or with outcomeUnknown, has happened as a whole or not
at all. Caches may lose what they have, but never show what was not put there.
"""

import base64
import collections
import itertools
import json

import rooms
from client import Gone, Refused
from daemon import StartFailed
from proof import set_aside
from rooms import DELETE, INCREMENT, PUT, Change

# Seconds that a start and a stop may take on a machine that does eight runs at once.
PATIENCE = 30.0
# Seconds within which every request is answered, whatever has happened to the disk.
ANSWER = 10.0


class Script:
    """Makes up the steps of one act; `act` keeps the values of two acts different."""

    def __init__(self, act):
        self.act = act
        self.number = act * 1000

    def text(self, length):
        """Another one each time."""
        self.number += 1
        return (f"{self.number:06d}/" * (length // 7 + 1))[:length]

    def setting(self, key, length=40):
        return rooms.put(("s", "app", key), self.text(length))

    def document(self, name, length=120, collection="cards"):
        return rooms.put(("d", collection, name), {"n": self.number, "text": self.text(length)})

    def secret(self, account):
        return rooms.put(("x", "mail", account), self.text(24))

    def data(self, length, *item):
        return rooms.put(item, base64.b64encode(self.text(length).encode()).decode())

    def steps(self):
        act = self.act
        yield self.setting("theme")
        yield self.setting("language")
        yield rooms.increment(("s", "app", "starts"))
        yield rooms.many([self.setting("a"), self.setting("b")], [rooms.delete(("s", "app", "language"))])
        indexes = [{"name": "byNumber", "fields": ["n"]}] if act == 1 else []
        yield Change("documents.configure", {"collection": "cards", "indexes": indexes}, [])
        for name in ("one", "two", "three"):
            yield self.document(name)
        for account in ("ada", "bob", "ada"):
            yield self.secret(account)
        yield self.data(60, "a", "cards", "one", "note")
        yield self.data(60_000, "a", "cards", "one", "scan")
        yield rooms.together([self.setting("theme"), self.document("two", 3000), self.secret("ada"), self.document("four")])
        yield self.data(300, "b", "pictures", "small")
        yield self.data(90_000, "b", "pictures", "large")
        yield rooms.put(("m", "feed", "home"), self.text(200), ttlSeconds=3600)
        yield rooms.many([self.document(f"m{at}", 200) for at in range(20)])
        yield rooms.delete(("d", "cards", "three"))
        yield rooms.delete(("a", "cards", "one", "note"))
        # More than a segment of the profile `small` takes: the next one has to take over, and old ones go.
        for at in range(5):
            yield self.setting(f"large{at}", 500_000)
        yield self.document("scratch", 200, "drafts")
        yield Change("storage.backup", {"name": f"act{act}"}, [])
        yield Change("documents.drop", {"collection": "drafts"}, rooms.delete(("d", "drafts", "scratch")).effects)
        yield Change("secrets.destroyVersion", {"service": "mail", "account": "ada", "version": 1 if act == 1 else 4}, [])
        yield rooms.delete(("x", "mail", "bob"))
        yield Change("secrets.rotate", {"rootKey": True}, [])
        yield self.data(400, "b", "pictures", "small")
        yield self.data(70_000, "a", "cards", "two", "scan")
        yield self.setting("last")
        yield rooms.together([self.document("last"), self.setting("done")])


class Account:
    """What the scripted run was told."""

    def __init__(self):
        self.state = {}
        # Effects of requests that have happened or not.
        self.maybe = []
        # Everything that was ever sent to a cache: what it may show.
        self.cached = collections.defaultdict(list)
        self.backups = []
        # How often each secret was put: so many versions it has at least.
        self.versions = collections.Counter()
        self.acknowledged = 0
        # By method and kind of error.
        self.refused = collections.Counter()
        self.faults = []

    def apply(self, state, effects):
        for item, kind, value in effects:
            if item[0] not in rooms.LASTING:
                continue
            state[item] = (state.get(item) or 0) + value if kind == INCREMENT else value
            if kind == DELETE and item[0] == "d":
                state.update({other: None for other in state if other[0] == "a" and other[1:3] == item[1:3]})

    def perform(self, connection, script):
        """Sends the steps until the end, or until the daemon is gone; returns how it ended."""
        for step in script.steps():
            for item, _, value in step.effects:
                if item[0] in rooms.LASTING:
                    self.state.setdefault(item, None)
                else:
                    self.cached[item].append(value)
            try:
                connection.call(step.method, **step.params)
            except Refused as error:
                self.refused[step.method, error.kind] += 1
                if error.kind == "outcomeUnknown":
                    self.maybe.append(step.effects)
                elif step.method == "secrets.destroyVersion" and error.kind in ("noSpace", "overloaded", "shuttingDown"):
                    # It may be destroyed, and only its remains be left; the hint says so.
                    self.note_destroyed(step)
                elif not error.kind:
                    self.faults.append(f"{step.method}: {error}")
            except (Gone, TimeoutError) as error:
                self.maybe.append(step.effects)
                if isinstance(error, Gone):
                    return "gone"
                self.faults.append(f"{step.method}: hangs")
                return "hangs"
            else:
                self.take(step)
        return "through"

    def take(self, step):
        """An acknowledged step."""
        self.acknowledged += 1
        self.apply(self.state, step.effects)
        self.versions.update(item for item, kind, _ in step.effects if item[0] == "x" and kind == PUT)
        if step.method == "secrets.destroyVersion":
            self.note_destroyed(step)
        if step.method == "storage.backup":
            self.backups.append(step.params["name"])

    def note_destroyed(self, step):
        """Where puts were refused that version is the newest, and the secret is gone with it."""
        item = "x", step.params["service"], step.params["account"]
        if self.versions[item] <= step.params["version"]:
            self.maybe.append([(item, DELETE, None)])

    def judge(self, connection):
        """Compares what the daemon shows with what was promised; returns sentences about what is wrong.

        What is there is what counts from now on.
        """
        wrong = []
        seen = {item: rooms.read(connection, item) for item in self.state}
        # Where a start has found no room for a key, no secret was ever taken: sealed ones are none.
        seen.update({item: None for item in seen if seen[item] == rooms.SEALED and self.state[item] is None})
        possible = []
        for chosen in itertools.product((False, True), repeat=len(self.maybe)):
            possible.append(dict(self.state))
            for effects in itertools.compress(self.maybe, chosen):
                self.apply(possible[-1], effects)
        if seen not in possible:
            wrong = [
                f"{'/'.join(item)} is {brief(seen[item])}, must be {brief(self.state[item])}"
                for item in seen if not any(state[item] == seen[item] for state in possible)
            ] or ["a change is there by halves"]
        for item, values in self.cached.items():
            shown = rooms.read(connection, item)
            if shown is not None and shown not in values:
                wrong.append(f"{'/'.join(item)} shows {brief(shown)}, which nobody put there")
        for name in self.backups:
            try:
                connection.call("backups.verify", name=name)
            except Refused as error:
                wrong.append(f"backup {name}: {error}")
        self.state, self.maybe = seen, []
        return wrong


def brief(value):
    return json.dumps(value)[:50]


# MARK: Runs

class Findings:
    """Sums of the runs of one series."""

    def __init__(self):
        self.counts = collections.Counter()
        self.refused = collections.Counter()
        self.ends = collections.Counter()
        self.wrong = []

    def add(self, account, end, wrong):
        self.counts.update(runs=1, acknowledged=account.acknowledged)
        self.refused.update(account.refused)
        self.ends[end] += 1
        self.wrong += wrong

    def __str__(self):
        words = [f"{self.counts[what]} {what}" for what in ("runs", "struck", "acknowledged", "caches dropped")]
        return f"{', '.join(words)}, {len(self.wrong)} wrong; ends {dict(sorted(self.ends.items()))}"

    def refusals(self):
        """Methods by kind of error, in words."""
        kinds = collections.defaultdict(list)
        for (method, kind), times in sorted(self.refused.items()):
            kinds[kind].append(f"{method} {times}")
        return "; ".join(f"{kind}: {', '.join(methods)}" for kind, methods in kinds.items())


def play(daemon, account, act):
    """Starts the daemon and plays an act, to which something happens; returns (how it ended, what is wrong with the start)."""
    try:
        daemon.start(timeout=PATIENCE)
        with daemon.connect(ANSWER) as connection:
            return account.perform(connection, Script(act)), []
    except StartFailed as error:
        return "start failed", [f"start: {error}"] if daemon.process.poll() is None else []
    except Gone:
        return "gone", []


def play_after(daemon, account, found):
    """Starts the daemon once more, with nothing in its way, and judges; returns what is wrong."""
    wrong = []
    try:
        daemon.start(timeout=PATIENCE)
        with daemon.connect(ANSWER) as connection:
            wrong += account.judge(connection)
        aside, durable = set_aside(daemon)
        found.counts["caches dropped"] += len(aside)
        if durable:
            wrong.append(f"tables and log were set aside: {durable}")
        daemon.call("settings.put", domain="app", key="after", value=1)
        result = daemon.call("storage.check")
        if result.get("findings") or result.get("ok") is False:
            wrong.append(f"storage.check: {str(result)[:300]}")
        if (status := daemon.stop(PATIENCE)) != 0:
            wrong.append(f"stops with {status} afterwards: {daemon.last_words()}")
    except Exception as error:
        wrong.append(f"afterwards: {type(error).__name__} {error}")
    daemon.kill()
    return wrong
