"""A daemon for applications' own tests, and what they have go wrong there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator, List, Optional

import pytest

import kura
from conftest import CLIENT, KURAD, PATIENCE
from kura.testing import EphemeralDaemon


@pytest.fixture
def tested(monkeypatch: pytest.MonkeyPatch) -> Iterator[EphemeralDaemon]:
    monkeypatch.setenv("KURAD", KURAD)
    with EphemeralDaemon(memory=True, patience=PATIENCE) as daemon:
        yield daemon


def test_a_full_disk_refuses_what_takes_room_until_the_block_is_over(tested: EphemeralDaemon) -> None:
    with tested.connect() as client:
        client.settings["app"]["theme"] = "light"
        with tested.fault("full"):
            with pytest.raises(kura.NoSpaceError):
                client.settings["app"]["theme"] = "dark"
            assert client.settings["app"]["theme"] == "light"
        client.settings["app"]["theme"] = "dark"
        assert client.settings["app"]["theme"] == "dark"


def test_a_conflict_is_met_once_and_an_edit_gets_over_it(tested: EphemeralDaemon) -> None:
    with tested.connect() as client:
        client.settings["app"]["count"] = 1
        tested.inject("conflict", method="settings.put")
        asked: List[int] = []

        def more(count: int) -> int:
            asked.append(count)
            return count + 1

        client.settings["app"].edit("count", more)
        assert asked == [1, 1] and client.settings["app"]["count"] == 2


@pytest.mark.parametrize("kind, millis", [("gone", 200), ("powerCut", None), ("sync", None)])
def test_calls_wait_for_a_daemon_that_comes_back(tested: EphemeralDaemon, kind: "kura.testing.Fault", millis: "Optional[int]") -> None:
    with tested.connect(patience=PATIENCE) as client:
        client.settings["app"]["theme"] = "dark"
        tested.inject(kind, millis=millis)
        assert [client.settings["app"].increment("count") for _ in range(3)] == [1, 2, 3]
        assert client.settings["app"]["theme"] == "dark"


@pytest.mark.parametrize("kind, millis", [("gone", 100), ("powerCut", None), ("sync", None)])
def test_faults_are_injected_and_cleared_behind_one_that_ends_connections(
    tested: EphemeralDaemon, kind: "kura.testing.Fault", millis: "Optional[int]"
) -> None:
    def kinds() -> List[str]:
        return [fault["kind"] for fault in client.fault.list()["faults"]]

    def end() -> None:
        tested.inject(kind, millis=millis)
        if kind == "sync":
            client.settings["app"].increment("count")

    with tested.connect(patience=PATIENCE) as client:
        for _ in range(10):
            with tested.fault("slow", method="documents.get", millis=1):
                end()
                tested.inject("conflict", method="settings.put")
                assert "conflict" in kinds()
            # Where the first one has gone with its daemon the second one has its number.
            assert kinds() == ["conflict"]
            end()
            tested.clear()
            assert kinds() == []


def test_slow_requests_come_late_and_are_cleared(tested: EphemeralDaemon) -> None:
    with tested.connect() as client:
        fault = tested.inject("slow", method="settings.get", millis=300)
        begun = time.monotonic()
        assert client.settings["app"].get("theme") is None
        assert time.monotonic() - begun >= 0.3
        tested.clear(fault)
        assert client.fault.list()["faults"] == []


def test_nothing_is_left_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KURAD", KURAD)
    for memory in (False, True):
        with EphemeralDaemon(memory=memory) as daemon, daemon.connect() as client:
            status = client.storage.status()
            assert status.get("inMemory", False) == memory
            directory, folder = status["dataDirectory"], os.path.dirname(daemon.socket)
            assert directory.startswith("/dev/shm/") == memory
        assert not os.path.exists(directory) and not os.path.exists(folder)


def test_the_daemon_ends_with_a_process_that_is_killed() -> None:
    program = (
        "import time; from kura.testing import EphemeralDaemon; d = EphemeralDaemon(memory=True)\n"
        "print(d.connect().storage.status()['dataDirectory'], flush=True); time.sleep(600)"
    )
    environment = {**os.environ, "KURAD": KURAD, "PYTHONPATH": str(CLIENT / "src")}
    child = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    directory = Path(child.stdout.readline().strip())
    assert directory.is_dir()
    child.send_signal(signal.SIGKILL)
    child.wait(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while directory.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not directory.exists()
