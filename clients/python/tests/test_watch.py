"""Nothing is missed and nothing comes twice, whatever happens to the connection."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from typing import Any, Dict, List, Tuple

import pytest

import kura
from conftest import PATIENCE, Daemon
from kura.sync.watch import Subscription
from middle import Middle


def changes_of(watch: kura.Watch, count: int) -> List[kura.Change]:
    found: List[kura.Change] = []
    while len(found) < count:
        event = watch.next(timeout=PATIENCE)
        assert isinstance(event, kura.Change), event
        found.append(event)
    return found


def test_changes_come_in_their_order_with_what_they_are(client: kura.Kura) -> None:
    with client.watch(scope="watched", values=True) as watch:
        client.settings["watched"].update(a=1, b=2)
        del client.settings["watched"]["a"]
        client.documents["watched"].put({"text": "x"}, "c")
        client.settings["other"]["a"] = 1
        first, second, third, fourth = changes_of(watch, 4)
        assert [(part.store, part.scope, part.key, part.value) for part in (first, second)] == [
            ("settings", "watched", "a", 1),
            ("settings", "watched", "b", 2),
        ]
        assert first.rev == second.rev and first.client == "tests"
        assert third.is_deleted and third.key == "a" and third.rev > second.rev
        assert (fourth.store, fourth.key, fourth.value) == ("documents", "c", {"text": "x"})
        assert watch.rev >= fourth.rev
        assert watch.next(timeout=0.01) is None
    assert list(watch) == []


def test_the_place_moves_when_all_of_a_step_has_been_given_out(client: kura.Kura) -> None:
    with client.watch(scope="steps") as watch:
        begin = watch.rev
        client.settings["steps"].update(a=1, b=2)
        changes_of(watch, 1)
        assert watch.rev == begin
        changes_of(watch, 1)
        assert watch.rev > begin
        client.settings["steps"].update(c=1, d=2)
        assert [change.key for change in watch.next_batch(timeout=PATIENCE) if isinstance(change, kura.Change)] == ["c", "d"]


def test_a_later_watch_goes_on_from_a_place(client: kura.Kura) -> None:
    with client.watch(scope="later") as watch:
        rev, epoch = watch.rev, watch.epoch
    client.settings["later"]["a"] = 1
    with client.watch(scope="later", after_rev=rev, epoch=epoch, values=True) as watch:
        assert changes_of(watch, 1)[0].value == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_missed_or_repeated_over_restarts(own_daemon: Daemon, number: int) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    writer = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    seen: List[Tuple[str, int]] = []
    watch = client.watch(scope="restarts", values=True)

    def follow() -> None:
        for event in watch:
            assert isinstance(event, kura.Change) and event.key is not None
            seen.append((event.key, event.rev))
            if event.key == "end":
                return

    thread = threading.Thread(target=follow)
    thread.start()
    written = {}
    for turn in range(3):
        for step in range(40):
            key = f"{turn}-{step}"
            written[key] = writer.settings["restarts"].put(key, step)
        own_daemon.restart(number)
    written["end"] = writer.settings["restarts"].put("end", 1)
    thread.join(PATIENCE)
    assert seen == list(written.items())


def test_another_history_is_told(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    watch = client.watch(scope="epochs", values=True)
    client.settings["epochs"]["a"] = 1
    changes_of(watch, 1)
    before = watch.epoch
    own_daemon.end()
    shutil.rmtree(f"{own_daemon.folder}/data")
    own_daemon.start()
    event = watch.next(timeout=PATIENCE)
    assert isinstance(event, kura.Resync) and event.reason == "epochChanged" and event.epoch != before
    assert watch.epoch == event.epoch and client.server().epoch == event.epoch
    client.settings["epochs"]["b"] = 2
    assert [(change.key, change.value) for change in changes_of(watch, 1)] == [("b", 2)]


def test_a_place_of_another_history_is_told_at_once(client: kura.Kura) -> None:
    with client.watch(after_rev=1, epoch="00000000-0000-4000-8000-000000000000") as watch:
        event = watch.next(timeout=PATIENCE)
        assert isinstance(event, kura.Resync) and event.reason == "epochChanged"


def test_what_is_no_longer_kept_is_told() -> None:
    asked: List[Dict[str, Any]] = []

    class Client:
        timeout = 1.0
        decimals = False

        def perform(self, request: Any, *_: Any) -> Any:
            asked.append(request)
            if b'"afterRev"' in request.body:
                raise kura.CompactedError("changes.watch", "Changes no longer kept", {"kind": "compacted", "oldestRev": 90})
            return {"subscription": 1, "rev": 100, "epoch": "e"}, None

    subscription = Subscription(Client(), "changes.watch", {}, None)  # type: ignore[arg-type]
    subscription.rev, subscription.epoch = 5, "e"
    assert subscription.subscribe() == kura.Resync("compacted", 100, "e")
    assert subscription.rev == 100 and len(asked) == 2


def test_changes_that_are_lost_are_told_once(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    client.call("settings.configure", {"domain": "lost", "durability": "relaxed", "flushSeconds": 3600})
    client.settings["strict"]["a"] = 1
    # Its files as they are now are what a power cut leaves: what comes is not synced.
    own_daemon.send_signal(signal.SIGSTOP)
    shutil.copytree(f"{own_daemon.folder}/data", f"{own_daemon.folder}/before")
    own_daemon.send_signal(signal.SIGCONT)
    seen = [client.settings["lost"].put("a", value) for value in range(5)]
    own_daemon.end(signal.SIGKILL)
    shutil.rmtree(f"{own_daemon.folder}/data")
    shutil.move(f"{own_daemon.folder}/before", f"{own_daemon.folder}/data")
    own_daemon.start()
    with client.watch(after_rev=seen[2], epoch=client.server().epoch) as watch:
        event = watch.next(timeout=PATIENCE)
        assert isinstance(event, kura.Resync) and event.reason == "lost" and event.rev > seen[-1]
        assert watch.rev == event.rev
        client.settings["strict"]["b"] = 1
        assert changes_of(watch, 1)[0].key == "b"
    answer = client.call("changes.list", {"afterRev": seen[2]})
    assert answer["lost"] == {"fromRev": seen[0], "toRev": event.rev} and not answer["hasMore"]


def test_a_watch_that_nobody_reads_is_a_place_and_loses_nothing(daemon: Daemon) -> None:
    with Middle(daemon.socket) as middle, kura.Kura(middle.socket, timeout=PATIENCE) as client:
        watch = client.watch(scope="unread")
        notes = client.documents["unread"]
        count = 0
        for _ in range(8):
            notes.put_many({f"{count + number:06}": {"n": number} for number in range(3000)})
            count += 3000
            # Replies that are waited for have the notifications before them read.
            client.storage.ping()
        deadline = time.monotonic() + PATIENCE
        while not middle.requests("changes.unwatch"):
            assert time.monotonic() < deadline
            client.storage.ping()
            time.sleep(0.01)
        seen = [change.key for change in changes_of(watch, count)]
        assert seen == [f"{number:06}" for number in range(count)]
        assert len(middle.requests("changes.watch")) == 2


def test_a_watch_is_closed_from_another_thread(client: kura.Kura) -> None:
    watch = client.watch(scope="closed")
    ended = []
    thread = threading.Thread(target=lambda: ended.append(list(watch)))
    thread.start()
    time.sleep(0.05)
    watch.close()
    thread.join(PATIENCE)
    assert ended == [[]]
    # The daemon knows: nothing of it comes any more, and others work.
    assert client.storage.ping() == {"pong": True}


def test_many_watches_share_the_connection(client: kura.Kura) -> None:
    watches = [client.watch(scope=f"shared-{number % 5}") for number in range(50)]
    for number in range(5):
        client.settings[f"shared-{number}"]["key"] = number
    for number, watch in enumerate(watches):
        assert [change.scope for change in changes_of(watch, 1)] == [f"shared-{number % 5}"]
    for watch in watches:
        watch.close()


def test_caches_are_watched_and_their_end_is_told(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE, patience=PATIENCE)
    watch = client.watch(stores=["models", "blobs"])
    client.models.put("feed", "home", 1)
    client.models.invalidate("feed", prefix="h", mode="drop")
    put, dropped = changes_of(watch, 2)
    assert put.key == "home" and dropped.about["mode"] == "drop" and dropped.about["prefix"] == "h"
    own_daemon.restart()
    event = watch.next(timeout=PATIENCE)
    assert isinstance(event, kura.Resync) and event.reason == "epochChanged"


def test_a_live_list_goes_on_over_a_restart(own_daemon: Daemon) -> None:
    middle = Middle(own_daemon.socket)
    client = kura.Kura(middle.socket, timeout=PATIENCE, patience=PATIENCE)
    tasks = client.documents["tasks"]
    tasks.put_many({"a": {"due": 2}, "b": {"due": 1}})
    live = tasks.live(sort=["due"])
    assert [document.id for document in next(live)] == ["b", "a"]
    own_daemon.restart()
    tasks.put({"due": 0}, "c")
    tasks.delete("b")
    while [document.id for document in live.documents] != ["c", "a"]:
        assert live.next(timeout=PATIENCE) is not None
    assert [document.value for document in live.documents] == [{"due": 0}, {"due": 2}]
    # What it has is not sent again.
    first, *others = middle.requests("documents.watch")
    assert b"afterRev" not in first and others and all(b"afterRev" in line for line in others)


def test_whoever_has_no_patience_is_told_that_the_daemon_is_gone(own_daemon: Daemon) -> None:
    client = kura.Kura(own_daemon.socket, timeout=PATIENCE)
    watch = client.watch(scope="gone", patience=0.1)
    own_daemon.end(signal.SIGKILL)
    with pytest.raises(kura.ServerGoneError):
        watch.next(timeout=PATIENCE)
