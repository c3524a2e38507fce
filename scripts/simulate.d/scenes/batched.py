"""Scenes of batches, of which one member waits."""

import errno as e

from mischief import MILLISECOND, SECOND
from scenes.parts import awaited, connect, fault, line, pauses, send


def member_waits(dice, generator):
    """A member has changed secrets and waits no longer than it wants to; its change is synced later, or cannot be: one line says so."""
    before = [line(generator, "secrets.put", service="batched", account=f"x{generator.unique()}", secret=f"canary-batched-{n}")
              for n in range(3)]
    batch = [line(generator, "storage.ping"), line(generator, "secrets.rotate", service="batched", waitMs=dice.choice([10, 100])),
             *dice.choice([[], [change(generator)], [change(generator)]])]
    slow = fault(generator, ["sync"], "slow", "kura-sync@.log", is_scene=True, span=dice.choice([300 * MILLISECOND, SECOND]))
    fails = [fault(generator, ["sync"], e.EIO, "kura-sync@.log", is_scene=True)] if dice.random() < 0.8 else []
    return [send(before), {"do": "settle"}, connect("other"), connect("third"), slow, *fails,
            send([line(generator, "storage.ping")], "third"),
            *dice.choice([[], [send([change(generator)], "other")]]), send([batch]), *pauses(*[100] * 12), awaited(batch), {"do": "clear"}]


def change(generator):
    return line(generator, "settings.put", domain="batched", key="k", value=generator.unique())
