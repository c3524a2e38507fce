"""A write is applied once, or reported."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import pytest

import kura
from conftest import PATIENCE, Daemon
from middle import Middle


def cut_first(method: str, when: str, times: int = 1) -> "tuple[list[int], object]":
    """A judge that cuts the connection `times` times: before the request gets through, or before its reply does."""
    left = [times]
    waiting: "set[bytes]" = set()

    def judge(direction: str, line: bytes) -> str:
        if direction == "->" and b'"method":"' + method.encode() + b'"' in line and left[0]:
            if when == "before":
                left[0] -= 1
                return "cut"
            waiting.add(line.split(b'"id":')[1].split(b",")[0])
        elif direction == "<-" and left[0] and line.split(b'"id":')[1].split(b",")[0] in waiting:
            left[0] -= 1
            waiting.clear()
            return "cut"
        return "pass"

    return left, judge


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_write_whose_connection_is_lost_is_done_once(daemon: Daemon, when: str, times: int) -> None:
    left, judge = cut_first("settings.increment", when, times)
    domain = f"retries-{when}-{times}"
    with Middle(daemon.socket, judge) as middle, kura.Kura(middle.socket, timeout=PATIENCE, patience=PATIENCE) as client:  # type: ignore[arg-type]
        assert client.settings[domain].increment("n") == 1
        sent = middle.requests("settings.increment")
        assert left == [0] and len(sent) == times + 1
        # The same write each time, by its key.
        assert len({json.loads(line)["params"]["requestKey"] for line in sent}) == 1
        assert client.settings[domain].increment("n") == 2


def test_without_a_key_it_is_reported_and_sent_once(daemon: Daemon) -> None:
    left, judge = cut_first("settings.increment", "after")
    with Middle(daemon.socket, judge) as middle:  # type: ignore[arg-type]
        client = kura.Kura(middle.socket, request_keys=False, patience=PATIENCE)
        with pytest.raises(kura.OutcomeUnknownError) as caught:
            client.settings["reported"].increment("n")
        assert left == [0] and len(middle.requests("settings.increment")) == 1
        assert "read the item and its rev" in str(caught.value)
        assert client.settings["reported"]["n"] == 1


def test_a_cache_write_that_would_count_twice_is_reported(daemon: Daemon) -> None:
    _, judge = cut_first("models.delete", "after")
    with Middle(daemon.socket, judge) as middle, kura.Kura(middle.socket, patience=PATIENCE) as client:  # type: ignore[arg-type]
        client.models.put("retries", "key", 1)
        with pytest.raises(kura.OutcomeUnknownError):
            client.models.delete("retries", "key")
        assert client.models.delete("retries", "key") == {"deleted": False}


def test_what_came_with_a_win_token_is_reported(daemon: Daemon) -> None:
    _, judge = cut_first("models.put", "after")
    with Middle(daemon.socket, judge) as middle, kura.Kura(middle.socket, patience=PATIENCE) as client:  # type: ignore[arg-type]
        token = client.models.get("retries", "won", claim=True)["token"]
        # The token has ended with the connection: it would be refused.
        with pytest.raises(kura.OutcomeUnknownError):
            client.models.put("retries", "won", 1, token=token)
        assert client.models.put("retries", "free", 1) == {"stored": True}
        assert len(middle.requests("models.put")) == 2


def test_a_read_is_asked_again(daemon: Daemon) -> None:
    _, judge = cut_first("settings.get", "after", 2)
    with Middle(daemon.socket, judge) as middle, kura.Kura(middle.socket, patience=PATIENCE) as client:  # type: ignore[arg-type]
        client.settings["reads"]["n"] = 5
        assert client.settings["reads"]["n"] == 5 and len(middle.requests("settings.get")) == 3


def test_who_is_always_cut_off_is_told_in_the_end(daemon: Daemon) -> None:
    _, judge = cut_first("settings.get", "after", 1000)
    with Middle(daemon.socket, judge) as middle, kura.Kura(middle.socket, patience=PATIENCE) as client:  # type: ignore[arg-type]
        with pytest.raises(kura.ServerGoneError, match="look at its log"):
            client.settings.get("reads", "n")
        assert len(middle.requests("settings.get")) == 6


def test_a_pipeline_that_is_cut_is_done_once_each(daemon: Daemon) -> None:
    seen = []

    def judge(direction: str, line: bytes) -> str:
        if direction == "<-" and b'"value"' in line:
            seen.append(line)
            if len(seen) == 20:
                return "cut"
        return "pass"

    with Middle(daemon.socket, judge) as middle, kura.Kura(middle.socket, timeout=PATIENCE, patience=PATIENCE) as client:
        with client.pipeline() as calls:
            sums = [calls.settings.increment("cut", "n") for _ in range(50)]
        assert sorted(part["value"] for part in sums) == list(range(1, 51)) and client.settings["cut"]["n"] == 50
        assert middle.connections == 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_counters_of_threads_are_exact_over_restarts(own_daemon: Daemon, number: int) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    done = [0] * 4
    errors = []
    stop = threading.Event()

    def count(index: int) -> None:
        while not stop.is_set():
            try:
                client.settings["counters"].increment(f"{index}")
                done[index] += 1
            except kura.KuraError as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=count, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        mark = sum(done)
        while sum(done) < mark + 20 and not errors:
            time.sleep(0.01)
        own_daemon.restart(number)
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    assert client.settings["counters"].all() == {f"{index}": count for index, count in enumerate(done)}


def test_an_outcome_that_the_daemon_does_not_know_is_found_out(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    client.settings["unknown"]["n"] = 1
    own_daemon.end(signal.SIGTERM)
    # The next sync fails: the daemon says so, and ends.
    own_daemon.start(KURA_FAULTS="log.sync:fail:1")

    def start_again() -> None:
        assert own_daemon.process is not None
        own_daemon.process.wait(PATIENCE)
        own_daemon.start()

    thread = threading.Thread(target=start_again)
    thread.start()
    assert client.settings["unknown"].increment("n") == 2
    thread.join()
    assert client.settings["unknown"]["n"] == 2
    assert "outcomeUnknown" in own_daemon.log() or "sync" in own_daemon.log()


def test_an_unknown_outcome_is_reported_with_its_key_when_the_daemon_stays_away(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=0.2)
    client.settings["unknown"]["n"] = 1
    own_daemon.end(signal.SIGTERM)
    own_daemon.start(KURA_FAULTS="log.sync:fail:1")
    with pytest.raises(kura.OutcomeUnknownError) as caught:
        client.settings["unknown"].increment("n")
    assert own_daemon.process is not None
    own_daemon.process.wait(PATIENCE)
    own_daemon.start()
    key = caught.value.request_key
    assert key is not None and "request_key" in str(caught.value)
    for _ in range(2):
        assert client.settings.increment("unknown", "n", by=1, request_key=key)["value"] == 2


def test_keys_are_not_made_where_they_would_do_harm(daemon: Daemon) -> None:
    with Middle(daemon.socket) as middle, kura.Kura(middle.socket) as client:
        client.settings.configure("relaxed", durability="relaxed", flush_seconds=1)
        client.documents["keys"].delete_where({"a": 1})
        made = client.secrets.generate("keys", "a", return_secret=True)
        assert made["secret"] and b"requestKey" not in middle.requests("documents.deleteMany")[0]
        assert b"requestKey" not in middle.requests("secrets.generate")[0]
    with kura.Kura(daemon.socket, request_keys=False) as client:
        assert client.settings.put("relaxed", "n", 1).get("durable") is False


def test_no_key_comes_twice(daemon: Daemon) -> None:
    keys = []
    for _ in range(2):
        with Middle(daemon.socket) as middle, kura.Kura(middle.socket) as client:
            for _ in range(3):
                client.settings["keys"].increment("n")
            keys += [json.loads(line)["params"]["requestKey"] for line in middle.requests("settings.increment")]
    assert len(set(keys)) == 6 and all(str(os.getpid()) in key for key in keys)
