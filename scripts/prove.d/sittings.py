"""What earlier sittings of a long proof have found: a run that is cut off goes on from there."""

import hashlib
import json
import os
import pickle
from pathlib import Path


class OtherRun(Exception):
    """The directory belongs to another run."""


class Sittings:
    """Values by name in a directory, which `RESUME` names; without one nothing is kept.

    `run` tells what is proved, and how much of it. All sittings have the seed of the first, and the same program.
    """

    def __init__(self, place, program, run):
        self.place = Path(place) if place else None
        self.run = run
        if self.place is None:
            return
        self.place.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What is read there is believed.
        of = self.place.stat()
        if of.st_uid != os.geteuid() or of.st_mode & 0o022:
            raise OtherRun(f"{place} is not ours alone: name a directory of our own")
        self.run = {**run, "program": hashlib.sha256(Path(program).read_bytes()).hexdigest()}
        head = self.place / "run.json"
        if not head.exists():
            self._write(head, json.dumps(self.run).encode())
        first = json.loads(head.read_text())
        if not os.environ.get("SEED"):
            self.run["seed"] = first["seed"]
        if differing := [name for name in first if first[name] != self.run.get(name)]:
            raise OtherRun(f"{place} was begun with another {' and '.join(differing)}: name another directory")

    def load(self, name):
        """What was saved under the name last; None when nothing was."""
        if self.place is None or not (path := self._path(name)).exists():
            return None
        return pickle.loads(path.read_bytes())

    def save(self, name, value):
        if self.place is not None:
            self._write(self._path(name), pickle.dumps(value))

    @staticmethod
    def _write(path, data):
        draft = path.with_suffix(".new")
        draft.write_bytes(data)
        draft.replace(path)

    def _path(self, name):
        return self.place / (name.replace(" ", "-").replace("/", "-") + ".found")
