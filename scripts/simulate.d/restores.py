"""Backups and bundles that a run has made, and the data directories that are made of them.

A backup holds the history as of its revision. A restore ends the history that was, and goes on from there.
"""

from dataclasses import dataclass, field

from makers.secrets import PASSPHRASE
from places import PASSPHRASE_FILE
from values import whole

MADE = {"storage.backup": "backup", "storage.bundle": "bundle"}
# Refused before anything was done.
UNTOUCHED = {"invalidParams", "forbidden", "overloaded"}
NEWEST = 1 << 62


@dataclass
class Held:
    """A backup or a bundle that was acknowledged, and what is in it."""

    kind: str
    name: str
    rev: int
    counts: dict
    number: int               # of the request
    sent: int                 # ticks
    answered: int
    include: list = field(default_factory=list)
    left_out: list = field(default_factory=list)
    is_encrypted: bool = False
    seeded: int = 0           # what is as old came from a bundle, and goes into no other

    def holds(self, item, only=()):
        """Whether the items of a store and scope are in it; None: nobody knows."""
        store, scope = item[:2]
        if self.kind == "bundle" and store == "secrets":
            return False
        for words in (self.include, only):
            if words and store not in words and f"{store}/{scope}" not in words:
                return False
        left = {reason for where, name, reason in self.left_out if where == store and name in (None, scope)}
        if store == "secrets" and left:
            return None
        return "marked" not in left


class Shelf:
    """The backups and bundles of the data directory, as far as replies tell."""

    def __init__(self):
        self.held = {}            # by kind and name
        self.doubtful = {}        # by the request that may remove them
        self.seeded = 0

    def names(self, kind):
        return [name for of, name in self.held if of == kind]

    def sent(self, asked):
        params = asked.params if isinstance(asked.params, dict) else {}
        if asked.method in MADE:
            if isinstance(params.get("name"), str | None):
                self.held.pop((MADE[asked.method], params.get("name")), None)
        elif asked.method == "backups.prune" and params.get("dryRun") is not True:
            self.doubtful[asked.number], self.held = self.held, {}

    def answered(self, asked, result, kind):
        """A backup that was made, or None."""
        if asked.number in self.doubtful:
            before = self.doubtful.pop(asked.number)
            removed = result["removed"] if result is not None else () if kind in UNTOUCHED else list(zip(*before))[1] if before else ()
            self.held |= {(of, name): held for (of, name), held in before.items() if of == "bundle" or name not in removed}
        if asked.method not in MADE or result is None or "name" not in result \
                or asked.params.get("passphrase", PASSPHRASE) != PASSPHRASE:
            return None
        left = [(one["store"], one.get("scope"), one["reason"]) for one in result["leftOut"]]
        held = Held(MADE[asked.method], result["name"], whole(result["rev"]), result["counts"], asked.number, asked.sent, asked.answered,
                    asked.params.get("include") or [], left, "passphrase" in asked.params, self.seeded)
        self.held[held.kind, held.name] = held
        return held

    def begin(self, seeded):
        """The data directory is another one."""
        self.held, self.doubtful, self.seeded = {}, {}, seeded


class Restoring:
    """The part of a run that moves to other data directories."""

    def __init__(self):
        self.shelf = Shelf()
        self.moves = 0            # to other data directories

    def fit(self, kind, name):
        """A backup to go on from, when the process is down and what it holds is known."""
        return None if self.is_up or self.is_damaged or self.is_over else self.shelf.held.get((kind, name))

    def do_restore(self, event):
        """Makes a data directory of a backup, which the next start is on when it is there."""
        held = self.fit("backup", event["backup"])
        if held is None:
            return
        only, rev = list(event.get("only", ())), held.rev
        if "at" in event and not only and not held.include and not held.left_out:
            rev = NEWEST if event["at"] == "newest" else max(held.rev, min(self.number(event["at"]), self.history.strict_rev))
        is_rewrapped = self.history.is_rewrapped
        words = [word for one in only for word in ("--only", one)] + (["--unproved"] if is_rewrapped or self.world.lacks_key else [])
        if held.is_encrypted:
            words += ["--passphrase-file", PASSPHRASE_FILE]
        if rev != held.rev:
            words += ["--at", "newest" if rev == NEWEST else str(rev), "--log", f"{self.world.data}/log"]
        done = self.world.restore(held.name, words, bool(event.get("empty")), int(event["seams"]) if "seams" in event else None,
                                  event.get("end", "kill"), not event.get("keyless"))
        if done.was_cut:
            self.history.cut(self.world.now)
        self.judge_restore(held, done, may_refuse=is_rewrapped or rev != held.rev or bool(only))
        if done.is_there:
            self.move(held, rev, only)

    def judge_restore(self, held, done, may_refuse):
        words = f"the restore of {held.name} (request {held.number}) ended with {done.code}: {done.text[-800:]}"
        if done.code == 0 and not done.is_there:
            self.fail("restores", "absent", words + ", and nothing is there")
        elif done.code not in (None, 0) and done.is_there and not (self.may_die and done.code < 0):
            self.fail("restores", "half", words + ", and something is there")
        elif done.code == 1 and not (may_refuse or self.faults_active):
            self.fail("restores", "refused", words)
        elif done.code is not None and done.code not in (0, 1) and not (self.may_die and done.code < 0):
            self.fail("restores", "ended", words)
        # A fault may have struck what it wrote.
        elif done.code == 1 and not done.text.strip() and not self.faults_active:
            self.fail("restores", "silent", words)

    def do_begin(self, event):
        """The next start finds nothing but a bundle."""
        held = self.fit("bundle", event["bundle"])
        if held is not None:
            self.world.begin_with(held.name)
            self.move(held, held.rev, ())

    def move(self, held, rev, only):
        """From here on another history is told, which goes on from what was held."""
        self.moves += 1
        self.history.settle(None)
        self.history.go_on_from(rev, lambda item: held.holds(item, only), held.answered if rev == held.rev else NEWEST,
                                held.seeded if held.kind == "bundle" else None)
        self.ledger.move()
        for judge in self.judges:
            judge.moved(held, rev, only)
        self.shelf.begin(held.rev if held.kind == "bundle" else held.seeded)
        self.world.move()
