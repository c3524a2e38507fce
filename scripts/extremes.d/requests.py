"""The requests: one parameter extreme and all others sane, then two; a death is traced to its request."""

import json
import os
import shutil
import signal
import time
from collections import Counter, deque

import contents
import state
from stranger import PATIENCE, Connection, Daemon, Ended, Found, Raw, Refused, Unanswered, text
from values import LARGE, breaks, extremes, size

# Errors that every request may meet.
EVERYWHERE = {"invalidParams", "invalidRequest", "parseError", "forbidden", "overloaded", "lineTooLong", "replyTooLarge", "valueTooLarge"}
# A request that waits on purpose is cancelled after this.
WAITING = 0.25
# A run ends with so many findings.
MOST = 10
# So many requests back a death is looked for.
SUSPECTS = 12


class Room:
    """What one method has for itself: a scope, made anew when its requests have changed it."""

    def __init__(self, method):
        self.method = method
        self.serial = 0
        self.is_ready = False

    def ready(self, connection):
        while not self.is_ready:
            self.serial += 1
            self.is_ready = True
            for name, params in state.prepare(self.method, self.scope):
                try:
                    connection.call(name, **params)
                except Refused as error:
                    # What the method has configured may stand in the way: a scope that is new has none of it.
                    if self.method["name"].startswith("backups.") or error.kind == "overloaded":
                        continue
                    raise Found(f"{name} is refused in a new scope: {error}") from error
        return state.sane(self.method, self.scope, connection)

    @property
    def scope(self):
        return f"{self.method['name']}-{self.serial}"


class Run:
    def __init__(self, work, dice):
        self.work = work
        self.dice = dice
        self.lives = 0
        self.kinds = Counter()
        self.sent = 0
        self.slowest = (0, "")
        self.suspects = deque(maxlen=SUSPECTS)
        self.accepted = []
        self.begin()

    def begin(self):
        """A new daemon on a new directory."""
        self.lives += 1
        self.daemon = Daemon(self.work, f"data{self.lives}").start()
        with self.daemon.connect() as connection:
            description = connection.call("rpc.discover")
        self.description = numbers(description)
        self.methods = {method["name"]: method for method in self.description["methods"]}
        self.rooms = {name: Room(method) for name, method in self.methods.items()}
        self.suspects.clear()

    def cases(self):
        """Every parameter's extremes, the methods taking turns; what is named by (method, parameter, which)."""
        rows = []
        for name, method in sorted(self.methods.items()):
            row = []
            with self.daemon.connect() as connection:
                given = self.rooms[name].ready(connection)
            for parameter in method["params"]:
                known = given.get(parameter["name"], state.PARTS.get(parameter["name"]))
                found = extremes(parameter["schema"], parameter["description"], known)
                row += [(name, parameter["name"], value) for value in found]
            self.dice.shuffle(row)
            # Moments and numbers first: what is stored of them is reckoned with ever after.
            row.sort(key=lambda case: rank(method, case[1], case[2]))
            rows.append(row)
        self.dice.shuffle(rows)
        while any(rows):
            for row in rows:
                if row:
                    yield row.pop(0)

    def one(self, name, changes):
        """One request: its sane parameters but for the changes. Raises Found."""
        with self.daemon.connect() as connection:
            params = self.rooms[name].ready(connection) | changes
            self.suspects.append((name, params))
            self.sent += 1
            begun = time.monotonic()
            descriptors = [state.descriptor()] if params.get("fd") is True else []
            identifier = connection.send(name, params, descriptors)
            for number in descriptors:
                os.close(number)
            answer = self.answer(connection, identifier, params)
            self.slowest = max(self.slowest, (time.monotonic() - begun, name))
            self.judge(name, params, answer)
            if "result" in answer:
                if len(changes) == 1 and self.methods[name]["x-access"] == "write" and all(
                        rank(self.methods[name], one, value) < 2 for one, value in changes.items()):
                    self.accepted.append((name, params, rank(self.methods[name], *next(iter(changes.items())))))
                if self.methods[name]["x-access"] == "write":
                    self.rooms[name].is_ready = False
                for undo, given in state.undo(name, answer["result"]):
                    contents.told(connection.call, undo, **given)
            connection.call("storage.ping")

    def answer(self, connection, identifier, params):
        if any(one.endswith("Ms") for one in params):
            try:
                return connection.reply(identifier, WAITING)
            except Unanswered:
                connection.reply(connection.send("rpc.cancel", {"id": identifier}))
        return connection.reply(identifier)

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
        documented = self.documented(method)
        operations = params.get("operations")
        for operation in operations if isinstance(operations, list) else []:
            # A transaction fails as one of its operations does.
            inner = self.methods.get(str(operation.get("method"))) if isinstance(operation, dict) else None
            documented |= self.documented(inner) if inner else {"methodNotFound"}
        if kind not in documented | EVERYWHERE:
            # Once is enough.
            method.setdefault("errors", []).append({"$ref": f"/{kind}"})
            raise Found(f"{shown(name, params)}: {kind} is not documented for it: {json.dumps(answer)[:400]}")

    @staticmethod
    def documented(method):
        return {error["$ref"].rsplit("/", 1)[1] for error in method.get("errors", [])}

    def alone(self, name, params):
        """A request that was taken, when its store has nothing else, and so no nearer moment."""
        scope = next((params[one] for one in state.SCOPES if one in params), "s")
        with self.daemon.connect() as connection:
            state.clear(connection, name, scope)
            for prepared, given in state.prepare(self.methods[name], scope):
                contents.told(connection.call, prepared, **given)
            self.suspects.append((name, params))
            contents.told(connection.call, name, **params)
            for _ in range(3):
                connection.call("storage.ping")
                time.sleep(0.002)
            state.clear(connection, name, scope)

    def reborn(self, how):
        """Ends the daemon and starts it again; what was there must be there."""
        with self.daemon.connect() as connection:
            before, cached = contents.durable(connection), contents.cached(connection)
        self.daemon.kill() if how == "kill -9" else self.daemon.stop()
        self.daemon.start()
        with self.daemon.connect() as connection:
            after, kept = contents.durable(connection), contents.cached(connection)
        self.daemon.alive()
        for place in before.keys() | after.keys():
            if contents.fixed(before.get(place)) != contents.fixed(after.get(place)):
                raise Found(f"after {how} {place} is another: {contents.fixed(before.get(place))[:300]} was, "
                            f"{contents.fixed(after.get(place))[:300]} is")
        for place in kept.keys() & cached.keys():
            if contents.fixed(kept[place]) != contents.fixed(cached[place]):
                raise Found(f"after {how} {place} of a cache is another")
        self.suspects.clear()
        return len(before)


def rank(method, name, value):
    if isinstance(value, Raw) and "\\u" in value:
        # These make a line that is no JSON.
        return 3
    kind = next(one["schema"].get("type") for one in method["params"] if one["name"] == name)
    return 0 if "RFC 3339" in described(method, name) else 1 if kind == "integer" else 2


def described(method, name):
    return next(one["description"] for one in method["params"] if one["name"] == name)


def numbers(value):
    """The description with its numbers as such."""
    if isinstance(value, Raw):
        return int(value) if value.lstrip("-").isdigit() else float(value)
    if isinstance(value, dict):
        return {name: numbers(part) for name, part in value.items()}
    return [numbers(part) for part in value] if isinstance(value, list) else value


def shown(name, params):
    given = text(params).replace("'", "'\\''")
    return f"scripts/extremes try {name} '{given}'" if len(given) < 2000 else f"{name} {given[:300]}… ({len(given)} characters)"


def trial(work, suspects, is_told=False):
    """Whether these requests, by themselves, end a new daemon; what happens if so."""
    daemon = Daemon(work, f"trial-{time.monotonic_ns()}")
    try:
        daemon.start()
        with daemon.connect() as connection:
            methods = {one["name"]: numbers(one) for one in connection.call("rpc.discover")["methods"]}
            for name, params in suspects:
                scope = next((params[one] for one in state.SCOPES if isinstance(params.get(one), str)), "s")
                for prepared, given in state.prepare(methods[name], scope):
                    contents.told(connection.call, prepared, **given)
                if name in state.TAKEN:
                    taken = state.TAKEN[name][0]
                    params = params | {taken: state.sane(methods[name], scope, connection)[taken]}
                descriptors = [state.descriptor()] if params.get("fd") is True else []
                answer = connection.reply(connection.send(name, params, descriptors))
                for number in descriptors:
                    os.close(number)
                if is_told:
                    print(f"  {json.dumps(answer)[:300]}")
            for _ in range(3):
                connection.call("storage.ping")
                time.sleep(0.02)
            before = contents.durable(connection)
        daemon.kill()
        daemon.start()
        with daemon.connect() as connection:
            connection.call("storage.ping")
            if contents.fixed(sorted(map(str, before.items()))) != contents.fixed(sorted(map(str, contents.durable(connection).items()))):
                return "something else is there after kill -9"
        daemon.alive()
        daemon.stop()
        return None
    except Found as error:
        time.sleep(0.2)
        code = daemon.process.poll() if daemon.process else None
        how = f"; it ends by {signal.Signals(-code).name}" if code is not None and code < 0 else ""
        return f"{error}{how}"
    finally:
        daemon.kill()
        shutil.rmtree(daemon.data, ignore_errors=True)


def trace(run):
    """The request that a death comes from, as far as one alone brings it about."""
    for suspect in reversed(run.suspects):
        outcome = trial(run.work, [suspect])
        if outcome:
            return suspect, outcome
    return None, None


def run(work, seconds, dice, seed):
    begun = time.monotonic()
    state_of = Run(work, dice)
    cases = list(state_of.cases())
    moments = sum("RFC 3339" in described(state_of.methods[name], parameter) for name, parameter, _ in cases)
    if len(cases) < 1000 or moments < 30:
        raise Found(f"the description has too little to try: {len(cases)} values, {moments} moments")
    findings, done, excluded, births = [], Counter(), set(), 0
    at, slice_ends = 0, begun + seconds / 4.5
    read = 0
    # What a finding begins with: once is enough.
    seen = set()

    def guarded(action, what):
        """Carries out; a finding is noted, and a daemon that is gone is replaced by one on a new directory."""
        try:
            return action()
        except Found as error:
            if str(error)[:40] in seen:
                return None
            seen.add(str(error)[:40])
            is_gone = isinstance(error, (Ended, Unanswered)) or state_of.daemon.process is None or state_of.daemon.process.poll() is not None
            said = f"{error}"
            if is_gone:
                suspect, outcome = trace(state_of)
                if suspect:
                    said += f"\n  by itself: {shown(*suspect)}\n  {outcome}"
                    excluded.update((suspect[0], name) for name in suspect[1] if name in changed)
                else:
                    said += "\n  none of the last requests does so alone: " + "; ".join(shown(*one)[:200] for one in state_of.suspects)
                state_of.daemon.kill()
                state_of.begin()
            findings.append(f"{what}: {said}")
            print(f"FOUND with seed {seed}: {findings[-1]}", flush=True)
            return None

    changed = {}
    # The rest is for what must be tried on a daemon of its own.
    while len(findings) < MOST and time.monotonic() < begun + seconds * 0.6:
        if at < len(cases):
            name, parameter, value = cases[at]
            changed = {parameter: value}
        else:
            # All have had their turn: two at a time.
            first = cases[dice.randrange(len(cases))]
            others = [one for one in (cases[dice.randrange(len(cases))] for _ in range(3000)) if one[0] == first[0] and one[1] != first[1]]
            name, changed = first[0], {one[1]: one[2] for one in [first, *others[:1]]}
            if any(size(value) > LARGE for value in changed.values()):
                continue
        at += 1
        if any((name, one) in excluded for one in changed):
            continue
        done[name] += 1
        guarded(lambda: state_of.one(name, changed), name)
        if time.monotonic() > slice_ends:
            slice_ends += seconds / 4.5
            births += 2
            read = max(read, guarded(lambda: state_of.reborn("kill -9"), "kill -9") or 0)
            read = max(read, guarded(lambda: state_of.reborn("SIGTERM"), "SIGTERM") or 0)
    if len(findings) < MOST:
        births += 2
        read = max(read, guarded(lambda: state_of.reborn("kill -9"), "kill -9") or 0)
        guarded(lambda: state_of.reborn("SIGTERM"), "SIGTERM")
    state_of.daemon.kill()
    # The nearest moment hides the others: each that was taken is sent when there is no other, and then started with.
    dice.shuffle(state_of.accepted)
    state_of.accepted.sort(key=lambda one: one[2])
    state_of.begin()
    alone, born = 0, 0
    for name, params, _ in state_of.accepted:
        if len(findings) < MOST and (name, "alone") not in seen and time.monotonic() < begun + seconds * 0.8:
            alone += 1
            changed = {}
            if guarded(lambda: state_of.alone(name, params) or True, name) is None:
                seen.add((name, "alone"))
    state_of.daemon.kill()
    for name, params, _ in state_of.accepted:
        if len(findings) < MOST and (name, "alone") not in seen and time.monotonic() < begun + seconds:
            born += 1
            outcome = trial(work, [(name, params)])
            if outcome:
                seen.add((name, "alone"))
                findings.append(outcome)
                print(f"FOUND with seed {seed}: {shown(name, params)}\n  {outcome}", flush=True)
    silent = sorted(set(state_of.methods) - set(done) - {name for name, one in state_of.methods.items() if not one["params"]})
    print("answers: " + ", ".join(f"{kind} {count:,}" for kind, count in sorted(state_of.kinds.items())))
    print(f"slowest: {state_of.slowest[1]} {state_of.slowest[0]:.2f} s" + (f"; not reached: {' '.join(silent)}" if silent else ""))
    print(f"extremes requests: {state_of.sent:,} requests ({min(at, len(cases)):,} of {len(cases):,} values by themselves) to {len(done)} "
          f"methods, {alone} of {len(state_of.accepted)} numbers and moments that were taken again alone, {births + 2 * born} starts, {read:,} things read back, {len(findings)} found")
    return 1 if findings else 0


def again(work, method, params):
    outcome = trial(work, [(method, params)], is_told=True)
    print(f"FOUND: {outcome}" if outcome else "answered, lives, starts again, and reads back the same")
    return 1 if outcome else 0


__all__ = ["Connection", "PATIENCE", "Raw", "again", "run"]
