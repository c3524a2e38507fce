from __future__ import annotations

import gc
import os
import threading
from typing import Callable, List

import pytest

import kura
from conftest import Daemon, open_descriptors
from kura.descriptors import descriptor_of


@pytest.mark.parametrize("size", [0, 1, 8192, 8193, 16384, 16385, 3_000_000])
def test_contents_of_all_sizes_come_back(client: kura.Kura, size: int) -> None:
    images = client.blobs["sizes"]
    content = os.urandom(size)
    stored = images.put(f"{size}", content, content_type="image/x", ttl_seconds=60)
    assert stored.is_stored and stored.size == size
    blob = images.get(f"{size}")
    assert blob
    with blob:
        assert len(blob) == size and bytes(blob) == content and blob.content_type == "image/x" and blob.digest == stored.digest
    info = images.stat(f"{size}")
    assert info is not None and info.size == size and info.content_type == "image/x"


def test_a_part_is_a_view_of_the_part(client: kura.Kura) -> None:
    images = client.blobs["parts"]
    content = os.urandom(100_000)
    images.put("a", content)
    for offset, length in [(0, 10), (5000, 70_000), (99_999, 1), (100_000, 0)]:
        part = images.get("a", offset=offset, length=length)
        assert part is not None and part.view == content[offset : offset + length]
    rest = images.get("a", offset=99_000)
    assert rest is not None and rest.view == content[99_000:]
    with pytest.raises(kura.RangeNotSatisfiableError) as caught:
        images.get("a", offset=100_001)
    assert caught.value.limit == 100_000


def test_nothing_can_be_written_through_a_view_and_it_outlives_its_blob(client: kura.Kura) -> None:
    images = client.blobs["views"]
    for key, content in [("small", b"a" * 100), ("large", b"b" * 100_000)]:
        images.put(key, content)
        blob = images.get(key)
        assert blob is not None
        with pytest.raises(TypeError):
            blob.view[0] = 1
        images.put(key, b"another")
        images.delete(key)
        assert blob.view == content and images.get(key) is None


def test_a_file_is_passed_by_its_descriptor(client: kura.Kura, tmp_path: os.PathLike[str]) -> None:
    path = os.path.join(tmp_path, "file")
    with open(path, "wb") as file:
        file.write(b"x" * 50_000)
    with open(path, "rb") as file:
        assert client.blobs["files"].put("a", file).size == 50_000
    with pytest.raises(TypeError, match="encode text, open paths"):
        client.blobs["files"].put("b", "text")  # type: ignore[arg-type]


def test_what_is_passed_from_memory_is_sealed() -> None:
    with descriptor_of(b"x" * 9000) as descriptor:
        assert os.pread(descriptor, 10_000, 0) == b"x" * 9000
        changes: List[Callable[[], object]] = [
            lambda: os.pwrite(descriptor, b"y", 0),
            lambda: os.ftruncate(descriptor, 0),
            lambda: os.ftruncate(descriptor, 10_000),
        ]
        for change in changes:
            with pytest.raises(PermissionError):
                change()
    with pytest.raises(OSError):
        os.fstat(descriptor)


def test_views_outlive_the_client_and_leave_no_descriptor(daemon: Daemon) -> None:
    gc.collect()
    before = open_descriptors()
    with kura.Kura(daemon.socket) as client:
        images = client.blobs["descriptors"]
        images.put("a", b"z" * 40_000)
        blobs = [images.get("a") for _ in range(100)]
        images.get("nothing")
    views = [blob.view for blob in blobs if blob is not None]
    assert len(views) == 100 and all(view == b"z" * 40_000 for view in views)
    del client, images, blobs, views
    gc.collect()
    assert open_descriptors() == before


def test_threads_never_get_each_others_descriptors(client: kura.Kura) -> None:
    images = client.blobs["crowd"]
    wrong = []

    def work(number: int) -> None:
        for turn in range(30):
            content = bytes([number]) * (10_000 + number * 97 + turn)
            images.put(f"{number}", content)
            blob = images.get(f"{number}")
            if blob is None or blob.view != content:
                wrong.append(number)
            client.settings["crowd"]["key"] = number

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_variants_go_with_their_blob(client: kura.Kura) -> None:
    covers = client.blobs["covers"]
    parent = covers.put("7", b"hello")
    assert covers.put("7", b"small", variant="small", variant_of=parent.digest).is_stored
    wide = covers.get("7", "wide", or_parent=True)
    assert wide is not None and wide.is_parent and bytes(wide) == b"hello"
    assert [(info.key, info.variant) for info in covers.each()] == [("7", None), ("7", "small")]
    covers.put("7", b"another")
    assert covers.get("7", "small") is None
    declined = covers.put("7", b"small", variant="small", variant_of=parent.digest)
    assert not declined.is_stored and declined.reason == "parentChanged"
    assert covers.touch("7", 100) and not covers.touch("8") and covers.delete("7") and not covers.delete("7")


def test_what_is_not_there_is_made_and_then_there(client: kura.Kura) -> None:
    made = []

    def make() -> bytes:
        made.append(1)
        return b"m" * 20_000

    images = client.blobs["made"]
    assert images.get_or_make("a", make) == b"m" * 20_000 and images.get_or_make("a", make) == b"m" * 20_000
    assert len(made) == 1
