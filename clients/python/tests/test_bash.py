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


def test_it_sends_nothing_to_a_socket_that_others_have_made(own_daemon: Daemon) -> None:
    """KURA_PEER_UID names whose the socket's file has to be; without a path the directory has to be one's own or root's."""
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    client.documents["notes"].put({"text": "first"}, "a")
    script = f"KURA_PEER_UID={{}} exec {WORKER} --once"
    environment = {**os.environ, "KURA_SOCKET": own_daemon.socket}

    def outcome(uids: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["bash", "-c", script.format(uids)], env=environment, capture_output=True, text=True, timeout=PATIENCE)

    refused = outcome(str(os.geteuid() + 1))
    assert refused.returncode != 0 and f"others may have made {own_daemon.socket}: nothing was sent" in refused.stderr
    assert pictured(client) == [] and not client.settings["thumbnailer-notes"].get("place")
    served = outcome(f"{os.geteuid() + 1},{os.geteuid()}")
    assert served.returncode == 0 and pictured(client) == ["a"], served.stderr


@pytest.mark.parametrize("mode, is_trusted", [(0o700, True), (0o755, True), (0o770, False), (0o777, False)])
def test_its_usual_place_is_not_written_by_others(tmp_path: "os.PathLike[str]", mode: int, is_trusted: bool) -> None:
    """The worker's own lines, in a directory for the usual place."""
    lines = open(WORKER, encoding="utf-8").read().split("\nask()")[0]
    folder = f"{tmp_path}/kura"
    os.mkdir(folder)
    os.chmod(folder, mode)
    environment = {name: value for name, value in os.environ.items() if name not in ("KURA_SOCKET", "KURA_PEER_UID")}
    script = f"{lines}\ndirectory={folder}; trusted && echo trusted || echo stranger"
    told = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True).stdout
    assert told == ("trusted\n" if is_trusted else "stranger\n")
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
        told = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True).stdout
        assert told == "stranger\n"
