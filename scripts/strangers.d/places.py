"""Parts kinds and headers: what may be wrong with a file that a start reads."""

import os
import socket
import stat

from contents import Found
from spoilt import Spoilt
from stranger import Daemon

CANARY = b"nobody writes here"


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        os.rename(path, f"{path}.was")
    else:
        os.unlink(path)


def directory(path, _):
    remove(path)
    os.mkdir(path, 0o700)


def file(path, _):
    remove(path)
    open(path, "wb").close()


def link(path, outside):
    remove(path)
    os.symlink(outside, path)


def dangling(path, _):
    remove(path)
    os.symlink("/nowhere/at/all", path)


def fifo(path, _):
    remove(path)
    os.mkfifo(path, 0o600)


def listener(path, _):
    remove(path)
    # The name of a socket is short: it is bound from where it is to be.
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(os.path.basename(path))
    finally:
        os.chdir(here)


def gone(path, _):
    remove(path)


def forbidden(path, _):
    os.chmod(path, 0)


def open_to_all(path, _):
    os.chmod(path, 0o777 if os.path.isdir(path) else 0o666)


def foreign(path, _):
    os.chown(path, 54321, 54321)


FILES = [directory, file, link, dangling, fifo, listener, gone, forbidden, open_to_all]
DIRECTORIES = [file, link, fifo, listener, gone, forbidden, open_to_all]


def kinds(run):
    spoilt = Spoilt(run.room("kinds"), Daemon)
    more = [foreign] if os.geteuid() == 0 else []
    cases = [(path, kind) for path in spoilt.paths() for kind in FILES + more]
    cases += [(path, kind) for path in spoilt.paths(is_file=False) for kind in DIRECTORIES + more]
    run.dice.shuffle(cases)
    done = 0
    for path, kind in cases:
        if run.is_late():
            break
        done += 1
        # A link leads to a file, or a directory, of somebody else.
        outside = os.path.join(spoilt.work, f"outside{done}")
        if os.path.isdir(os.path.join(spoilt.origin, path)):
            os.mkdir(outside)
            canary = os.path.join(outside, "canary")
        else:
            canary = outside
        with open(canary, "wb") as writer:
            writer.write(CANARY)

        def spoil(place, path=path, kind=kind, outside=outside):
            kind(os.path.join(place, path), outside)

        def attempt(spoil=spoil, canary=canary, path=path, kind=kind):
            spoilt.start(spoil)
            with open(canary, "rb") as reader:
                if reader.read() != CANARY:
                    raise Found("what a link leads to was written")

        run.guard(attempt, f"{path} as {kind.__name__}", f"a copy of a data directory with {path} as {kind.__name__}")
    return f"{done} of {len(cases)} starts: {said(spoilt)}"


def headers(run):
    spoilt = Spoilt(run.room("headers"), Daemon)
    paths = [path for path in spoilt.paths() if os.path.getsize(os.path.join(spoilt.origin, path))]
    cases = []
    for path in paths:
        size = min(100, os.path.getsize(os.path.join(spoilt.origin, path)))
        cases.append([(path, place, 1 << run.dice.randrange(8)) for place in range(size)])
        run.dice.shuffle(cases[-1])
    run.dice.shuffle(cases)
    # Files take turns, the short ones often enough.
    order = [row[at] for at in range(100) for row in cases if at < len(row)]
    done = 0
    for path, place, bit in order:
        if run.is_late():
            break
        done += 1

        def spoil(copied, path=path, place=place, bit=bit):
            name = os.path.join(copied, path)
            mode = stat.S_IMODE(os.stat(name).st_mode)
            os.chmod(name, mode | 0o600)
            with open(name, "r+b") as writer:
                writer.seek(place)
                byte = writer.read(1)[0]
                writer.seek(place)
                writer.write(bytes([byte ^ bit]))
            os.chmod(name, mode)

        run.guard(lambda: spoilt.start(spoil), f"{path} byte {place} bit {bit}", f"byte {place} of {path}, xor {bit}")
    return f"{done} starts over {len(paths)} files: {said(spoilt)}"


def said(spoilt):
    return ", ".join(f"{count} {kind}" for kind, count in sorted(spoilt.counts.items()))
