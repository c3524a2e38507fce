"""Many threads over one connection; children that leave it alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from typing import Callable, Dict, List

import kura
from conftest import CLIENT, PATIENCE, Daemon
from middle import Middle


def test_threads_share_one_connection_and_get_their_own_replies(daemon: Daemon) -> None:
    wrong: List[object] = []
    with Middle(daemon.socket) as middle, kura.Kura(middle.socket, timeout=PATIENCE) as client:

        def work(number: int) -> None:
            domain = client.settings[f"thread-{number}"]
            for turn in range(60):
                domain["value"] = [number, turn]
                if domain["value"] != [number, turn]:
                    wrong.append((number, turn))
                if domain.increment("n") != turn + 1:
                    wrong.append((number, turn, "n"))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong and middle.connections == 1


def test_whoever_waits_long_reads_for_the_others_and_hands_on(client: kura.Kura) -> None:
    rev = client.storage.status()["rev"]
    ended: List[int] = []

    def wait(number: int) -> None:
        client.changes.wait(rev, scope=f"hand-{number}", timeout_ms=60_000)
        ended.append(number)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    # Whichever of them reads at the moment is among those that end first, and last.
    for number in range(10):
        client.settings[f"hand-{number}"]["key"] = 1
        deadline = time.monotonic() + PATIENCE
        while number not in ended and time.monotonic() < deadline:
            time.sleep(0.001)
        assert ended == list(range(number + 1))


def test_one_that_gives_up_hands_on(client: kura.Kura) -> None:
    rev = client.storage.status()["rev"]
    got: List[object] = []
    given_up: List[object] = []

    def give_up() -> None:
        try:
            client.changes.wait(rev, scope="give-up", timeout_ms=60_000, timeout=0.3)
        except kura.NoReplyError as error:
            given_up.append(error)

    def wait() -> None:
        got.append(client.changes.wait(rev, scope="kept", timeout_ms=60_000)["changes"])

    impatient = [threading.Thread(target=give_up) for _ in range(3)]
    patient = [threading.Thread(target=wait) for _ in range(3)]
    for one, other in zip(impatient, patient):
        one.start()
        other.start()
    for thread in impatient:
        thread.join(PATIENCE)
    assert len(given_up) == 3
    with kura.Kura(client.socket) as other_client:
        other_client.settings["kept"]["key"] = 1
    for thread in patient:
        thread.join(PATIENCE)
    assert len(got) == 3


def in_child(work: Callable[[], None]) -> None:
    """Forks, and has the child do it; what fails there fails here."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    deadline = time.monotonic() + PATIENCE
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("the child hangs")
        time.sleep(0.01)
    assert status == 0


def test_a_forked_child_has_a_connection_of_its_own(daemon: Daemon) -> None:
    with Middle(daemon.socket) as middle, kura.Kura(middle.socket, timeout=PATIENCE) as client:
        counter = client.settings["forks"]
        stop = threading.Event()
        done = [0] * 3

        def count(index: int) -> None:
            while not stop.is_set():
                counter.increment("n")
                done[index] += 1

        threads = [threading.Thread(target=count, args=(index,)) for index in range(3)]
        for thread in threads:
            thread.start()

        def work() -> None:
            for _ in range(20):
                counter.increment("n")

        children = 5
        for _ in range(children):
            # Forked while others are in the midst of calls, with locks held.
            in_child(work)
        stop.set()
        for thread in threads:
            thread.join()
        # Each is done once: nobody has taken another's reply, or another's request key.
        assert counter["n"] == sum(done) + children * 20
        assert middle.connections == 1 + children


def test_a_watch_goes_on_in_a_child_by_itself(daemon: Daemon) -> None:
    with kura.Kura(daemon.socket, timeout=PATIENCE) as client:
        watch = client.watch(scope="fork-watch", values=True)

        def work() -> None:
            client.settings["fork-watch"]["child"] = 1
            event = watch.next(timeout=PATIENCE)
            assert isinstance(event, kura.Change) and event.key == "child"

        in_child(work)
        event = watch.next(timeout=PATIENCE)
        assert isinstance(event, kura.Change) and event.key == "child"


def test_a_child_that_ends_does_not_end_the_parents_connection(daemon: Daemon) -> None:
    with Middle(daemon.socket) as middle, kura.Kura(middle.socket, timeout=PATIENCE) as client:
        client.storage.ping()
        in_child(client.close)
        client.storage.ping()
        assert middle.connections == 1


def test_an_interrupt_at_the_worst_moment_loses_no_reply_for_ever(daemon: Daemon) -> None:
    with Middle(daemon.socket) as middle, kura.Kura(middle.socket, timeout=PATIENCE) as client:
        client.settings["worst"]["n"] = 1
        connection = client._connection
        assert connection is not None
        original = connection.exchange.dispatch
        hits: List[int] = []

        def interrupted(messages: List[Dict[str, object]]) -> List[object]:
            hits.append(1)
            if len(hits) == 1:
                raise KeyboardInterrupt
            return list(original(messages))

        # The reply has been read, and goes with the interrupt.
        connection.exchange.dispatch = interrupted  # type: ignore
        try:
            client.settings["worst"].increment("n")
            raise AssertionError("it was not interrupted")
        except KeyboardInterrupt:
            pass
        assert client.settings["worst"]["n"] == 2 and middle.connections == 2


def test_an_interrupt_leaves_the_client_usable(daemon: Daemon) -> None:
    program = f"""
import signal, threading, kura
interrupted = threading.Event()

def interrupt(*_):
    # Once, though it is sent again: one that comes just before a system call does not end that.
    if not interrupted.is_set():
        interrupted.set()
        raise KeyboardInterrupt

def send():
    while not interrupted.wait(0.2):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

client = kura.connect({daemon.socket!r}, timeout=60)
rev = client.storage.status()["rev"]
# Whoever runs tests in the background has this one ignored.
signal.signal(signal.SIGINT, interrupt)
try:
    threading.Thread(target=send, daemon=True).start()
    client.changes.wait(rev, scope="nobody", timeout_ms=600000)
except KeyboardInterrupt:
    print("interrupted", client.storage.ping())
"""
    environment = {**os.environ, "PYTHONPATH": str(CLIENT / "src")}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
    output, _ = process.communicate(timeout=PATIENCE)
    assert output.strip() == "interrupted {'pong': True}"


def test_a_child_that_is_forked_while_somebody_connects_can_connect(daemon: Daemon) -> None:
    with kura.Kura(daemon.socket, timeout=PATIENCE) as client, client._opening:
        in_child(lambda: None if client.storage.ping() else None)


def test_threads_never_make_the_same_request_key(client: kura.Kura) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    keys: List[List[object]] = [[] for _ in range(8)]

    def make(made: List[object]) -> None:
        for _ in range(4000):
            made.append(client.key_of("settings.put", {}))

    try:
        threads = [threading.Thread(target=make, args=(made,)) for made in keys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len({key for made in keys for key in made}) == 8 * 4000
