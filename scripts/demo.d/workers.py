"""The demo's processes: loaders, that store documents, and keepers, that keep settings.

Each sends what it knows through a pipe when it ends, whether it came to its end or the daemon went away before.
"""

import multiprocessing
import signal
import traceback

from client import Client, Gone


class Worker:
    """A process of its own that runs `body(client, note)`; `note` takes down each acknowledgement."""

    def __init__(self, name, socket, body, *arguments):
        self.name = name
        # Counts what was acknowledged, for the parent to look at meanwhile.
        self.progress = multiprocessing.Value("q", 0, lock=False)
        self._end, other = multiprocessing.Pipe(duplex=False)
        self._process = multiprocessing.Process(
            target=self._run, args=(other, socket, body, arguments), name=name, daemon=True)
        self._process.start()
        other.close()

    def _run(self, pipe, socket, body, arguments):
        # Ctrl-C is for the parent, whose end is theirs.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        acknowledged = []

        def note(entry):
            acknowledged.append(entry)
            self.progress.value = len(acknowledged)

        try:
            client = Client(socket, self.name)
            body(client, note, *arguments)
            client.close()
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


def store(client, note, documents):
    """Stores (collection, id, value), and notes (collection, id, rev) as each is acknowledged."""
    calls = [
        ("documents.put", {"collection": collection, "id": name, "value": value})
        for collection, name, value in documents]
    for (collection, name, _), result in zip(documents, client.pipeline(calls)):
        note((collection, name, result["rev"]))


def count_launches(client, note, stop):
    """Adds one to a counter until told to stop, and notes each sum."""
    while not stop.is_set():
        note(client.call("settings.increment", domain="app", key="launches")["value"])


def toggle_theme(client, note, stop):
    """Changes a theme to and fro until told to stop, and notes each with its revision."""
    theme = client.call("settings.get", domain="app", key="theme", default="light")["value"]
    while not stop.is_set():
        theme = "dark" if theme == "light" else "light"
        note((theme, client.call("settings.put", domain="app", key="theme", value=theme)["rev"]))
