"""Each request is answered once, in time, and by the rules of the protocol."""

from judges.base import Judge
from schemas import METHODS
from values import text, whole


class Liveness(Judge):
    name = "liveness"
    sentence = ("exactly: each request of a living connection is answered once and nothing else is, within ten seconds of the world once "
                "faults have ended, beyond what it asks to wait for, and in the order of the requests where that is promised; a drain "
                "answers what it was asked and ends with 0; the daemon ends by itself for no other reason")

    def __init__(self, run):
        super().__init__(run)
        self.free = set()         # clients that may have asked for replies in any order

    def sent(self, asked):
        if asked.method == "session.hello" and isinstance(asked.params, dict) and "enable" in asked.params:
            self.free.add(asked.client)

    def ended(self, code, words):
        if not self.run.may_end(code, words):
            said = b"".join(self.run.world.output[-2:]).decode(errors="replace")
            self.fail("ended", f"the daemon ended with {code}: {words[-1500:]}; it has said last: {said[-700:].strip()}")

    def answered(self, asked, result, kind, error):
        if (result is None) == (error is None):
            self.fail("reply", f"request {asked.number} was answered with neither or both of result and error")
        if asked.client in self.free or self.may_be_ahead(asked):
            return
        first = next(iter(self.run.pending[asked.client].values()), None)
        if first is not None and first.number < asked.number and not self.may_be_ahead(first):
            self.fail("order", f"client {asked.client}: request {asked.number}, {asked.method}, is answered ahead of request "
                               f"{first.number}, {first.method}")

    @staticmethod
    def may_be_ahead(asked):
        """Whether it waits beside others, or is answered while others wait."""
        return asked.method in METHODS and METHODS[asked.method].get("x-outOfBand", False)


class Refusals(Judge):
    name = "refusals"
    sentence = ("by invariant: what breaks the method table is refused, with a kind that the table of errors has; no reply is an internal "
                "error while no fault is active; a conflict names a revision that is not the condition")

    def answered(self, asked, result, kind, error):
        spoilt = asked.note.get("spoilt")
        if error is None:
            if spoilt:
                self.fail("accepted", f"request {asked.number}, {asked.method}, was spoilt ({spoilt}) and done: {text(asked.params)[:300]}")
            return
        if kind == "internalError" and not self.run.faults_active:
            self.fail("internal", f"request {asked.number}, {asked.method} {text(asked.params)[:300]}, has an internal error while no "
                                  f"fault is active: {text(error)[:300]}")
        if kind in ("methodNotFound", "invalidRequest") and asked.method in METHODS and not (kind == "methodNotFound"
                                                                                             and self.names_none(asked, error)):
            self.fail("request", f"request {asked.number}, {asked.method} {text(asked.params)[:300]}, is refused as {kind}, where the "
                                 "table has its method and its form is right: "
                                 f"{text(error)[:300]}")
        if kind == "conflict" and isinstance(asked.params, dict) and "ifRev" in asked.params and asked.method != "settings.putMany" \
                and error["data"].get("currentRev") == asked.params["ifRev"]:
            self.fail("conflict", f"request {asked.number} conflicts with the revision that it names: {text(error)}")

    @staticmethod
    def names_none(asked, error):
        """Whether the operation that the error tells of has a method that the table does not have."""
        place = whole(error["data"].get("operation"))
        return asked.method == "transaction.apply" and place is not None and asked.params["operations"][place]["method"] not in METHODS
