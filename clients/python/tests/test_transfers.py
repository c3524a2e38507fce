"""Whole collections to lines and back, and backups to files."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import socket
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

import kura
from conftest import PATIENCE, Daemon
from kura.aio import AsyncKura

VALUES: Dict[str, Any] = {f"{number:04}": {"n": number, "text": "ä\n" * (number % 7)} for number in range(500)}


def stored(client: kura.Kura, collection: str) -> Dict[str, Any]:
    return {document.id: document.value for document in client.documents[collection].each()}


@pytest.fixture(scope="module")
def notes(daemon: Daemon) -> Iterator[kura.Collection]:
    with kura.Kura(daemon.socket, timeout=PATIENCE) as client:
        client.documents["notes"].put_many(VALUES)
        yield client.documents["notes"]


def test_lines_of_a_file_come_back(client: kura.Kura, notes: kura.Collection, tmp_path: Path) -> None:
    path = tmp_path / "notes.ndjson"
    result = notes.export_to(path)
    assert result["exported"] == 500 and os.stat(path).st_mode & 0o777 == 0o600 and os.listdir(tmp_path) == ["notes.ndjson"]
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"id": id, "value": VALUES[id]} for id in VALUES]
    assert client.documents["by path"].import_from(path)["imported"] == 500 and stored(client, "by path") == VALUES
    with pytest.raises(FileExistsError, match="unless `replace`"):
        notes.export_to(path)
    path.write_text("old")
    assert notes.export_to(path, replace=True)["exported"] == 500 and path.stat().st_size > 10_000


def test_an_export_that_fails_leaves_no_file(daemon: Daemon, tmp_path: Path) -> None:
    with kura.Kura(daemon.socket) as client, pytest.raises(kura.InvalidParamsError):
        client.documents[""].export_to(tmp_path / "a")
    assert os.listdir(tmp_path) == []


def test_lines_go_through_whatever_takes_them(client: kura.Kura, notes: kura.Collection, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "notes.gz", "wb") as packed:
        for line in notes.export_lines():
            packed.write(line)
    assert client.documents["unpacked"].import_from(gzip.open(tmp_path / "notes.gz"))["imported"] == 500
    assert stored(client, "unpacked") == VALUES
    reading, writing = os.pipe()

    def write() -> None:
        notes.export_to(writing)
        os.close(writing)

    threading.Thread(target=write, daemon=True).start()
    assert client.documents["piped"].import_from(reading)["imported"] == 500 and stored(client, "piped") == VALUES
    os.close(reading)


@pytest.mark.parametrize("kind", ["documents", "pairs", "dict", "values", "lines", "texts", "memory", "bytes", "array", "generator"])
def test_what_is_iterated_over_is_imported(client: kura.Kura, notes: kura.Collection, kind: str) -> None:
    lines = list(notes.export_lines())
    sources: Dict[str, Any] = {
        "documents": notes.each(),
        "pairs": list(VALUES.items()),
        "dict": VALUES,
        "values": [{"key": id, **value} for id, value in VALUES.items()],
        "lines": lines,
        "texts": [line.decode().rstrip("\n") for line in lines],
        "memory": io.BytesIO(b"".join(lines)),
        "bytes": b"".join(lines),
        "array": json.dumps([{"id": id, "value": VALUES[id]} for id in VALUES]).encode(),
        "generator": ({"id": id, "value": VALUES[id]} for id in VALUES),
    }
    into = client.documents[f"from {kind}"]
    assert into.import_from(sources[kind], id_field="key" if kind == "values" else None)["imported"] == 500
    wanted = VALUES if kind != "values" else {id: {"key": id, **value} for id, value in VALUES.items()}
    assert stored(client, f"from {kind}") == wanted


def test_a_file_is_read_from_where_it_stands(client: kura.Kura, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a heading\n" + b"".join(b'{"id":"%d","value":%d}\n' % (number, number) for number in range(3000)))
    for mode in ("rb", "r+b"):
        with open(path, mode) as file:
            assert file.readline() == b"a heading\n"
            assert client.documents["heading"].import_from(file)["imported"] == 3000
    with open(path) as text:
        text.readline()
        assert client.documents["heading"].import_from(text)["imported"] == 3000


def test_a_bad_line_is_told_with_its_place(client: kura.Kura) -> None:
    lines = [b'{"id":"a","value":1}', b"{", b'{"id":"b","value":2}']
    with pytest.raises(kura.BadRecordError) as caught:
        client.documents["bad"].import_from(lines)
    assert caught.value.data["line"] == 2 and stored(client, "bad") == {"a": 1}
    result = client.documents["bad"].import_from(lines, skip_bad=True)
    assert (result["imported"], result["skipped"], result["errors"][0]["line"]) == (2, 1, 2)
    with pytest.raises(kura.NotJSONError, match="the record"):
        client.documents["bad"].import_from([{1, 2}])


def test_attachments_go_along_when_asked_to(client: kura.Kura) -> None:
    old = client.documents["with attachments"]
    old.put({"a": 1}, "x")
    old.attach("x", "photo", bytes(20_000))
    lines = list(old.export_lines(attachments=True))
    client.documents["others"].import_from(lines, attachments=True)
    assert client.documents["others"].attachment("x", "photo").view == bytes(20_000)
    [line] = old.export_lines()
    assert json.loads(line) == {"id": "x", "value": {"a": 1}}


class Slow:
    """A daemon with an answer to hello, and to the first call twice what it says of its progress before the reply."""

    def __init__(self, folder: Path, holds: bool = False) -> None:
        # It tells how far it is, and does not answer.
        self.holds = holds
        self.socket = f"{folder}/s.sock"
        self.seen: List[Dict[str, Any]] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.socket)
        self.listener.listen()
        self.is_over = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        peer, _ = self.listener.accept()
        for line in peer.makefile():
            message = json.loads(line)
            self.seen.append(message)
            number = message.get("id")
            if message["method"] == "session.hello":
                told: List[Any] = [{"id": number, "result": {"server": "kurad", "protocol": 1, "limits": {}}}]
            elif message["method"] == "rpc.cancel":
                self.is_over.set()
                return
            else:
                news = [{"id": number, "done": 3, "total": 9}, {"id": number + 1, "done": 4}, {"id": number, "done": 5}]
                told = [{"method": "progress", "params": params} for params in news]
                told += [] if self.holds else [{"id": number, "result": {"imported": 1}}]
            peer.sendall("".join(json.dumps({"jsonrpc": "2.0", **part}) + "\n" for part in told).encode())


def test_how_far_it_is_is_told(tmp_path: Path) -> None:
    told: List[Tuple[int, Optional[int]]] = []
    with kura.Kura(Slow(tmp_path).socket, timeout=PATIENCE) as client:
        result = client.documents["a"].import_from([1], progress=lambda done, total: told.append((done, total)))
    assert told == [(3, 9), (5, None)] and result["imported"] == 1


def test_asyncio_is_told_as_well(tmp_path: Path) -> None:
    told: List[Tuple[int, Optional[int]]] = []

    async def main() -> None:
        async with AsyncKura(Slow(tmp_path).socket, timeout=PATIENCE) as client:
            await client.documents["a"].import_from([1], progress=lambda done, total: told.append((done, total)))

    asyncio.run(main())
    assert told == [(3, 9), (5, None)]


def test_who_is_told_can_stop_it(tmp_path: Path) -> None:
    daemon = Slow(tmp_path, holds=True)

    def stop(done: int, total: Optional[int]) -> None:
        raise KeyboardInterrupt

    client = kura.Kura(daemon.socket, timeout=PATIENCE)
    with pytest.raises(KeyboardInterrupt):
        client.documents["a"].import_from([1], progress=stop)
    assert daemon.is_over.wait(PATIENCE)
    assert [message["method"] for message in daemon.seen] == ["session.hello", "documents.import", "rpc.cancel"]


def test_who_is_told_can_stop_it_with_asyncio(tmp_path: Path) -> None:
    daemon = Slow(tmp_path, holds=True)

    class Enough(Exception):
        pass

    def stop(done: int, total: Optional[int]) -> None:
        raise Enough

    async def main() -> None:
        async with AsyncKura(daemon.socket, timeout=PATIENCE) as client:
            with pytest.raises(Enough):
                await client.documents["a"].import_from([1], progress=stop)
            assert await asyncio.to_thread(daemon.is_over.wait, PATIENCE)

    asyncio.run(main())
    assert [message["method"] for message in daemon.seen] == ["session.hello", "documents.import", "rpc.cancel"]


def test_a_long_import_tells_its_bytes(client: kura.Kura) -> None:
    """As often as it likes to: not at all when it is quick."""
    told: List[Tuple[int, Optional[int]]] = []
    source = b"".join(b'{"id":"%d","value":"%s"}\n' % (number, b"x" * 200) for number in range(20_000))
    client.documents["long"].import_from(source, progress=lambda done, total: told.append((done, total)))
    assert all(0 < done <= len(source) and total == len(source) for done, total in told)


def test_a_backup_is_a_file_that_restores(client: kura.Kura, notes: kura.Collection, tmp_path: Path) -> None:
    path = tmp_path / "all.kura"
    result = client.backups.write(path, include=["documents/notes"])
    assert result["verified"] and result["bytes"] == path.stat().st_size and os.stat(path).st_mode & 0o777 == 0o600
    assert result["counts"]["documents"] == 500 and os.listdir(tmp_path) == ["all.kura"]
    with pytest.raises(FileExistsError):
        client.backups.write(path)
    assert client.backups.write(path, replace=True, passphrase="open sesame")["encrypted"]
    with pytest.raises(kura.InvalidParamsError):
        client.backups.write(tmp_path / "none", include=["nothing"])
    assert os.listdir(tmp_path) == ["all.kura"]


def test_asyncio_has_the_same(daemon: Daemon, notes: kura.Collection, tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncKura(daemon.socket, timeout=PATIENCE) as client:
            collection = client.documents["notes"]
            await collection.export_to(tmp_path / "a")
            copy = client.documents["aio copy"]

            async def lines() -> Any:
                async for line in collection.export_lines():
                    yield line

            assert (await copy.import_from(lines()))["imported"] == 500
            assert (await copy.import_from(tmp_path / "a"))["imported"] == 500
            assert {document.id: document.value async for document in copy.each()} == VALUES
            assert (await client.backups.write(tmp_path / "b", include=["documents/notes"]))["counts"]["documents"] == 500

    asyncio.run(main())
