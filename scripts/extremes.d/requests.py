"""The requests: one parameter extreme and all others sane, then two; a death is traced to its request."""

import json
import os
import shutil
import signal
import time
from collections import Counter, deque

import contents
import state
from client import Gone, Refused
from contents import Found
from state import FAULTS, Tried
from tries import in_turns
from values import LARGE, extremes, size
from wire import Raw, breaks, text

# Errors that every request may meet.
EVERYWHERE = {"invalidParams", "invalidRequest", "parseError", "forbidden", "overloaded", "lineTooLong", "replyTooLarge",
              "valueTooLarge"}
# A run ends with so many findings.
MOST = 10
# So many requests back a death is looked for.
SUSPECTS = 12
# Parts of a run's time at which all is killed, started and read back; the rest is for what is tried on a daemon of its own.
REBIRTHS = [0.22, 0.44]
UNTIL_REQUESTS, UNTIL_ALONE = 0.6, 0.8


class Room:
    """What one method has for itself: a scope, made anew when its requests have changed it."""

    def __init__(self, method):
        self.method = method
        self.serial = 0
        self.is_ready = False

    def ready(self, connection):
        """Sane parameters for the method, and what they are about is there."""
        name = self.method["name"]
        if not self.is_ready:
            self.serial += 1
            self.is_ready = True
            for preparing, params in state.prepare(name, f"{name}-{self.serial}"):
                try:
                    connection.call(preparing, **params)
                except Refused as error:
                    # What is configured for all scopes may stand in the way.
                    if not name.startswith("backups.") and error.kind != "overloaded":
                        raise Found(f"{preparing} is refused in a new scope: {error}") from error
        return state.sane(self.method, f"{name}-{self.serial}", connection)


class Run:
    """One daemon after the other, and what is found of them."""

    def __init__(self, work, seconds, dice, seed):
        self.work, self.seconds, self.dice, self.seed = work, seconds, dice, seed
        self.begun = time.monotonic()
        self.lives = self.sent = self.births = self.read = self.alone = 0
        self.kinds, self.done = Counter(), Counter()
        self.slowest = (0, "")
        self.suspects = deque(maxlen=SUSPECTS)
        # (rank, method, params) of single numbers and moments that were taken.
        self.accepted = []
        self.findings = 0
        # How a finding begins, or the method that has one alone: once is enough.
        self.seen = set()
        # (method, parameter) of what has ended a daemon.
        self.excluded = set()
        self.begin()

    def is_before(self, share):
        return self.findings < MOST and time.monotonic() < self.begun + self.seconds * share

    def begin(self):
        """A new daemon on a new directory."""
        self.lives += 1
        self.daemon = Tried(self.work, f"data{self.lives}").start()
        self.methods = state.methods(self.daemon)
        self.rooms = {name: Room(method) for name, method in self.methods.items()}
        self.suspects.clear()

    def cases(self):
        """All (method, parameter, value), the methods taking turns."""
        rows = []
        for name, method in sorted(self.methods.items()):
            with self.daemon.connect() as connection:
                given = state.PARTS | self.rooms[name].ready(connection)
            row = [(name, one["name"], value) for one in method["params"]
                   for value in extremes(one["schema"], one["description"], given.get(one["name"]))]
            self.dice.shuffle(row)
            # Moments and numbers first: what is stored of them is reckoned with ever after.
            row.sort(key=lambda case: rank(method, case[1], case[2]))
            rows.append(row)
        self.dice.shuffle(rows)
        return in_turns(rows)

    def pair(self, cases):
        """Two extreme parameters of one method, by name."""
        name, *first = self.dice.choice(cases)
        others = (self.dice.choice(cases) for _ in range(3000))
        return name, dict([first, *[one[1:] for one in others if one[0] == name and one[1] != first[0]][:1]])

    def one(self, name, changes):
        """One request: its sane parameters but for the changes. Raises Found."""
        method = self.methods[name]
        with self.daemon.connect() as connection:
            params = self.rooms[name].ready(connection) | changes
            self.suspects.append((name, params))
            self.sent += 1
            begun = time.monotonic()
            answer = state.exchange(connection, name, params)
            self.slowest = max(self.slowest, (time.monotonic() - begun, name))
            self.judge(name, params, answer)
            if "result" in answer:
                if method["x-access"] == "write":
                    order = max(rank(method, one, value) for one, value in changes.items())
                    if len(changes) == 1 and order < 2:
                        self.accepted.append((order, name, params))
                    self.rooms[name].is_ready = False
                state.carry_out(connection, state.undo(name, answer["result"]))
            connection.call("storage.ping")

    def judge(self, name, params, answer):
        method = self.methods[name]
        if "error" not in answer:
            self.kinds["result"] += 1
            fault = breaks(answer["result"], method["result"]["schema"])
            if fault:
                raise Found(f"{shown(name, params)}: {fault}: {json.dumps(answer)[:300]}")
            return
        kind = answer["error"].get("data", {}).get("kind")
        self.kinds[kind] += 1
        allowed = EVERYWHERE | documented(method)
        operations = params.get("operations")
        for operation in operations if isinstance(operations, list) else []:
            # A transaction fails as one of its operations does.
            inner = self.methods.get(str(operation.get("method"))) if isinstance(operation, dict) else None
            allowed |= documented(inner) if inner else {"methodNotFound"}
        if kind not in allowed:
            # Once is enough.
            method.setdefault("errors", []).append({"$ref": f"/{kind}"})
            raise Found(f"{shown(name, params)}: {kind} is not documented for it: {json.dumps(answer)[:400]}")

    def by_itself(self, name, params):
        """A request that was taken, when its store has nothing else, and so no nearer moment."""
        scope = state.scope_of(params)
        with self.daemon.connect() as connection:
            state.carry_out(connection, state.clear(name, scope) + state.prepare(name, scope))
            self.suspects.append((name, params))
            connection.ask(name, **params)
            pings(connection, 0.002)
            state.carry_out(connection, state.clear(name, scope))

    def reborn(self):
        """Ends the daemon by either way and starts it again."""
        for how in ("kill -9", "SIGTERM"):
            self.guarded(lambda how=how: self.reborn_after(how), how)
            self.births += 1

    def reborn_after(self, how):
        self.read = max(self.read, reborn(self.daemon, how))
        self.suspects.clear()

    def guarded(self, action, what, changed=()):
        """Carries out, and returns whether all was well; a daemon that is gone is replaced by one on a new directory."""
        try:
            action()
            return True
        except FAULTS as error:
            said = str(error) or type(error).__name__
            if said[:40] in self.seen:
                return False
            self.seen.add(said[:40])
            if isinstance(error, (Gone, TimeoutError)) or self.daemon.process.poll() is not None:
                self.daemon.kill()
                said += self.trace(changed)
                self.begin()
            self.found(f"{what}: {said}")
            return False

    def found(self, said):
        self.findings += 1
        print(f"FOUND with seed {self.seed}: {said}", flush=True)

    def trace(self, changed):
        """The request that a death comes from, as far as one alone brings it about, and what it does."""
        for name, params in reversed(self.suspects):
            outcome = trial(self.work, name, params)
            if outcome:
                self.excluded.update((name, one) for one in params if one in changed)
                return f"\n  by itself: {shown(name, params)}\n  {outcome}"
        return "\n  none of the last requests does so alone: " + "; ".join(shown(*one)[:200] for one in self.suspects)

    def try_all(self, cases):
        """Each value in its turn, then two at a time; returns how many."""
        at, rebirths = 0, list(REBIRTHS)
        while self.is_before(UNTIL_REQUESTS):
            if at < len(cases):
                name, parameter, value = cases[at]
                changed = {parameter: value}
            else:
                name, changed = self.pair(cases)
                if any(size(value) > LARGE for value in changed.values()):
                    continue
            at += 1
            if any((name, one) in self.excluded for one in changed):
                continue
            self.done[name] += 1
            self.guarded(lambda: self.one(name, changed), name, changed)
            if rebirths and not self.is_before(rebirths[0]):
                rebirths.pop(0)
                self.reborn()
        if self.findings < MOST:
            self.reborn()
        return at

    def try_accepted(self):
        """The nearest moment hides the others: each that was taken is sent when there is no other, and then started with."""
        self.daemon.kill()
        self.dice.shuffle(self.accepted)
        self.accepted.sort(key=lambda one: one[0])
        self.begin()
        for _, name, params in self.accepted:
            if (name, "alone") not in self.seen and self.is_before(UNTIL_ALONE):
                self.alone += 1
                if not self.guarded(lambda: self.by_itself(name, params), name):
                    self.seen.add((name, "alone"))
        self.daemon.kill()
        for _, name, params in self.accepted:
            if (name, "alone") not in self.seen and self.is_before(1):
                self.births += 2
                outcome = trial(self.work, name, params)
                if outcome:
                    self.seen.add((name, "alone"))
                    self.found(f"{shown(name, params)}\n  {outcome}")


def rank(method, name, value):
    """Which values come first: 0 moments, 1 integers, 2 others, 3 what makes a line that is no JSON."""
    if isinstance(value, Raw) and "\\u" in value:
        return 3
    parameter = next(one for one in method["params"] if one["name"] == name)
    return 0 if "RFC 3339" in parameter["description"] else 1 if parameter["schema"].get("type") == "integer" else 2


def documented(method):
    return {error["$ref"].rsplit("/", 1)[1] for error in method.get("errors", [])}


def shown(name, params):
    given = text(params).replace("'", "'\\''")
    return f"scripts/extremes try {name} '{given}'" if len(given) < 2000 else f"{name} {given[:300]}… ({len(given)} characters)"


def pings(connection, pause):
    """Leaves what is done behind the replies some turns of the loop."""
    for _ in range(3):
        connection.call("storage.ping")
        time.sleep(pause)


def settle(connection):
    """Waits until no secret is sealed anew any more: each gets another revision by that, behind the reply to the rotation."""
    deadline = time.monotonic() + 60
    while (status := connection.call("secrets.status")).get("rewrapping") and status["state"] == "unlocked":
        if time.monotonic() > deadline:
            raise Found(f"secrets are still being sealed anew: {status}")
        time.sleep(0.02)


def reborn(daemon, how):
    """Ends a daemon by kill -9 or SIGTERM and starts it again: what was there must be there. Returns how much that is."""
    with daemon.connect() as connection:
        settle(connection)
        before, cached = contents.durable(connection), contents.cached(connection)
    if how == "kill -9":
        daemon.kill()
    else:
        daemon.drain()
    daemon.start()
    with daemon.connect() as connection:
        after, kept = contents.durable(connection), contents.cached(connection)
    daemon.alive()
    for place in contents.differing(before, after, before.keys() | after.keys()):
        was, now = contents.fixed(before.get(place)), contents.fixed(after.get(place))
        at = max(0, len(os.path.commonprefix([was, now])) - 100)
        raise Found(f"after {how} {place} is another: {was[at : at + 300]} was, {now[at : at + 300]} is")
    for place in contents.differing(cached, kept, cached.keys() & kept.keys()):
        raise Found(f"after {how} {place} of a cache is another")
    return len(before)


def trial(work, name, params, is_told=False):
    """What a request does to a new daemon that is killed and started again; None when all is well."""
    daemon = Tried(work, f"trial-{time.monotonic_ns()}")
    try:
        methods = state.methods(daemon.start())
        with daemon.connect() as connection:
            scope = state.scope_of(params)
            state.carry_out(connection, state.prepare(name, scope))
            if name in state.TAKEN:
                taken = state.TAKEN[name][0]
                params = params | {taken: state.sane(methods[name], scope, connection)[taken]}
            answer = state.exchange(connection, name, params)
            if is_told:
                print(f"  {json.dumps(answer)[:300]}")
            pings(connection, 0.02)
        reborn(daemon, "kill -9")
        daemon.drain()
        return None
    except FAULTS as error:
        code = daemon.wait(0.2) if daemon.process else None
        return f"{error or type(error).__name__}" + (f"; it ends by {signal.Signals(-code).name}" if code and code < 0 else "")
    finally:
        daemon.kill()
        shutil.rmtree(daemon.data, ignore_errors=True)


def run(work, seconds, dice, seed):
    run = Run(work, seconds, dice, seed)
    cases = run.cases()
    moments = sum(rank(run.methods[name], parameter, value) == 0 for name, parameter, value in cases)
    if len(cases) < 1000 or moments < 30:
        raise Found(f"the description has too little to try: {len(cases)} values, {moments} moments")
    tried = min(run.try_all(cases), len(cases))
    run.try_accepted()
    silent = sorted(name for name, one in run.methods.items() if one["params"] and name not in run.done)
    print("answers: " + ", ".join(f"{kind} {count:,}" for kind, count in sorted(run.kinds.items())))
    print(f"slowest: {run.slowest[1]} {run.slowest[0]:.2f} s" + (f"; not reached: {' '.join(silent)}" if silent else ""))
    print(f"extremes requests: {run.sent:,} requests ({tried:,} of {len(cases):,} values by themselves) to "
          f"{len(run.done)} methods, {run.alone} of {len(run.accepted)} numbers and moments that were taken again alone, "
          f"{run.births} starts, {run.read:,} things read back, {run.findings} found")
    return 1 if run.findings else 0


def again(work, method, params):
    outcome = trial(work, method, json.loads(params, parse_int=Raw, parse_float=Raw), is_told=True)
    print(f"FOUND: {outcome}" if outcome else "answered, lives, starts again, and reads back the same")
    return 1 if outcome else 0
