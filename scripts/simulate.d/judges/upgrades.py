"""A data directory of an earlier release: what that release has answered is answered still."""

import upgrades
from judges.base import Judge
from values import same, text

READS = {"settings.get", "documents.get", "documents.attachment", "secrets.get"}


class Upgrades(Judge):
    name = "upgrades"
    sentence = ("exactly: what a data directory of an earlier release held is there after the first start on it, with the revisions "
                "that it had, and after every end that follows")

    def moved(self, held, rev, only):
        if held.include or held.left_out or only or held.kind == "bundle":
            self.run.world.fixture = None

    def __init__(self, run):
        super().__init__(run)
        self.undone = set()       # what a request has brought back to what it was before the run
        self.is_unsure = False    # nobody was told what one has brought back

    def answered(self, asked, result, kind, error):
        if asked.method == "transaction.undo" and result:
            self.undone |= {item["key"] for item in result["items"]}

    def abandoned(self, asked):
        self.is_unsure = self.is_unsure or asked.method == "transaction.undo"

    def settled(self, readback):
        from readback import ask
        fixture = getattr(self.run.world, "fixture", None)
        if not fixture or not self.run.is_up or self.is_unsure:
            return
        wanted = [read for read in upgrades.expected(fixture) if read[0] in READS and not self.undone & {read[1].get("key"), read[1].get("id")}]
        replies = ask(self.run, [(method, params) for method, params, _ in wanted]) or []
        for (method, params, result), reply in zip(wanted, replies):
            if "error" in reply and reply["error"]["data"]["kind"] in ("sealed", "overloaded"):
                continue
            found = reply.get("result", {})
            # A key that was rotated gives secrets other revisions.
            names = [name for name in result if method != "secrets.get" or name in ("secret", "secretBase64")]
            if not all(name in found and same(found[name], result[name]) for name in names):
                self.fail("lost", f"of {fixture}: {method} {text(params)} was answered with {text(result)[:200]}, "
                                  f"and is with {text(reply)[:300]}")
                return
