"""Scenes of segments of the log that are let go of."""

from scenes.parts import CLIENT, connect, line, passes, send

# Milliseconds until what is written has gone into the tables' file while nobody asks for anything, and a little more.
IDLE = 11_000


def several_at_once(dice, generator):
    """Several segments are let go of at once, as the feed keeps nothing, and the power goes: what comes back has no hole."""
    keeps_nothing = {"do": "start", "configuration": generator.configuration() | {"changes": {"retainBytes": 0, "retainSeconds": 1}}}
    put = lambda: line(generator, "settings.put", domain="letting", key="k", value=generator.unique())
    events = []
    for _ in range(3):
        segments = [event for _ in range(dice.choice([3, 5]))
                    for event in (send([put()]), passes(dice.choice([5, 50])), {"do": "kill"}, generator.again(), connect(CLIENT))]
        events += [*segments, {"do": "kill"}, keeps_nothing, connect(CLIENT), send([put()]), passes(IDLE * dice.choice([1, 1, 2])),
                   {"do": "cut"}, generator.again(), connect(CLIENT), send([line(generator, "storage.check")]), passes(500)]
    return events
