"""The writers: one process each, writing until they are told to stop or the daemon is gone."""

import collections
import contextlib
import mmap
import multiprocessing
import time

from client import Connection, Gone
from model import Model

DEPTHS = [1, 2, 4, 8, 16, 32, 48, 64]
processes = multiprocessing.get_context("fork")


class Child:
    """A forked process that calls a function."""

    def __init__(self, function, *arguments):
        self.pipe, theirs = processes.Pipe(duplex=False)
        self.process = processes.Process(target=lambda: theirs.send(function(*arguments)), daemon=True)
        self.process.start()
        theirs.close()

    def result(self):
        """Waits for the end of the process; returns what the function has returned."""
        result = self.pipe.recv()
        self.process.join()
        return result


def write(path, model, flags, pause):
    """Writes until `flags[0]`; returns the model. `flags[1 + index]` says that the first reply has come."""
    kind = None
    try:
        with Connection(path) as connection:
            while True:
                if not flags[0] and len(model.pending) <= model.depth // 2:
                    if kind:
                        time.sleep(pause)
                    connection.send(b"".join(model.next_change() for _ in range(model.depth - len(model.pending))))
                if not model.pending:
                    break
                kind = model.take_reply(connection.reply(), time.monotonic())
                flags[1 + model.index] = 1
    except Gone:
        pass
    except TimeoutError:
        model.fault("no reply for 30 s", time.monotonic())
    except Exception as error:
        model.fault(f"{type(error).__name__} {error}", time.monotonic())
    return model


class Crew:
    """Writers with different pipelining depths; their models live on from round to round."""

    def __init__(self, seed, writers, is_mixed):
        self.models = [Model(index, seed, DEPTHS[index % len(DEPTHS)], is_mixed) for index in range(writers)]
        # Shared with the children: stop, then one byte a writer.
        self.flags = mmap.mmap(-1, 1 + writers)

    @contextlib.contextmanager
    def writing(self, daemon, pause=0.0, busy=None):
        """The writers write. At first `busy` of them (all) have had a reply; in the end they are told to stop.

        They wait `pause` seconds after an error before they go on.
        """
        self.flags[:] = bytes(len(self.flags))
        for model in self.models:
            model.begin_round()
        children = [Child(write, daemon.socket, model, self.flags, pause) for model in self.models]
        deadline = time.monotonic() + 10
        while sum(self.flags[1:]) < (len(self.models) if busy is None else busy) and time.monotonic() < deadline:
            if not any(child.process.is_alive() for child in children):
                break
            time.sleep(0.001)
        try:
            yield
        finally:
            self.stop()
            self.models = [child.result() for child in children]

    def stop(self):
        """Tells the writers to stop when all their changes are answered."""
        self.flags[0] = 1

    def clear(self):
        for model in self.models:
            model.clear()

    def take_back(self, moment):
        """Counts what was acknowledged after `moment` as unanswered; returns how many changes."""
        return sum(model.take_back(moment) for model in self.models)

    def errors(self):
        """Error replies by kind in the last round."""
        return sum((model.errors for model in self.models), collections.Counter())
