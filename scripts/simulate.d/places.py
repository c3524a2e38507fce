"""Where data lies: another directory once a backup has been restored, or a bundle is begun with."""

import os

import link
from makers.secrets import PASSPHRASE
from world import Ended, Restored

HOME = "/home/kura"
CONFIGURATION, PASSPHRASE_FILE = f"{HOME}/kura.json", f"{HOME}/passphrase"
# What a process ends with when the power goes.
CUT = -10
# How long a restore may take.
PATIENCE = 60 * 10**9


class Places:
    """The part of a simulated world that makes data directories."""

    def __init__(self):
        # Where data lies, where it lay before, and where it lies after the next move.
        self.data, self._former, self._made = f"{HOME}/data", None, None
        # There are slots, and no root key that opens them; in the directory of the next move, too.
        self.lacks_key = self._made_lacks_key = False
        self._places = 0
        # What the daemon is told besides.
        self._options = []

    def restore(self, backup, words, is_empty=False, seams=None, end="kill", brings_key=True):
        """Has a data directory made of a backup: until it is done, or killed (`end`) after so many seams. The next `move` is to it.
        `brings_key`: its secrets get the root key that they need."""
        self._places += 1
        place = f"{HOME}/r{self._places}"
        self._made = f"{place}/data"
        file, told = f"{self.data}/backups/{backup}.kurabackup", len(self.output)
        keys = [] if self.lacks_key else ["--keys", f"{self.data}/keys"]
        self._begin(["restore", file, "--data-dir", self._made, *keys, *words])
        self._put(PASSPHRASE_FILE, PASSPHRASE.encode(), 0o600)
        for path in (place, self._made)[: 2 if is_empty else 1]:
            self._put(path, b"", 0o40700)
        waiting, self._waiting = self._waiting, []
        for order in waiting:
            order()
        self._turn(self._monotonic + PATIENCE, for_news=False, seams=seams or link.FOREVER)
        ended = next((event for event in self._due if isinstance(event, Ended)), None)
        if ended is None:
            self._last(link.CUT if end == "cut" else link.KILL)
        self._due.clear()
        was_cut = ended.code == CUT if ended else end == "cut"
        return Restored(ended and ended.code, b"".join(self.output[told:]).decode(errors="replace"), self._looks(place, brings_key),
                        was_cut)

    def _looks(self, place, brings_key):
        """Whether something is in the directory that was made; else nothing is left of it."""
        self._begin(["--version"], is_struck=False)
        there = {path for path, _ in self.listing()}
        is_there = any(path.startswith(f"{self._made}/") for path in there)
        here, made = f"{self.data}/keys/root.key", f"{self._made}/keys/root.key"
        self._made_lacks_key = f"{self._made}/keys/slots.json" in there and made not in there
        if not is_there:
            self._order(link.REMOVE, place.encode())
        elif self._made_lacks_key and brings_key and here in there:
            self._put(made, self._ask(link.FILE, here.encode()), 0o600)
            self._made_lacks_key = False
        self._last(link.KILL)
        return is_there

    def begin_with(self, bundle):
        """The next `move` is to where nothing is; a start there has a bundle."""
        self._places += 1
        self._made, self._made_lacks_key = f"{HOME}/r{self._places}/data", False
        self._options = ["--seed-bundle", f"{self.data}/backups/{bundle}.kurabundle"]

    def start_throw_away(self):
        """A daemon whose data goes with it. Returns whether it serves."""
        self._begin(["--ephemeral", "--config", CONFIGURATION])
        self.configure({})
        return self._wait_until_it_serves()

    def move(self):
        """To the directory that was made last. The one before stays, since a bundle may be in it."""
        former, self._former, self.data, self._made = self._former, self.data, self._made, None
        self.lacks_key = self._made_lacks_key
        place = os.path.dirname(self.data)
        self._begin(["--version"], is_struck=False)
        self._put(place, b"", 0o40700)
        if former is not None:
            self._order(link.REMOVE, former.encode())
        self._last(link.KILL)
