"""Bits that flip at rest, and what is still proved by those that did not."""

import struct

import link
import proof
from tree import boot_id


class Rotting:
    """The part of a simulated world that spoils its disk."""

    def __init__(self):
        # Where bits have flipped.
        self.rotten = []
        # Up to which revision the disk proved, at the last start behind that, what had been on it.
        self.proven = None
        # By path, what some files had a while ago.
        self._marked = {}

    def mark(self, part):
        """What the files have now whose path has this part."""
        self._marked = {path: self._ask(link.FILE, path.encode()) for path, _ in self.listing() if part in path}

    def rot(self, part, place, mask, is_new=False):
        """Bits flip where something is stored, in one of the files whose path has this part; `place` is any number.
        `is_new`: where it was stored since the last mark."""
        marked = dict(self._marked) if is_new else None
        self._soon(lambda: self._rot(part, place, mask) if marked is None else self._rot_new(part, place, mask, marked))

    def _rot_new(self, part, place, mask, marked):
        places = []
        for path, size in self.listing():
            if size and path.startswith(self.data) and part in path and path in marked:
                content = self._ask(link.FILE, path.encode())
                before = marked[path].ljust(len(content), b"\0")
                places += [(path, at) for start in range(0, len(content), 512) if content[start : start + 512] != before[start : start + 512]
                           for at in range(start, min(start + 512, len(content))) if content[at] != before[at]]
        if places:
            self.rotten.append(places[place % len(places)])
            self.flip(*self.rotten[-1], mask)

    def _rot(self, part, place, mask):
        paths = [path for path, size in self.listing() if size and path.startswith(self.data) and part in path]
        if self._process is None or not paths:
            return
        place, which = divmod(place, len(paths))
        content = self._ask(link.FILE, paths[which].encode())
        used = [at for at in range(0, len(content), 512) if content[at : at + 512].strip(b"\0")] or [0]
        place, block = divmod(place, len(used))
        self.rotten.append((paths[which], min(used[block] + place % 512, len(content) - 1)))
        self.flip(*self.rotten[-1], mask)

    def _proven(self):
        """Up to which revision a start is told what was on the disk; None when it has ended already."""
        files = {path.removeprefix(f"{self.data}/"): path for path, _ in self.listing() if path.startswith(f"{self.data}/")}
        names = [name for name in files if name.startswith("log/") and name.endswith(".log")]
        segments = [self._ask(link.FILE, files[name].encode()) for name in names]
        note, boot = (self._ask(link.FILE, files[name].encode()) if name in files else b"" for name in ("acknowledged", "boot.json"))
        is_complete = boot_id(self._seed, self._boots).strip() in boot and not any(path.endswith("boot.json") for path, _ in self.rotten)
        return proof.proven(note, segments, is_complete) if self._process is not None else None

    def flip(self, path, offset, mask):
        self._soon(lambda: self._order(link.FLIP, struct.pack("<QB", offset, mask) + path.encode()))
