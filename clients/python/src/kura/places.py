"""Where the daemon listens, and why nobody answers there."""

from __future__ import annotations

import errno
import os
import pwd
import stat


HOST_SOCKET = "/run/kura/kura.sock"


def default_socket() -> str:
    """KURA_SOCKET, or where the daemon of this user listens, as with `kura` and `kurad`."""
    named = os.environ.get("KURA_SOCKET")
    if named:
        return named
    if os.geteuid() == 0:
        return HOST_SOCKET
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return f"{runtime}/kura/kura.sock" if runtime.startswith("/") else f"/tmp/kura-{os.geteuid()}/kura.sock"


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _what(path: str) -> str:
    """What else there is; empty for a socket, and for what cannot be looked at."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return ""
    return "" if stat.S_ISSOCK(mode) else "a directory" if stat.S_ISDIR(mode) else "a file" if stat.S_ISREG(mode) else "something else"


def why_unreachable(path: str, error: OSError) -> str:
    """A sentence for whoever cannot connect, with what to do."""
    if error.errno == errno.ENOENT:
        host = f". The host's daemon has its socket at {HOST_SOCKET}" if path != HOST_SOCKET and os.path.exists(HOST_SOCKET) else ""
        return (
            f"no daemon listens at {path}: start it (`kurad`, or `kurad --socket {path}`), "
            f"or say where it listens with KURA_SOCKET or socket={host}"
        )
    what = _what(path)
    if what:
        return f"{path} is {what}, not a daemon's socket: say where it listens with KURA_SOCKET or socket="
    if error.errno == errno.ECONNREFUSED:
        return f"{path} is there, but no daemon listens any more: it has been killed. Start it again (`kurad`)"
    if error.errno in (errno.EACCES, errno.EPERM):
        told = ""
        try:
            about = os.stat(path)
            told = f" ({_user(about.st_uid)}'s, mode {stat.S_IMODE(about.st_mode):04o})"
        except OSError:
            pass
        return (
            f"{path}: {_user(os.geteuid())} may not connect to this socket{told}: run as its owner, or have the daemon's "
            "administrator configure a socket for you (proto-docs/access.md)"
        )
    if "too long" in str(error):
        return f"{path}: a socket's path has at most 107 bytes; give a shorter one"
    return f"{path}: {error.strerror or error}: is it the socket of a daemon that runs?"
