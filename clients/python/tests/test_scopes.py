"""What a store has is iterated over, with an end."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, List

import pytest

import kura
from conftest import PATIENCE, Daemon
from kura.methods.table import METHODS

STORES = ["settings", "documents", "secrets", "blobs"]


def test_a_client_has_every_store_of_the_protocol(client: kura.Kura) -> None:
    for method in METHODS:
        store, _, _ = method.partition(".")
        assert getattr(client, store)._caller is client, store


def fill(client: kura.Kura) -> None:
    client.settings["feed"]["a"] = 1
    client.documents["feed"].put({}, "a")
    client.secrets["feed"].put("a", "b")
    client.blobs["feed"].put("a", b"b")


@pytest.mark.parametrize("store", STORES)
def test_its_scopes_are_iterated_over(client: kura.Kura, store: str) -> None:
    fill(client)
    face: Any = getattr(client, store)
    assert "feed" in list(face) and [name for name in face] == list(face)
    assert "feed" in face and "nothing" not in face and 0 not in face


@pytest.mark.parametrize("store", STORES)
def test_with_asyncio_too_or_it_is_told_how(daemon: Daemon, client: kura.Kura, store: str) -> None:
    fill(client)

    async def main() -> None:
        async with kura.aio.AsyncKura(daemon.socket, timeout=PATIENCE) as other:
            face: Any = getattr(other, store)
            assert "feed" in [name async for name in face]
            with pytest.raises(TypeError, match="async for name in"):
                list(face)
            with pytest.raises(TypeError, match="async for name in"):
                "feed" in face

    asyncio.run(main())


def test_what_has_no_faces_by_name_says_what_to_write(client: kura.Kura) -> None:
    models: Any = client.models
    mistakes: List[Callable[[], object]] = [lambda: list(models), lambda: "feed" in models]
    for mistake in mistakes:
        with pytest.raises(TypeError, match=r"models.*\.scopes\(\)"):
            mistake()
    with pytest.raises(TypeError, match=r"the namespace is the first argument, as in \.models\.put\('feed', …\)"):
        models["feed"]
