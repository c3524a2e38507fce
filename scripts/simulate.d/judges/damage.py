"""What bits that flip at rest may cost."""

from judges.base import Judge


class Damage(Judge):
    name = "damage"
    sentence = ("by invariant, once bits have flipped at rest: no value is given that nobody has stored; what is lost or no longer fits is "
                "told of (recovered, integrity, a check's problems), but for caches; a start that refuses has ended with 1 and a word")

    def settled(self, readback):
        if self.run.is_damaged:
            self.run.judge_damage(readback)
