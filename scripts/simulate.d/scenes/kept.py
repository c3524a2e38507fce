"""Scenes of backups: what is written while one is made is in it as of its revision."""

from scenes.parts import CLIENT, awaited, connect, line, passes, send


def written_meanwhile(dice, generator):
    """Secrets and documents change, and are folded, while backups are made; the daemon goes on from the last one."""
    names = [f"x{n}" for n in range(4)]
    secret = lambda name: line(generator, "secrets.put", service="kept", account=name, secret=f"canary-kept-{generator.unique()}")
    document = lambda: line(generator, "documents.put", collection="kept", id=dice.choice("abc"), value={"n": generator.unique()})
    folded = lambda: line(generator, "documents.list", collection="kept", limit=1)
    events = [connect("other"), send([*map(secret, names), document()]), passes(300), {"do": "crowd", "permille": 30}]
    for _ in range(10):
        backup = line(generator, "storage.backup", name=f"kept{generator.unique()}")
        events += [send([backup])]
        for _ in range(dice.choice([5, 10])):
            events += [send([secret(dice.choice(names)), document(), folded()], "other"), passes(dice.choice([0.3, 1, 3]))]
        events += [awaited([backup])]
    return [*events, {"do": "settle"}, {"do": "kill"}, {"do": "restore", "backup": backup["params"]["name"]},
            generator.again(), {"do": "settle"}]
