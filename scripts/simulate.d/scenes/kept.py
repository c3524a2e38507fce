"""Scenes of backups: what is written while one is made is in it as of its revision."""

from mischief import SECOND
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


def cut_at_the_first(dice, generator):
    """The power goes while the first start in a directory is under way, or has just come to serve: the directory was made of a backup."""
    events = []
    for _ in range(16):
        backup = line(generator, "storage.backup", name=f"first{generator.unique()}")
        puts = [line(generator, "secrets.put", service="first", account="x1", secret=f"canary-first-{generator.unique()}"),
                line(generator, "documents.put", collection="first", id="a", value={"n": generator.unique()})]
        start = generator.again()
        dies = [{**start, "waits": False}, {"do": "advance", "span": SECOND, "seams": dice.randrange(1000, 3000)}]
        begins = dies if dice.random() < 0.2 else [start, passes(dice.choice([1, 5, 300]))]
        events += [send(puts if dice.random() < 0.9 else puts[1:]), passes(20), send([backup]), awaited([backup]),
                   {"do": "kill"}, {"do": "restore", "backup": backup["params"]["name"]}, *begins, {"do": "cut"},
                   generator.again(), connect(CLIENT), send([line(generator, "storage.status")]), passes(20)]
    return events
