"""The worker of clients/bash: the same as the one in Python, for a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import List

import pytest

import kura
from conftest import CLIENT, PATIENCE, Daemon
from test_example import pictured, run, until

WORKER = str(CLIENT.parent / "bash" / "thumbnailer")

pytestmark = pytest.mark.skipif(not (shutil.which("socat") and shutil.which("jq")), reason="socat or jq is not here")


def begin(daemon: Daemon, *arguments: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "KURA_SOCKET": daemon.socket}
    pipe = subprocess.PIPE
    return subprocess.Popen([WORKER, *arguments], env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def once(daemon: Daemon) -> List[str]:
    worker = begin(daemon, "--once")
    output, errors = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0, errors
    return sorted(line.split(":")[0] for line in output.splitlines())


def test_it_keeps_a_picture_of_each_note(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    notes = client.documents["notes"]
    notes.put_many({"a": {"text": "one line"}, "b": {"text": "two\nlines"}, "c": {"no": "text"}, "d": "text"})
    assert once(own_daemon) == ["a", "b"]
    picture = client.blobs["thumbnails"].get("a")
    assert picture is not None and picture.content_type == "image/x-portable-bitmap"
    lines = bytes(picture).decode().split("\n")
    assert lines[:2] == ["P1", "48 64"] and lines[2] == "11101111".ljust(48, "0") and set(lines[3:-1]) == {"0" * 48}
    assert len(lines) == 67 and lines[-1] == ""

    # It makes no picture twice, and what changed while it was away.
    assert once(own_daemon) == []
    notes.put({"text": "new"}, "e")
    notes.delete("a")
    assert once(own_daemon) == ["e"] and pictured(client) == ["b", "e"]


def test_more_notes_than_a_page_has_are_looked_at(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    ids = [f"n{number:03}" for number in range(250)]
    client.documents["notes"].put_many({id: {"text": id} for id in ids})
    assert once(own_daemon) == ids and pictured(client) == ids


def test_it_goes_on_where_the_worker_in_python_has_stopped(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    notes = client.documents["notes"]
    notes.put({"text": "first"}, "a")
    assert once(own_daemon) == ["a"]
    notes.put({"text": "second"}, "b")
    output, _ = run(own_daemon, "--once").communicate(timeout=PATIENCE)
    assert [line.split(":")[0] for line in output.splitlines()] == ["b"]
    notes.put({"text": "third"}, "c")
    assert once(own_daemon) == ["c"]


def test_in_another_history_it_begins_anew(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    client.documents["notes"].put({"text": "first"}, "a")
    client.settings["thumbnailer-notes"]["place"] = {"rev": 1, "epoch": "00000000-0000-4000-8000-000000000000"}
    assert once(own_daemon) == ["a"]
    assert client.settings["thumbnailer-notes"]["place"]["epoch"] == client.server().epoch


def test_it_follows_and_ends_with_the_daemon(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    notes = client.documents["notes"]
    worker = begin(own_daemon)
    notes.put({"text": "while it runs"}, "a")
    until(lambda: pictured(client) == ["a"])
    notes.delete("a")
    until(lambda: pictured(client) == [])
    own_daemon.end()
    worker.communicate(timeout=PATIENCE)
    assert worker.returncode != 0
    assert begin(own_daemon).wait(PATIENCE) != 0
