"""The same with asyncio: what is its own, and one test of each face."""

from __future__ import annotations

import array
import asyncio
import gc
import inspect
import os
import shutil
import signal
import socket
import threading
from typing import Any, Awaitable, Callable, List

import pytest

import kura
from conftest import PATIENCE, Daemon, open_descriptors
from kura import tasks, threads
from kura.aio import AsyncKura
from kura.wire import Request
from middle import Middle


def run(daemon: Any, work: Callable[[AsyncKura], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with AsyncKura(daemon.socket, name="tests", timeout=PATIENCE, patience=PATIENCE, **options) as client:
            await work(client)

    asyncio.run(main())


def test_each_face_works(daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        app = client.settings["aio"]
        await app.put("theme", "dark")
        assert await app.get("theme") == "dark" and await app.all() == {"theme": "dark"} and await app.get("none", 1) == 1
        assert await app.increment("n") == 1 and await app.edit("list", lambda value: [*value, 1], default=[]) == [1]
        notes = client.documents["aio"]
        await notes.put_many({f"{number:03}": {"n": number} for number in range(150)})
        assert [note.value["n"] async for note in notes.find({"n": {"$gte": 20}}, sort=["n"])] == list(range(20, 150))
        assert len([note async for note in notes.each()]) == 150
        images = client.blobs["aio"]
        await images.put("a", b"x" * 100_000)
        blob = await images.get("a")
        assert blob is not None and blob.view == b"x" * 100_000 and await images.get("b") is None
        await client.secrets["aio"].put("ada", "open sesame")
        secret = await client.secrets["aio"].get("ada")
        assert secret is not None and secret.text() == "open sesame"
        async with client.transaction() as changes:
            order = changes.documents.put("aio-orders", {}, id="17")
            changes.settings.increment("aio", "n")
        assert order["rev"] == changes.rev and await app.get("n") == 2
        async with client.pipeline() as calls:
            sums = [calls.settings.increment("aio", "n") for _ in range(100)]
        assert [part["value"] for part in sums] == list(range(3, 103))
        with pytest.raises(kura.ConflictError):
            await app.put("n", 1, if_rev=0)

    run(daemon, work)


def test_tasks_share_one_connection(daemon: Daemon) -> None:
    with Middle(daemon.socket) as middle:

        async def work(client: AsyncKura) -> None:
            async def count(number: int) -> None:
                domain = client.settings[f"task-{number}"]
                for turn in range(20):
                    assert await domain.increment("n") == turn + 1
                    assert await domain.get("n") == turn + 1

            await asyncio.gather(*(count(number) for number in range(64)))

        run(middle, work)
        assert middle.connections == 1


def test_long_lines_go_both_ways_at_once(daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        text = "x" * 500_000

        async def one(number: int) -> None:
            await client.settings.put("aio-long", f"{number}", text + str(number))
            assert (await client.settings.get("aio-long", f"{number}"))["value"] == text + str(number)

        await asyncio.gather(*(one(number) for number in range(40)))

    run(daemon, work)


def test_a_cancelled_task_cancels_its_call(daemon: Daemon) -> None:
    with Middle(daemon.socket) as middle:

        async def work(client: AsyncKura) -> None:
            rev = (await client.storage.status())["rev"]
            task = asyncio.ensure_future(client.changes.wait(rev, scope="nobody", timeout_ms=600_000))
            while not middle.requests("changes.wait"):
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await client.storage.ping() == {"pong": True}
            assert len(middle.requests("rpc.cancel")) == 1

        run(middle, work)


def test_no_reply_in_time(own_daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        own_daemon.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(kura.NoReplyError):
                await client.settings.get("a", "b", timeout=0.2)
        finally:
            own_daemon.send_signal(signal.SIGCONT)
        assert await client.settings.get("a", "b") == {"rev": 0}

    run(own_daemon, work)


def test_writes_and_watches_go_on_over_restarts(own_daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        watch = await client.watch(scope="restarts", values=True)
        seen: List[Any] = []

        async def follow() -> None:
            async for event in watch:
                assert isinstance(event, kura.Change)
                seen.append(event.value)
                if event.value == 60:
                    return

        task = asyncio.ensure_future(follow())
        counter = client.settings["restarts"]
        for turn in range(3):
            for step in range(20):
                assert await counter.increment("n") == turn * 20 + step + 1
                # Each is told by itself when it is waited for.
                while not seen or seen[-1] != turn * 20 + step + 1:
                    await asyncio.sleep(0.001)
            own_daemon.restart()
        await task
        assert seen == list(range(1, 61))
        epoch = (await client.server()).epoch
        own_daemon.end()
        shutil.rmtree(f"{own_daemon.folder}/data")
        own_daemon.start()
        event = await watch.next(timeout=PATIENCE)
        assert isinstance(event, kura.Resync) and event.reason == "epochChanged" and event.epoch != epoch
        watch.close()
        assert [event async for event in watch] == []

    run(own_daemon, work)


def test_a_live_list_follows(daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        tasks = client.documents["aio-tasks"]
        await tasks.put_many({"a": {"due": 2}, "b": {"due": 1}})
        async with await tasks.live(sort=["due"]) as live:
            assert [document.id for document in await live.__anext__()] == ["b", "a"]
            await tasks.delete("b")
            assert [document.id for document in await live.__anext__()] == ["a"]

    run(daemon, work)


def test_of_many_tasks_one_fetches(daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        calls: List[int] = []

        @kura.cached("aio", client=client, ttl_seconds=1000, lease_seconds=1000)
        async def square(number: int) -> int:
            calls.append(number)
            await asyncio.sleep(0.1)
            return number * number

        assert await asyncio.gather(*(square(7) for _ in range(20))) == [49] * 20 and calls == [7]
        await square.invalidate(7)
        assert await square(7) == 49 and calls == [7, 7]

    run(daemon, work)


def test_a_decorated_function_is_known_as_one_to_be_awaited(daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        @kura.cached("known", client=client)
        async def inner(number: int) -> int:
            return number + 1

        class Called:
            async def __call__(self, number: int) -> int:
                return number + 2

        called = kura.cached("called", client=client, key=str)(Called())
        outer = kura.cached("outer", client=client, key=str)(inner)
        for function in (inner, outer, called):
            assert asyncio.iscoroutinefunction(function) or inspect.iscoroutinefunction(function)
        assert await outer(1) == 2 and await called(1) == 3

        @kura.cached("blocking")
        def blocking() -> int:
            return 1

        assert not inspect.iscoroutinefunction(blocking)

    run(daemon, work)


def test_a_decorated_function_works_in_each_loop(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KURA_SOCKET", daemon.socket)

    @kura.cached("loops", ttl_seconds=60)
    async def value() -> int:
        return 5

    for _ in range(2):
        assert asyncio.run(_awaited(value())) == 5


async def _awaited(value: Awaitable[int]) -> int:
    return await value


def test_one_client_in_two_loops_connects_again(daemon: Daemon) -> None:
    client = AsyncKura(daemon.socket)

    async def use() -> None:
        assert await client.storage.ping() == {"pong": True}

    asyncio.run(use())
    asyncio.run(use())
    client.close()


def taken(far: socket.socket, count: List[int]) -> int:
    """Reads a line to its end from the other side; returns how many descriptors came along."""
    descriptors = 0
    while True:
        data, ancillary, _, _ = far.recvmsg(65536, 1024)
        count.append(len(data))
        for _, _, part in ancillary:
            numbers = array.array("i", part)
            descriptors += len(numbers)
            for number in numbers:
                os.close(number)
        if not data or data.endswith(b"\n"):
            return descriptors


def test_a_descriptor_goes_along_once_however_long_its_line() -> None:
    # Many times longer than what the socket takes at once.
    request = Request("documents.attach", {"x": "y" * 3_000_000}, descriptor=0)

    def read(far: socket.socket, told: List[int], sizes: List[int]) -> threading.Thread:
        thread = threading.Thread(target=lambda: told.append(taken(far, sizes)))
        thread.start()
        return thread

    async def asynchronous(near: socket.socket) -> None:
        near.setblocking(False)
        connection = tasks.Connection(near)
        await connection.send(request, None)
        while connection._output:
            await asyncio.sleep(0.01)
        connection.close()

    def blocking(near: socket.socket) -> None:
        threads.Connection(near).send(request, None)

    for way in (lambda near: asyncio.run(asynchronous(near)), blocking):
        near, far = socket.socketpair(socket.AF_UNIX)
        told: List[int] = []
        sizes: List[int] = []
        thread = read(far, told, sizes)
        way(near)
        thread.join(PATIENCE)
        assert told == [1] and sum(sizes) == len(request.line())
        near.close()
        far.close()


def test_nothing_is_left_open(daemon: Daemon) -> None:
    gc.collect()
    before = open_descriptors()

    async def work(client: AsyncKura) -> None:
        await client.blobs["left"].put("a", os.urandom(50_000))
        task = asyncio.ensure_future(client.blobs["left"].get("a"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.storage.ping()

    run(daemon, work)
    gc.collect()
    assert open_descriptors() == before
