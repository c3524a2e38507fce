"""What scenes are made of: their clients, their requests, and faults that meet one call."""

from mischief import MILLISECOND, SECOND
from plan import Minted
from values import text

# Of flushSeconds: nothing is synced by itself while a scene is played.
FOREVER = 3600
# Nanoseconds in which the daemon answers although a call hangs: it sets the thread aside, or says that it is overloaded.
PATIENCE = 20 * SECOND
# The same where nothing hangs.
SOON = 2 * SECOND
# Who acts in a scene; replies to the second one come as they are ready.
CLIENT, AHEAD = "actor", "ahead"


def line(generator, method, **params):
    return {"id": generator.identity(), "method": method, "params": params}


def send(lines, client=CLIENT, **more):
    return {"do": "send", "client": client, "lines": lines, **more}


def connect(client, role="admin"):
    return {"do": "connect", "client": client, "role": role}


def pause(milliseconds):
    return {"do": "advance", "span": milliseconds * MILLISECOND}


def pauses(*milliseconds):
    """A pause ends with what comes: several let time pass whatever does."""
    return [pause(each) for each in milliseconds]


def awaited(lines, **more):
    """These are answered, whatever hangs."""
    return {"do": "insist", "span": PATIENCE, "answered": [text(each["id"]) for each in lines]} | more


def fault(generator, calls, error, path="", is_scene=False, **more):
    """A rule; `is_scene`: others go on beside what it strikes."""
    generator.mischief.rule_number += 1
    rule = {"number": generator.mischief.rule_number, "skip": 0, "path": path, "calls": calls, "error": error, "times": 1, **more}
    return {"do": "fault", **({"scene": True} if is_scene else {}), "rule": rule}


def hang(generator, path, times=1, call="read"):
    return fault(generator, [call], "hang", path, is_scene=True, times=times)


def passes(milliseconds):
    """So much time goes by, whatever comes in it."""
    return {"do": "pass", "span": int(milliseconds * MILLISECOND)}


def told(request, *path, otherwise=0):
    """What the answer to a request has at this place; `otherwise`, when it has nothing there."""
    return Minted(otherwise, text(request["id"]), ("result", *path))


def freed(generator, client=AHEAD):
    """A client whose replies come as they are ready."""
    return [connect(client), send([generator.hello(client)], client), passes(20)]
