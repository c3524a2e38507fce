"""What goes to other processes, and what does not."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import os
import pickle
from typing import Any, Callable, List

import pytest

import kura
from conftest import PATIENCE, Daemon

ERRORS: List[Exception] = [
    kura.ConflictError("a.b", "Conflict", {"kind": "conflict", "currentRev": 3}, -32001, "key"),
    kura.ServerError("a.b", "New", {"kind": "brandNew", "retryable": True, "hint": "Do this"}, -32099),
    kura.NoReplyError("late", "key"),
    kura.FetchFailedError("not there", 3.0),
    kura.RetryLater(3),
    kura.RetryLater(3, "busy"),
    kura.ServerGoneError("gone"),
    kura.NotJSONError("bytes"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_arrive_as_they_were(error: Exception) -> None:
    for arrived in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(arrived) is type(error) and str(arrived) == str(error) and arrived.__dict__ == error.__dict__


def fail(path: str) -> None:
    with kura.connect(path, timeout=PATIENCE) as client:
        client.settings["app"].put("key", 1, if_rev=99)


def test_an_error_in_a_pool_ends_nobody(daemon: Daemon) -> None:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool, pytest.raises(kura.ConflictError) as caught:
        pool.submit(fail, daemon.socket).result(PATIENCE)
    assert caught.value.current_rev == 0 and caught.value.request_key


@pytest.mark.parametrize("dump", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_what_has_a_connection_is_refused_with_what_to_do(client: kura.Kura, dump: Callable[[Any], Any]) -> None:
    client.storage.ping()
    for part in (client, kura.Kura("/tmp/none"), kura.aio.AsyncKura("/tmp/none")):
        with pytest.raises(TypeError, match="another process makes its own"):
            dump(part)
    if dump is not copy.copy:
        for face in (client.settings, client.settings["a"], client.documents["a"], client.blobs["a"], client.secrets["a"], client.watch()):
            with pytest.raises(TypeError, match="another process makes its own"):
                dump(face)
    client.blobs["a"].put("b", bytes(20_000))
    with pytest.raises(TypeError, match=r"bytes\(contents\) are"):
        dump(client.blobs["a"].get("b"))


def test_what_was_read_is_pickled(client: kura.Kura) -> None:
    client.documents["a"].put({"n": 1}, "b")
    document = client.documents["a"].get("b")
    info = client.blobs["a"].put("c", b"d")
    assert pickle.loads(pickle.dumps((document, info, client.server()))) == (document, info, client.server())


CALLS: List[int] = []


@kura.cached("squares", ttl_seconds=60)
def square(number: int) -> int:
    return number * number


def test_a_cached_function_goes_to_a_pool_as_functions_do(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KURA_SOCKET", daemon.socket)
    assert pickle.loads(pickle.dumps(square)) is square and copy.copy(square) is square
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(square, range(4))) == [0, 1, 4, 9]
    with kura.Kura(daemon.socket) as client:
        assert client.models.get("squares", square.key(3))["value"] == 9


def test_what_is_printed_says_what_it_is(client: kura.Kura) -> None:
    client.documents["reprs"].put({}, "a")
    client.blobs["reprs"].put("a", b"1234")
    path = client.socket
    with client.transaction() as changes:
        changes.settings.put("reprs", "a", 1)
        waiting = repr(changes)
    shown = [
        (client, f"<Kura {path}>"),
        (client.settings, f"<Settings of <Kura {path}>>"),
        (client.settings["app"], "<Domain 'app'>"),
        (client.documents["notes"], "<Collection 'notes'>"),
        (client.blobs["a"], "<BlobNamespace 'a'>"),
        (client.secrets["mail"], "<Service 'mail'>"),
        (client.blobs["reprs"].get("a"), "<Blob of 4 bytes>"),
        (client.documents["reprs"].live(), "<LiveQuery of 0 documents>"),
        (client.pipeline(), "<Pipeline of 0 calls>"),
        (changes, f"<Transaction made, rev {changes.rev}>"),
        (square, "<Cached square in 'squares'>"),
        (client.watch(after_rev=1), "<Watch after rev 1>"),
    ]
    assert [(repr(thing), text) for thing, text in shown if repr(thing) != text] == [] and waiting == "<Transaction of 1 calls>"


class Station:
    """A cached method: its `self` is an argument as any other."""

    def __init__(self, client: kura.Kura, name: str) -> None:
        self.name = name
        self.asked: List[str] = []

    @kura.cached("stations", key=lambda self, city: f"{self.name}/{city}")
    def weather(self, city: str) -> str:
        self.asked.append(city)
        return f"{self.name}: clear in {city}"

    @kura.cached("stations")
    def wind(self, city: str) -> str:
        return "none"


def test_a_method_is_cached_by_the_key_that_it_says(daemon: Daemon, client: kura.Kura, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kura.shared._client", client)
    one, two = Station(client, "one"), Station(client, "two")
    assert one.weather("Kyoto") == one.weather("Kyoto") == "one: clear in Kyoto" and one.asked == ["Kyoto"]
    assert two.weather("Kyoto") == "two: clear in Kyoto"
    with pytest.raises(kura.NotJSONError, match=r"arguments\[0\] is of type Station.*key="):
        one.wind("Kyoto")
