"""Where the daemon listens, whom a client takes for it, and why nobody answers there."""

from __future__ import annotations

import errno
import os
import pwd
import socket
import stat
import struct
from typing import Iterable, List, NamedTuple, Optional, Union

from .errors import ServerGoneError


HOST_SOCKET = "/run/kura/kura.sock"


def default_socket() -> str:
    """KURA_SOCKET, or where the daemon of this user listens, as with `kura` and `kurad`."""
    return os.environ.get("KURA_SOCKET") or usual_socket()


def usual_socket() -> str:
    """Where the daemon of this user listens unless somebody says otherwise. Below /tmp anybody may make that directory first."""
    if os.geteuid() == 0:
        return HOST_SOCKET
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return f"{runtime}/kura/kura.sock" if runtime.startswith("/") else f"/tmp/kura-{os.geteuid()}/kura.sock"


class Peer(NamedTuple):
    """Whom a client takes for the daemon. It is asked after connecting and before the first byte is sent.

    Where the expected users are named, one of them has to be at the other end. Else the usual place is checked: its directory is
    this user's or root's and nobody else writes there, and this user, root or the directory's owner listens. Any other path is
    taken on its giver's word.
    """

    path: str
    named: Optional[List[int]]
    is_usual: bool

    @classmethod
    def of(cls, path: str, uids: Union[None, int, Iterable[int]]) -> Peer:
        named = [uids] if isinstance(uids, int) else None if uids is None else list(uids)
        text = os.environ.get("KURA_PEER_UID")
        if named is None and text:
            try:
                named = [int(number) for number in text.split(",")]
            except ValueError:
                raise ValueError(f"KURA_PEER_UID takes user numbers, such as 10001 or 0,10001, not {text!r}") from None
        return cls(path, named, path == usual_socket())

    def check_directory(self) -> Optional[int]:
        """Before connecting. Returns the owner of the usual place's directory. Raises ServerGoneError."""
        if not self.is_usual or self.named is not None:
            return None
        directory = os.path.dirname(self.path)
        try:
            about = os.lstat(directory)
        except OSError:
            # Connecting tells why.
            return None
        if not stat.S_ISDIR(about.st_mode):
            raise self._stranger(f"{directory} is no directory, but a link or another kind of file")
        user = os.geteuid()
        # Root's is below /run, where root alone makes directories: it may be anybody's whom root has given it to.
        if about.st_uid not in (user, 0) and user != 0:
            raise self._stranger(f"{directory} belongs to user {about.st_uid}, and user {user} or root is expected")
        if about.st_mode & 0o022:
            raise self._stranger(f"{directory} may be written by others (mode {stat.S_IMODE(about.st_mode):o})")
        return about.st_uid

    def check(self, sock: socket.socket, owner: Optional[int]) -> None:
        """Once it is connected. `owner`: what check_directory has returned. Raises ServerGoneError."""
        expected = self.named
        if expected is None:
            if not self.is_usual:
                return
            expected = [os.geteuid(), 0, owner or 0]
        _, peer, _ = struct.unpack("iII", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII")))
        if peer not in expected:
            names = " or ".join(dict.fromkeys("root" if user == 0 else f"user {user}" for user in expected)) or "nobody"
            raise self._stranger(f"user {peer} listens at {self.path}, and {names} is expected")

    def _stranger(self, what: str) -> ServerGoneError:
        return ServerGoneError(
            f"{what}: nothing was sent. Somebody else may pose as the daemon there; where the daemon runs as another user, "
            "name that one by number with KURA_PEER_UID or peer_uid="
        )


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
