"""The worker does what it says, over its own end and the daemon's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Callable, List

import kura
from conftest import CLIENT, PATIENCE, Daemon

WORKER = str(CLIENT / "examples" / "thumbnailer.py")


def run(daemon: Daemon, *arguments: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "KURA_SOCKET": daemon.socket, "PYTHONPATH": str(CLIENT / "src")}
    return subprocess.Popen([sys.executable, WORKER, *arguments], env=environment, stdout=subprocess.PIPE, text=True)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def pictured(client: kura.Kura) -> List[str]:
    return [info.key for info in client.blobs["thumbnails"].each()]


def test_the_worker_keeps_a_picture_of_each_note(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    notes = client.documents["notes"]
    notes.put_many({"a": {"text": "one line"}, "b": {"text": "two\nlines"}, "c": {"no": "text"}})
    worker = run(own_daemon, "--once")
    output, _ = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0 and sorted(line.split(":")[0] for line in output.splitlines()) == ["a", "b"]
    picture = client.blobs["thumbnails"].get("a")
    assert picture is not None and picture.content_type == "image/x-portable-bitmap"
    lines = bytes(picture).decode().split("\n")
    assert lines[:2] == ["P1", "48 64"] and lines[2] == "11101111".ljust(48, "0") and set(lines[3:-1]) == {"0" * 48}
    assert len(lines) == 67 and lines[-1] == ""

    # It makes no picture twice, and what changed while it was away.
    notes.put({"text": "new"}, "d")
    notes.delete("a")
    output, _ = run(own_daemon, "--once").communicate(timeout=PATIENCE)
    assert [line.split(":")[0] for line in output.splitlines()] == ["d"] and pictured(client) == ["b", "d"]

    worker = run(own_daemon)
    try:
        notes.put({"text": "while it runs"}, "e")
        until(lambda: "e" in pictured(client))
        own_daemon.restart()
        notes.put({"text": "after a kill"}, "f")
        until(lambda: "f" in pictured(client))
    finally:
        worker.terminate()
        worker.communicate(timeout=PATIENCE)


def test_without_a_daemon_it_says_what_to_do(own_daemon: Daemon) -> None:
    own_daemon.end()
    program = f"import sys; sys.path.insert(0, {str(CLIENT / 'examples')!r}); import kura, thumbnailer\n"
    program += "connect = kura.connect; kura.connect = lambda **o: connect(**{**o, 'wait': 0.1}); sys.exit(thumbnailer.main([]))"
    environment = {**os.environ, "KURA_SOCKET": own_daemon.socket, "PYTHONPATH": str(CLIENT / "src")}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1 and "thumbnailer: no daemon listens at" in ended.stderr and ended.stderr.count("\n") == 1
