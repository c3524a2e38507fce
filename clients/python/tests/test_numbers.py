"""Numbers keep their digits."""

from __future__ import annotations

import asyncio
import json
import socket
from decimal import Decimal
from typing import Any, Iterator

import pytest

import kura
from conftest import PATIENCE, Daemon
from kura.aio import AsyncKura


@pytest.fixture
def exact(daemon: Daemon) -> Iterator[kura.Kura]:
    with kura.Kura(daemon.socket, decimals=True, timeout=PATIENCE) as client:
        yield client


def stored_text(daemon: Daemon, collection: str, id: str) -> str:
    """The value as it lies there, digit by digit."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(daemon.socket)
        params = json.dumps({"collection": collection, "id": id})
        sock.sendall(b'{"jsonrpc":"2.0","id":1,"method":"documents.get","params":' + params.encode() + b"}\n")
        line = sock.makefile().readline()
    return line[line.index('"value":') + 8 : line.index(',"rev"')]


def put_text(daemon: Daemon, collection: str, id: str, text: str) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(daemon.socket)
        line = f'{{"jsonrpc":"2.0","id":1,"method":"documents.put","params":{{"collection":"{collection}","id":"{id}","value":{text}}}}}\n'
        sock.sendall(line.encode())
        assert '"rev"' in sock.makefile().readline()


@pytest.mark.parametrize("value", [2**53 + 1, -(2**63) - 1, 2**64, 10**300, 0, -1])
def test_whole_numbers_are_exact_in_any_client(daemon: Daemon, client: kura.Kura, exact: kura.Kura, value: int) -> None:
    client.documents["whole"].put(value, "a")
    assert stored_text(daemon, "whole", "a") == str(value)
    for one in (client, exact):
        found = one.documents["whole"].get("a")
        assert found is not None and found.value == value and type(found.value) is int


@pytest.mark.parametrize("text", ["1.10", "0.1", "-0.0", "1E+3", "1E-7", "0.1000000000000000055511151231257827", "1E+400", "12345678901234567890.12"])
def test_decimals_are_kept_digit_by_digit(daemon: Daemon, exact: kura.Kura, text: str) -> None:
    value = Decimal(text)
    exact.documents["decimals"].put({"price": value, "more": [value, "text", 1]}, "a")
    assert stored_text(daemon, "decimals", "a") == f'{{"price":{text},"more":[{text},"text",1]}}'
    found = exact.documents["decimals"].get("a")
    assert found is not None and str(found.value["price"]) == text and isinstance(found.value["more"][0], Decimal)
    assert type(found.value["more"][2]) is int
    # Everywhere: settings, conditions, transactions, what is followed.
    exact.settings["decimals"]["price"] = value
    assert str(exact.settings["decimals"]["price"]) == text
    with exact.transaction() as changes:
        changes.documents.put("decimals", {"price": value}, id="b")
    with exact.pipeline() as calls:
        calls.documents.put("decimals", {"price": value}, id="d")
        read = calls.documents.get("decimals", "b")
    assert str(read["value"]["price"]) == text
    assert [document.id for document in exact.documents["decimals"].find({"price": value}, sort=["$id"])] == ["a", "b", "d"]
    with exact.documents["decimals"].live({"price": value}) as live:
        assert [document.id for document in live.next(PATIENCE) or []] == ["a", "b", "d"]
    with exact.documents["decimals"].watch(values=True) as watch:
        exact.documents["decimals"].put([value], "c")
        event = watch.next(PATIENCE)
    assert isinstance(event, kura.Change) and str(event.value[0]) == text
    exact.settings["decimals"].override("price", [value])
    assert exact.settings["decimals"]["price"] == [value]


def test_asyncio_keeps_them_too(daemon: Daemon) -> None:
    async def main() -> None:
        async with AsyncKura(daemon.socket, decimals=True, timeout=PATIENCE) as client:
            await client.documents["decimals"].put(Decimal("2.50"), "aio")
            found = await client.documents["decimals"].get("aio")
            assert found is not None and str(found.value) == "2.50"

    asyncio.run(main())


def test_without_the_option_a_decimal_is_refused_rather_than_rounded(client: kura.Kura) -> None:
    with pytest.raises(kura.NotJSONError, match=r"value\['price'\] is of type Decimal.*or make the client with decimals=True"):
        client.documents["refused"].put({"price": Decimal("1.10")})


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "sNaN"])
def test_a_decimal_that_is_no_number_is_refused(exact: kura.Kura, text: str) -> None:
    with pytest.raises(kura.NotJSONError, match="which JSON cannot say"):
        exact.settings["decimals"]["wrong"] = [Decimal(text)]


def test_other_types_are_refused_as_ever(exact: kura.Kura) -> None:
    with pytest.raises(kura.NotJSONError, match="of type set"):
        exact.settings["decimals"]["wrong"] = [Decimal(1), {1}]


def test_a_number_longer_than_python_reads_breaks_nobodys_connection(daemon: Daemon, client: kura.Kura, exact: kura.Kura) -> None:
    digits = "7" * 5000
    put_text(daemon, "long", "a", f'{{"n":{digits},"half":0.5}}')
    found = client.documents["long"].get("a")
    assert found is not None and found.value == {"n": Decimal(digits), "half": 0.5} and type(found.value["half"]) is float
    found = exact.documents["long"].edit("a", lambda value: {**value, "seen": True})
    assert stored_text(daemon, "long", "a") == f'{{"n":{digits},"half":0.5,"seen":true}}'
    value: Any = 10**6000
    with pytest.raises(kura.NotJSONError, match="more digits than Python writes"):
        client.documents["long"].put([value])


def test_a_cached_function_returns_what_the_others_get(daemon: Daemon, exact: kura.Kura) -> None:
    @exact.cached("decimals")
    def price(of: Decimal) -> Any:
        return {"price": of}

    assert str(price(Decimal("1.10"))["price"]) == str(price(Decimal("1.10"))["price"]) == "1.10"
    assert price.key(Decimal("1.10")) == "=[1.10]"
