"""Short scenes that chance seldom plays. Each run plays a few of them, and runs of seeds in a row play all."""

from scenes import batched, bounded, destroyed, failing, full, keyed, relaxed, undone, waiting
from scenes.parts import CLIENT, connect

# Of a run that meets no faults, and of one that does.
QUIET = [waiting.silence, keyed.other_request, relaxed.destroyed_beside, relaxed.transferred_beside]
TROUBLED = [waiting.foreign_reads, waiting.foreign_read_at_a_stop, waiting.held_snapshot, keyed.leap, undone.held_turn, undone.refused_turn,
            failing.failed_sync, failing.failed_write, failing.sync_behind,
            full.purge, full.reference, destroyed.overtaken, bounded.audited_turn, batched.member_waits]
SCENES = QUIET + TROUBLED
# Of a run, and how often one is played when it may be.
MOST, CHANCE = 5, 0.5


class Scenes:
    def __init__(self, generator):
        able = QUIET if generator.mischief.is_quiet else TROUBLED
        begin = generator.seed * MOST if isinstance(generator.seed, int) else 0
        self.left = [able[(begin + place) % len(able)] for place in range(min(MOST, len(able)))]

    def chosen(self, generator, is_last=False):
        """The events of a scene, or none; what is left comes at the last."""
        dice = generator.random["scenes"]
        if not self.left or not is_last and dice.random() > CHANCE:
            return []
        return played(self.left.pop(0), dice, generator)


def played(scene, dice, generator):
    """Nobody else is about, so that what is waited for is what the scene has."""
    return [{"do": "settle"}, connect(CLIENT), *scene(dice, generator), {"do": "settle"}]
