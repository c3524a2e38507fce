"""The application of three processes in Sources/Examples/Notes, in Swift; here the client for Python is its fourth."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import struct
import subprocess
import termios
import threading
from pathlib import Path
from typing import Iterator, List, Union

import pytest

import kura
from conftest import CLIENT, KURAD, PATIENCE, Daemon
from middle import Middle
from terminal import Terminal
from test_example import until

PROGRAM = Path(KURAD).parent / "kura-notes"
ORIGIN = CLIENT.parent.parent / "Sources" / "Examples" / "Notes" / "origin.py"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="kura-notes is not built")


class Process:
    """A program whose lines are kept as they come."""

    def __init__(self, daemon: Union[Daemon, Middle], *words: str) -> None:
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
        server = self.start(str(ORIGIN), "--token", "t1")
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
    until(lambda: screen.shows("2. [ ] a b  |█                       |"))
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


def test_any_worker_goes_on_where_another_has_stopped_and_makes_the_same(application: Application) -> None:
    client = opened(application.daemon)
    notes = client.documents["notes"]
    text = "one line\n\n  and  another of more than forty-eight characters, which is cut\n" + "x\n" * 40
    notes.put({"text": text}, "a")
    environment = {**os.environ, "KURA_SOCKET": application.daemon.socket, "PYTHONPATH": str(CLIENT / "src")}
    subprocess.run([CLIENT / "examples" / "thumbnailer.py", "--once"], env=environment, check=True)
    notes.put({"text": text}, "b")
    worker = application.part("worker")
    until(lambda: len(worker.lines) > 0)
    assert worker.lines == ["b: 3145 bytes"]
    worker.end()
    ids = ["a", "b"]
    if shutil.which("socat") and shutil.which("jq"):
        notes.put({"text": text}, "c")
        # The worker's place was kept before it was ended, or it does the last one again.
        subprocess.run([CLIENT.parent / "bash" / "thumbnailer", "--once"], env=environment, check=True)
        ids.append("c")
    pictures = [client.blobs["thumbnails"].get(id) for id in ids]
    assert len({bytes(picture) for picture in pictures if picture is not None}) == 1 and None not in pictures


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals here")
def test_on_a_terminal_drawing_leaves_the_line_that_is_typed_alone(application: Application) -> None:
    client = opened(application.daemon)
    notes = client.documents["notes"]
    near, far = os.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 60, 0, 0))
    process = subprocess.Popen(
        [PROGRAM, "ui"], env={**os.environ, "KURA_SOCKET": application.daemon.socket}, stdin=far, stdout=far, stderr=far
    )
    os.close(far)
    screen = Terminal(near, 12, 60)
    try:
        until(lambda: screen.line(0) == "no notes: add TEXT" and screen.line(10) == ">")
        assert screen.line(9).startswith("add TEXT, edit NUMBER TEXT")
        os.write(near, b"add half ty")
        until(lambda: screen.line(10) == "> add half ty")
        notes.put({"id": "a", "text": "from elsewhere \x1b[2J" + "long " * 30}, "a")
        until(lambda: screen.line(0).startswith("1. [ ] from elsewhere  [2Jlong"))
        assert screen.line(10) == "> add half ty" and screen.line(0).endswith("…") and screen.line(1) == ""
        os.write(near, b"ped\n")
        until(lambda: screen.line(1) == "2. [ ] half typed" and screen.line(10) == ">")
        notes.put_many({f"b{number:02}": {"id": f"b{number:02}", "text": f"note {number}"} for number in range(20)})
        until(lambda: screen.line(7).endswith("half typed") and screen.line(0) == "… 15 before these")
        application.daemon.end(signal.SIGKILL)
        until(lambda: screen.line(9).startswith("no daemon answers: what is typed is saved"))
        os.write(near, b"edit 22 while it is away\n")
        until(lambda: screen.line(7).endswith("while it is away"))
        application.daemon.start()
        until(lambda: screen.line(9).startswith("add TEXT"))
        until(lambda: any(note.value["text"] == "while it is away" for note in notes.each()))
        os.write(near, b"quit\n")
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait(PATIENCE)
        screen.close()


def test_what_two_have_edited_is_shown_and_one_is_kept(application: Application) -> None:
    client = opened(application.daemon)
    notes = client.documents["notes"]
    notes.put({"id": "a", "text": "first"}, "a")
    # Nothing that is written here arrives, until somebody else has written.
    held = [b'"documents.put"', b'"documents.patch"', b'"documents.putMany"', b'"transaction.apply"']
    with Middle(application.daemon.socket, lambda direction, line: "cut" if any(word in line for word in held) else "pass") as middle:
        screen = Process(middle, str(PROGRAM), "ui")
        application.processes.append(screen)
        until(lambda: screen.shows("1. [ ] first"))
        screen.type("edit 1 mine")
        until(lambda: screen.shows("1. [ ] mine"))
        notes.put({"id": "a", "text": "of another"}, "a")
        held.clear()
        until(lambda: screen.shows("1. [ ] mine  (theirs: of another; keep 1 mine|theirs)"))
        screen.type("keep 1 neither")
        until(lambda: "keep NUMBER mine, or keep NUMBER theirs" in screen.lines)
        screen.type("keep 1 mine")
        until(lambda: [note.value["text"] for note in notes.each()] == ["mine"])
        screen.type("keep 1 mine")
        until(lambda: "nobody else has changed it" in screen.lines)


@pytest.mark.parametrize("words", [[], ["ui", "x"], ["fetcher"], ["fetcher", "http://127.0.0.1:1/", "soon"], ["paint"]])
def test_what_is_not_understood_is_told(application: Application, words: List[str]) -> None:
    ended = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 2 and ended.stderr.startswith("usage: kura-notes ") and ended.stdout == ""
