"""Scenes of turns that are taken back: their commit finds no room, or fails."""

import errno as e

from scenes.parts import AHEAD, connect, fault, line, pauses, send


AT = {"collection": "undone"}
KINDS = {"waits": ("documents.list", AT), "scans": ("documents.find", {**AT, "where": {"n": 1}}),
         "deletes": ("documents.deleteMany", {**AT, "where": {"n": 1}}),
         "keeps": ("models.put", {"namespace": "undone", "key": "k", "value": 1}),
         "changes": ("settings.increment", {"domain": "undone", "key": "sum"}), "answers": ("storage.ping", {})}


def held_turn(dice, generator):
    """What waits, what keeps the turn, and what changes the log, in one turn whose commit finds no room: each is answered once."""
    return turn(dice, generator, [dice.choice(["waits", "waits", "scans"]), "keeps", "keeps", "changes",
                                  *dice.choice([[], ["answers"], ["changes"]])])


def refused_turn(dice, generator):
    """The same, and what waits is refused as soon as there is no room."""
    return turn(dice, generator, ["deletes", "keeps", *dice.choice([[], ["keeps"]]), "changes",
                                  *dice.choice([[], ["answers"], ["keeps", "changes"]])])


def turn(dice, generator, names):
    before = [line(generator, "session.hello", client=AHEAD, enable=["outOfOrder"]),
              line(generator, "documents.put", **AT, id="i", value={"n": dice.choice([1, 2])})]
    lines = [line(generator, KINDS[name][0], **KINDS[name][1]) for name in names]
    return [connect(AHEAD), send(before, AHEAD), *pauses(*[dice.choice([1, 100])] * 3),
            fault(generator, ["write"], dice.choice([e.ENOSPC, e.ENOSPC, e.EDQUOT]), ".log", times=dice.choice([1, 1, 1, 1, 2])),
            send(lines, AHEAD), *pauses(1, 20, 200), {"do": "clear"}]
