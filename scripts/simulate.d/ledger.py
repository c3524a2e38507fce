"""Which writes happened, by requests and replies: what the history is made of, and what a request key stands for."""

import effects
from history import History
from states import Write
from values import canonical, whole

# Those that may have done a part when they fail.
IN_SLICES = {"documents.deleteMany", "documents.import", "secrets.repair", "secrets.clear", "secrets.destroyVersion"}
UNSURE = {"outcomeUnknown", "internalError"}
# Nanoseconds for which request keys are kept at least: a day by the clock with which a process begins, and no run is as long as an hour.
KEPT_KEYS = 23 * 3600 * 10**9
# An import of so many bytes is one transaction.
ONE_SLICE = 30_000
# What a repeated request is never refused with, when it was done before.
REFUSALS = {"conflict", "notFound", "patchFailed", "typeMismatch", "outOfRange", "schemaViolation", "uniqueViolation", "referenced", "quotaExceeded", "requestKeyReused"}


class Ledger:
    def __init__(self, run):
        self.run = run
        self.history = History()
        self.keys = {}            # by role and request key: the request that has it, its reply
        self.aged = {}            # the same of a day before: done again, or told again where the clock has gone back since
        self.former = {}          # the same of data directories before: what a log has brought along is told to any request
        self.faults = []
        self.defaults = set()     # domains that have or may have registered defaults or those of a schema
        self.migrated = set()     # collections whose documents were or are migrated
        self.imported = []
        self.first_sent = 0

    def has_defaults(self, domain):
        return domain in self.defaults

    def sent(self, asked):
        method, params = asked.method, asked.params
        for name, given in operations_of(method, params):
            if name in ("settings.register", "settings.configure") and isinstance(given.get("domain"), str):
                self.defaults.add(given["domain"])
            if name == "documents.configure" and given.get("version") and isinstance(given.get("collection"), str):
                self.migrated.add(given["collection"])
        if isinstance(params, dict) and whole(params.get("flushSeconds")):
            self.history.flush_seconds = max(self.history.flush_seconds, whole(params["flushSeconds"]))
        if method == "secrets.destroyVersion":
            self.history.is_scrubbed = True
        if method in ("secrets.rotate", "secrets.repair", "secrets.lock", "secrets.clear"):
            self.history.is_rewrapped = True
        if asked.id is None:
            self.leave(asked)

    def write(self, asked, result):
        if asked.method not in effects.WRITES or not isinstance(asked.params, dict):
            return None
        self.imported = asked.note.get("imported", [])
        parts = effects.write_of(asked, result, self)
        if parts is None:
            if result is not None:
                self.faults.append(("model", f"request {asked.number}, {asked.method}, was done; the model cannot read it: {str(asked.params)[:200]}"))
            return None
        return Write(asked.number, asked.method, asked.sent, parts)

    def leave(self, asked):
        """No reply will come: the write may have happened."""
        key = self.key(asked)
        if key in self.keys:
            # Another attempt of the same: the first stands for both, unless it is known not to have happened.
            first, earlier, write = self.keys[key]
            if earlier is None and write in self.history.loose:
                write.age = 0
            if earlier is not None or write in self.history.loose and is_same(first, asked):
                return
        write = self.write(asked, None) if "spoilt" not in asked.note else None
        if write:
            if key:
                self.keys[key] = [asked, None, write]
            self.history.left(write)

    def key(self, asked):
        params = asked.params
        if asked.method not in effects.WRITES or not isinstance(params, dict) or not isinstance(params.get("requestKey"), str):
            return None
        return asked.role, params["requestKey"]

    def answered(self, asked, result, error):
        if asked.method not in effects.WRITES:
            return
        if error is not None:
            kind = (error.get("data") or {}).get("kind")
            self.refused(asked, kind)
            if kind in UNSURE or asked.method in IN_SLICES and kind not in ("invalidParams", "forbidden", "sealed") and \
                    (asked.method, kind) != ("secrets.destroyVersion", "cancelled"):
                self.leave(asked)
            return
        key = self.key(asked)
        if key and self.repeated(asked, result, key):
            asked.is_repeat = True
            return
        write = self.write(asked, result)
        if write is None:
            return
        write.answered, write.answered_at, write.rev = asked.answered, asked.answered_at, whole(result.get("rev"))
        write.durable = result.get("durable") is not False
        if asked.is_repeat:
            write.is_late, write.sent = True, self.first_sent
        if key:
            self.keys[key] = [asked, result, write]
        if result.get("deleted") is False or result.get("dropped") is False or result.get("deleted") == "0":
            return
        if asked.method == "documents.import":
            # Its records are in transactions of their own, of which the last one's revision is told.
            if whole(result["imported"]) == len(write.parts) and whole(result["offset"]) < ONE_SLICE:
                # So little is one transaction.
                self.history.took(write)
            else:
                write.answered = None
                self.history.left(write)
        elif write.parts:
            self.history.took(write)

    def refused(self, asked, kind):
        """What was done under a key is told again, and not refused for what has come of it since."""
        key = self.key(asked)
        if kind not in REFUSALS or key not in self.keys or "spoilt" in asked.note:
            return
        first, earlier, _ = self.keys[key]
        if is_same(first, asked) and earlier is not None and first.answered < asked.sent:
            self.faults.append(("key", f"request {asked.number} repeats request {first.number}, which was done, and is refused: {kind}"))

    def shift(self, span, pending):
        """The wall clock leaps; what is under way, and what nobody was told of, may be done before and after it."""
        for asked in [*pending, *(first for first, earlier, _ in self.keys.values() if earlier is None)]:
            asked.wall += min(span, 0)

    def grow_old(self, wall):
        """A process begins at this time of the wall clock, from which it reckons how old its keys are."""
        old = {key: kept for key, kept in self.keys.items() if kept[0].wall + KEPT_KEYS <= wall}
        self.aged |= old
        self.keys = {key: kept for key, kept in self.keys.items() if key not in old}

    def is_told_though_old(self, asked, result, key):
        """Whether the result is the one of a day before."""
        first, earlier, _ = self.aged[key]
        if earlier is None and is_same(first, asked):
            # Nobody can say which of them this one tells of. The first may have been done besides.
            asked.is_repeat, self.first_sent = True, first.sent
        return earlier is not None and canonical(earlier) == canonical(result)

    def move(self):
        """To another data directory."""
        self.former |= self.aged | self.keys
        self.keys, self.aged = {}, {}

    def is_told_of_before(self, asked, result, key):
        """Whether the result is one that the log of a former data directory has."""
        if key not in self.former:
            return False
        first, earlier, _ = self.former[key]
        if whole(result.get("rev") or 0) > self.history.base:
            # Done here, under a revision that the former one has given as well.
            return False
        if earlier is None:
            return not is_same(first, asked)
        return canonical(earlier) == canonical(result)

    def repeated(self, asked, result, key):
        """Whether a write was done before under its key. The same must be answered, of what is compared."""
        if key not in self.keys:
            return self.is_told_though_old(asked, result, key) if key in self.aged else self.is_told_of_before(asked, result, key)
        first, earlier, write = self.keys[key]
        same = is_same(first, asked)
        of_secrets = "secrets." in canonical([first.method, first.params, asked.method, asked.params])
        if not same and not of_secrets:
            if earlier is None:
                # The first was not done, or else this one would have been refused.
                if write in self.history.loose:
                    self.history.loose.remove(write)
                del self.keys[key]
                return False
            self.faults.append(("key", f"request {asked.number} was done under the key of request {first.number}, which was another one"))
            return True
        if earlier is not None:
            if canonical(earlier) != canonical(result):
                self.faults.append(("key", f"request {asked.number} repeats request {first.number}: {canonical(result)[:200]} for {canonical(earlier)[:200]}"))
            return True
        # The first reply was lost: this one tells what it was.
        if write in self.history.loose:
            self.history.loose.remove(write)
        del self.keys[key]
        asked.is_repeat, self.first_sent = True, first.sent
        return False


def is_same(first, asked):
    return first.method == asked.method and canonical(without(first.params)) == canonical(without(asked.params))


def without(params):
    return {name: value for name, value in params.items() if name not in ("timeoutMs",)} if isinstance(params, dict) else params


def operations_of(method, params):
    """A request and, of a transaction, its operations, as far as they have the form: method and parameters."""
    found = [(method, params)]
    if method == "transaction.apply" and isinstance(params, dict) and isinstance(params.get("operations"), list):
        found += [(operation.get("method"), operation.get("params")) for operation in params["operations"] if isinstance(operation, dict)]
    return [(name, given) for name, given in found if isinstance(name, str) and isinstance(given, dict)]
