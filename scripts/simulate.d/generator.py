"""Makes up what happens next, from the seed and from what has been answered; each purpose has a generator of its own."""

import random

import makers
from choices import Choices
from configurations import CONFIGURATIONS
from hunts import Hunts
from keeping import PIECE, Keeping
from mischief import Mischief
from plan import Minted
from scenarios import Scenes
from spoil import spoilt
from values import whole

# Each may be off in a run.
SWITCHES = ["relaxed", "search", "references", "migrations", "scratch", "descriptors", "outOfOrder", "locks", "rotations", "passphrases",
            "batches", "notifications", "leaving", "spoiling", "requestKeys", "conditions", "positions", "roles", "reloads", "drains",
            "resets", "windows", "imports", "restores", "fleeting"]
# What is on seldom: it takes long, or leaves less to judge exactly.
SELDOM = {"passphrases": 0.06, "references": 0.15, "migrations": 0.15, "rotations": 0.2, "locks": 0.25, "relaxed": 0.4, "scratch": 0.3,
          "fleeting": 0.6}
NEEDS = {"secrets.lock": "locks", "secrets.unlock": "locks", "secrets.rotate": "rotations", "secrets.repair": "rotations",
         "secrets.clear": "rotations", "secrets.addSlot": "passphrases", "secrets.removeSlot": "passphrases",
         "secrets.changePassphrase": "passphrases",
         "documents.import": "imports", "documents.export": "imports"}


# What is asked for more often once something was done that it needs.
FOLLOWS = {
    "key-e": ["secrets.sign", "secrets.publicKey", "secrets.verifySignature"], "key-h": ["secrets.hmac", "secrets.verifyHmac"],
    "key-x": ["secrets.encrypt", "secrets.decrypt", "secrets.rewrap"], "documents.attach": ["documents.attachment"],
    "secrets.issueToken": ["secrets.redeemToken"], "storage.backup": ["backups.verify", "backups.compare"],
    "blobs.beginUpload": ["blobs.appendUpload", "blobs.commitUpload"],
}


class Generator(Choices, Keeping):
    """An observer of the run, which asks it for the next event until there is none."""

    def __init__(self, seed, requests_wanted, kills=True, cuts=False, faults=False):
        self.seed, self.wanted = seed, requests_wanted
        self.builders = makers.load()
        purposes = ["swarm", "events", "methods", "values", "spoil", "ids", "keys", "mischief", "restores", "hunts", "scenes"]
        self.random = {name: random.Random(f"{seed}/{name}") for name in purposes}
        self.values = self.random["values"]
        swarm = self.random["swarm"]
        self.switches = {name: swarm.random() < SELDOM.get(name, 0.75) for name in SWITCHES}
        # Often a store or some methods are left out, so that the others meet more.
        kept = [name for name in ("settings", "documents", "secrets", "models", "blobs", "changes", "storage")
                if swarm.random() < 0.75] or ["settings"]
        few = swarm.random() < 0.3
        self.weights = {}
        for name in sorted(self.builders):
            weight = makers.WEIGHTS[name]
            store = name.split(".")[0]
            store = {"backups": "storage", "fault": "storage", "rpc": "session", "transaction": "session"}.get(store, store)
            if store not in kept and store != "session" or NEEDS.get(name) and not self.switches[NEEDS[name]] or \
                    few and swarm.random() < 0.5:
                weight = 0
            self.weights[name] = weight * swarm.choice([0.3, 1, 1, 3])
        if not any(self.weights.values()):
            self.weights["settings.put"] = 1
        self.most_clients = swarm.choice([1, 2, 3, 5, 8])
        self.depth = swarm.choice([1, 2, 4, 16])
        self.settle_each = swarm.choice([20, 50, 100])
        self.kill_chance = swarm.choice([0, 0.02, 0.05]) if kills else 0
        self.cut_chance = swarm.choice([0, 0.02, 0.05]) if cuts else 0
        self.spoil_chance = swarm.choice([0.03, 0.1, 0.3]) if self.is_on("spoiling") else 0
        self.domains = ["d0", "d1", "d2"][: swarm.choice([1, 2, 3])]
        self.collections = ["c0", "c1", "c2"][: swarm.choice([1, 2, 3])]
        self.keys = ["k0", "k1", "k2", "k\u00e9"]
        self.identifiers = ["i0", "i1", "i2", "i3", "i10", "i\u6771"]
        self.accounts = ["a0", "a1", "g0"]
        self.counter = self.client_count = self.id_count = self.key_count = self.backup_count = 0
        self.since_settled = self.asked = 0
        self.latest = {}          # by what it is: the Minted value
        self.last = {}            # by what it was: the parameters that name it
        self.revs = {}            # by item
        self.all_revs = []
        self.cursors = {}
        self.keyed, self.following = [], []
        self.descriptors, self.notes = [], {}
        self.run = None
        self.queue = [{"do": "start", "configuration": self.configuration()}]
        self.finished = False
        self.mischief = Mischief(self.random["mischief"], self.is_on("requestKeys"))
        self.mischief.is_quiet |= not faults
        self.rots = self.mischief.rots and faults
        self.scenes = Scenes(self)
        self.is_demanded = self.random["hunts"].random() < 0.2
        self.hunts = None if self.mischief.is_quiet else Hunts(self.random["hunts"], self.rarity())

    def rarity(self):
        """How seldom the methods are on that are on here, so that all of them meet the same."""
        return {name: 1 / SELDOM.get(NEEDS.get(name), 0.75) for name, weight in self.weights.items() if weight}

    # MARK: Learning from replies

    def answered(self, asked, result, kind, error):
        if not isinstance(result, dict) or asked.id is None or asked.batch == "readback":
            return
        params = asked.params if isinstance(asked.params, dict) else {}
        account = str(params.get("account"))
        self.following += FOLLOWS.get(account if asked.method == "secrets.generate" else asked.method, [])
        at = lambda *path: Minted(result[path[0]], asked.id, ("result", *path))
        if "rev" in result and whole(result["rev"]) is not None:
            minted = at("rev")
            self.all_revs.append(minted)
            store = asked.method.split(".")[0]
            names = ("domain", "key"), ("collection", "id"), ("service", "account")
            scope, key = next(((params.get(a), params.get(b)) for a, b in names if a in params), (None, None))
            if isinstance(scope, str) and isinstance(key, str):
                self.revs[store, scope, key] = minted
        if "cursor" in result:
            clean = {name: value for name, value in params.items() if name != "cursor"}
            self.cursors[asked.method] = clean, at("cursor")
        else:
            self.cursors.pop(asked.method, None)
        space, key = params.get("namespace"), params.get("key")
        store = asked.method.split(".")[0]
        if asked.method == "documents.put" and "id" in params:
            self.last["document"] = {"collection": params["collection"], "id": result["id"]}
        if asked.method == "documents.attach":
            self.last["attached"] = {part: params[part] for part in ("collection", "id", "name")}
        if "token" in result and space is not None:
            self.last[f"claimed {store}"] = {"namespace": space, "key": key}
        if asked.method == "secrets.generate" and str(params.get("account")).startswith("key-"):
            self.last[params["account"]] = {part: params[part] for part in ("service", "account")}
        if "token" in result:
            if store == "secrets":
                self.latest["secretToken"] = at("token")
            else:
                self.latest[store] = self.latest[f"{store}/{space}/{key}"] = at("token")
        names = {"subscription": "live" if store == "documents" else "subscription", "upload": "upload", "received": "received",
                 "digest": "digest",
                 "epoch": "epoch", "signature": "signature", "code": "code", "ciphertext": "ciphertext"}
        for member, name in names.items():
            if member in result:
                self.latest[name] = at(member)
                if member == "digest":
                    self.latest[f"digest/{space}/{key}"] = at(member)

    # MARK: Events

    def configuration(self):
        roles = self.random["swarm"]
        return CONFIGURATIONS["roles" if self.is_on("roles") else "plain"](roles)

    def again(self):
        return {"do": "start", "configuration": self.configuration()}

    def next(self, run):
        self.run = run
        if self.queue:
            return self.queue.pop(0)
        if run.is_over:
            return None
        if self.rots and self.asked >= self.wanted * 0.8:
            if made := self.scene(run, is_last=True):
                self.queue = made
                return self.queue.pop(0)
            self.rots = False
            self.queue = self.mischief.rot(self.again())
            return self.queue.pop(0)
        if self.asked >= self.wanted:
            return self.last_events(run)
        events = self.random["events"]
        if not run.is_up:
            self.queue = self.mischief.start(self.again())
            if len(self.queue) == 1 or run.is_damaged:
                self.queue.append({"do": "settle"})
            return self.queue.pop(0)
        if self.since_settled >= self.settle_each:
            self.since_settled = 0
            return self.upheaval(run, events)
        clients = [name for name in run.clients if name.startswith("w")]
        if made := self.mischief.next(run, events.choice(clients) if clients and not self.mischief.is_quiet else None):
            self.queue = made
            return self.queue.pop(0)
        if self.hunts and (made := self.hunts.next(self, run)):
            self.queue = made
            return self.queue.pop(0)
        if len(clients) < self.most_clients and (not clients or events.random() < 0.2):
            return self.new_client(events)
        if self.is_on("leaving") and events.random() < 0.02:
            return {"do": "reset" if self.is_on("resets") and events.random() < 0.3 else "close", "client": events.choice(clients)}
        client = events.choice(clients)
        if client in run.half_closed or len(run.pending[client]) >= self.depth:
            return {"do": "advance", "span": events.choice([PIECE, 5 * PIECE])}
        if self.is_on("windows") and events.random() < 0.01:
            self.queue = [{"do": "advance", "span": PIECE}, {"do": "window", "client": client, "bytes": -1}]
            return {"do": "window", "client": client, "bytes": events.choice([0, 10, 1000])}
        if events.random() < 0.005:
            return {"do": "half_close", "client": client}
        if events.random() < self.kill_chance / 4:
            return {"do": "kill"}
        return self.send(client, events)

    def scene(self, run, is_last=False):
        """The events of one, mostly none; at the last all that are left."""
        if run.faults_active or run.is_damaged or run.is_over:
            return []
        events = self.scenes.chosen(self, is_last)
        return events if run.is_up or not events else [self.again(), *events]

    def last_events(self, run):
        """Behind what was wanted: the scenes that are left, and faults on demand."""
        if not self.finished:
            self.finished = True
            return {"do": "settle"}
        if made := self.scene(run, is_last=True):
            self.queue = made
            return self.queue.pop(0)
        if self.is_demanded:
            self.is_demanded = False
            return {"do": "demand"}
        return None

    def new_client(self, events):
        self.client_count += 1
        role = events.choice(["admin", "admin", "admin", "app", "reader", "watcher"]) if self.is_on("roles") else "admin"
        return {"do": "connect", "client": f"w{self.client_count}", "role": role}

    def upheaval(self, run, events):
        """When some have been asked: judge, end the process one way or another, or read the configuration again."""
        if made := self.scene(run):
            self.queue = made
            return self.queue.pop(0)
        if self.is_on("restores") and not run.is_damaged and events.random() < 0.5:
            return self.keep_or_restore(run)
        chance = events.random()
        again = [*self.mischief.start(self.again()), {"do": "settle"}]
        if chance < self.kill_chance * 8:
            self.queue = again
            return {"do": "kill"}
        if chance < (self.kill_chance + self.cut_chance) * 8:
            self.queue = again
            return {"do": "cut"}
        if chance > 0.9 and self.is_on("drains"):
            self.queue = [{"do": "advance", "span": 50 * PIECE} for _ in range(40)] + [{"do": "kill"}, *again]
            return {"do": "signal", "number": 15}
        if chance > 0.8 and self.is_on("reloads"):
            self.queue = [{"do": "signal", "number": 1}, {"do": "advance", "span": PIECE}, {"do": "settle"}]
            return {"do": "configure", "configuration": self.configuration()}
        return {"do": "settle"}

    def send(self, client, events):
        self.client = client
        lines, descriptors = [], []
        for _ in range(events.choice([1, 1, 1, 2, self.depth])):
            if self.is_on("batches") and events.random() < 0.08:
                line = [self.member() for _ in range(events.choice([1, 2, 5]))]
            elif self.spoil_chance and events.random() < 0.01:
                line = events.choice(["", "hello", "[]", "{\"jsonrpc\":\"2.0\"}", "[1]", "\u0000", "{\"jsonrpc\":\"2.0\",\"method\":1}"])
            else:
                line = self.member()
            lines.append(line)
            descriptors += self.descriptors
            self.descriptors = []
        return {"do": "send", "client": client, "lines": lines, **({"descriptors": descriptors} if descriptors else {})}

    def member(self, method=None):
        """A request; of a method, or of any."""
        self.asked += 1
        self.since_settled += 1
        keys = self.random["keys"]
        if method is None and self.keyed and self.is_on("requestKeys") and keys.random() < 0.04:
            method, params, note = keys.choice(self.keyed[-10:])
            return {"id": self.identity(), "method": method, "params": params, **({"note": note} if note else {})}
        names = list(self.weights)
        if method is None and self.following and keys.random() < 0.3:
            method = self.following.pop(0)
        method = method or self.random["methods"].choices(names, list(self.weights.values()))[0]
        self.notes = {}
        before = len(self.descriptors)
        params = self.builders[method](self)
        schema = {parameter["name"] for parameter in requests_parameters(method)}
        spoil = self.random["spoil"]
        if spoil.random() < self.spoil_chance:
            params, how = spoilt(method, params, spoil)
            if how:
                self.notes["spoilt"] = how
        elif "requestKey" in schema and self.is_on("requestKeys") and keys.random() < 0.2 and len(self.descriptors) == before:
            self.key_count += 1
            params = {**params, "requestKey": f"q{self.key_count}"}
            self.keyed.append((method, params, dict(self.notes)))
        result = {"method": method, "params": params}
        if not (self.is_on("notifications") and self.random["ids"].random() < 0.02):
            result["id"] = self.identity()
        if self.is_on("positions") and self.random["ids"].random() < 0.05:
            result["params"] = by_position(method, params)
        if self.notes:
            result["note"] = self.notes
        return result

    def hello(self, client):
        """Has replies come as they are ready."""
        return {"id": self.identity(), "method": "session.hello", "params": {"client": client, "enable": ["outOfOrder"]}}

    def identity(self):
        self.id_count += 1
        chance = self.random["ids"].random()
        return self.id_count if chance < 0.9 else f"id {self.id_count}" if chance < 0.97 else self.id_count + 0.5


def requests_parameters(method):
    from schemas import parameters
    return parameters(method)


def by_position(method, params):
    """The same parameters as a list, when none in between is left out."""
    names = [parameter["name"] for parameter in requests_parameters(method)]
    given = names[: len(params)]
    return [params[name] for name in given] if set(given) == set(params) else params
