"""Scenes of bits that flip at rest; they are a run's last."""

import base64
import errno as e

from makers.blobs import digest
from scenes.parts import CLIENT, connect, fault, line, passes, send


MARK = {"do": "mark", "part": "data/log/"}


def rot(dice, part):
    return {"do": "rot", "part": part, "place": dice.getrandbits(48), "mask": 1 << dice.randrange(8)}


def rot_new(dice, count=1):
    """In what the log has got since it was marked."""
    return [rot(dice, "data/log/") | {"is_new": True} for _ in range(count)]


def content_again(dice, generator):
    """A content whose file is damaged is attached once more."""
    at = {"collection": "damaged"}
    data = f"content {generator.unique()} ".encode() * dice.choice([300, 3000])
    content, file = {"data": base64.b64encode(data).decode()}, digest(data)
    put = line(generator, "documents.put", **at, id="a", value={"n": 1})
    attach = lambda name: line(generator, "documents.attach", **at, id="a", name=name, **content)
    names = ["one", dice.choice(["one", "two"])]
    return [send([put, attach("one")]), passes(dice.choice([300, 3000])), rot(dice, f"attachments/{file[:2]}/{file[2:]}"),
            send([attach(names[1])]), passes(300),
            send([line(generator, "documents.attachment", **at, id="a", name=name) for name in names]), passes(300)]


def row_without_room(dice, generator):
    """A part of a long row gets to the log, the rest finds no room; shorter ones follow in its place, and the last one is damaged."""
    put = lambda key, size: line(generator, "settings.put", domain="rows", key=key, value=f"{generator.unique()} ".ljust(size, "v"))
    row = [put("r0", 600), *(put(f"r{n}", 20) for n in range(1, 20))]
    first, second, last = [send([put(f"s{n}", 10)]) for n in range(3)]
    short = fault(generator, ["write"], "short", ".log")
    full = fault(generator, ["write"], dice.choice([e.ENOSPC, e.EDQUOT]), ".log", times=20)
    # A daemon that cannot take the part back ends.
    return [send([put("r0", 1)]), passes(100), short, full, send(row), passes(100), {"do": "clear"}, generator.again(), connect(CLIENT),
            first, passes(20), second, passes(20), MARK, last, passes(100), {"do": "kill"}, *rot_new(dice, dice.choice([5, 10, 20])),
            generator.again()]
