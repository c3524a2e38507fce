"""How a run comes to rest: what waits is called off, the rest is answered, and the last notifications come."""

from schemas import METHODS
from values import parse, text

SECOND = 1_000_000_000
LIMIT = 10 * SECOND
QUIET = SECOND // 20
WAITS = {"changes.wait": "timeoutMs", "models.get": "waitMs", "documents.describe": "waitMs", "secrets.rotate": "waitMs",
         "storage.record": "seconds"}


class Quiet:
    """The part of a run that waits for answers."""

    def cancel_waits(self):
        for client in list(self.clients):
            for asked in list(self.pending[client].values()):
                if isinstance(asked.params, dict) and asked.method in WAITS and asked.batch is None and client not in self.half_closed:
                    self.count += 1
                    self.do_send({"client": client, "lines": [{"id": f"c{self.count}", "method": "rpc.cancel",
                                                               "params": {"id": parse(asked.id)}}]})

    def wait_for_answers(self, of=lambda asked: True):
        """At most ten seconds, and what the requests themselves ask to wait for."""
        begun = self.world.now
        while self.is_up and (waiting := [asked for client in self.clients for asked in self.pending[client].values() if of(asked)]):
            limit = begun + LIMIT + max(allowance(asked) for asked in waiting)
            if self.world.now >= limit:
                first = waiting[0]
                self.fail("liveness", "hang", f"{len(waiting)} requests without an answer after {(self.world.now - begun) // SECOND} s, "
                          f"first {first.method} (request {first.number}, client {first.client}): {text(first.params)[:200]}")
                return
            self.take(self.world.advance(limit - self.world.now))

    def wait_for_quiet(self):
        """Notifications of the last changes are on their way. A part of a line is news to the world, and none to take."""
        until = self.world.now + QUIET
        while self.is_up and (left := until - self.world.now) > 0:
            if events := self.world.advance(left):
                self.take(events)
                until = self.world.now + QUIET

    def wait_until(self, holds):
        """Ten seconds at most; whether it holds then."""
        until = self.world.now + LIMIT
        while not holds() and self.is_up and (left := until - self.world.now) > 0:
            self.take(self.world.advance(min(left, QUIET)))
        return holds()


def allowance(asked):
    if asked.method in METHODS and isinstance(asked.params, dict):
        wanted = asked.params.get(WAITS.get(asked.method, ""))
        if asked.method == "changes.wait" and wanted is None:
            wanted = 30_000
        if isinstance(wanted, str) and wanted.isdigit():
            return min(int(wanted), 600_000) * (SECOND if asked.method == "storage.record" else 1_000_000)
    return 0
