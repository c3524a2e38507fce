"""Short scenes that chance seldom plays. Each run plays a few of them, and runs of seeds in a row play all."""

from scenes import failing, keyed, relaxed, undone, waiting
from scenes.parts import CLIENT, connect

# What a run has to have for each of them.
SCENES = {waiting.silence: {"relaxed"}, waiting.foreign_reads: {"faults"}, waiting.foreign_read_at_a_stop: {"faults"},
          waiting.held_snapshot: {"faults"}, keyed.other_request: {"requestKeys"}, keyed.leap: {"requestKeys", "faults"},
          undone.held_turn: {"outOfOrder", "faults"}, undone.refused_turn: {"outOfOrder", "faults"},
          relaxed.destroyed_beside: {"relaxed"}, relaxed.transferred_beside: {"relaxed"},
          failing.failed_sync: {"faults"}}
# Of a run, and how often one is played when it may be.
MOST, CHANCE = 4, 0.5


class Scenes:
    def __init__(self, generator):
        has = {name for name in ("relaxed", "requestKeys", "outOfOrder") if generator.is_on(name)} | ({"faults"} if not generator.mischief.is_quiet else set())
        able = [scene for scene, needs in SCENES.items() if needs <= has]
        begin = generator.seed * MOST if isinstance(generator.seed, int) else 0
        self.left = [able[(begin + place) % len(able)] for place in range(min(MOST, len(able)))]

    def chosen(self, generator, is_last=False):
        """The events of a scene, or none; what is left comes at the last."""
        dice = generator.random["scenes"]
        if not self.left or not is_last and dice.random() > CHANCE:
            return []
        return played(self.left.pop(0), dice, generator)


def played(scene, dice, generator):
    return [connect(CLIENT), *scene(dice, generator), {"do": "settle"}]
