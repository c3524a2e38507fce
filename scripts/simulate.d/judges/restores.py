"""Backups and bundles, and the directories that are made of them."""

from judges.base import Judge
from values import ABSENT, ANY, text, whole


class Restores(Judge):
    name = "restores"
    sentence = ("exactly: a backup counts the settings and documents of its revision; what it held is there after a restore of it, whole "
                "or in part, with the log's changes up to a revision or without, and after a start with a bundle where nothing was, and "
                "nothing else is; caches are empty then. A restore that fails or is stopped leaves nothing in the directory's place, and "
                "the daemon goes on where it was; without a fault none is refused, and no backup is found damaged that was just written")

    def __init__(self, run):
        super().__init__(run)
        self.made = []

    def answered(self, asked, result, kind, error):
        if kind == "integrity" and asked.method in ("storage.backup",
                                                    "storage.bundle") and not (self.run.is_damaged or self.run.faults_active):
            self.fail("damaged", f"request {asked.number}, {asked.method}: what it wrote is damaged, though no bit has flipped: "
                                 f"{text(error)[:300]}")
        if result is None or asked.method not in ("storage.backup", "storage.bundle"):
            return
        if "name" in result and result["verified"] is not True:
            self.fail("verified", f"request {asked.number}, {asked.method}, is done, and what it wrote is not verified")
        self.made += [held for held in self.run.shelf.held.values() if held.number == asked.number]

    def moved(self, held, rev, only):
        self.made = []

    def settled(self, readback):
        made, self.made = self.made, []
        for held in made if readback is not None else ():
            for store in ("settings", "documents"):
                least, most = self.counted(store, held)
                if not least <= whole(held.counts[store]) <= most:
                    self.fail("count", f"{held.kind} {held.name} (request {held.number}) has {held.counts[store]} {store} as of "
                                       f"{held.rev}; there were {least} to {most}")

    def counted(self, store, held):
        """How many items of a store are in it for sure, and how many may be."""
        least = most = 0
        oldest = held.seeded if held.kind == "bundle" else 0
        for item in self.history.known_items:
            if item[0] != store or held.holds(item) is False:
                continue
            states = self.history.may_be(item, held.rev)
            there = [state.value is not ABSENT and (state.rev is None or state.rev > oldest) for state in states]
            least += all(there) and all(state.value is not ANY and state.rev is not None for state in states)
            most += any(there) or any(state.value is ANY for state in states)
        return least, most
