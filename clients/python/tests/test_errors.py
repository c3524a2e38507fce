"""What is told when it goes wrong, and what to do."""

from __future__ import annotations

import json
import os
import pwd
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from typing import Optional

import pytest

import kura
from conftest import CLIENT, Daemon
from middle import Middle


def test_a_daemon_that_is_not_there(tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{tmp_path}/none.sock"
    with pytest.raises(kura.ServerGoneError) as caught:
        kura.connect(path)
    assert isinstance(caught.value, ConnectionError)
    assert f"no daemon listens at {path}: start it" in str(caught.value) and "KURA_SOCKET" in str(caught.value)
    with monkeypatch.context() as patched:
        patched.setattr("kura.places.HOST_SOCKET", "/dev/null")
        with pytest.raises(kura.ServerGoneError, match="or socket=. The host's daemon has its socket at /dev/null$"):
            kura.connect(path)
        patched.setattr("kura.places.HOST_SOCKET", f"{tmp_path}/neither.sock")
        with pytest.raises(kura.ServerGoneError, match="or socket=$"):
            kura.connect(path)
    # One that has never been connected is not waited for either.
    with pytest.raises(kura.ServerGoneError, match="no daemon listens"):
        kura.Kura(path, patience=1000).storage.ping()


def test_a_daemon_that_was_killed(own_daemon: Daemon) -> None:
    client = kura.connect(own_daemon.socket, patience=0.1)
    own_daemon.end(signal.SIGKILL)
    with pytest.raises(kura.ServerGoneError, match="has been killed. Start it again"):
        client.settings.get("a", "b")
    own_daemon.start()
    assert client.settings.get("a", "b") == {"rev": 0}


def test_a_daemon_that_comes_later_is_waited_for(own_daemon: Daemon) -> None:
    own_daemon.end()
    thread = threading.Timer(0.3, own_daemon.start)
    thread.start()
    with kura.connect(own_daemon.socket, wait=60) as client:
        assert client.storage.ping() == {"pong": True}
    thread.join()


@pytest.mark.parametrize(
    "user, runtime, path",
    [
        (0, "/run/user/0", "/run/kura/kura.sock"),
        (4242, "/run/user/4242", "/run/user/4242/kura/kura.sock"),
        (4242, "", "/tmp/kura-4242/kura.sock"),
        (4242, None, "/tmp/kura-4242/kura.sock"),
    ],
)
def test_it_is_looked_for_where_the_daemon_listens(monkeypatch: pytest.MonkeyPatch, user: int, runtime: Optional[str], path: str) -> None:
    """As SocketPath.standard has it, which daemon and command line use; the worker in bash too."""
    monkeypatch.delenv("KURA_SOCKET", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    if runtime is not None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    if os.geteuid() == 0:
        lines = (CLIENT.parent / "bash" / "thumbnailer").read_text("utf-8").splitlines()
        told = "\n".join([*(line for line in lines if line.startswith("set ")), 'echo "$directory/kura.sock"'])
        ended = subprocess.run(["bash", "-c", told], capture_output=True, text=True, user=user)
        assert ended.stdout == f"{path}\n", ended.stderr
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert kura.Kura().socket == path
    monkeypatch.setenv("KURA_SOCKET", "/srv/k.sock")
    assert kura.Kura().socket == "/srv/k.sock"


def test_what_is_no_socket_is_told_as_such(tmp_path: os.PathLike[str]) -> None:
    for path, what in (("/etc/passwd", "a file"), (str(tmp_path), "a directory"), ("/dev/null", "something else")):
        with pytest.raises(kura.ServerGoneError, match=f"^{path} is {what}, not a daemon's socket: say where it listens") as caught:
            kura.connect(path)
        assert "killed" not in str(caught.value)


def test_a_path_that_is_too_long() -> None:
    with pytest.raises(kura.ServerGoneError, match="at most 107 bytes"):
        kura.connect("/tmp/" + "x" * 200)


class Pretender:
    """Somebody else at a socket, who answers each line by one of its own."""

    def __init__(self, reply: bytes) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="kura-py-", dir="/tmp")
        self.socket = f"{self.folder.name}/p.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.socket)
        self.listener.listen()
        self.reply = reply
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            peer.recv(65536)
            peer.sendall(self.reply)
            peer.close()

    def __enter__(self) -> "Pretender":
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        self.folder.cleanup()


@pytest.mark.parametrize(
    "reply, error, told",
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{"server":"kurad","version":"9.0.0","protocol":2}}\n', kura.VersionMismatchError, "version 2"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"server":"other","protocol":1}}\n', kura.VersionMismatchError, "other"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":{"kind":"methodNotFound"}}}\n',
         kura.VersionMismatchError, "update the older one"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", kura.ProtocolError, "is this Kura's socket"),
        (b"[1]\n", kura.ProtocolError, "is this Kura's socket"),
        (b"", kura.ServerGoneError, "closes connections at once"),
    ],
)  # fmt: skip
def test_somebody_else_at_the_socket(reply: bytes, error: "type[kura.KuraError]", told: str) -> None:
    with Pretender(reply) as pretender, pytest.raises(error, match=told):
        kura.connect(pretender.socket)


def test_a_value_that_is_too_large(client: kura.Kura) -> None:
    with pytest.raises(kura.ValueTooLargeError) as caught:
        client.settings["large"]["a"] = "x" * 1_100_000
    assert caught.value.limit == 1 << 20 and "blobs" in str(caught.value)
    with pytest.raises(kura.ValueTooLargeError):
        client.documents["large"].put("x" * (9 << 20))
    # Longer than a line: it is not even sent.
    with pytest.raises(kura.LineTooLongError) as long:
        client.documents["large"].put("x" * (17 << 20))
    assert long.value.limit == 16 << 20 and "blobs" in str(long.value)
    assert client.documents["large"].count() == 0


def test_wrong_types_are_told_by_parameter(client: kura.Kura) -> None:
    with pytest.raises(kura.InvalidParamsError) as caught:
        client.settings.get("app", 5)  # type: ignore[arg-type]
    assert caught.value.data["parameter"] == "key" and "parameter key" in str(caught.value)
    with pytest.raises(kura.TypeMismatchError, match="no integer"):
        client.settings["types"]["a"] = "text"
        client.settings["types"].increment("a")
    with pytest.raises(kura.InvalidParamsError, match="unknown parameter"):
        client.call("settings.get", {"domain": "a", "key": "b", "defualt": 1})
    with pytest.raises(kura.MethodNotFoundError):
        client.call("settings.destroy", {})


ROLES = {
    "sockets": [
        {"path": "/run/kura/k.sock", "mode": "0600", "role": "admin"},
        {"path": "/run/kura/apps.sock", "mode": "0666", "role": "app"},
        {"path": "/run/kura/nobody.sock", "mode": "0666", "roles": [{"uid": 4242, "role": "app"}]},
    ],
    "roles": {"app": {"grants": [{"store": "settings", "scope": "app-*", "allow": ["list", "read"]}]}},
}


def test_what_is_denied_names_the_missing_grant() -> None:
    daemon = Daemon(ROLES)
    try:
        daemon.start()
        # The last of several sockets comes a moment after the first.
        with kura.connect(f"{daemon.folder}/apps.sock", wait=60) as client:
            assert client.server().role == "app"
            with pytest.raises(kura.ForbiddenError) as caught:
                client.settings["app-1"]["a"] = 1
            text = str(caught.value)
            assert "missing: create, update on settings 'app-1'" in text and "administrator" in text and "client.server()" in text
            assert client.settings["app-1"].get("a") is None
        with pytest.raises(kura.ForbiddenError):
            kura.connect(f"{daemon.folder}/nobody.sock", wait=60)
    finally:
        daemon.remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_socket_of_somebody_else(own_daemon: Daemon) -> None:
    os.chmod(own_daemon.folder, 0o711)
    program = f"import os; os.setuid({pwd.getpwnam('nobody').pw_uid})\nimport kura; kura.connect({own_daemon.socket!r})"
    environment = {**os.environ, "PYTHONPATH": str(CLIENT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    if not stat.S_IMODE(os.stat(CLIENT).st_mode) & 0o005 or not os.access(sys.executable, os.X_OK):
        pytest.skip("nobody cannot read the package here")
    # Imported before the user changes: where Python lies may be closed to others.
    program = "import kura, os\n" + program.replace("import kura; ", "")
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert "kura.errors.ServerGoneError" in ended.stderr and "nobody may not connect" in ended.stderr, ended.stderr
    assert "root's, mode 0600" in ended.stderr and "administrator" in ended.stderr


def test_an_application_starts_once_however_often_it_connects(own_daemon: Daemon) -> None:
    with Middle(own_daemon.socket) as middle, kura.Kura(middle.socket, name="app", version="1.2", launch=True, patience=60) as client:
        client.storage.ping()
        own_daemon.restart()
        client.storage.ping()
        hellos = [json.loads(line)["params"] for line in middle.requests("session.hello")]
        assert [hello.get("launch") for hello in hellos if hello] == [True, *[None] * (len(hellos) - 1)] and len(hellos) >= 2
        assert all((hello["client"], hello["version"]) == ("app", "1.2") for hello in hellos)


def test_a_closed_client_says_so(daemon: Daemon) -> None:
    client = kura.connect(daemon.socket)
    client.close()
    with pytest.raises(kura.ClosedError):
        client.storage.ping()


def test_every_kind_has_a_class_and_every_error_a_remedy() -> None:
    from kura.methods.kinds import KINDS

    for kind, error in KINDS.items():
        assert error.kind == kind and error.remedy and issubclass(error, kura.KuraError)
    unknown = kura.ServerError("a.b", "New", {"kind": "brandNew", "retryable": True, "hint": "Do this"})
    assert unknown.kind == "brandNew" and unknown.is_retryable and str(unknown) == "a.b: New. Do this."
