"""Short scenes that chance seldom plays. Each run plays a few of them, and runs of seeds in a row play all."""

from scenes import caching, damaged, ending, feeds, granted, keyed, secretive, turns, undone, waiting
from scenes.parts import CLIENT, connect

# What a run has to have for each of them.
SCENES = {waiting.silence: {"relaxed"}, waiting.foreign_reads: {"faults"}, waiting.foreign_read_at_a_stop: {"faults"},
          waiting.held_snapshot: {"faults"}, keyed.other_request: {"requestKeys"}, keyed.leap: {"requestKeys", "faults"},
          undone.held_turn: {"outOfOrder", "faults"}, undone.refused_turn: {"outOfOrder", "faults"},
          feeds.waits_together: set(), feeds.list_in_pages: set(), feeds.page_behind_a_drop: set(),
          feeds.deletion_behind_a_drop: {"outOfOrder"}, caching.invalidated_meanwhile: set(),
          caching.unwritten_at_a_stop: {"faults"}, damaged.content_again: {"faults", "damage"},
          secretive.destroyed_without_room: {"faults"}, secretive.expires_meanwhile: {"faults"},
          secretive.struck_while_letting_go: {"faults"}, secretive.torn_while_scrubbing: {"faults"},
          turns.destroyed_in_a_turn: {"faults", "outOfOrder"},
          turns.behind_what_cannot_be_read: set(), turns.cancelled_twice: {"faults", "outOfOrder"}, turns.watched_without_room: {"faults"},
          granted.known_key: {"requestKeys", "reloads"}, granted.taken_meanwhile: {"faults", "reloads"},
          ending.drained_while_waiting: {"faults", "drains"}, ending.drained_newcomers: {"drains"}}
# Of a run, and how often one is played when it may be.
MOST, CHANCE = 6, 0.5


class Scenes:
    def __init__(self, generator):
        has = {name for name in ("relaxed", "requestKeys", "outOfOrder", "reloads", "drains") if generator.is_on(name)} | ({"faults", "damage"} if not generator.mischief.is_quiet else set())
        able = [scene for scene, needs in SCENES.items() if needs <= has]
        begin = generator.seed * MOST if isinstance(generator.seed, int) else 0
        self.left = [able[(begin + place) % len(able)] for place in range(min(MOST, len(able)))]
        # What is lost behind damage is not judged.
        self.left.sort(key=lambda scene: "damage" in SCENES[scene])

    def chosen(self, generator, is_last=False):
        """The events of a scene, or none; what is left comes at the last."""
        dice = generator.random["scenes"]
        if not self.left or not is_last and ("damage" in SCENES[self.left[0]] or dice.random() > CHANCE):
            return []
        return played(self.left.pop(0), dice, generator)


def played(scene, dice, generator):
    return [connect(CLIENT), *scene(dice, generator), {"do": "settle"}]
