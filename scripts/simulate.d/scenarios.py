"""Short scenes that chance seldom plays. Each run plays a few of them, and runs of seeds in a row play all."""

from scenes import (attached, batched, bounded, caching, damaged, destroyed, differing, ending, failing, feeds, full, granted, keeping, kept, keyed,
                    letting, passing, patched, relaxed, secretive, turns, undoing, undone, waiting)
from scenes.parts import CLIENT, connect

# Of a run that meets no faults, and of one that does.
QUIET = [waiting.silence, keyed.other_request, relaxed.destroyed_beside, relaxed.transferred_beside, bounded.hot_keys,
         feeds.waits_together, feeds.list_in_pages, feeds.page_behind_a_drop, feeds.deletion_behind_a_drop, caching.invalidated_meanwhile,
         turns.behind_what_cannot_be_read, granted.known_key, ending.drained_newcomers, waiting.threads_together, kept.written_meanwhile,
         differing.members, letting.several_at_once, undoing.half_way, undoing.over_and_over, keeping.former_versions]
TROUBLED = [waiting.foreign_reads, waiting.foreign_read_at_a_stop, waiting.held_snapshot, keyed.leap, undone.held_turn, undone.refused_turn,
            failing.failed_sync, failing.failed_write, failing.sync_behind,
            full.tables, full.reference, damaged.row_without_room, destroyed.overtaken, bounded.audited_turn, batched.member_waits,
            passing.newcomer_beside_hanging, passing.passed_by_many,
            caching.unwritten_at_a_stop, secretive.destroyed_without_room, secretive.expires_meanwhile, secretive.struck_while_letting_go,
            secretive.torn_while_scrubbing, turns.destroyed_in_a_turn, turns.cancelled_twice, turns.watched_without_room,
            granted.taken_meanwhile, patched.patched, patched.folded_amid, ending.drained_while_waiting, ending.killed_starts,
            ending.killed_behind_a_cut, attached.struck_at_the_first, attached.replaced_behind_a_cut,
            secretive.cut_amid_zeros, kept.cut_at_the_first,
            damaged.content_again, differing.members, undoing.over_and_over, keeping.former_versions]
SCENES = QUIET + TROUBLED
# Behind them nothing is judged exactly any more, so they come last.
LAST = [damaged.content_again, damaged.row_without_room]
# Of a run, and how often one is played when it may be.
MOST, CHANCE = 14, 0.5


class Scenes:
    def __init__(self, generator):
        able = QUIET if generator.mischief.is_quiet else TROUBLED
        begin = generator.seed * MOST if isinstance(generator.seed, int) else 0
        left = [able[(begin + place) % len(able)] for place in range(min(MOST, len(able)))]
        self.left = sorted(left, key=LAST.__contains__)

    def chosen(self, generator, is_last=False):
        """The events of a scene, or none; what is left comes at the last."""
        dice = generator.random["scenes"]
        if not self.left or not is_last and (self.left[0] in LAST or dice.random() > CHANCE):
            return []
        return played(self.left.pop(0), dice, generator)


def played(scene, dice, generator):
    """Nobody else is about, so that what is waited for is what the scene has."""
    return [{"do": "settle"}, connect(CLIENT), *scene(dice, generator), {"do": "settle"}]
