"""Contents of every kind of source: memory, files, streams, pipes, generators."""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import socket
import tempfile
import threading
from pathlib import Path
from typing import Any, AsyncIterator, Callable, Iterator, List, Optional, Tuple

import pytest

import kura
from conftest import PATIENCE, Daemon, open_descriptors
from kura.sources import Spool
from kura.aio import AsyncKura

CONTENT = bytes(range(256)) * 12_000


def written(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    return path


def unflushed(tmp_path: Path) -> Any:
    file = open(tmp_path / "unflushed", "w+b")
    file.write(CONTENT[:-5])
    file.write(CONTENT[-5:])
    return file


def named(tmp_path: Path) -> Any:
    file = tempfile.NamedTemporaryFile(dir=tmp_path)
    file.write(CONTENT)
    return file


def unpacked(tmp_path: Path) -> Any:
    """Its fileno() is that of what is packed."""
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(CONTENT, 1))
    return gzip.open(path)


def feed(write: Callable[[bytes], object], end: Callable[[], object]) -> None:
    def work() -> None:
        for begin in range(0, len(CONTENT), 100_000):
            write(CONTENT[begin : begin + 100_000])
        end()

    threading.Thread(target=work, daemon=True).start()


def pipe(tmp_path: Path) -> Any:
    reading, writing = os.pipe()
    file = os.fdopen(writing, "wb")
    feed(file.write, file.close)
    return os.fdopen(reading, "rb")


def peer(tmp_path: Path) -> Any:
    near, far = socket.socketpair()
    feed(far.sendall, far.close)
    return near


def pieces(tmp_path: Path) -> Iterator[bytes]:
    yield b""
    for begin in range(0, len(CONTENT), 70_001):
        yield CONTENT[begin : begin + 70_001]


SOURCES: List[Callable[[Path], Any]] = [
    lambda tmp_path: CONTENT,
    lambda tmp_path: bytearray(CONTENT),
    lambda tmp_path: memoryview(CONTENT),
    lambda tmp_path: open(written(tmp_path), "rb"),
    lambda tmp_path: open(written(tmp_path), "rb", buffering=0),
    lambda tmp_path: open(written(tmp_path), "rb").fileno,
    lambda tmp_path: io.BytesIO(CONTENT),
    lambda tmp_path: [CONTENT[:5], CONTENT[5:]],
    unflushed,
    named,
    unpacked,
    pipe,
    peer,
    pieces,
]


@pytest.mark.parametrize("number", range(len(SOURCES)))
def test_it_is_stored_whatever_it_comes_from(client: kura.Kura, tmp_path: Path, number: int) -> None:
    source = SOURCES[number](tmp_path)
    # A bare descriptor.
    content = source() if callable(source) else source
    assert client.blobs["sources"].put(f"{number}", content).size == len(CONTENT)
    blob = client.blobs["sources"].get(f"{number}")
    assert blob is not None and blob.view == CONTENT
    client.documents["sources"].put({}, f"{number}")
    source = SOURCES[number](tmp_path)
    client.documents["sources"].attach(f"{number}", "all", source() if callable(source) else source)
    assert client.documents["sources"].attachment(f"{number}", "all").view == CONTENT


@pytest.mark.parametrize("number", range(len(SOURCES)))
def test_asyncio_takes_the_same(daemon: Daemon, tmp_path: Path, number: int) -> None:
    async def main() -> None:
        async with AsyncKura(daemon.socket, timeout=PATIENCE) as client:
            source = SOURCES[number](tmp_path)
            await client.blobs["aio"].put(f"{number}", source() if callable(source) else source)
            blob = await client.blobs["aio"].get(f"{number}")
            assert blob is not None and blob.view == CONTENT

    asyncio.run(main())


def test_asyncio_awaits_streams_and_generators_of_its_own(daemon: Daemon) -> None:
    class Stream:
        def __init__(self) -> None:
            self.file = io.BytesIO(CONTENT)

        async def read(self, size: int) -> bytes:
            await asyncio.sleep(0)
            return self.file.read(size)

    async def generator() -> AsyncIterator[bytes]:
        for part in pieces(Path()):
            await asyncio.sleep(0)
            yield part

    async def main() -> None:
        async with AsyncKura(daemon.socket, timeout=PATIENCE) as client:
            sources: List[Tuple[str, Any]] = [("stream", Stream()), ("generator", generator())]
            for key, source in sources:
                await client.blobs["aio"].put(key, source)
                blob = await client.blobs["aio"].get(key)
                assert blob is not None and blob.view == CONTENT

    asyncio.run(main())


def test_how_far_it_is_is_told(client: kura.Kura, tmp_path: Path) -> None:
    told: List[Tuple[int, Optional[int]]] = []
    blobs = client.blobs["progress"]
    blobs.put("read", pieces(tmp_path), progress=lambda done, total: told.append((done, total)))
    assert told[-2:] == [(0, len(CONTENT)), (len(CONTENT), len(CONTENT))] and len(told) > 40
    assert [done for done, total in told[:-2]] == sorted(done for done, total in told[:-2]) and told[-3] == (len(CONTENT), None)
    sources: List[Any] = [open(written(tmp_path), "rb"), CONTENT]
    for source in sources:
        told.clear()
        blobs.put("copied", source, progress=lambda done, total: told.append((done, total)))
        assert told == [(0, len(CONTENT)), (len(CONTENT), len(CONTENT))]


def test_a_source_that_fails_stores_nothing_and_leaves_nothing_open(client: kura.Kura) -> None:
    def broken() -> Iterator[bytes]:
        yield CONTENT
        raise OSError("the line is dead")

    before = open_descriptors()
    with pytest.raises(OSError, match="the line is dead"):
        client.blobs["broken"].put("a", broken())
    assert client.blobs["broken"].get("a") is None and open_descriptors() == before


def test_a_long_one_is_not_kept_in_memory() -> None:
    with Spool() as spool:
        for _ in range(5):
            spool.add(bytes(300_000))
        assert not isinstance(spool.contents(), bytearray) and spool.size == 1_500_000
    with Spool() as spool:
        spool.add(b"abc")
        assert bytes(spool.contents()) == b"abc"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "source, told",
    [
        ("text", "not str: encode text, open paths"),
        (Path("/etc/hostname"), "open paths"),
        (True, "not bool: JSON belongs into settings and documents"),
        (None, "not NoneType"),
        (1.5, "not float"),
        ([1, 2], "pieces of bytes, not of int"),
        (["text"], "open it with mode 'rb'"),
        (io.StringIO("text"), "open it with mode 'rb'"),
    ],
)
def test_what_is_none_is_told(client: kura.Kura, source: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told.replace("(", "\\(")):
        client.blobs["wrong"].put("a", source)
    client.documents["wrong"].put({}, "a")
    if isinstance(source, io.StringIO):
        source.seek(0)
    with pytest.raises(TypeError):
        client.documents["wrong"].attach("a", "b", source)
    assert client.blobs["wrong"].get("a") is None
