"""The demo's processes: loaders store documents, keepers keep settings, a watcher follows changes."""

import json
import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor

from client import Connection, Gone

# How many documents are acknowledged, and whether the keepers are to end; the processes are forked, and share these.
STORED = multiprocessing.Value("q", 0)
STOP = multiprocessing.Event()


def connect(socket, name):
    connection = Connection(socket)
    connection.call("session.hello", client=name)
    return connection


def processes(count):
    """Processes for `work`. Ctrl-C is for the parent, whose end is theirs."""
    return ProcessPoolExecutor(count, multiprocessing.get_context("fork"), signal.signal, (signal.SIGINT, signal.SIG_IGN))


def work(socket, name, body, *arguments):
    """What `body(connection, *arguments)` yields, each when it is acknowledged, up to its end, the daemon's, or STOP."""
    acknowledged = []
    try:
        with connect(socket, name) as connection:
            for entry in body(connection, *arguments):
                acknowledged.append(entry)
                if STOP.is_set():
                    break
    except Gone:
        pass
    return acknowledged


def store(connection, documents):
    """Stores pairs of (collection, id) and value; yields (collection, id) and revision."""
    calls = [
        ("documents.put", {"collection": collection, "id": name, "value": value}) for (collection, name), value in documents]
    for (key, _), result in zip(documents, connection.pipeline(calls, window=64)):
        with STORED.get_lock():
            STORED.value += 1
        yield key, result["rev"]


def count_launches(connection):
    """Adds one to a counter again and again; yields each sum."""
    while True:
        yield connection.call("settings.increment", domain="app", key="launches")["value"]


def toggle_theme(connection):
    """Changes a theme to and fro; yields each with its revision."""
    theme = connection.call("settings.get", domain="app", key="theme", default="light")["value"]
    while True:
        theme = "dark" if theme == "light" else "light"
        yield theme, connection.call("settings.put", domain="app", key="theme", value=theme)["rev"]


class Watcher:
    """A process that sends each event of the notes' changes through a pipe: {key: rev}, and the revision that is covered."""

    def __init__(self, socket, after=None):
        self.keys = {}
        self._end, other = multiprocessing.Pipe(duplex=False)
        self._process = multiprocessing.Process(target=self._watch, args=(socket, other, after), daemon=True)
        self._process.start()
        other.close()
        self._take()

    def _watch(self, socket, pipe, after):
        connection = connect(socket, "watcher")
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
