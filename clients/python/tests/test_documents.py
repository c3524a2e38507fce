from __future__ import annotations

import io
import os
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, List

import pytest

import kura
from conftest import PATIENCE, Daemon
from middle import Middle


def test_a_document_is_put_read_edited_and_deleted(client: kura.Kura) -> None:
    notes = client.documents["notes"]
    put = notes.put({"text": "one"})
    found = notes.get(put.id)
    assert found is not None and found.value == {"text": "one"} and found.rev == put.rev and found.version == 1
    with pytest.raises(kura.ConflictError):
        notes.put({"text": "two"}, put.id, if_rev=0)
    edited = notes.edit(put.id, lambda value: {**value, "text": "two"})
    assert edited.value == {"text": "two"} and edited.rev > put.rev
    assert notes.patch(put.id, {"due": 3}) > edited.rev
    assert notes.get_many([put.id, "none"])[put.id].value == {"text": "two", "due": 3}
    notes.patch(put.id, [{"op": "remove", "path": "/due"}])
    for whole in ("oops", 5, None, True):
        with pytest.raises(TypeError):
            notes.patch(put.id, whole)
    assert notes.get_many([put.id])[put.id].value == {"text": "two"}
    assert notes.delete(put.id) and not notes.delete(put.id) and notes.get(put.id) is None
    with pytest.raises(KeyError):
        notes.edit(put.id, lambda value: value)
    assert notes.edit("fresh", lambda value: value + 1, default=1).value == 2


def test_pages_are_followed_to_the_end(client: kura.Kura) -> None:
    pages = client.documents["pages"]
    pages.put_many({f"{number:04}": {"number": number} for number in range(257)})
    assert [document.id for document in pages.each(page=100)] == [f"{number:04}" for number in range(257)]
    found = pages.find({"number": {"$gte": 7}}, sort=[{"number": "desc"}], fields=["number"], page=50)
    assert [document.value["number"] for document in found] == list(range(256, 6, -1))
    assert [document.id for document in pages.find(sort=["number"], limit=3, page=2)] == ["0000", "0001", "0002"]
    assert list(pages.find(limit=0)) == []
    first = pages.first({"number": {"$gt": 200}}, sort=["number"])
    assert first is not None and first.id == "0201"
    assert pages.first({"number": -1}) is None
    assert pages.count() == 257 and pages.count({"number": {"$lt": 7}}) == 7
    assert pages.delete_where({"number": {"$lt": 250}}) == 250 and pages.count() == 7


def test_a_selector_that_is_none_is_told_with_its_place(client: kura.Kura) -> None:
    with pytest.raises(kura.InvalidParamsError) as caught:
        list(client.documents["pages"].find({"area": {"$between": [1, 2]}}))
    assert caught.value.data["path"] == "/area/$between" and "/area/$between" in str(caught.value)


def test_words_find_documents(client: kura.Kura) -> None:
    articles = client.documents["articles"]
    articles.put_many({"a": {"body": "a cupboard for storage"}, "b": {"body": "clouds and rain"}, "c": {"body": "storage storage"}})
    client.documents.configure("articles", search_fields=["body"])
    client.documents.describe("articles", wait_ms=60000)
    found = list(articles.search("storage", page=1))
    assert {part.id for part in found} == {"a", "c"} and all("storage" in part.snippets["body"] for part in found)


def test_an_index_is_added_told_of_and_taken_away(client: kura.Kura) -> None:
    shelves = client.documents["shelves"]
    shelves.put_many({"a": {"room": 1, "height": 2}, "b": {"room": 1, "height": 3}, "c": {"room": 2}})
    index = shelves.add_index("byRoom", ["room", "height"], where={"room": {"$gt": 0}})
    assert index == kura.Index("byRoom", ["room", "height"], False, {"room": {"$gt": 0}}, "ready", 3)
    rev = client.documents.describe("shelves")["rev"]
    assert shelves.add_index("byRoom", ["room", "height"], where={"room": {"$gt": 0}}) == index
    assert client.documents.describe("shelves")["rev"] == rev, "what is as it is to be is not written again"
    with pytest.raises(kura.UniqueViolationError) as caught:
        shelves.add_index("alone", ["room"], unique=True)
    assert "a and b are equal" in str(caught.value)
    shelves.patch("b", {"room": 3})
    assert shelves.add_index("alone", ["room"], unique=True).state == "ready"
    assert [index.name for index in shelves.indexes()] == ["byRoom", "alone"]
    assert shelves.remove_index("byRoom") and not shelves.remove_index("byRoom")
    assert [index.name for index in shelves.indexes()] == ["alone"]


def test_of_two_that_add_indexes_at_once_none_is_lost(daemon: Daemon) -> None:
    clients = [kura.Kura(daemon.socket, timeout=PATIENCE) for _ in range(2)]
    for number in range(20):
        barrier = threading.Barrier(2)

        def add(client: kura.Kura, name: str, number: int = number, barrier: threading.Barrier = barrier) -> None:
            barrier.wait(PATIENCE)
            client.documents[f"raced{number}"].add_index(name, [name])

        threads = [threading.Thread(target=add, args=(client, name)) for client, name in zip(clients, ("one", "other"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert {index.name for index in clients[0].documents[f"raced{number}"].indexes()} == {"one", "other"}, number


def test_attachments_go_in_and_out_by_descriptor(client: kura.Kura) -> None:
    cards = client.documents["cards"]
    cards.put({"name": "Ada"}, "ada")
    large = os.urandom(300_000)
    cards.attach("ada", "small.txt", b"small", "text/plain")
    cards.attach("ada", "large.bin", large)
    with tempfile.TemporaryFile() as file:
        file.write(b"from a file")
        file.flush()
        file.seek(0)
        cards.attach("ada", "file", file)
    with cards.attachment("ada", "large.bin") as contents:
        assert contents.view == large and contents.view.readonly
    assert bytes(cards.attachment("ada", "small.txt")) == b"small"
    assert bytes(cards.attachment("ada", "file")) == b"from a file"
    document = cards.get("ada")
    assert document is not None
    assert [(part["name"], part["bytes"]) for part in document.attachments] == [("file", 11), ("large.bin", 300_000), ("small.txt", 5)]
    with pytest.raises(kura.NotFoundError):
        cards.attachment("ada", "none")
    cards.attach("ada", "memory", io.BytesIO(b"no descriptor"))
    assert bytes(cards.attachment("ada", "memory")) == b"no descriptor"


def test_an_attachment_that_is_damaged_is_not_shown(client: kura.Kura, daemon: Daemon) -> None:
    cards = client.documents["damaged"]
    cards.put({}, "ada")
    cards.attach("ada", "picture", b"as it was" * 5000)
    document = cards.get("ada")
    assert document is not None
    digest = document.attachments[0]["digest"]
    path = Path(daemon.folder, "data", "durable", "attachments", digest[:2], digest[2:])
    path.chmod(0o600)
    with open(path, "r+b") as file:
        file.write(b"X")
    with pytest.raises(kura.IntegrityError):
        cards.attachment("ada", "picture")
    with cards.attachment("ada", "picture", verify=False) as contents:
        assert bytes(contents)[:4] == b"Xs i"


def test_a_live_list_follows_everybody(client: kura.Kura) -> None:
    tasks = client.documents["tasks"]
    tasks.put_many({"a": {"due": 3}, "b": {"due": 1}, "c": {"due": 2, "done": True}})
    with tasks.live({"done": {"$exists": False}}, sort=["due"], limit=2) as live:
        first = live.next(timeout=60)
        assert first is not None and [document.id for document in first] == ["b", "a"]
        tasks.put_many({"b": {"due": 9}, "c": {"due": 2}})
        assert [document.id for document in next(live)] == ["c", "a"]
        tasks.delete("c")
        assert [document.id for document in next(live)] == ["a", "b"]
        tasks.put({"due": 10}, "a")
        assert [(document.id, document.value["due"]) for document in next(live)] == [("b", 9), ("a", 10)]
        assert live.next(timeout=0.05) is None
    assert list(live) == []


def test_a_live_list_of_many_comes_whole(client: kura.Kura) -> None:
    many = client.documents["many"]
    for part in range(3):
        many.put_many({f"{part}-{number:04}": {"text": "x" * 500, "number": number} for number in range(1500)})
    with many.live() as live:
        assert len(next(live)) == 4500
        many.delete("1-0000")
        assert len(next(live)) == 4499


def test_a_value_and_an_id_are_not_mixed_up(client: kura.Kura) -> None:
    texts = client.documents["texts"]
    with pytest.raises(TypeError, match=r"put\(…, id='text'\)"):
        texts.put("a", "text")
    with pytest.raises(TypeError, match="not of type dict"):
        texts.put("a", {"a": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one id"):
        texts.put({}, "a", id="b")
    assert texts.count() == 0
    assert texts.put("text", id="a").id == "a" and texts.put({"a": 1}, "b").id == "b" and texts.put("text").id
    assert texts.put({"a": 1}, None, if_rev=0).id
    assert [document.value for document in texts.each()][:2] == ["text", {"a": 1}]


def test_several_are_put_by_pairs_or_with_their_ids_within(client: kura.Kura) -> None:
    rows = client.documents["rows"]
    rows.put_many([("a", 1), ("b", {"n": 2})])
    rows.put_many([{"key": "c", "n": 3}], id_field="key")
    copy = client.documents["rows' copy"]
    copy.put_many(rows.each())
    assert {document.id: document.value for document in copy.each()} == {"a": 1, "b": {"n": 2}, "c": {"key": "c", "n": 3}}
    wrongs: List[List[Any]] = [[{"id": "d"}], ["text"], [("d", 1), 5], [(1, 2)]]
    for wrong in wrongs:
        with pytest.raises(TypeError, match="put_many takes a dict by ids"):
            rows.put_many(wrong)
    with pytest.raises(TypeError, match="without text in its 'key'"):
        rows.put_many([{"key": "e"}, {"n": 1}], id_field="key")
    assert rows.count() == 3


def test_an_order_that_would_be_none_is_refused(client: kura.Kura) -> None:
    orders = client.documents["sorted"]
    orders.put_many({"a": {"n": 1, "-n": 2}, "b": {"n": 2, "-n": 1}})
    for sort in (["-n"], ["+n"]):
        asks: List[Callable[[], object]] = [
            lambda sort=sort: list(orders.find(sort=sort)),  # type: ignore[misc]
            lambda sort=sort: orders.first(sort=sort),  # type: ignore[misc]
            lambda sort=sort: orders.live(sort=sort),  # type: ignore[misc]
        ]
        for ask in asks:
            with pytest.raises(ValueError, match=r"write \{'n': '(desc|asc)'\}"):
                ask()
    for text in ("n", {"n": "desc"}):
        with pytest.raises(TypeError, match="sort is a list"):
            list(orders.find(sort=text))  # type: ignore[arg-type]
    assert [document.id for document in orders.find(sort=[{"n": "desc"}])] == ["b", "a"]
    assert [document.id for document in orders.find(sort=[{"-n": "asc"}])] == ["b", "a"]


def test_what_is_scanned_comes_in_the_largest_pages(daemon: Daemon) -> None:
    with Middle(daemon.socket) as middle, kura.Kura(middle.socket, timeout=PATIENCE) as client:
        many = client.documents["scanned in pages"]
        many.put_many({f"{number:04}": {"number": number} for number in range(1000)})
        many.put_many({f"{number:04}": {"number": number} for number in range(1000, 1500)})
        assert len(list(many.find({"number": {"$gte": 0}}, allow_scan=True))) == 1500
        assert len(middle.requests("documents.find")) == 2
        assert len(list(many.find({"number": {"$gte": 0}}, allow_scan=True, limit=250))) == 250
        assert len(middle.requests("documents.find")) == 3
        assert len(list(many.find({"number": {"$gte": 0}}, allow_scan=True, page=750))) == 1500
        # The last page may be known to be full only by asking once more.
        assert len(middle.requests("documents.find")) in (5, 6)
