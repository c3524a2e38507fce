from __future__ import annotations

from typing import Any, Callable, List

import pytest

import kura


def test_a_block_is_one_transaction(client: kura.Kura) -> None:
    with client.transaction() as changes:
        order = changes.documents.put("orders", {"total": 12}, id="17")
        count = changes.settings.increment("shop", "orders")
        secret = changes.secrets.put("shop", "token", secret="x")
        assert not order and client.settings["shop"].get("orders") is None
    assert order == {"id": "17", "rev": changes.rev} and count["value"] == 1 and secret["rev"] == changes.rev
    assert client.settings["shop"]["orders"] == 1


def test_what_fails_changes_nothing(client: kura.Kura) -> None:
    client.settings["shop"]["stock"] = 1
    with pytest.raises(kura.ConflictError) as caught, client.transaction() as changes:
        changes.settings.put("shop", "stock", 2)
        changes.documents.put("orders", {}, id="new", if_rev=12345)
    assert caught.value.data["operation"] == 1 and "operation 1" in str(caught.value)
    assert client.settings["shop"]["stock"] == 1
    with pytest.raises(ZeroDivisionError), client.transaction() as changes:
        changes.settings.put("shop", "stock", 3)
        1 / 0  # noqa: B018
    assert client.settings["shop"]["stock"] == 1
    with client.transaction() as changes:
        pass
    assert changes.rev is None


def test_reads_and_descriptors_are_no_operations(client: kura.Kura) -> None:
    with pytest.raises(TypeError, match="read before the transaction"), client.transaction() as changes:
        changes.settings.get("shop", "stock")
    with pytest.raises(TypeError, match="descriptors"), client.transaction() as changes:
        changes.documents.attach("a", "b", "c", fd=0)


def test_a_pipeline_answers_each_call(client: kura.Kura) -> None:
    with client.pipeline() as calls:
        sums = [calls.settings.increment("pipeline", "n") for _ in range(300)]
        read = calls.settings.get("pipeline", "n")
    assert [part["value"] for part in sums] == list(range(1, 301)) and read["value"] == 300


def test_a_call_of_a_pipeline_that_fails_leaves_the_others(client: kura.Kura) -> None:
    client.settings["pipeline"]["text"] = "text"
    calls = client.pipeline()
    with pytest.raises(kura.TypeMismatchError), calls:
        one = calls.settings.put("pipeline", "a", 1)
        calls.settings.increment("pipeline", "text")
        two = calls.settings.put("pipeline", "b", 2)
    assert list(calls.errors) == [1] and one["rev"] < two["rev"]


def test_a_pipeline_longer_than_all_buffers_goes_through(client: kura.Kura) -> None:
    # Twice 40 MB: neither side can put away what it is sent, so both have to read while they write.
    text = "x" * 400_000
    with client.pipeline() as calls:
        for number in range(100):
            calls.settings.put("long", f"{number % 4}", text + str(number))
            calls.settings.get("long", f"{number % 4}")
    assert client.settings["long"]["3"] == text + "99"


def test_what_a_block_has_not_says_what_to_write(client: kura.Kura) -> None:
    changes: Any = client.transaction()
    with changes:
        order = changes.documents.put("blocks", {}, id="a")
        with pytest.raises(KeyError, match="rev is known after the block"):
            order["rev"]
        with pytest.raises(TypeError, match=r"the collection is the first argument, as in \.documents\.put\('orders', …\)"):
            changes.documents["orders"].put({}, "a")
        mistakes: List[Callable[[], object]] = [
            lambda: changes.blobs.put("images", "logo", b"..."),
            lambda: changes.blobs["images"].put("logo", b"..."),
            lambda: changes.models.put("n", "a", 1),
            lambda: changes.storage.ping(),
        ]
        for mistake in mistakes:
            with pytest.raises(TypeError, match="into a transaction, only settings, secrets, documents do"):
                mistake()
    assert order["rev"] == changes.rev
    with pytest.raises(KeyError, match="^'nothing'$"):
        order["nothing"]
    with client.pipeline() as calls:
        told = calls.settings.get("blocks", "a")
        with pytest.raises(KeyError, match="after the block"):
            told["rev"]
        calls.models.put("n", "a", 1)
    assert told["rev"] == 0
