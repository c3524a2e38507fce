"""What all judges have: a name, a sentence of what is judged, and what the run tells them."""

from states import Read
from values import ABSENT, whole


class Judge:
    name = ""
    sentence = ""

    def __init__(self, run):
        self.run = run
        self.history = run.history

    def fail(self, kind, words):
        self.run.fail(self.name, kind, words)

    def started(self):
        """The daemon has been told to start."""

    def stopped(self, was_clean):
        """The process is gone."""

    def ended(self, code, text):
        """It has ended by itself."""

    def sent(self, asked):
        """A request is on its way."""

    def answered(self, asked, result, kind, error):
        """It was answered: `result`, or `error` and its kind."""

    def abandoned(self, asked):
        """It will never be answered."""

    def moved(self, held, rev, only):
        """Another data directory is in its place: what was held, of it `only` these words, as of a revision."""

    def told(self, client, method, params):
        """A notification came."""

    def closed(self, client):
        """A connection is gone."""

    def settled(self, readback):
        """All is quiet; `readback` is what is stored."""


class Reading(Judge):
    """Turns replies into what they have shown of items."""

    store = ""

    def show(self, asked, scope, key, value, rev):
        if asked.is_repeat:
            return
        rev = whole(rev)
        self.history.showed(Read((self.store, scope, key), value if rev else ABSENT, rev, asked.sent, asked.answered, asked.number))


class Snapshots(Reading):
    """Keeps what is judged as of a revision until the timelines are made."""

    def __init__(self, run):
        super().__init__(run)
        self.waiting = []

    def later(self, asked, result, function):
        # A weaker role is shown a part.
        if asked.role == "admin":
            self.waiting.append((asked, result, function))

    def settled(self, readback):
        waiting, self.waiting = self.waiting, []
        if readback is None or self.history.is_rewrapped and self.store == "secrets":
            return
        for asked, result, function in waiting:
            function(asked, result)

    def moved(self, held, rev, only):
        self.waiting = []

    def stopped(self, was_clean):
        # A cut may take back what relaxed changes showed; what was shown before was judged or is not.
        if self.history.was_cut:
            self.waiting = []

    def floor_of(self, asked, items):
        return max((self.history.known_change(item, asked.sent) for item in items), default=0)

    def cover(self, asked, result, items):
        """A reply tells up to which revision it takes changes into account: no less than what was told before it was asked."""
        rev, floor = whole(result["rev"]), self.floor_of(asked, items)
        if rev < floor:
            self.fail("stale", f"request {asked.number}, {asked.method}, is as of {rev}, when {floor} was known before it was sent")
        return rev
