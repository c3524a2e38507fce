"""The writers: one process each, writing until they are told to stop or the daemon is gone."""

import json
import mmap
import multiprocessing
import time

from client import Connection, Gone
from model import Model

DEPTHS = [1, 2, 4, 8, 16, 32, 48, 64]
processes = multiprocessing.get_context("fork")


class Result:
    """What one writer met, besides its model."""

    def __init__(self):
        self.end = ""
        self.errors = {}
        # Monotonic times of the first error of each kind, and of acknowledgements.
        self.first_error = {}
        self.first_ok = self.last_ok = None
        self.ok_after_error = None


def write(path, model, flags, pause):
    """Writes until `flags[0]`; returns (model, result). `flags[1 + index]` says that the first reply has come."""
    result = Result()
    try:
        connection = Connection(path)
    except Gone as error:
        result.end = f"not connected: {error}"
        return model, result
    try:
        while True:
            stopping = flags[0]
            if not stopping and len(model.pending) <= model.depth // 2:
                lines = [model.next_change().line for _ in range(model.depth - len(model.pending))]
                connection.send(b"".join(lines))
            if not model.pending:
                result.end = "stopped"
                return model, result
            lines = connection.receive()
            now = time.monotonic()
            for line in lines:
                kind = model.take_reply(json.loads(line), now)
                if kind:
                    result.errors[kind] = result.errors.get(kind, 0) + 1
                    result.first_error.setdefault(kind, now)
                    result.ok_after_error = None
                else:
                    result.first_ok = result.first_ok or now
                    result.last_ok = now
                    if result.errors:
                        result.ok_after_error = result.ok_after_error or now
            flags[1 + model.index] = 1
            if pause and result.errors and not result.ok_after_error:
                time.sleep(pause)
    except Gone:
        result.end = "gone"
    except TimeoutError:
        result.end = "hung"
        model.fault("no reply for 30 s", time.monotonic())
    except Exception as error:
        result.end = "failed"
        model.fault(f"{type(error).__name__} {error}", time.monotonic())
    finally:
        connection.close()
    return model, result


class Crew:
    """Eight writers with different pipelining depths; their models live on from round to round."""

    def __init__(self, seed, writers=8, kind=Model):
        self.models = [kind(index, seed, DEPTHS[index % len(DEPTHS)]) for index in range(writers)]
        self.results = []
        self.children = []
        # Shared with the children: stop, then one byte a writer.
        self.flags = mmap.mmap(-1, 1 + writers)

    def start(self, daemon, pause=0.0):
        """Starts the writers; with `pause` they wait so many seconds after an error before they go on."""
        self.flags[:] = bytes(len(self.flags))
        self.children = []
        for model in self.models:
            model.begin_round()
            mine, theirs = processes.Pipe(duplex=False)
            arguments = daemon.socket, model, self.flags, pause, theirs
            child = processes.Process(target=self.live, args=arguments, daemon=True)
            child.start()
            theirs.close()
            self.children.append((child, mine))

    @staticmethod
    def live(path, model, flags, pause, pipe):
        pipe.send(write(path, model, flags, pause))
        pipe.close()

    def wait_until_busy(self, timeout=10.0, everybody=True):
        """Waits until all writers (or one) have had a reply; returns whether they have."""
        deadline = time.monotonic() + timeout
        enough = len(self.models) if everybody else 1
        while sum(self.flags[1:]) < enough:
            if time.monotonic() > deadline or not any(child.is_alive() for child, _ in self.children):
                return False
            time.sleep(0.001)
        return True

    def finish(self):
        """Tells the writers to stop, waits for them, and takes back their models."""
        self.flags[0] = 1
        self.models, self.results = [], []
        for child, pipe in self.children:
            model, result = pipe.recv()
            child.join()
            self.models.append(model)
            self.results.append(result)
        self.children = []

    def clear(self):
        for model in self.models:
            model.clear()

    def take_back(self, moment):
        """Counts what was acknowledged after `moment` as unanswered; returns how many changes."""
        return sum(model.take_back(moment) for model in self.models)

    # MARK: Sums

    @property
    def acknowledged(self):
        return sum(model.acknowledged for model in self.models)

    @property
    def unanswered(self):
        return sum(len(model.pending) + len(model.unknown) for model in self.models)

    def errors(self):
        """Error replies by kind in the last round."""
        total = {}
        for result in self.results:
            for kind, count in result.errors.items():
                total[kind] = total.get(kind, 0) + count
        return total

    def take_faults(self):
        """What contradicted the protocol while writing."""
        faults = [text for model in self.models for _, text in model.faults]
        for model in self.models:
            model.faults = []
        return faults
