"""Scenes of documents that change in some of their members, with readers that look at these or at others."""

from scenes.parts import line, passes, send, told

AT = {"collection": "differing"}
MEMBERS = ["x", "y", "z"]


def members(dice, generator):
    """Readers of the feed ask in which members documents differ; live queries look at some of them."""
    names = ["a", "b", "c"][: dice.choice([1, 2, 3])]
    puts = [line(generator, "documents.put", **AT, id=name, value=body(dice)) for name in names]
    watches = [line(generator, "documents.watch", **AT, **query) for query in (
        {"where": {dice.choice(MEMBERS): {"$gt": dice.choice([0, 1, 2])}}, "sort": [dice.choice(MEMBERS)]},
        {"sort": [{dice.choice(MEMBERS): "desc"}], "limit": dice.choice([1, 2])},
        {"where": {dice.choice(MEMBERS): {"$exists": True}}})]
    feed = line(generator, "changes.watch", stores=["documents"], scope=AT["collection"], members=True, values=True)
    events = [send(puts), passes(dice.choice([1, 50])), send([*watches, feed]), passes(50)]
    for _ in range(dice.choice([3, 6, 10])):
        changes = [change(dice, generator, dice.choice(names)) for _ in range(dice.choice([1, 1, 2, 4]))]
        events += [send(changes), passes(dice.choice([1, 5, 50]))]
    pages = [line(generator, "changes.list", afterRev=told(put, "rev"), stores=["documents"], members=True, limit=dice.choice([1, 3, 1000]))
             for put in dice.sample(puts, 1)]
    return [*events, passes(100), send(pages)]


def body(dice):
    return {name: dice.choice([0, 1, 2, 3]) for name in dice.sample(MEMBERS, dice.choice([2, 3, 3]))}


def change(dice, generator, name):
    at = {**AT, "id": name}
    kind = dice.random()
    if kind < 0.05:
        return line(generator, "documents.delete", **at)
    if kind < 0.3:
        return line(generator, "documents.put", **at, value=body(dice))
    if kind < 0.5:
        return line(generator, "documents.increment", **at, path=dice.choice(MEMBERS))
    return line(generator, "documents.patch", **at, mergePatch={dice.choice(MEMBERS): dice.choice([0, 1, 2, 3, None])})
