"""A throw-away daemon with faults on demand: each strikes as its page says, and then no more."""

from readback import ASIDE, ask
from values import Number, whole

PLACE = {"domain": "toy", "key": "k"}
MILLISECOND = 1_000_000


class Toy:
    """Asks one request after the other, and says what is wrong with an answer."""

    def __init__(self, run):
        self.run = run

    def ask(self, method, kind=None, /, **params):
        """Its result, or the error that it has to be refused with; None when it is another."""
        replies = ask(self.run, [(method, params)])
        if replies is None:
            self.fail("gone", f"{method} {params} is not answered")
            return None
        error, result = replies[0].get("error"), replies[0].get("result")
        found = error["data"]["kind"] if error else None
        self.run.methods[method][found or "ok"] += 1
        if found != kind:
            self.fail("answer", f"{method} {params} is answered with {replies[0]}, and not with {kind or 'a result'}")
            return None
        return result or error

    def fail(self, kind, words):
        if not self.run.failures:
            self.run.fail("faults on demand", kind, words)


def play(run):
    """The throw-away daemon runs, and is killed at the end."""
    toy = Toy(run)
    run.do_connect({"client": ASIDE, "role": "admin"})
    for step in (conflict, refusal, delay, full, absence):
        if not run.failures:
            step(toy)
            for name in ("fault.list", "fault.clear"):
                left = toy.ask(name)
                if left is not None and (left.get("faults") or whole(left.get("cleared", Number(0)))):
                    toy.fail("left", f"{name} tells of {left} behind {step.__name__}")


def conflict(toy):
    rev = (toy.ask("settings.put", **PLACE, value=1) or {}).get("rev")
    toy.ask("fault.inject", kind="conflict", method="settings.put")
    toy.ask("settings.put", "conflict", **PLACE, value=2, ifRev=rev)
    toy.ask("settings.put", **PLACE, value=3, ifRev=rev)


def refusal(toy):
    toy.ask("fault.inject", kind="overloaded", method="settings.get")
    toy.ask("settings.get", "overloaded", **PLACE)
    toy.ask("settings.get", **PLACE)


def delay(toy):
    toy.ask("fault.inject", kind="slow", method="settings.get", millis=300, count=1)
    begun = toy.run.world.now
    toy.ask("settings.get", **PLACE)
    if toy.run.world.now - begun < 300 * MILLISECOND:
        toy.fail("soon", f"a request that is slow by 300 ms is answered in {(toy.run.world.now - begun) / MILLISECOND:.0f} ms")


def full(toy):
    toy.ask("fault.inject", kind="full")
    toy.ask("settings.put", "noSpace", **PLACE, value="no room")
    toy.ask("settings.get", **PLACE)
    toy.ask("fault.clear")
    toy.ask("settings.put", **PLACE, value="room")


def absence(toy):
    """Connections end, and none can be made for a while; everything is there afterwards."""
    run = toy.run
    toy.ask("fault.inject", kind="gone", millis=100)
    run.allowed_to_close.add(ASIDE)
    until = run.world.now + 500 * MILLISECOND
    while run.is_up and (left := until - run.world.now) > 0:
        run.take(run.world.advance(left))
    if ASIDE in run.clients:
        toy.fail("present", "the daemon is gone for 100 ms, and a connection has stayed")
        return
    run.do_connect({"client": ASIDE, "role": "admin"})
    found = toy.ask("settings.get", **PLACE)
    if found is not None and found.get("value") != "room":
        toy.fail("lost", f"behind an absence {found} is found")
