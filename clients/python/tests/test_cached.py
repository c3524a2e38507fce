"""One process fetches; the rest get what is there, or wait."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, List

import pytest

import kura
from conftest import CLIENT, PATIENCE, Daemon
from middle import Middle
from test_errors import Pretender

# A process that asks for a value as soon as its standard input ends, and says whether it fetched.
ASKER = """
import os, sys, time
import kura

@kura.cached("{namespace}", ttl_seconds=1000, lease_seconds=1000, wait_seconds=1000)
def weather(city):
    with open({marks!r}, "a") as file:
        file.write("fetched\\n")
    time.sleep(0.5)
    return {{"city": city, "by": os.getpid()}}

kura.default_client().storage.ping()
print("ready", flush=True)
sys.stdin.read()
print(weather("kyoto")["by"])
"""


def test_of_many_processes_one_fetches(daemon: Daemon, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    environment = {**os.environ, "PYTHONPATH": str(CLIENT / "src"), "KURA_SOCKET": daemon.socket}
    program = ASKER.format(namespace="herd", marks=str(marks))
    askers = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    for asker in askers:
        assert asker.stdout is not None and asker.stdout.readline() == "ready\n"
    for asker in askers:
        assert asker.stdin is not None
        asker.stdin.close()
    told = set()
    for asker in askers:
        assert asker.stdout is not None
        told.add(asker.stdout.read().strip())
        assert asker.wait(PATIENCE) == 0
    assert marks.read_text() == "fetched\n" and told <= {str(asker.pid) for asker in askers} and len(told) == 1


def test_of_many_threads_one_fetches_and_the_others_wait(daemon: Daemon) -> None:
    calls: List[int] = []
    with Middle(daemon.socket) as middle, kura.Kura(middle.socket, timeout=PATIENCE) as client:

        @kura.cached("threads", client=client, ttl_seconds=1000, lease_seconds=1000)
        def square(number: int) -> int:
            calls.append(number)
            time.sleep(0.5)
            return number * number

        results: List[int] = []
        threads = [threading.Thread(target=lambda: results.append(square(7))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert results == [49] * 8 and calls == [7]
        # The daemon waits for them: nobody asks again and again.
        assert len(middle.requests("models.get")) <= 16
        assert square(8) == 64 and square(8) == 64 and calls == [7, 8]


def test_arguments_make_the_key() -> None:
    def key(*arguments: object, **named: object) -> str:
        return kura.cached("keys")(lambda *arguments, **named: None).key(*arguments, **named)

    assert key("kyoto") == "kyoto" and key() == "=[]" and key(1, "a", b=2) == '=[1,"a"]{"b":2}'
    keys = [key([1]), key([1, "a"], {"b": 2}), key(1, "a", b=2), key("x" * 600), key("x" * 601), key("a\nb"), key("=[1]"), key("#")]
    keys += [key(), key(""), key("1"), key(1), key(1.5), key(a=1), key("a", 1)]
    assert len(set(keys)) == len(keys) and all(0 < len(word.encode()) <= 512 for word in keys)
    assert key(b=1, a=2) == key(a=2, b=1)
    with pytest.raises(kura.NotJSONError):
        key(object())


def test_what_is_stale_is_shown_while_somebody_fetches(client: kura.Kura) -> None:
    release = threading.Event()
    fetching = threading.Event()
    values = iter(["first", "second"])

    @kura.cached("stale", client=client, ttl_seconds=0, stale_seconds=1000)
    def value() -> str:
        fetched = next(values)
        if fetched == "second":
            fetching.set()
            assert release.wait(PATIENCE)
        return fetched

    assert value() == "first"
    results: List[str] = []
    winner = threading.Thread(target=lambda: results.append(value()))
    winner.start()
    assert fetching.wait(PATIENCE)
    assert value() == "first" and value() == "first"
    release.set()
    winner.join(PATIENCE)
    assert results == ["second"]


def test_in_background_nobody_waits(client: kura.Kura) -> None:
    fetched = threading.Semaphore(0)
    calls: List[int] = []

    @kura.cached("background", client=client, ttl_seconds=0, stale_seconds=1000, in_background=True)
    def value() -> int:
        calls.append(1)
        fetched.release()
        return len(calls)

    assert value() == 1
    assert value() == 1
    assert fetched.acquire(timeout=PATIENCE) and fetched.acquire(timeout=PATIENCE)


def test_a_failure_lets_the_next_try_at_once(client: kura.Kura) -> None:
    attempts: List[int] = []

    @kura.cached("failing", client=client, ttl_seconds=60)
    def value() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("the source is away")
        return "here"

    with pytest.raises(OSError):
        value()
    assert value() == "here" and len(attempts) == 2


@pytest.mark.parametrize("how", ["option", "raised"])
def test_after_a_failure_the_source_is_left_alone(client: kura.Kura, how: str) -> None:
    attempts: List[int] = []

    @kura.cached(f"negative-{how}", client=client, fail_seconds=1000 if how == "option" else 0)
    def value() -> str:
        attempts.append(1)
        raise OSError("away") if how == "option" else kura.RetryLater(1000)

    with pytest.raises((OSError, kura.RetryLater)):
        value()
    for _ in range(3):
        with pytest.raises(kura.FetchFailedError) as caught:
            value()
        assert 900 < caught.value.retry_after <= 1000 and "asks to be left alone" in str(caught.value)
    assert len(attempts) == 1


def test_a_stale_value_stands_in_for_a_failure(client: kura.Kura) -> None:
    values: List[object] = ["first", OSError("away")]

    @kura.cached("stand-in", client=client, ttl_seconds=0, stale_if_error_seconds=1000)
    def value() -> object:
        fetched = values.pop(0)
        if isinstance(fetched, OSError):
            raise fetched
        return fetched

    assert value() == "first" and value() == "first" and not values


def test_results_are_forgotten_when_told(client: kura.Kura) -> None:
    calls: List[str] = []

    @kura.cached("forget", client=client, ttl_seconds=1000, tags=lambda user, page: [f"user-{user}"])
    def page(user: int, page: str) -> int:
        calls.append(f"{user}-{page}")
        return len(calls)

    assert page(1, "a") == 1 and page(1, "b") == 2 and page(2, "a") == 3
    page.invalidate(1, "a")
    assert page(1, "a") == 4 and page(1, "b") == 2
    page.invalidate_all(tag="user-1")
    assert page(1, "a") == 5 and page(1, "b") == 6 and page(2, "a") == 3
    page.invalidate_all()
    assert page(2, "a") == 7


def test_the_winner_gets_what_the_others_get(client: kura.Kura) -> None:
    @dataclasses.dataclass
    class Point:
        x: int
        y: int

    @kura.cached("points", client=client, ttl_seconds=60, encode=dataclasses.asdict, decode=lambda value: Point(**value))
    def point(x: int) -> Point:
        return Point(x, x + 1)

    assert point(1) == Point(1, 2) and point(1) == Point(1, 2)

    @kura.cached("tuples", client=client, ttl_seconds=60)
    def pair() -> object:
        return (1, 2)

    assert pair() == [1, 2] and pair() == [1, 2]

    @kura.cached("wrong", client=client)
    def wrong() -> object:
        return {1, 2}

    for _ in range(2):
        # Nobody waits for it: the claim has ended.
        with pytest.raises(kura.NotJSONError, match="store a sorted list"):
            wrong()


def test_without_a_daemon_the_function_is_called(tmp_path: Path) -> None:
    nowhere = kura.Kura(f"{tmp_path}/none.sock")

    @kura.cached("away", client=nowhere)
    def value() -> int:
        return 5

    assert value() == 5 and getattr(value, "__name__") == "value"

    @kura.cached("away", client=nowhere, needs_server=True)
    def strict() -> int:
        return 5

    with pytest.raises(kura.ServerGoneError):
        strict()


def test_whoever_waits_too_long_is_told(client: kura.Kura) -> None:
    token = client.models.get("long", "=[]", claim=True, lease_seconds=1000)["token"]

    @kura.cached("long", client=client, wait_seconds=0.3)
    def value() -> int:
        return 5

    with pytest.raises(kura.NoReplyError, match="raise wait_seconds"):
        value()
    client.models.put("long", "=[]", json.loads("7"), token=token)
    assert value() == 7


@pytest.mark.parametrize("when", ["before", "while it is asked", "while it is fetched"])
def test_once_the_daemon_has_died_the_function_is_called_at_once(own_daemon: Daemon, when: str) -> None:
    # Whoever waits for the daemon waits for longer than the test may take.
    with kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=1000) as client, kura.Kura(own_daemon.socket, timeout=PATIENCE) as other:
        calls: List[int] = []

        @kura.cached("died", client=client, ttl_seconds=1000)
        def value(number: int) -> int:
            if when == "while it is fetched" and own_daemon.process is not None:
                own_daemon.end(signal.SIGKILL)
            calls.append(number)
            return number

        client.open()
        if when == "while it is asked":
            # Somebody else is fetching it, so the call waits.
            assert other.models.get("died", "=[1]", claim=True, lease_seconds=1000)["state"] == "miss"
            killer = threading.Timer(0.5, own_daemon.end, [signal.SIGKILL])
            killer.start()
        elif when == "before":
            own_daemon.end(signal.SIGKILL)
        results: List[int] = []
        thread = threading.Thread(target=lambda: results.extend(value(1) for _ in range(3)), daemon=True)
        thread.start()
        thread.join(PATIENCE)
        assert results == [1, 1, 1] and calls == [1, 1, 1]
        if when == "while it is asked":
            killer.join(PATIENCE)
        when = "over"
        own_daemon.start()
        assert [value(2), value(2)] == [2, 2] and calls == [1, 1, 1, 2], "and it comes back by itself"


@pytest.mark.parametrize("kind", ["shuttingDown", "overloaded"])
def test_a_daemon_that_takes_nobody_is_not_waited_for(kind: str) -> None:
    refusal = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"No","data":{"kind":"%s","retryable":true}}}\n' % kind.encode()
    with Pretender(refusal) as pretender:
        client = kura.Kura(pretender.socket, timeout=PATIENCE, patience=0.1)

        @kura.cached("refused", client=client)
        def value() -> int:
            return 5

        assert value() == 5

        @kura.cached("refused", client=client, needs_server=True)
        def strict() -> int:
            return 5

        with pytest.raises((kura.ShuttingDownError, kura.OverloadedError)):
            strict()


def test_equal_calls_have_one_key(client: kura.Kura) -> None:
    calls: List[object] = []

    @kura.cached("equal", client=client, ttl_seconds=1000)
    def page(url: str, size: int = 10, *, language: str = "en") -> int:
        calls.append((url, size, language))
        return len(calls)

    assert page("u") == page(url="u") == page("u", 10) == page(size=10, url="u") == page("u", language="en") == 1
    assert page("u", 11) == 2 and page("u", language="ja") == 3
    page.invalidate(url="u", size=10)
    assert page("u") == 4
    with pytest.raises(TypeError):
        page(adress="u")

    @kura.cached("equal one", client=client)
    def one(url: str) -> str:
        return url

    assert one.key(url="kyoto") == one.key("kyoto") == "kyoto"


@pytest.mark.parametrize("cached", [kura.cached, kura.Kura("/nowhere").cached])
def test_a_decorator_that_is_written_wrong_says_so(cached: Any) -> None:
    with pytest.raises(TypeError, match=r'write @kura\.cached\("namespace"\)'):
        # As a decorator without parentheses does.
        cached(lambda: 5)

    with pytest.raises(TypeError, match="kura.cached has no option ttl: did you mean ttl_seconds"):
        cached("x", ttl=3)
    with pytest.raises(TypeError, match="kura.cached has no option qqq: it takes ttl_seconds"):
        cached("x", qqq=3)
