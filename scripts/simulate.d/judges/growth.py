"""How large the log may become."""

from judges.base import Judge

MIB = 1 << 20
# By profile: bytes of a segment, of folded segments that the feed keeps when nothing else is said, and of changes that are not folded.
SIZES = {"small": (MIB, 4 * MIB, 4 * MIB), "default": (16 * MIB, 64 * MIB, 64 * MIB), "large": (64 * MIB, 512 * MIB, 256 * MIB)}
# Nanoseconds in which a slow disk has let go of what may go: a fold begins after five idle seconds at most.
# After ten all of it may.
PATIENCE = 8 * 10**9
# The one that is written, the next one, one that is used again, and one that is let go.
SEGMENTS = 4


class Growth(Judge):
    name = "growth"
    sentence = ("within a few segments, in a process that met no fault, and at the latest eight seconds after all is quiet: the log's files "
                "have no more bytes than the feed keeps, half as many again (or a segment) that wait for a checkpoint, and what is not "
                "folded")

    def __init__(self, run):
        super().__init__(run)
        self.was_struck = False

    def started(self):
        self.was_struck = self.run.faults_active

    def settled(self, readback):
        run = self.run
        if self.was_struck or run.faults_active or not hasattr(run.world, "listing"):
            return
        bound, until = most_bytes(run.configuration), run.world.now + PATIENCE
        while run.is_up and (found := sum(size for _, size in self.files())) > bound:
            if (left := until - run.world.now) <= 0:
                self.fail("log", f"the files of the log have {found:,} bytes, where {bound:,} are the most that there is a "
                                 f"reason for: {', '.join(f'{name} {size:,}' for name, size in self.files())}")
                return
            run.take(run.world.advance(min(left, PATIENCE // 100)))

    def files(self):
        world = self.run.world
        return [(path.rpartition("/")[2], size) for path, size in world.listing() if path.startswith(f"{world.data}/log/")]


def most_bytes(configuration):
    segment, kept, unfolded = SIZES[configuration.get("profile", "default")]
    kept = configuration.get("changes", {}).get("retainBytes", kept)
    return kept + max(kept // 2, segment) + unfolded + SEGMENTS * segment
