"""The write bill, held against what the simulated disk was given."""

from judges.base import Judge
from values import text, whole

# The log counts the whole blocks that its syncs give.
A_SYNC = 8192
# A write is on the bill when its call has returned, and a new segment of the log when it is whole: so long nothing is given at last.
STILL, TRIES = 5_000_000, 40


class Bill(Judge):
    name = "write bill"
    sentence = ("within the blocks of its syncs: between two quiet moments of one process storage.diskWrites bills the bytes and syncs "
                "that the disk was given; its parts, and its files, make its whole exactly")

    def __init__(self, run):
        super().__init__(run)
        self.last = None

    def stopped(self, was_clean):
        self.last = None

    def measured(self):
        """What the disk was given, and the bill, as of one moment in which nothing is given; no bill when there is none."""
        from readback import ask
        world, given = self.run.world, None
        for _ in range(TRIES):
            given = world.written, world.syncs
            self.run.take(world.advance(STILL))
            if given == (world.written, world.syncs):
                replies = ask(self.run, [("storage.diskWrites", {"window": "hour"})])
                if not replies or "result" not in replies[0] or given == (world.written, world.syncs):
                    return given, replies[0].get("result") if replies else None
        return given, None

    def settled(self, readback):
        if not self.run.is_up or not hasattr(self.run.world, "syncs"):
            return
        given, result = self.measured()
        if result is None:
            self.last = None
            return
        told = {name: whole(value) for name, value in result["totals"].items()}
        if told["log"] + told["tables"] + told["caches"] + told["other"] != told["bytes"]:
            self.fail("parts", f"the parts of {text(result['totals'])} are not its whole")
        for name in ("bytes", "syncs", "writes", "creates", "renames", "deletes", "metadataBytes"):
            if sum(whole(file[name]) for file in result["files"]) != told[name]:
                self.fail("files", f"{name} of all files is {sum(whole(file[name]) for file in result['files'])}, and of the whole "
                                   f"{told[name]}")
        if self.last is not None and not self.run.faults_active:
            (written, syncs), before, began = self.last
            billed, counted = told["bytes"] - before["bytes"], given[0] - written
            most = A_SYNC * (1 + max(given[1] - syncs, told["syncs"] - before["syncs"]))
            if began == result["startedAt"] and abs(billed - counted) > most:
                self.fail("bytes", f"{billed} bytes were billed since all was quiet last, and {counted} given to the disk in "
                                   f"{given[1] - syncs} syncs")
        self.last = None if self.run.faults_active else (given, told, result["startedAt"])
