"""Scenes of collections that keep what their documents were."""

from scenes.letting import IDLE
from scenes.parts import CLIENT, connect, line, passes, send, told

AT = {"collection": "keeping"}


def former_versions(dice, generator):
    """A document's newest versions are there though the log has let go of them: over folds, kills and cuts, none is missing and none is another's."""
    count = dice.choice([1, 2, 4])
    keeps_nothing = {"do": "start", "configuration": generator.configuration() | {"changes": {"retainBytes": 0, "retainSeconds": 1}}}
    again = lambda: [{"do": dice.choice(["kill", "kill", "cut"])}, dict(keeps_nothing), connect(CLIENT)]
    events = [{"do": "kill"}, dict(keeps_nothing), connect(CLIENT),
              send([line(generator, "documents.configure", **AT, history={"count": count})]), passes(20)]
    changes = []
    for _ in range(dice.choice([3, 6, 9])):
        change = changed(dice, generator)
        changes.append(change)
        events += [send([change]), passes(dice.choice([1, 20])), *dice.choice([[], [], [passes(3000)], again()])]
    # Another segment, so that the one before can go.
    beside = line(generator, "documents.put", collection="beside", id="k", value={"n": generator.unique()})
    events += [*again(), send([beside]), passes(IDLE), *dice.choice([[], again()])]
    for change in changes:
        at = told(change, "rev")
        asks = [line(generator, "documents.get", **AT, id=name, atRev=at) for name in ("a", "b")]
        events += [send([*asks, line(generator, "documents.find", **AT, atRev=at)]), passes(50)]
    return events + [send([line(generator, "documents.history", **AT, id=name, values=True) for name in ("a", "b")]), passes(50),
                     send([line(generator, "transaction.undo", rev=told(changes[-1], "rev"))]), passes(50), {"do": "settle"}, {"do": "kill"}, generator.again(), connect(CLIENT)]


def changed(dice, generator):
    name = dice.choice(["a", "a", "b"])
    if dice.random() < 0.2:
        return line(generator, "documents.delete", **AT, id=name)
    pad = "x" * dice.choice([10, 10, 6000])
    return line(generator, "documents.put", **AT, id=name, value={"n": generator.unique(), "pad": pad})
