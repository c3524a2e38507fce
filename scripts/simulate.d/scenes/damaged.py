"""Scenes of bits that flip at rest; they are a run's last."""

import base64
import errno as e

from scenes.parts import fault, line, passes, send


def rot(dice, part):
    return {"do": "rot", "part": part, "place": dice.getrandbits(48), "mask": 1 << dice.randrange(8)}


def content_again(dice, generator):
    """A content whose file is damaged is attached once more."""
    at = {"collection": "damaged"}
    content = {"data": base64.b64encode(f"content {generator.unique()} ".encode() * dice.choice([300, 3000])).decode()}
    put = line(generator, "documents.put", **at, id="a", value={"n": 1})
    attach = lambda name: line(generator, "documents.attach", **at, id="a", name=name, **content)
    names = ["one", dice.choice(["one", "two"])]
    return [send([put, attach("one")]), passes(dice.choice([300, 3000])), rot(dice, "attachments/"), send([attach(names[1])]), passes(300),
            send([line(generator, "documents.attachment", **at, id="a", name=name) for name in names]), passes(300)]


def row_without_room(dice, generator):
    """A part of a long row gets to the log, the rest finds no room; shorter ones follow in its place, of which one is damaged."""
    put = lambda key, size: line(generator, "settings.put", domain="rows", key=key, value=f"{generator.unique()} ".ljust(size, "v"))
    row = [put("r0", dice.choice([2000, 4000])), *(put(f"r{n}", 20) for n in range(1, 6)), put("r6", 20_000)]
    shorter = [event for n in range(3) for event in (send([put(f"s{n}", 10)]), passes(20))]
    room = dice.choice([e.ENOSPC, e.EDQUOT])
    return [send([put("r0", 1)]), passes(100), fault(generator, ["write"], "short", ".log"), fault(generator, ["write"], room, ".log"),
            send(row), passes(100), {"do": "clear"}, *shorter, passes(100), {"do": "kill"}, rot(dice, "data/log"), generator.again()]
