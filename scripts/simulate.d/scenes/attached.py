"""Scenes of contents, and of the directories in which they lie."""

import base64

from scenes.parts import CLIENT, connect, fault, line, passes, send


def struck_at_the_first(dice, generator):
    """The process is killed while a content gets the first place in a directory; it comes again, is acknowledged, and the power goes."""
    at = {"collection": "placed"}
    put = line(generator, "documents.put", **at, id="a", value={"n": 1})
    attach = lambda data: line(generator, "documents.attach", **at, id="a", name="one", data=data)
    get = lambda: line(generator, "documents.attachment", **at, id="a", name="one")
    events = [send([put]), passes(300)]
    for _ in range(4):
        data = base64.b64encode(f"content {generator.unique()} ".encode() * dice.choice([1, 300])).decode()
        strike = fault(generator, ["sync"], "kill", dice.choice(["durable/attachments$"] * 5 + ["durable/attachments/"]))
        events += [connect(CLIENT), strike, send([attach(data)]), passes(300), {"do": "kill"}, {"do": "clear"},
                   generator.again(), {"do": "settle"},
                   connect(CLIENT), send([attach(data)]), passes(dice.choice([30, 3000])), {"do": "cut"},
                   generator.again(), connect(CLIENT), send([get()]), passes(300), {"do": "settle"}]
    return events


def replaced_behind_a_cut(dice, generator):
    """A content is replaced, nothing leads to it any more, and the power goes: it does not lie there for good."""
    at = {"collection": "replaced"}
    attach = lambda: line(generator, "documents.attach", **at, id="a", name="one",
                          data=base64.b64encode(f"content {generator.unique()} ".encode() * 30).decode())
    put = lambda: line(generator, "documents.put", **at, id="b", value={"n": generator.unique()})
    events = [send([line(generator, "documents.put", **at, id="a", value={"n": 1})]), passes(100)]
    for _ in range(2):
        events += [send([attach()]), passes(3000), send([attach()]), passes(3000), send([put()]), passes(3000),
                   send([line(generator, "storage.backup", name=f"replaced{generator.unique()}")]), passes(3000), send([put()]),
                   passes(dice.choice([3000, 14_000])), {"do": "cut"}, generator.again(), connect(CLIENT), passes(1000),
                   send([line(generator, "storage.check")]), passes(2000)]
    return events
