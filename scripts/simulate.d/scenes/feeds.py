"""Scenes of readers: of the change feed, of lists in pages, and of what gets another collection under its name."""

from scenes.parts import AHEAD, SOON, awaited, connect, freed, line, passes, send, told

MINUTES = 600_000


def waits_together(dice, generator):
    """Waits of a connection end by one change, beside one that came after the change before, and goes on."""
    events = [connect("other")]
    for _ in range(4):
        first, still, quiet = (line(generator, "settings.put", domain=scope, key="w", value=generator.unique())
                               for scope in ("waited", "still", "waited"))
        waits = [line(generator, "changes.wait", afterRev=told(first, "rev"), stores=["settings"], scope=scope, timeoutMs=MINUTES)
                 for scope in ["waited"] * dice.choice([2, 3]) + ["calm"] * dice.choice([1, 1, 2])]
        if dice.random() < 0.2:
            dice.shuffle(waits)
        at = dice.choice([2, 2, len(waits) - 1])
        events += [send([first]), passes(300), send(waits[:at]), passes(50), send([still], "other"), passes(50), send(waits[at:]),
                   passes(50),
                   send([quiet], "other"), awaited([wait for wait in waits if wait["params"]["scope"] == "waited"], span=SOON),
                   send([line(generator, "rpc.cancel", id=wait["id"]) for wait in waits if wait["params"]["scope"] == "calm"])]
    return events


def list_in_pages(dice, generator):
    """What the first page of a list has shown changes before the second; who goes on from the last page's revision is told of it."""
    names = [f"p{n}" for n in range(4)]
    of_settings = dice.random() < 0.5
    store, at = ("settings", {"domain": "paged"}) if of_settings else ("documents", {"collection": "paged"})
    put = lambda name: line(generator, f"{store}.put", **at, value={"n": generator.unique()}, **{"key" if of_settings else "id": name})
    first = line(generator, f"{store}.list", **at, limit=dice.choice([1, 2, 3]))
    second = line(generator, f"{store}.list", **at, limit=100, cursor=told(first, "cursor", otherwise="none"))
    meanwhile = [put(name) for name in dice.sample(names, dice.choice([1, 2, 4]))]
    feed = line(generator, "changes.list", afterRev=told(second, "rev"), stores=[store], scope="paged")
    return [send([put(name) for name in names]), passes(100), send([first]), passes(50), send(meanwhile), passes(100), send([second]),
            passes(100), send([feed])]


def page_behind_a_drop(dice, generator):
    """A list goes on in a collection that has got the name of the one in which it began."""
    names = [f"i{n}" for n in range(5)]
    put = lambda name: line(generator, "documents.put", collection="dropped", id=name, value={"n": generator.unique()})
    method, more = dice.choice([("documents.list", {}), ("documents.find", {"where": {"n": {"$gt": 0}}}),
                                ("documents.find", {"sort": ["n"]}),
                                ("documents.distinct", {"field": "n"})])
    first = line(generator, method, collection="dropped", limit=2, **more)
    second = line(generator, method, collection="dropped", limit=2, cursor=told(first, "cursor", otherwise="none"), **more)
    drop = line(generator, "documents.drop", collection="dropped")
    return [send([put(name) for name in names]), passes(200), send([first]), passes(100), send([drop]), passes(100),
            send([put(name) for name in names]), passes(200), send([second]), passes(100)]


def deletion_behind_a_drop(dice, generator):
    """A deletion by selector waits while its collection is dropped, and another one gets its name."""
    names = [f"i{n}" for n in range(dice.choice([1, 3]))]
    put = lambda name: line(generator, "documents.put", collection="dropped", id=name, value={"n": generator.unique()})
    deletion = line(generator, "documents.deleteMany", collection="dropped", where={"n": {"$gt": 0}})
    drop = line(generator, "documents.drop", collection="dropped")
    again = [put(name) for name in [*names, "new"]]
    apart = [passes(dice.choice([0.01, 0.1, 1]))] if dice.random() < 0.3 else []
    return [*freed(generator), send([*map(put, names), deletion], AHEAD), *apart, send([drop, *again], AHEAD),
            passes(300)]
