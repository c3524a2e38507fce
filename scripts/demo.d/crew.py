"""The demo's processes: loaders store documents, keepers keep settings, a watcher follows changes."""

import json
import multiprocessing
import os
import signal
import traceback

from client import Gone


def connect(daemon, name):
    connection = daemon.connect()
    connection.call("session.hello", client=name)
    return connection


class Worker:
    """A process of its own that runs `body(connection, note)`; `note` takes down each acknowledgement.

    What it knows comes through a pipe when it ends, whether it came to its end or the daemon went away before.
    """

    def __init__(self, name, daemon, body, *arguments):
        self.name = name
        # Counts what was acknowledged, for the parent to look at meanwhile.
        self.progress = multiprocessing.Value("q", 0, lock=False)
        self._end, other = multiprocessing.Pipe(duplex=False)
        self._process = multiprocessing.Process(target=self._run, args=(other, daemon, body, arguments), daemon=True)
        self._process.start()
        other.close()

    def _run(self, pipe, daemon, body, arguments):
        # Ctrl-C is for the parent, whose end is theirs.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        acknowledged = []

        def note(entry):
            acknowledged.append(entry)
            self.progress.value = len(acknowledged)

        try:
            body(connect(daemon, self.name), note, *arguments)
            pipe.send((acknowledged, "done"))
        except Gone:
            pipe.send((acknowledged, "gone"))
        except Exception:
            pipe.send((acknowledged, traceback.format_exc()))

    def join(self):
        """What was acknowledged, in order, and whether the daemon went away."""
        try:
            acknowledged, ending = self._end.recv()
        except EOFError:
            raise RuntimeError(f"{self.name} died") from None
        self._process.join()
        if ending not in ("done", "gone"):
            raise RuntimeError(f"{self.name}: {ending}")
        return acknowledged, ending == "gone"


def store(connection, note, documents):
    """Stores pairs of (collection, id) and value, and notes (collection, id) and revision as each is acknowledged."""
    calls = [
        ("documents.put", {"collection": collection, "id": name, "value": value}) for (collection, name), value in documents]
    for (key, _), result in zip(documents, connection.pipeline(calls, window=64)):
        note((key, result["rev"]))


def count_launches(connection, note, stop):
    """Adds one to a counter until told to stop, and notes each sum."""
    while not stop.is_set():
        note(connection.call("settings.increment", domain="app", key="launches")["value"])


def toggle_theme(connection, note, stop):
    """Changes a theme to and fro until told to stop, and notes each with its revision."""
    theme = connection.call("settings.get", domain="app", key="theme", default="light")["value"]
    while not stop.is_set():
        theme = "dark" if theme == "light" else "light"
        note((theme, connection.call("settings.put", domain="app", key="theme", value=theme)["rev"]))


class Watcher:
    """A process that sends each event of the notes' changes through a pipe: {key: rev}, and the revision that is covered."""

    def __init__(self, daemon, after=None):
        self.keys = {}
        self._end, other = multiprocessing.Pipe(duplex=False)
        self._process = multiprocessing.Process(target=self._watch, args=(daemon, other, after), daemon=True)
        self._process.start()
        other.close()
        self._take()

    def _watch(self, daemon, pipe, after):
        connection = connect(daemon, "watcher")
        where = {"afterRev": after} if after else {}
        pipe.send(({}, connection.call("changes.watch", scope="notes", **where)["rev"]))
        while True:
            event = json.loads(connection.line())["params"]
            pipe.send(({change["key"]: change["rev"] for change in event["changes"]}, event["rev"]))

    def _take(self):
        if not self._end.poll(30):
            raise RuntimeError("the watcher hears nothing")
        keys, self.rev = self._end.recv()
        self.keys.update(keys)

    def follow(self, rev):
        """Takes in what comes until everything up to `rev` is covered."""
        while self.rev < rev:
            self._take()

    def kill(self):
        """With -9, while it listens. What it had sent is still taken in."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        try:
            while self._end.poll(0):
                self._take()
        except EOFError:
            pass
