"""Scenes of revisions that are undone: what they changed is as it was before, all of it or nothing."""

from scenes.parts import CLIENT, connect, line, passes, send, told

AT = {"collection": "undoing"}
DOMAIN = {"domain": "undoing"}


def over_and_over(dice, generator):
    """Changes of the same items are undone in any order, over folds and kills: each brings back what was there before it."""
    events, changes = deleted_twice(dice, generator), []
    for _ in range(dice.choice([4, 6, 9])):
        change = changed(dice, generator)
        changes.append(change)
        events += [send([change]), passes(dice.choice([1, 20])), *between(dice, generator)]
    for change in dice.sample(changes, min(len(changes), 6)) + changes[:-3:-1]:
        undo = line(generator, "transaction.undo", rev=told(change, "rev"))
        again = line(generator, "transaction.undo", rev=told(undo, "rev"))
        events += [send([undo]), passes(20), *between(dice, generator), *dice.choice([[], [send([again]), passes(20)]])]
    return events


def deleted_twice(dice, generator):
    """What the first deletion took away comes back, and not what the second one did."""
    put = lambda: line(generator, "documents.put", **AT, id="twice", value={"n": generator.unique()})
    first, second = (line(generator, "documents.delete", **AT, id="twice") for _ in range(2))
    undo = line(generator, "transaction.undo", rev=told(first, "rev"))
    return [send([put()]), passes(1), send([first]), *between(dice, generator), send([put()]), passes(1), send([second]),
            *between(dice, generator), passes(20), send([undo]), passes(20)]


def changed(dice, generator):
    name = dice.choice(["a", "a", "b"])
    put = "documents.put", {**AT, "id": name, "value": {"n": generator.unique()}}
    method, params = dice.choice([
        put, put, ("documents.delete", {**AT, "id": name}), ("documents.delete", {**AT, "id": name}),
        ("settings.put", {**DOMAIN, "key": name, "value": generator.unique()}), ("settings.delete", {**DOMAIN, "key": name})])
    return line(generator, method, **params)


def between(dice, generator):
    """Mostly nothing: what is there is folded, or another start reads it."""
    return dice.choice([[], [], [], [passes(3000)], [{"do": dice.choice(["kill", "cut"])}, generator.again(), connect(CLIENT)]])


def half_way(dice, generator):
    """A transaction cannot be undone, since newer documents refer to one of those that it created: nothing of it is."""
    key = f"k{generator.unique()}"
    put = {"method": "documents.put", "params": {**AT, "id": key, "value": {"n": 1}}}
    setting = {"method": "settings.put", "params": {**DOMAIN, "key": key, "value": 1}}
    rule = {"field": "of", "collection": "undoing", "onDelete": dice.choice(["cascade", "nullify", "deny"])}
    made = line(generator, "transaction.apply", operations=[put, setting])
    return [send([line(generator, "documents.configure", collection="undoers", references=[rule])]), passes(200),
            send([made]), passes(20), send([line(generator, "documents.put", collection="undoers", id=key, value={"of": key})]), passes(20),
            send([line(generator, "transaction.undo", rev=told(made, "rev"))]), passes(50)]
