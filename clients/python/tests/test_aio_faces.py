"""With asyncio whatever Python can wait for is there, and the rest says what to write."""

from __future__ import annotations

import asyncio
import operator
from typing import Any, Awaitable, Callable, List, Optional, Tuple

import pytest

import kura
from conftest import PATIENCE, Daemon
from kura.aio import AsyncKura
from middle import Middle


def run(daemon: Daemon, work: Callable[[AsyncKura], Awaitable[None]]) -> None:
    async def main() -> None:
        async with AsyncKura(daemon.socket, timeout=PATIENCE, patience=PATIENCE) as client:
            await work(client)

    asyncio.run(main())


def test_a_domain_is_what_can_be_awaited_of_a_mapping(daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        app = client.settings["awaited"]
        await app.update({"a": 1}, b=2)
        assert await app["a"] == 1 and [key async for key in app] == ["a", "b"]
        assert list(await app.keys()) == ["a", "b"] and list(await app.values()) == [1, 2] and dict(await app.items()) == {"a": 1, "b": 2}
        with pytest.raises(KeyError):
            await app["nothing"]
        assert await app.popitem() == ("a", 1)
        await app.clear()
        assert await app.all() == {}
        with pytest.raises(KeyError, match="nothing that is stored"):
            await app.popitem()

    run(daemon, work)


def test_what_cannot_be_awaited_says_what_to_write(daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        app: Any = client.settings["told"]
        face: Any = client.settings
        mistakes: List[Tuple[Callable[[], object], str]] = [
            (lambda: operator.setitem(app, "a", 1), r"await domain\.put\('a', …\)"),
            (lambda: operator.delitem(app, "a"), r"await domain\.delete\('a'\)"),
            (lambda: "a" in app, r"await domain\.all\(\)"),
            (lambda: len(app), r"len\(await domain\.all\(\)\)"),
            (lambda: list(app), "async for key in domain"),
            (lambda: operator.ior(app, {"a": 1}), r"await domain\.update\(…\)"),
            (lambda: operator.setitem(face, "told", {}), r"await settings\['told'\]\.update\(…\)"),
        ]
        for mistake, told in mistakes:
            with pytest.raises(TypeError, match=told):
                mistake()
        assert await app.all() == {}

    run(daemon, work)


@pytest.mark.parametrize("way", ["entered", "awaited", "both", "iterated"])
def test_a_watch_begins_when_it_is_entered_awaited_or_asked(daemon: Daemon, way: str) -> None:
    async def work(client: AsyncKura) -> None:
        notes = client.documents[f"watched {way}"]

        async def put() -> None:
            while True:
                await notes.put({}, "a")
                await asyncio.sleep(0.05)

        for watch in (client.watch(scope=notes.name), notes.watch()):
            event: Optional[kura.Event]
            if way == "awaited":
                watch = await watch
            if way == "iterated":
                # Begun by the first question, so somebody has to go on writing.
                writer = asyncio.ensure_future(put())
                event = await asyncio.wait_for(watch.__anext__(), PATIENCE)
                writer.cancel()
            elif way == "awaited":
                await notes.put({}, "a")
                event = await asyncio.wait_for(watch.next(), PATIENCE)
            else:
                async with (await watch if way == "both" else watch) as entered:
                    assert entered is watch
                    await notes.put({}, "a")
                    event = await asyncio.wait_for(watch.next(), PATIENCE)
            assert isinstance(event, kura.Change) and event.key == "a"
            watch.close()

    run(daemon, work)


def test_a_watch_begins_once(daemon: Daemon) -> None:
    with Middle(daemon.socket) as middle:

        async def main() -> None:
            async with AsyncKura(middle.socket, timeout=PATIENCE) as client:
                async with await client.watch(scope="once") as watch:
                    await client.documents["once"].put({}, "a")
                    assert await watch is watch and await watch.next() is not None

        asyncio.run(main())
        assert len(middle.requests("changes.watch")) == 1


def test_a_live_list_is_entered_without_awaiting_it_first(daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        notes = client.documents["live entered"]
        await notes.put({}, "a")
        async with notes.live() as live:
            async for documents in live:
                assert [document.id for document in documents] == ["a"]
                break
        assert [document.id for document in await (await notes.live()).__anext__()] == ["a"]

    run(daemon, work)


def test_an_edit_and_a_refused_order_are_the_same(daemon: Daemon) -> None:
    async def work(client: AsyncKura) -> None:
        await client.settings["aio edit"].put("a", {"b": 1})
        with pytest.raises(TypeError, match="returned None"):
            await client.settings["aio edit"].edit("a", lambda value: value.update(c=1))
        assert await client.settings["aio edit"].get("a") == {"b": 1}
        with pytest.raises(ValueError, match="desc"):
            [document async for document in client.documents["aio edit"].find(sort=["-b"])]

    run(daemon, work)
