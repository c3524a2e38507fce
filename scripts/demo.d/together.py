"""What several processes do together: a schema that holds for all, a transaction over two stores, and a watcher that is killed
and goes on without a gap.
"""

import json
import multiprocessing
import os
import signal

from client import Client, Refused

SCHEMA = {"type": "object", "properties": {"theme": {"enum": ["light", "dark"], "default": "light"}}}


def schema(daemon, say):
    """One process says what a setting may be; another is held to it."""
    client = Client(daemon.socket, "designer")
    client.call("settings.configure", domain="app", schema=SCHEMA, mode="enforce")
    client.close()
    client = Client(daemon.socket, "painter")
    try:
        client.call("settings.put", domain="app", key="theme", value="purple")
    except Refused as error:
        say(f"theme purple: {error}")
    else:
        raise RuntimeError("a theme that the schema does not know was stored")
    client.close()


def _watch(path, pipe, after):
    """Sends (key, rev) of each change of the notes through the pipe, and the revision that is covered behind each event."""
    client = Client(path, "watcher")
    where = {"afterRev": after} if after else {}
    began = client.call("changes.watch", scope="notes", **where)
    pipe.send(("rev", began["rev"]))
    while True:
        event = json.loads(client.lines.readline())["params"]
        for change in event["changes"]:
            pipe.send((change["key"], change["rev"]))
        pipe.send(("rev", event["rev"]))


class Watcher:
    def __init__(self, daemon, after=None):
        self.keys = {}
        self.rev = 0
        self._end, other = multiprocessing.Pipe(duplex=False)
        self._process = multiprocessing.Process(target=_watch, args=(daemon.socket, other, after), daemon=True)
        self._process.start()
        other.close()
        self._take()

    def _take(self):
        if not self._end.poll(30):
            raise RuntimeError("the watcher hears nothing")
        name, rev = self._end.recv()
        if name == "rev":
            self.rev = rev
        else:
            self.keys[name] = rev

    def follow(self, rev):
        """Takes in what comes until everything up to `rev` is covered."""
        while self.rev < rev:
            self._take()

    def kill(self):
        """With -9, while it listens. What it had sent is still taken in, as far as an event is whole."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        covered, keys = self.rev, dict(self.keys)
        try:
            while self._end.poll(0):
                self._take()
                if self.rev > covered:
                    covered, keys = self.rev, dict(self.keys)
        except EOFError:
            pass
        self.rev, self.keys = covered, keys


def transaction(client, number):
    """A note and the count of notes, in two stores, under one revision."""
    operations = [
        {"method": "documents.put", "params": {"collection": "notes", "id": f"{number}", "value": {"text": f"note {number}"}}},
        {"method": "settings.increment", "params": {"domain": "app", "key": "notes"}}]
    return client.call("transaction.apply", operations=operations)


def follow(daemon, say):
    """A writer and a watcher; the watcher is killed, and another goes on where it was."""
    watcher = Watcher(daemon)
    client = Client(daemon.socket, "writer")
    first = transaction(client, 0)
    if first["results"][0]["rev"] != first["rev"] or first["results"][1]["rev"] != first["rev"]:
        raise RuntimeError("the transaction's changes have more than one revision")
    say(f"a note and its count, one transaction: {json.dumps(first)}")
    for number in range(1, 200):
        last = transaction(client, number)["rev"]
    watcher.follow(first["rev"])
    watcher.kill()
    say(f"the watcher heard of {len(watcher.keys)} notes, up to rev {watcher.rev}, when it was killed")
    for number in range(200, 400):
        last = transaction(client, number)["rev"]
    client.close()
    second = Watcher(daemon, after=watcher.rev)
    second.follow(last)
    again = watcher.keys.keys() & second.keys.keys()
    heard = watcher.keys.keys() | second.keys.keys()
    say(f"another went on after rev {watcher.rev} and heard of {len(second.keys)}: {len(heard)} of 400, {len(again)} twice")
    if len(heard) != 400 or again:
        raise RuntimeError("the watchers' changes have a gap or come twice")
    second.kill()
