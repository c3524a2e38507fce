"""Parts kinds and headers: what may be wrong with a file that a start reads."""

import os
import socket
import stat
from pathlib import Path

from contents import Found
from spoilt import Spoilt
from stranger import Daemon
from tries import in_turns

CANARY = b"nobody writes here"


def listen(path):
    # The name of a socket is short: it is bound from where it is to be.
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(os.path.basename(path))
    finally:
        os.chdir(here)


# What is made in the place of what was there; a link leads to a file, or a directory, of somebody else.
OTHERS = {
    "directory": lambda path, outside: os.mkdir(path, 0o700),
    "file": lambda path, outside: Path(path).touch(),
    "link": lambda path, outside: os.symlink(outside, path),
    "dangling": lambda path, outside: os.symlink("/nowhere/at/all", path),
    "fifo": lambda path, outside: os.mkfifo(path, 0o600),
    "listener": lambda path, outside: listen(path),
    "gone": lambda path, outside: None,
}
# What is done to what is there.
CHANGES = {
    "forbidden": lambda path: os.chmod(path, 0),
    "open_to_all": lambda path: os.chmod(path, 0o777 if os.path.isdir(path) else 0o666),
    "foreign": lambda path: os.chown(path, 54321, 54321),
}
KINDS = [kind for kind in [*OTHERS, *CHANGES] if kind != "foreign" or os.geteuid() == 0]


def become(path, kind, outside):
    """Makes another kind of file of one."""
    if kind in CHANGES:
        return CHANGES[kind](path)
    if os.path.isdir(path):
        os.rename(path, f"{path}.was")
    else:
        os.unlink(path)
    return OTHERS[kind](path, outside)


def kinds(run):
    spoilt = Spoilt(run.room(), Daemon)
    cases = [(path, kind) for path in spoilt.paths() for kind in KINDS]
    cases += [(path, kind) for path in spoilt.paths(is_file=False) for kind in KINDS if kind not in ("directory", "dangling")]
    run.dice.shuffle(cases)

    def attempt(path, kind, outside):
        canary = outside
        if (Path(spoilt.origin) / path).is_dir():
            outside.mkdir()
            canary = outside / "canary"
        canary.write_bytes(CANARY)
        spoilt.start(lambda copied: become(os.path.join(copied, path), kind, outside))
        if canary.read_bytes() != CANARY:
            raise Found("what a link leads to was written")

    done = 0
    for path, kind in cases:
        if run.is_late():
            break
        done += 1
        run.guard(lambda: attempt(path, kind, Path(spoilt.work, f"outside{done}")), f"{path} as {kind}",
                  f"a copy of a data directory with {path} as {kind}")
    return f"{done} of {len(cases)} starts: {said(spoilt)}"


def flip(path, place, bit):
    mode = stat.S_IMODE(os.stat(path).st_mode)
    os.chmod(path, mode | 0o600)
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ bit]))
    os.chmod(path, mode)


def headers(run):
    spoilt = Spoilt(run.room(), Daemon)
    cases, done = [], 0
    for path in spoilt.paths():
        size = os.path.getsize(os.path.join(spoilt.origin, path))
        if size:
            cases.append([(path, place, 1 << run.dice.randrange(8)) for place in range(min(100, size))])
            run.dice.shuffle(cases[-1])
    run.dice.shuffle(cases)
    # Files take turns, the short ones often enough.
    for path, place, bit in in_turns(cases):
        if run.is_late():
            break
        done += 1
        run.guard(lambda: spoilt.start(lambda copied: flip(os.path.join(copied, path), place, bit)),
                  f"{path} byte {place} bit {bit}", f"byte {place} of {path}, xor {bit}")
    return f"{done} starts over {len(cases)} files: {said(spoilt)}"


def said(spoilt):
    return ", ".join(f"{count} {kind}" for kind, count in sorted(spoilt.counts.items()))
