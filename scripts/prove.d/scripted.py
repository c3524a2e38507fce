"""A scripted run over all stores, one request after the other, and what must be there after it was cut short.

Every request says what it changes. An acknowledged one is a promise, a refused one (an error of any kind but
outcomeUnknown) has changed nothing, and one that was not answered, or with outcomeUnknown, has happened as a whole or not at all. Caches may lose what they
have, but never show what was not put there.
"""

import base64
import collections
import itertools
import json

from client import Gone, Refused

Step = collections.namedtuple("Step", "method params effects")
SET, DELETE, ADD = "set", "delete", "add"
# Not answers about what happened.
UNKNOWN = ("outcomeUnknown",)
ROOMS = "sdxa"


def text(number, length):
    return (f"{number:06d}/" * (length // 7 + 1))[:length]


def base64_text(number, length):
    return base64.b64encode(text(number, length).encode()).decode()


class Script:
    """Makes up the steps of one act; `act` keeps the names of two acts apart and their values different."""

    def __init__(self, act):
        self.act = act
        self.number = act * 1000

    def value(self, length=40):
        self.number += 1
        return text(self.number, length)

    def setting(self, key, length=40):
        value = self.value(length)
        return Step("settings.put", {"domain": "app", "key": key, "value": value}, [(("s", "app", key), SET, value)])

    def document(self, name, length=120, collection="cards"):
        value = {"n": self.number, "text": self.value(length)}
        return Step(
            "documents.put", {"collection": collection, "id": name, "value": value},
            [(("d", collection, name), SET, value)])

    def secret(self, account):
        value = self.value(24)
        return Step(
            "secrets.put", {"service": "mail", "account": account, "secret": value},
            [(("x", "mail", account), SET, value)])

    def attachment(self, document, name, length):
        self.number += 1
        data = base64_text(self.number, length)
        return Step(
            "documents.attach", {"collection": "cards", "id": document, "name": name, "data": data},
            [(("a", "cards", document, name), SET, data)])

    def blob(self, key, length):
        self.number += 1
        data = base64_text(self.number, length)
        return Step("blobs.put", {"namespace": "pictures", "key": key, "data": data}, [(("b", key), SET, data)])

    def model(self, key, length=200):
        value = self.value(length)
        return Step(
            "models.put", {"namespace": "feed", "key": key, "value": value, "ttlSeconds": 3600},
            [(("m", key), SET, value)])

    def together(self, *steps):
        return Step(
            "transaction.apply", {"operations": [{"method": step.method, "params": step.params} for step in steps]},
            [effect for step in steps for effect in step.effects])

    def steps(self):
        act = self.act
        yield self.setting("theme")
        yield self.setting("language")
        yield Step("settings.increment", {"domain": "app", "key": "starts"}, [(("s", "app", "starts"), ADD, 1)])
        first, second = self.value(), self.value()
        yield Step(
            "settings.putMany", {"domain": "app", "values": {"a": first, "b": second}, "delete": ["language"]},
            [(("s", "app", "a"), SET, first), (("s", "app", "b"), SET, second), (("s", "app", "language"), DELETE, None)])
        yield Step(
            "documents.configure",
            {"collection": "cards", "indexes": [{"name": "byNumber", "fields": ["n"]}] if act == 1 else []}, [])
        for name in ("one", "two", "three"):
            yield self.document(name)
        yield self.secret("ada")
        yield self.secret("bob")
        yield self.secret("ada")
        yield self.attachment("one", "note", 60)
        yield self.attachment("one", "scan", 60_000)
        yield self.together(self.setting("theme"), self.document("two", 3000), self.secret("ada"), self.document("four"))
        yield self.blob("small", 300)
        yield self.blob("large", 90_000)
        yield self.model("home")
        many = {f"m{at}": {"n": at, "text": self.value(200)} for at in range(20)}
        yield Step(
            "documents.putMany",
            {"collection": "cards", "documents": [{"id": name, "value": value} for name, value in many.items()]},
            [(("d", "cards", name), SET, value) for name, value in many.items()])
        yield Step(
            "documents.delete", {"collection": "cards", "id": "three"}, [(("d", "cards", "three"), DELETE, None)])
        yield Step(
            "documents.detach", {"collection": "cards", "id": "one", "name": "note"},
            [(("a", "cards", "one", "note"), DELETE, None)])
        # More than a segment of the profile `small` takes: the next one has to take over, and old ones go.
        for at in range(5):
            yield self.setting(f"large{at}", 500_000)
        yield self.document("scratch", 200, "drafts")
        yield Step("storage.backup", {"name": f"act{act}"}, [])
        yield Step(
            "documents.drop", {"collection": "drafts"}, [(("d", "drafts", "scratch"), DELETE, None)])
        yield Step("secrets.destroyVersion", {"service": "mail", "account": "ada", "version": 1 if act == 1 else 4}, [])
        yield Step("secrets.delete", {"service": "mail", "account": "bob"}, [(("x", "mail", "bob"), DELETE, None)])
        yield Step("secrets.rotate", {"rootKey": True}, [])
        yield self.blob("small", 400)
        yield self.attachment("two", "scan", 70_000)
        yield self.setting("last")
        yield self.together(self.document("last"), self.setting("done"))


class Account:
    """What the scripted run was told."""

    def __init__(self):
        self.state = {}
        self.maybe = []
        # Everything that was ever sent to a cache: what it may show.
        self.cached = {}
        self.backups = []
        # How often each secret was put: so many versions it has at least.
        self.versions = collections.Counter()
        self.acknowledged = 0
        self.refused = {}
        self.faults = []

    def copy(self):
        other = Account()
        other.state = dict(self.state)
        other.cached = {key: list(values) for key, values in self.cached.items()}
        other.backups = list(self.backups)
        other.versions = self.versions.copy()
        return other

    @staticmethod
    def apply(state, effects):
        for item, kind, value in effects:
            if item[0] not in ROOMS:
                continue
            if kind == SET:
                state[item] = value
            elif kind == ADD:
                state[item] = (state.get(item) or 0) + value
            else:
                state[item] = None
                if item[0] == "d":
                    for other in state:
                        if other[0] == "a" and other[1:3] == item[1:3]:
                            state[other] = None

    def perform(self, connection, script):
        """Sends the steps until the end, or until the daemon is gone; returns how it ended."""
        for step in script.steps():
            for item, kind, value in step.effects:
                if item[0] not in ROOMS:
                    self.cached.setdefault(item, []).append(value)
                else:
                    self.state.setdefault(item, None)
            try:
                connection.call(step.method, **step.params)
            except Refused as error:
                self.refused[step.method, error.kind] = self.refused.get((step.method, error.kind), 0) + 1
                if error.kind in UNKNOWN:
                    self.maybe.append(step.effects)
                elif not error.kind:
                    self.faults.append(f"{step.method}: {error}")
                continue
            except Gone:
                self.maybe.append(step.effects)
                return "gone"
            except TimeoutError:
                self.maybe.append(step.effects)
                self.faults.append(f"{step.method}: hangs")
                return "hangs"
            self.acknowledged += 1
            self.apply(self.state, step.effects)
            self.versions.update(item for item, kind, _ in step.effects if item[0] == "x" and kind == SET)
            if step.method == "secrets.destroyVersion":
                item = ("x", step.params["service"], step.params["account"])
                # Where puts were refused that version is the newest, and the secret is gone with it.
                if self.versions[item] <= step.params["version"]:
                    self.maybe.append([(item, DELETE, None)])
            if step.method == "storage.backup":
                self.backups.append(step.params["name"])
        return "through"

    def settle(self, seen):
        """What is there is what counts from now on."""
        self.state = {item: seen.get(item) for item in self.state}
        self.maybe = []

    def judge(self, connection):
        """Compares what the daemon shows with what was promised; returns sentences about what is wrong."""
        wrong = []
        seen = {item: read(connection, item) for item in self.state}
        possible = [self.state]
        for count in range(1, len(self.maybe) + 1):
            for chosen in itertools.combinations(self.maybe, count):
                state = dict(self.state)
                for effects in chosen:
                    self.apply(state, effects)
                possible.append(state)
        fits = [state for state in possible if state == seen]
        if not fits:
            for item in self.state:
                if not any(state.get(item) == seen[item] for state in possible):
                    wrong.append(f"{'/'.join(item)} is {brief(seen[item])}, must be {brief(self.state[item])}")
            if not wrong:
                wrong.append("a change is there by halves")
        for item, values in self.cached.items():
            shown = read(connection, item)
            if shown is not None and shown not in values:
                wrong.append(f"{'/'.join(item)} shows {brief(shown)}, which nobody put there")
        for name in self.backups:
            try:
                connection.call("backups.verify", name=name)
            except Refused as error:
                wrong.append(f"backup {name}: {error}")
        self.settle(seen)
        return wrong


def brief(value):
    return json.dumps(value)[:50]


def read(connection, item):
    """An item's content, None when it is absent."""
    room = item[0]
    try:
        if room == "s":
            return connection.call("settings.get", domain=item[1], key=item[2]).get("value")
        if room == "d":
            return connection.call("documents.get", collection=item[1], id=item[2]).get("value")
        if room == "x":
            return connection.call("secrets.get", service=item[1], account=item[2]).get("secret")
        if room == "a":
            return connection.call("documents.attachment", collection=item[1], id=item[2], name=item[3])["data"]
        if room == "b":
            return connection.call("blobs.get", namespace="pictures", key=item[1]).get("data")
        return connection.call("models.get", namespace="feed", key=item[1]).get("value")
    except Refused as error:
        if error.kind == "notFound":
            return None
        return f"refused: {error}"
