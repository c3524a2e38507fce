"""Whatever is done wrong, the error is of a kind of its own, and says what to do."""

from __future__ import annotations

import os
import signal
from typing import Any, Callable, Iterator, List, NamedTuple, Type

import pytest

import kura
from conftest import PATIENCE, Daemon
from test_errors import Pretender


class Place:
    """Daemons and sockets where something is wrong."""

    def __init__(self) -> None:
        self.daemon = Daemon(
            {
                "sockets": [
                    {"path": "/run/kura/k.sock", "mode": "0600", "role": "admin"},
                    {"path": "/run/kura/reader.sock", "mode": "0600", "role": "reader"},
                ],
                "roles": {
                    "reader": {"grants": [{"store": "settings", "scope": "*", "allow": ["list", "read"]}]},
                },
            }
        ).start()
        self.client = kura.Kura(self.daemon.socket, timeout=PATIENCE)
        self.reader = kura.Kura(f"{self.daemon.folder}/reader.sock", timeout=PATIENCE)
        self.reader.open(PATIENCE)
        self.dead = Daemon().start()
        self.widow = kura.connect(self.dead.socket, patience=0.0)
        self.dead.end(signal.SIGKILL)
        self.newer = Pretender(b'{"jsonrpc":"2.0","id":1,"result":{"server":"kurad","version":"9.0.0","protocol":2}}\n')
        self.other = Pretender(b"220 mail.example.org ESMTP\r\n")

    def close(self) -> None:
        for opened in (self.client, self.reader, self.widow):
            opened.close()
        self.daemon.remove()
        self.dead.remove()
        for pretender in (self.newer, self.other):
            pretender.__exit__()


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    made = Place()
    try:
        yield made
    finally:
        made.close()


def sealed(place: Place) -> None:
    place.client.secrets["mail"].put("ada", "open sesame")
    place.client.secrets.add_slot("passphrase", new_passphrase="a long passphrase")
    place.client.secrets.lock()
    try:
        place.client.secrets["mail"].get("ada")
    finally:
        place.client.secrets.unlock(passphrase="a long passphrase")


def closed(place: Place) -> None:
    client = kura.Kura(place.daemon.socket)
    client.close()
    client.storage.ping()


class Mistake(NamedTuple):
    what: str
    do: Callable[[Place], object]
    error: Type[BaseException]
    # Words of what happened, and of what to do.
    told: List[str]


MISTAKES = [
    Mistake("no daemon", lambda place: kura.connect("/tmp/no/such.sock"),
            kura.ServerGoneError, ["no daemon listens at /tmp/no/such.sock", "start it", "KURA_SOCKET"]),
    Mistake("killed", lambda place: place.widow.settings["a"]["b"], kura.ServerGoneError, ["has been killed", "Start it again"]),
    Mistake("no socket", lambda place: kura.connect("/etc/hostname"), kura.ServerGoneError, ["/etc/hostname"]),
    Mistake("newer daemon", lambda place: kura.connect(place.newer.socket),
            kura.VersionMismatchError, ["version 2", "this client version 1", "install the client", "update the daemon"]),
    Mistake("another program", lambda place: kura.connect(place.other.socket), kura.ProtocolError, ["is this Kura's socket?"]),
    Mistake("setting too large", lambda place: place.client.settings["a"].put("b", "x" * (1 << 20)),
            kura.ValueTooLargeError, ["limit 1048576", "blobs", "attachments"]),
    Mistake("document too large", lambda place: place.client.documents["a"].put("x" * (9 << 20)), kura.ValueTooLargeError, ["8 MiB", "blobs"]),
    Mistake("longer than a line", lambda place: place.client.documents["a"].put("x" * (17 << 20)),
            kura.LineTooLongError, ["limit 16777216", "descriptor"]),
    Mistake("sealed", sealed, kura.SealedError, ["kura secrets unlock", "client.secrets.unlock(passphrase="]),
    Mistake("denied", lambda place: place.reader.settings["a"].put("b", 1),
            kura.ForbiddenError, ["missing: create, update on settings 'a'", "client.server()", "administrator", "KURA_SOCKET"]),
    Mistake("denied, another store", lambda place: place.reader.documents["a"].get("b"),
            kura.ForbiddenError, ["missing: read on documents 'a'", "administrator"]),
    Mistake("bytes as a value", lambda place: place.client.settings["a"].put("b", b"x"), kura.NotJSONError, ["value is of type bytes", "blob"]),
    Mistake("a date within", lambda place: place.client.documents["a"].put({"at": [__import__("datetime").date(2026, 1, 1)]}),
            kura.NotJSONError, ["value['at'][0]", "isoformat"]),
    Mistake("a number as a key", lambda place: place.client.settings["a"].get(5),  # type: ignore[arg-type]
            kura.InvalidParamsError, ["parameter key", "a string"]),
    Mistake("an unknown parameter", lambda place: place.client.call("settings.get", {"domain": "a", "kye": "b"}), kura.InvalidParamsError, ["kye"]),
    Mistake("an unknown method", lambda place: place.client.call("settings.fetch", {}), kura.MethodNotFoundError, ["settings.fetch"]),
    Mistake("text counted", lambda place: (place.client.settings["a"].put("t", "x"), place.client.settings["a"].increment("t")),
            kura.TypeMismatchError, ["no integer"]),
    Mistake("somebody was faster", lambda place: place.client.settings["a"].put("t", 1, if_rev=12345),
            kura.ConflictError, ["currentRev", "read it again", "edit"]),
    Mistake("a wrong selector", lambda place: list(place.client.documents["a"].find({"due": {"$smaller": 5}})), kura.KuraError, ["$smaller"]),
    Mistake("text as contents", lambda place: place.client.blobs["a"].put("b", "text"),  # type: ignore[arg-type]
            TypeError, ["encode text, open paths"]),
    Mistake("an assigned domain", lambda place: place.client.settings.__setitem__("a", {}), TypeError, ["settings['a'].update(…)"]),
    Mistake("a read in a transaction", lambda place: place.client.transaction().settings.get("a", "b"),
            TypeError, ["read before the transaction", "if_rev"]),
    Mistake("closed", closed, kura.ClosedError, ["make another one"]),
    Mistake("a client for the wrong function", lambda place: kura.cached("a", client=kura.aio.AsyncKura())(len),
            TypeError, ["needs a Kura (kura.connect)"]),
]  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.what for mistake in MISTAKES])
def test_the_error_says_what_to_do(place: Place, mistake: Mistake) -> None:
    with pytest.raises(mistake.error) as caught:
        mistake.do(place)
    text = str(caught.value)
    assert [words for words in mistake.told if words not in text] == [], text
    # Nothing of it has cost anybody the connection.
    assert place.client.storage.ping() == {"pong": True} and place.reader.storage.ping() == {"pong": True}


def test_no_error_tells_what_was_in_a_value(place: Place) -> None:
    mistakes: List[Callable[[], object]] = [
        lambda: place.client.settings["a"].put("b", "s3cr3t" * 200_000),
        lambda: place.client.documents["a"].put("s3cr3t" * 2_000_000),
        lambda: place.reader.settings["a"].put("b", "s3cr3t"),
        lambda: place.client.secrets["mail"].put("ada", "s3cr3t" * 400_000),
        lambda: place.client.secrets["mail"].put("", "s3cr3t"),
    ]
    for mistake in mistakes:
        with pytest.raises(kura.KuraError) as caught:
            mistake()
        assert "s3cr3t" not in str(caught.value) and "s3cr3t" not in repr(caught.value.__dict__)
