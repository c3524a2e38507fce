"""A daemon of its own for each module, where data survives its restarts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import pytest

import kura

CLIENT = Path(__file__).resolve().parent.parent
KURAD = os.environ.get("KURAD") or str(CLIENT.parent.parent / ".build" / "debug" / "kurad")
# No test says that something is quick: a machine may be slow. This is when one that hangs is ended.
PATIENCE = 60.0


class Daemon:
    """A kurad that can be stopped, killed and started again on the same data."""

    def __init__(self, configuration: Optional[Dict[str, Any]] = None, **environment: str) -> None:
        # Short: a socket's path has 107 bytes at most.
        self.folder = tempfile.mkdtemp(prefix="kura-py-", dir="/tmp")
        self.socket = f"{self.folder}/k.sock"
        self.environment = {**os.environ, "KURA_MIN_FREE_BYTES": "0", **environment}
        for name in ("KURA_SOCKET", "KURA_CONFIG", "KURA_DATA_DIR"):
            self.environment.pop(name, None)
        self.arguments = ["--data-dir", f"{self.folder}/data"]
        if configuration is None:
            self.arguments += ["--socket", self.socket]
        else:
            text = json.dumps(configuration).replace("/run/kura/", f"{self.folder}/")
            Path(self.folder, "config.json").write_text(text)
            os.chmod(f"{self.folder}/config.json", 0o600)
            self.arguments += ["--config", f"{self.folder}/config.json"]
        self.process: Optional["subprocess.Popen[bytes]"] = None

    def start(self, *arguments: str, **environment: str) -> Daemon:
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(
                [KURAD, *self.arguments, *arguments], stderr=log, env={**self.environment, **environment}, stdin=subprocess.DEVNULL
            )
        deadline = time.monotonic() + PATIENCE
        while not self.answers():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)
        return self

    def answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(self.socket)
                return True
            except OSError:
                return False

    def log(self) -> str:
        return Path(self.folder, "log").read_text("utf-8", "replace")

    def send_signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.process is None:
            return
        self.send_signal(number)
        self.process.wait(PATIENCE)
        self.process = None

    def restart(self, number: int = signal.SIGKILL) -> None:
        self.end(number)
        self.start()

    def remove(self) -> None:
        self.end(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    started = Daemon()
    try:
        yield started.start()
    finally:
        started.remove()


@pytest.fixture
def own_daemon() -> Iterator[Daemon]:
    """One that a test may kill."""
    started = Daemon()
    try:
        yield started.start()
    finally:
        started.remove()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[kura.Kura]:
    with kura.Kura(daemon.socket, name="tests", timeout=PATIENCE, patience=PATIENCE) as opened:
        yield opened


def open_descriptors() -> List[str]:
    """What the descriptors of this process are."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            pass
    return sorted(found)
