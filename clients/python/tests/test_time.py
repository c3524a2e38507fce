"""Timeouts, and what is told the daemon of them."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from pathlib import Path
from typing import List

import pytest

import kura
from conftest import PATIENCE, Daemon
from kura import limits
from kura.methods.table import METHODS
from middle import Middle


def test_a_daemon_that_stands_still_is_not_waited_for_for_ever(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    client.settings["time"]["n"] = 1
    own_daemon.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(kura.NoReplyError) as caught:
            client.settings.get("time", "n", timeout=0.2)
        assert isinstance(caught.value, TimeoutError) and "give it a `timeout`" in str(caught.value)
        with pytest.raises(kura.NoReplyError) as late:
            client.settings.increment("time", "n", timeout=0.2)
        assert late.value.request_key is not None and "is not done twice" in str(late.value)
    finally:
        own_daemon.send_signal(signal.SIGCONT)
    # The late replies are nobody else's.
    assert client.settings.increment("time", "n", request_key=late.value.request_key)["value"] == 2
    assert client.settings["time"]["n"] == 2


def test_a_block_has_its_time_for_all_of_its_calls(own_daemon: Daemon) -> None:
    # A path as pathlib has it.
    client = kura.Kura(Path(own_daemon.socket), timeout=PATIENCE, patience=PATIENCE)
    app = client.settings["block"]
    with kura.within(PATIENCE):
        app["n"] = 1
        outer = limits.earlier(None)
        with kura.within(2 * PATIENCE):
            assert outer is not None and limits.earlier(None) == outer, "an inner block lasts no longer than the outer one"
    own_daemon.send_signal(signal.SIGSTOP)
    try:
        with kura.within(0.3):
            begun = time.monotonic()
            with pytest.raises(kura.NoReplyError):
                app.get("n")
            assert time.monotonic() - begun < PATIENCE / 2, "it was the block's time that was over"
            # What is left for the next is nothing, however long its own timeout is, and that of what has none.
            with pytest.raises(kura.NoReplyError):
                client.settings.put("block", "n", 2, timeout=PATIENCE)
            with pytest.raises(kura.NoReplyError):
                client.documents.configure("block", tombstone_days=1)
    finally:
        own_daemon.send_signal(signal.SIGCONT)
    assert app["n"] in (1, 2), "outside of the block there is time again"

    async def tasks() -> None:
        async with kura.aio.AsyncKura(own_daemon.socket, timeout=PATIENCE) as other:
            own_daemon.send_signal(signal.SIGSTOP)
            try:
                with kura.within(0.3):
                    with pytest.raises(kura.NoReplyError):
                        await asyncio.create_task(other.settings.get("block", "n"))
            finally:
                own_daemon.send_signal(signal.SIGCONT)
            assert (await other.settings.get("block", "n"))["value"] in (1, 2)

    asyncio.run(tasks())


def test_half_a_line_is_never_followed_by_another(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    notes = client.documents["half"]
    notes.put("first", id="a")
    own_daemon.send_signal(signal.SIGSTOP)
    ended: List[str] = []

    def put() -> None:
        try:
            # Longer than all that the sockets take.
            client.documents.put("half", "x" * 7_000_000, id="a", timeout=3)
        except kura.NoReplyError as error:
            assert error.request_key is not None
            ended.append("put")

    thread = threading.Thread(target=put)
    thread.start()
    try:
        while not client._connection or not client._connection._writing.locked():
            time.sleep(0.001)
        # Whoever comes meanwhile keeps to its own time.
        with pytest.raises(kura.NoReplyError):
            client.documents.get("half", "a", timeout=0.2)
        ended.append("get")
        thread.join(PATIENCE)
    finally:
        own_daemon.send_signal(signal.SIGCONT)
    assert ended == ["get", "put"]
    found = notes.get("a")
    assert found is not None and found.value == "first"
    assert notes.put("second", id="a").rev > found.rev


def test_a_call_that_nobody_waits_for_is_cancelled(daemon: Daemon) -> None:
    with Middle(daemon.socket) as middle, kura.Kura(middle.socket) as client:
        with pytest.raises(kura.NoReplyError):
            client.changes.wait(client.storage.status()["rev"], scope="nobody", timeout_ms=600_000, timeout=0.2)
        client.storage.ping()
        number = middle.requests("changes.wait")[0].split(b'"id":')[1].split(b",")[0]
        assert [line.split(b'"id":')[1].rstrip(b"}") for line in middle.requests("rpc.cancel")] == [number]


def test_what_the_daemon_is_asked_to_wait_for_comes_on_top(client: kura.Kura) -> None:
    now = time.monotonic()
    assert (client.deadline(METHODS["changes.wait"], {"timeoutMs": 90_000}, None) or 0) >= now + PATIENCE + 90
    assert (client.deadline(METHODS["changes.wait"], {"timeoutMs": 90_000}, 1.0) or 0) < now + PATIENCE
    assert client.deadline(METHODS["documents.purge"], {}, None) is None
    assert client.changes.wait(client.storage.status()["rev"], scope="nobody", timeout_ms=100)["changes"] == []


def test_a_query_that_takes_too_long_is_a_timeout_of_both_kinds(client: kura.Kura) -> None:
    many = client.documents["slow"]
    for part in range(4):
        many.put_many({f"{part}-{number}": {"text": "ab" * 300, "number": number} for number in range(2500)})
    where = {"$or": [{"text": {"$regex": f"ababab{number}"}} for number in range(8)]}
    with pytest.raises(TimeoutError) as caught:
        list(many.find(where, allow_scan=True, timeout_ms=1))
    assert isinstance(caught.value, kura.TimeoutError) and caught.value.kind == "timeout" and caught.value.is_retryable


def test_one_that_waits_holds_up_nobody(client: kura.Kura) -> None:
    rev = client.storage.status()["rev"]
    got = []
    thread = threading.Thread(target=lambda: got.append(client.changes.wait(rev, scope="wake", timeout_ms=60_000)))
    thread.start()
    for number in range(50):
        client.settings["others"]["n"] = number
    client.settings["wake"]["n"] = 1
    thread.join()
    assert [change["scope"] for change in got[0]["changes"]] == ["wake"]
