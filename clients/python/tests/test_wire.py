"""The protocol without a socket."""

from __future__ import annotations

import json
import os
from typing import Any, Dict

import pytest

import kura
from kura.errors import Lost
from kura.wire import BACKLOG_CHANGES, DESCRIPTORS, Backlog, Exchange, Request


def line(message: Dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def begun(exchange: Exchange, method: str = "settings.get", **options: Any) -> Request:
    request = Request(method, {}, **options)
    exchange.begin(request)
    return request


def tell(exchange: Exchange, *messages: Dict[str, Any]) -> "list[object]":
    return list(exchange.dispatch(exchange.parse(b"".join(line(message) for message in messages))))


def test_a_request_is_one_line_of_compact_json() -> None:
    exchange = Exchange()
    text = exchange.begin(Request("settings.put", {"domain": "ä", "key": "k", "value": [1, {"a": None}]}))
    assert text == '{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{"domain":"ä","key":"k","value":[1,{"a":null}]}}\n'.encode()
    assert b'"id":2,' in exchange.begin(Request("storage.ping", {}))


def test_lines_come_in_pieces_of_any_size() -> None:
    text = b"".join(line({"id": number, "result": {"n": "ä" * number}}) for number in range(1, 8))
    for size in range(1, len(text)):
        exchange = Exchange()
        requests = [begun(exchange) for _ in range(7)]
        for begin in range(0, len(text), size):
            exchange.dispatch(exchange.parse(text[begin : begin + size]))
        assert [request.result["n"] for request in requests] == ["ä" * number for number in range(1, 8)]


def test_replies_find_their_requests_in_any_order() -> None:
    exchange = Exchange()
    first, second = begun(exchange), begun(exchange)
    told = tell(exchange, {"id": 2, "result": {"b": 1}}, {"id": 1, "error": {"code": 1, "message": "m"}}, {"id": 99, "result": {}})
    assert told == [second, first] and second.result == {"b": 1} and first.error == {"code": 1, "message": "m"}


def test_a_descriptor_goes_to_the_reply_that_has_it() -> None:
    exchange = Exchange()
    absent = begun(exchange, "blobs.get", wants_descriptor=True)
    failed = begun(exchange, "blobs.get", wants_descriptor=True)
    plain = begun(exchange, "settings.get")
    found = begun(exchange, "blobs.get", wants_descriptor=True)
    reading, writing = os.pipe()
    exchange.take_descriptors([reading])
    tell(
        exchange,
        {"id": 1, "result": {"found": False}},
        {"id": 2, "error": {"code": 1, "message": "m"}},
        {"id": 3, "result": {"rev": 0}},
        {"id": 4, "result": {"found": True, "bytes": 1}},
    )
    assert found.result["fd"] == reading and "fd" not in absent.result and "fd" not in plain.result and failed.error
    os.close(reading)
    os.close(writing)


def test_a_descriptor_that_nobody_waits_for_is_closed() -> None:
    exchange = Exchange()
    request = begun(exchange, "blobs.get", wants_descriptor=True)
    assert exchange.abandon(request) == b'{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}}\n'
    reading, writing = os.pipe()
    exchange.take_descriptors([reading])
    tell(exchange, {"id": 1, "result": {"found": True}})
    with pytest.raises(OSError):
        os.fstat(reading)
    os.close(writing)
    # One that is left over when the connection ends is closed too.
    reading, writing = os.pipe()
    exchange.take_descriptors([reading])
    exchange.fail(Lost())
    with pytest.raises(OSError):
        os.fstat(reading)
    os.close(writing)


def test_a_descriptor_that_is_lost_is_told() -> None:
    exchange = Exchange()
    request = begun(exchange, "blobs.get", wants_descriptor=True)
    tell(exchange, {"id": 1, "result": {"found": True}})
    assert isinstance(request.failure, kura.ProtocolError) and "ulimit" in str(request.failure)


def test_a_subscription_is_there_before_what_follows_its_reply() -> None:
    exchange = Exchange()
    request = Request("changes.watch", {})
    request.backlog = backlog = Backlog("changes")
    exchange.begin(request)
    event = {"subscription": 7, "rev": 3, "changes": [{"rev": 3}]}
    told = tell(exchange, {"id": 1, "result": {"subscription": 7, "rev": 2, "epoch": "e"}}, {"method": "changes.changed", "params": event})
    assert told == [request, backlog] and backlog.take() == ("changed", event) and not backlog.is_ready
    # Another family counts by itself, and one that has ended is passed over.
    assert tell(exchange, {"method": "documents.changed", "params": event}) == []
    exchange.end(backlog)
    assert tell(exchange, {"method": "changes.changed", "params": event}) == []


def test_a_backlog_is_bounded() -> None:
    exchange = Exchange()
    request = Request("changes.watch", {})
    request.backlog = backlog = Backlog("changes")
    exchange.begin(request)
    tell(exchange, {"id": 1, "result": {"subscription": 1, "rev": 0, "epoch": "e"}})
    event = {"subscription": 1, "rev": 1, "changes": [{"rev": 1}] * 1000}
    for _ in range(30):
        tell(exchange, {"method": "changes.changed", "params": event})
        assert backlog.changes <= BACKLOG_CHANGES + 1001
    assert backlog.is_lost and not backlog.events and b'"changes.unwatch"' in exchange.to_send[0] and len(exchange.to_send) == 1


def test_a_subscription_that_nobody_waits_for_is_ended() -> None:
    exchange = Exchange()
    request = Request("changes.watch", {})
    request.backlog = Backlog("changes")
    exchange.begin(request)
    exchange.abandon(request)
    tell(exchange, {"id": 1, "result": {"subscription": 5, "rev": 0, "epoch": "e"}})
    assert exchange.to_send == [b'{"jsonrpc":"2.0","id":0,"method":"changes.unwatch","params":{"subscription":5}}\n'] and not exchange.backlogs


def test_an_error_without_an_id_finds_the_line_that_it_is_about() -> None:
    exchange = Exchange()
    good = begun(exchange)
    twice = Request("settings.put", {"value": {1: 1, "1": 2}})
    long = Request("settings.put", {"value": "x" * 5000})
    for request in (twice, long):
        exchange.begin(request)
    parse = {"id": None, "error": {"code": -32700, "message": "Parse error", "data": {"kind": "parseError"}}}
    assert tell(exchange, parse) == [twice]
    too_long = {"id": None, "error": {"code": -32001, "message": "Line too long", "data": {"kind": "lineTooLong", "limit": 4096}}}
    assert tell(exchange, too_long) == [long] and not good.is_ready
    second = begun(exchange)
    refused = {"id": None, "error": {"code": -32010, "message": "Overloaded", "data": {"kind": "overloaded"}}}
    assert tell(exchange, refused) == [good, second] and good.error == refused["error"]


def test_when_the_connection_ends_everybody_is_told() -> None:
    exchange = Exchange()
    request = begun(exchange)
    watching = Request("changes.watch", {})
    watching.backlog = backlog = Backlog("changes")
    exchange.begin(watching)
    tell(exchange, {"id": 2, "result": {"subscription": 1, "rev": 0, "epoch": "e"}})
    assert exchange.fail(Lost("gone")) == [request, backlog] and request.is_ready and backlog.is_lost
    with pytest.raises(Lost):
        exchange.begin(Request("storage.ping", {}))


def test_a_descriptor_that_nobody_has_asked_for_is_closed_and_taken_for_no_other() -> None:
    exchange = Exchange()
    begun(exchange)
    reading, writing = os.pipe()
    exchange.take_descriptors([reading])
    tell(exchange, {"id": 1, "result": {}})
    with pytest.raises(OSError):
        os.fstat(reading)
    found = begun(exchange, "blobs.get", wants_descriptor=True)
    exchange.take_descriptors([writing])
    tell(exchange, {"method": "progress", "params": {"id": 2, "done": 1}}, {"id": 2, "result": {"found": True}})
    assert found.result["fd"] == writing
    os.close(writing)


def test_more_descriptors_than_anybody_asks_for_end_the_connection() -> None:
    exchange = Exchange()
    begun(exchange, "blobs.get", wants_descriptor=True)
    descriptors = [os.open("/dev/null", os.O_RDONLY) for _ in range(DESCRIPTORS + 1)]
    with pytest.raises(kura.ProtocolError) as caught:
        exchange.take_descriptors(descriptors)
    exchange.fail(caught.value)
    for descriptor in descriptors:
        with pytest.raises(OSError):
            os.fstat(descriptor)


def test_a_subscription_without_a_number_is_told() -> None:
    for result in ({}, {"subscription": [], "rev": 1}, {"subscription": 1, "rev": "x"}):
        exchange = Exchange()
        request = begun(exchange, "changes.watch")
        request.backlog = Backlog("changes")
        assert tell(exchange, {"id": 1, "result": result}) == [request]
        assert isinstance(request.failure, kura.ProtocolError) and exchange.backlogs == {}


@pytest.mark.parametrize(
    "message",
    [
        {"id": [], "result": {}}, {"id": "1", "result": {}}, {"id": 1, "result": 5}, {"id": 1, "result": None}, {"id": 1, "error": "x"},
        {"id": 1, "error": {"message": 5}}, {"id": 1, "error": {"data": []}}, {"id": None, "error": {"data": {"kind": {}}}},
        {"id": None, "error": {"data": {"kind": "lineTooLong", "limit": "x"}}}, {"method": 5}, {"method": "changes.changed", "params": []},
        {"method": "changes.changed", "params": {"subscription": []}}, {"method": "progress", "params": {"id": {}}},
        {"method": "changes.changed", "params": {"subscription": 1, "changes": 5}},
    ],
)  # fmt: skip
def test_a_message_of_other_types_is_refused(message: Dict[str, Any]) -> None:
    with pytest.raises(kura.ProtocolError):
        Exchange().parse(line(message))


@pytest.mark.parametrize(
    "text", [b"not json\n", b"[]\n", b"5\n", b"\xff\n", b"{} {}\n", b"\n", b'{"id":1,"result":{"value":NaN}}\n', b"[" * 100_000 + b"\n"]
)
def test_what_is_no_reply_is_refused(text: bytes) -> None:
    with pytest.raises(kura.ProtocolError):
        Exchange().parse(text)
