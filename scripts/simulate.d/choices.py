"""Choices of values, which the makers of requests ask for."""

from values import Number, parse


class Choices:
    """The part of a generator that the makers see."""

    def is_on(self, name):
        return self.switches.get(name, True) if name in self.switches else self.weights.get(name, 1) > 0

    @property
    def wall(self):
        """What the world's clock says; None where nobody knows it when the request is sent."""
        return getattr(getattr(self.run, "world", None), "wall", None)

    def chance(self, probability):
        return self.values.random() < probability

    def unique(self):
        self.counter += 1
        return self.counter

    def maybe(self, name, value, probability=0.25):
        return {name: value} if self.chance(probability) else {}

    def some(self, names):
        return [name for name in names if self.values.random() < 0.5] or [self.values.choice(names)]

    def domain(self):
        return self.values.choice(self.domains)

    def key(self):
        return self.values.choice(self.keys)

    def collection(self):
        return self.values.choice(self.collections)

    def identifier(self):
        return self.values.choice(self.identifiers)

    def service(self):
        return self.values.choice(["s0", "s1"])

    def account(self):
        return self.values.choice(self.accounts)

    def models(self):
        return self.values.choice(["m0", "m1"])

    def blobs(self):
        return self.values.choice(["b0", "b1"])

    def backup(self, kind=None):
        """A name; of a kind that is there, when one is."""
        names = self.run.shelf.names(kind) if kind and self.chance(0.8) else []
        return self.values.choice(names or ["monday", "tuesday"])

    def again_at(self, name, otherwise):
        """What was named last, mostly: that something is there is seldom else."""
        return dict(self.last[name]) if name in self.last and self.chance(0.7) else otherwise

    def minted(self, name, otherwise):
        return self.latest.get(name, otherwise)

    def any_rev(self):
        return self.values.choice(self.all_revs[-20:]) if self.all_revs else 0

    def if_rev(self, store, scope, key):
        """Nothing mostly, or a revision that fits, or one that does not."""
        if not self.is_on("conditions") or self.chance(0.7):
            return {}
        if self.chance(0.3):
            return {"ifRev": self.values.choice([0, 0, 1, 2**53 - 1, self.any_rev()])}
        return {"ifRev": self.revs.get((store, scope, key), 0)}

    def place_in_feed(self):
        return 0 if self.chance(0.4) else self.any_rev()

    def page(self, method, limit):
        known = self.cursors.get(method)
        if known and self.chance(0.3):
            params, cursor = known
            return {"like": params, "cursor": cursor} if method == "documents.find" else {**params, "cursor": cursor}
        return self.maybe("limit", self.values.choice([1, 2, 100])) if limit else {}

    def pass_descriptor(self, data):
        self.descriptors.append(data)

    def forget_descriptors(self):
        self.descriptors.clear()
        self.notes.clear()

    def note(self, name, value):
        self.notes[name] = value

    def numbers(self, value):
        """As the run sees it: numbers as they are written."""
        if isinstance(value, dict):
            return {name: self.numbers(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.numbers(part) for part in value]
        return Number(repr(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else value

    def pending_ids(self):
        return [parse(asked.id) for asked in self.run.pending.get(self.client, {}).values()]
