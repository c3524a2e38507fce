"""Scenes of versions that are destroyed, while what they belong to goes or is locked."""

from mischief import SECOND
from plan import Minted
from scenes.parts import awaited, connect, fault, line, pauses, send
from values import text


def overtaken(dice, generator):
    """A version is destroyed, which others are shown; then its secret goes before nothing is left of it on the disk."""
    secret = {"service": "gone", "account": f"x{generator.unique()}"}
    puts = [line(generator, "secrets.put", **secret, secret=f"canary-gone-{n}") for n in (1, 2)]
    condition = {"ifRev": Minted(0, text(puts[1]["id"]), ("result", "rev"))} if dice.random() < 0.3 else {}
    last = [line(generator, "secrets.destroyVersion", **secret, version=1, **condition)]
    goes = dice.choice([("secrets.delete", secret), ("secrets.rename", {**secret, "newAccount": f"{secret['account']}-new"}),
                        ("secrets.clear", {"service": "gone", "confirm": "gone"}), ("secrets.lock", {})])
    others = [line(generator, "secrets.versions", **secret), line(generator, goes[0], **goes[1])]
    again = [line(generator, "secrets.unlock")] if goes[0] == "secrets.lock" else []
    return [send(puts), {"do": "settle"}, connect("other"),
            fault(generator, ["write"], "slow", "kura.sqlite", is_scene=True, times=5, span=2 * SECOND),
            send(last), *pauses(*[20] * 4), send(others, "other"), *pauses(*[20] * 4), awaited(last), send(again, "other"), {"do": "clear"}]
