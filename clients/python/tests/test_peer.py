"""Whom a client takes for the daemon, and how much it takes from whoever answers."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, List, Optional

import pytest

import kura
from conftest import PATIENCE, Daemon
from kura.wire import LINE_BYTES, Exchange, Request

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to be two users")
STRANGER = 65534


@contextmanager
def acting_as(user: int) -> Iterator[None]:
    own = os.geteuid()
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(own)


class Listener:
    """Somebody who listens, keeps what comes, and hangs up."""

    def __init__(self, path: str, user: Optional[int] = None) -> None:
        self.path = path
        self.heard: List[bytes] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(path)
        os.chmod(path, 0o666)
        # The kernel tells clients who has called listen(2).
        with acting_as(os.geteuid() if user is None else user):
            self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            with peer:
                self.heard.append(peer.recv(65536))

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextmanager
def listening(path: str, user: Optional[int] = None) -> Iterator[Listener]:
    listener = Listener(path, user)
    try:
        yield listener
    finally:
        listener.close()


@pytest.fixture
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="kura-py-", dir="/tmp") as path:
        os.chmod(path, 0o755)
        yield path


def refusal(connect: Callable[[], Any]) -> str:
    with pytest.raises(kura.ServerGoneError) as caught:
        connect()
    return str(caught.value)


def blocking(path: Optional[str] = None, **options: Any) -> None:
    kura.connect(path, timeout=PATIENCE, **options).close()


def awaited(path: Optional[str] = None, **options: Any) -> None:
    async def run() -> None:
        (await kura.aio.connect(path, timeout=PATIENCE, **options)).close()

    asyncio.run(run())


@pytest.mark.parametrize("connect", [blocking, awaited])
def test_a_named_user_has_to_listen(folder: str, connect: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = os.geteuid(), os.geteuid() + 1
    with listening(f"{folder}/s") as listener:
        told = refusal(lambda: connect(listener.path, peer_uid=other))
        me = "root" if own == 0 else f"user {own}"
        assert told.startswith(f"user {own} listens at {listener.path}, and user {other} is expected: nothing was sent.")
        assert "KURA_PEER_UID" in told and "peer_uid=" in told
        monkeypatch.setenv("KURA_PEER_UID", f"{other},{other + 1}")
        assert f"user {other} or user {other + 1} is expected" in refusal(lambda: connect(listener.path))
        # What is said in the program counts.
        assert f", and {me} or user 7 is expected" not in refusal(lambda: connect(listener.path, peer_uid=[own, 7]))
        # Nobody names one: who gives a path knows whose it is.
        monkeypatch.setenv("KURA_PEER_UID", "")
        refusal(lambda: connect(listener.path))
    # Those that were refused have sent nothing.
    said = [heard for heard in listener.heard if heard]
    assert len(said) == 2 and all(b'"session.hello"' in heard for heard in said)


def test_the_named_user_is_served(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    with kura.connect(daemon.socket, peer_uid=os.geteuid()) as client:
        assert client.storage.ping() == {"pong": True}
    monkeypatch.setenv("KURA_PEER_UID", f"4242, {os.geteuid()}")
    with kura.connect(daemon.socket) as client:
        assert client.storage.ping() == {"pong": True}


@pytest.mark.parametrize("text", ["kura", "1,", "-", "1;2"])
def test_what_names_no_user_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KURA_PEER_UID", text)
    with pytest.raises(ValueError, match="KURA_PEER_UID takes user numbers"):
        kura.Kura("/tmp/nobody.sock")


def as_user(user: int, connect: Callable[[], None]) -> str:
    """What a process of this user is told."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        told = "served"
        try:
            os.environ.pop("XDG_RUNTIME_DIR", None)
            os.environ.pop("KURA_SOCKET", None)
            os.environ.pop("KURA_PEER_UID", None)
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            connect()
        except BaseException as error:
            told = str(error)
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


@contextmanager
def usual_directory(owner: Optional[int], mode: int) -> Iterator[int]:
    """A user and the directory below /tmp where that user's daemon usually is. `owner`: of the directory; the user, when left out."""
    user = random.randrange(1 << 20, 1 << 30)
    path = f"/tmp/kura-{user}"
    os.mkdir(path)
    try:
        os.chmod(path, mode)
        os.chown(path, user if owner is None else owner, 0)
        yield user
    finally:
        for name in Path(path).iterdir():
            name.unlink()
        os.rmdir(path)


@needs_root
@pytest.mark.parametrize("connect", [blocking, awaited])
@pytest.mark.parametrize(
    "owner, mode, listens, told",
    [
        (STRANGER, 0o755, STRANGER, "/tmp/kura-{user} belongs to user 65534, and user {user} or root is expected: nothing was sent"),
        (None, 0o777, None, "/tmp/kura-{user} may be written by others (mode 777): nothing was sent"),
        (None, 0o770, None, "/tmp/kura-{user} may be written by others (mode 770): nothing was sent"),
        (None, 0o755, STRANGER, "user 65534 listens at /tmp/kura-{user}/kura.sock, and user {user} or root is expected: nothing was sent"),
        (None, 0o700, None, None),
        (0, 0o755, None, None),
        (0, 0o755, 0, None),
    ],
)  # fmt: skip
def test_the_usual_place_is_ones_own_or_roots(
    connect: Callable[..., None], owner: Optional[int], mode: int, listens: Optional[int], told: Optional[str]
) -> None:
    with usual_directory(owner, mode) as user, listening(f"/tmp/kura-{user}/kura.sock", user if listens is None else listens) as listener:
        answer = as_user(user, connect)
        if told is None:
            assert "closes connections at once" in answer and b'"session.hello"' in listener.heard[0]
        else:
            assert answer.startswith(told.format(user=user)) and not b"".join(listener.heard)


@needs_root
def test_a_link_in_its_place_is_refused() -> None:
    with usual_directory(None, 0o700) as user, listening(f"/tmp/kura-{user}/kura.sock", user) as listener:
        os.rename(f"/tmp/kura-{user}", f"/tmp/kura-{user}.real")
        os.symlink(f"/tmp/kura-{user}.real", f"/tmp/kura-{user}")
        try:
            assert as_user(user, blocking).startswith(f"/tmp/kura-{user} is no directory, but a link")
        finally:
            os.unlink(f"/tmp/kura-{user}")
            os.rename(f"/tmp/kura-{user}.real", f"/tmp/kura-{user}")
        assert not b"".join(listener.heard)


@needs_root
def test_roots_usual_place_is_whose_root_has_given_it_to(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KURA_SOCKET", raising=False)
    monkeypatch.setattr("kura.places.HOST_SOCKET", f"{folder}/kura.sock")
    os.chown(folder, 4242, 0)
    with listening(f"{folder}/kura.sock", 4242) as listener:
        assert "closes connections at once" in refusal(blocking)
        assert b'"session.hello"' in listener.heard[0]
    os.unlink(f"{folder}/kura.sock")
    with listening(f"{folder}/kura.sock", STRANGER) as listener:
        assert "user 65534 listens" in refusal(blocking) and "root or user 4242 is expected" in refusal(blocking)
    assert not b"".join(listener.heard)


@pytest.mark.parametrize("connect", [blocking, awaited])
def test_a_line_without_an_end_ends_the_connection(folder: str, connect: Callable[..., None]) -> None:
    sent = 0

    def pour(listener: socket.socket) -> None:
        nonlocal sent
        peer, _ = listener.accept()
        peer.recv(65536)
        try:
            while True:
                sent += peer.send(b"x" * (1 << 20))
        except OSError:
            peer.close()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/s")
        listener.listen()
        thread = threading.Thread(target=pour, args=[listener], daemon=True)
        thread.start()
        with pytest.raises(kura.ProtocolError, match="more than 128 MiB came without a line end"):
            connect(f"{folder}/s")
        thread.join(PATIENCE)
    assert not thread.is_alive() and LINE_BYTES < sent < LINE_BYTES + (16 << 20)


def test_only_one_line_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kura.wire.LINE_BYTES", 100)
    exchange = Exchange()
    requests = [Request("storage.ping", {}) for _ in range(20)]
    text = b""
    for request in requests:
        exchange.begin(request)
        text += b'{"jsonrpc":"2.0","id":%d,"result":{"n":"%s"}}\n' % (request.id, b"x" * 50)
    for begin in range(0, len(text), 7):
        exchange.dispatch(exchange.parse(text[begin : begin + 7]))
    assert all(request.is_ready for request in requests)
    with pytest.raises(kura.ProtocolError):
        for _ in range(16):
            exchange.parse(b"xxxxxxx")


@contextmanager
def answering(path: str, result: bytes, between: bytes = b"") -> Iterator[None]:
    """Somebody who answers every request with the same, and `between` again and again before it; nothing is written anywhere."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def serve(peer: socket.socket) -> None:
        with peer:
            for line in peer.makefile("rb"):
                request = json.loads(line)
                try:
                    is_hello = request["method"] == "session.hello"
                    while between and not is_hello:
                        peer.sendall(between)
                    answer = b'{"server":"kurad","protocol":1}' if is_hello else result
                    peer.sendall(b'{"jsonrpc":"2.0","id":%s,"result":%s}\n' % (json.dumps(request["id"]).encode(), answer))
                except OSError:
                    return

    def accept() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(peer,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.mark.parametrize("result", [b'{"bytes":1000,"digest":"aa","verified":true,"exported":3}', b"{}"])
def test_a_file_that_did_not_come_is_not_made(folder: str, result: bytes) -> None:
    path = f"{folder}/answering"
    with answering(path, result), kura.connect(path) as client:
        with pytest.raises(kura.ProtocolError):
            client.backups.write(f"{folder}/backup")
        with pytest.raises(kura.ProtocolError):
            client.documents["notes"].export_to(f"{folder}/export")
        assert os.listdir(folder) == ["answering"]


def test_notifications_without_end_give_no_more_time(folder: str) -> None:
    path = f"{folder}/flooding"
    note = b'{"jsonrpc":"2.0","method":"progress","params":{"id":1,"done":1,"total":2,"unit":"bytes"}}\n'
    with answering(path, b"{}", note * 100), kura.connect(path, timeout=1.0) as client:
        begun = time.monotonic()
        with pytest.raises(kura.NoReplyError):
            client.settings.get("a", "b")
        assert time.monotonic() - begun < PATIENCE
