"""The application of three processes in Sources/Examples/Notes, in Swift; here the client for Python is its fourth."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Iterator, List

import pytest

import kura
from conftest import CLIENT, KURAD, PATIENCE, Daemon
from test_example import until

PROGRAM = Path(KURAD).parent / "kura-notes"
ORIGIN = CLIENT.parent.parent / "Sources" / "Examples" / "Notes" / "origin.py"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="kura-notes is not built")


class Process:
    """A program whose lines are kept as they come."""

    def __init__(self, daemon: Daemon, *words: str) -> None:
        self.lines: List[str] = []
        self.process = subprocess.Popen(
            words,
            env={**os.environ, "KURA_SOCKET": daemon.socket},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def shows(self, *wanted: str) -> bool:
        """Whether the last whole screen has these lines."""
        screens = "\n".join(self.lines).split("\n--")
        return len(screens) > 1 and all(line in screens[-2].split("\n") for line in wanted)

    def end(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)


class Application:
    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.processes: List[Process] = []

    def start(self, *words: str) -> Process:
        self.processes.append(Process(self.daemon, *words))
        return self.processes[-1]

    def part(self, *arguments: str) -> Process:
        return self.start(str(PROGRAM), *arguments)

    def server(self) -> "tuple[Process, str]":
        server = self.start(sys.executable, str(ORIGIN), "--token", "t1")
        until(lambda: len(server.lines) > 0)
        return server, server.lines[0]


@pytest.fixture
def application(own_daemon: Daemon) -> Iterator[Application]:
    begun = Application(own_daemon)
    try:
        yield begun
    finally:
        for process in begun.processes:
            process.end()


def opened(daemon: Daemon) -> kura.Kura:
    return kura.Kura(daemon.socket, timeout=PATIENCE, patience=PATIENCE)


def test_three_processes_show_what_each_of_them_does(application: Application) -> None:
    client = opened(application.daemon)
    client.secrets["headlines"].put("token", "t1")
    server, address = application.server()
    fetcher = application.part("fetcher", address)
    application.part("worker")
    screen = application.part("ui")
    screen.type("add Buy rice")
    until(lambda: screen.shows("* Rice is in", "1. [ ] Buy rice  |▀▀▀ ▀▀▀▀                |"))
    until(lambda: fetcher.lines == ["3 headlines"] and server.lines[1:] == ["/ 200"])

    # What another program writes, and what is done here, over a kill of the daemon.
    client.documents["notes"].put({"id": "z", "text": "a\nb"}, "z")
    until(lambda: screen.shows("2. [ ] a", "b  |█                       |"))
    application.daemon.restart()
    screen.type("done 1")
    until(lambda: [note.value.get("isDone") for note in client.documents["notes"].each()] == [True, None])
    until(lambda: any("1. [x] Buy rice" in line for line in screen.lines))
    screen.type("delete 2")
    until(lambda: client.blobs["thumbnails"].stat("z") is None)
    screen.type("delete 7")
    until(lambda: "there is no note 7" in screen.lines)
    screen.type("quit")
    assert screen.process.wait(PATIENCE) == 0


def test_the_server_is_asked_once_for_all_fetchers(application: Application) -> None:
    client = opened(application.daemon)
    client.secrets["headlines"].put("token", "t1")
    server, address = application.server()
    fetchers = [application.part("fetcher", address) for _ in range(4)]
    until(lambda: all(fetcher.lines == ["3 headlines"] for fetcher in fetchers) and len(server.lines) > 1)
    assert server.lines[1:] == ["/ 200"]


def test_what_is_confirmed_is_not_fetched_again_and_a_wrong_token_is_told(application: Application) -> None:
    client = opened(application.daemon)
    server, address = application.server()
    fetcher = application.part("fetcher", address, "1")
    until(lambda: "the server says 401" in fetcher.lines and "/ 401" in server.lines)
    client.secrets["headlines"].put("token", "t1")
    until(lambda: "/ 304" in server.lines)
    assert server.lines.count("/ 200") == 1 and client.models.get("headlines", "today")["value"] == {
        "headlines": ["Rice is in", "The gate is mended", "Nothing else happened"]
    }


def test_the_worker_goes_on_where_the_one_in_python_has_stopped(application: Application) -> None:
    client = opened(application.daemon)
    notes = client.documents["notes"]
    notes.put({"text": "first"}, "a")
    environment = {**os.environ, "KURA_SOCKET": application.daemon.socket, "PYTHONPATH": str(CLIENT / "src")}
    subprocess.run([sys.executable, str(CLIENT / "examples" / "thumbnailer.py"), "--once"], env=environment, check=True)
    notes.put({"text": "second"}, "b")
    worker = application.part("worker")
    until(lambda: len(worker.lines) > 0)
    assert worker.lines == ["b: 3145 bytes"]
    first = client.blobs["thumbnails"].stat("a")
    assert first is not None and first.content_type == "image/png"


@pytest.mark.parametrize("words", [[], ["ui", "x"], ["fetcher"], ["fetcher", "http://127.0.0.1:1/", "soon"], ["paint"]])
def test_what_is_not_understood_is_told(application: Application, words: List[str]) -> None:
    ended = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 2 and ended.stderr.startswith("usage: kura-notes ") and ended.stdout == ""
