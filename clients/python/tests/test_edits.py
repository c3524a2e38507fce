"""What an edit stores: what the function returns, and never by accident something else."""

from __future__ import annotations

from typing import Any, Callable, List

import pytest

import kura


def extended(value: Any) -> Any:
    value.append(3)
    return value


def last_two(value: Any) -> Any:
    value.append(3)
    return value[-2:]


ACCIDENTS: List[Any] = [
    ({"a": 1}, lambda value: value.update(x=1), "returned None"),
    ([1], lambda value: value.append(2), "returned None"),
    (5, lambda value: None, "return kura.NULL"),
    ({"a": 1, "b": 2}, lambda value: value.pop("a"), "changed the dict in place and returned a int"),
    ({"a": {"b": 1}, "c": 2}, lambda value: value.pop("a"), "changed the dict in place and returned a dict"),
    ({"a": 1}, lambda value: value.setdefault("tags", []), "changed the dict in place and returned a list"),
    ([[1], [2]], lambda value: value.pop(), "changed the list in place"),
]
MEANT: List[Any] = [
    ({"a": 1}, lambda value: {**value, "x": 1}, {"a": 1, "x": 1}),
    ([1], extended, [1, 3]),
    ([1, 2], last_two, [2, 3]),
    ({"a": {"b": 1}}, lambda value: value["a"], {"b": 1}),
    ({"a": 1}, lambda value: value["a"], 1),
    ({"a": 1}, lambda value: kura.NULL, None),
    (None, lambda value: value, None),
    ([1], tuple, [1]),
    (5, str, "5"),
]


@pytest.mark.parametrize("place", ["settings", "documents"])
@pytest.mark.parametrize("value, change, told", ACCIDENTS)
def test_what_a_function_returns_by_accident_is_not_stored(client: kura.Kura, place: str, value: Any, change: Callable[[Any], Any], told: str) -> None:
    app, art = client.settings["accidents"], client.documents["accidents"]
    app.put("key", value)
    art.put(value, id="key")
    with pytest.raises(TypeError, match=told) as caught:
        app.edit("key", change) if place == "settings" else art.edit("key", change)
    assert "nothing was stored" in str(caught.value)
    document = art.get("key")
    assert app["key"] == value and document is not None and document.value == value


@pytest.mark.parametrize("value, change, wanted", MEANT)
def test_what_a_function_returns_is_stored(client: kura.Kura, value: Any, change: Callable[[Any], Any], wanted: Any) -> None:
    app, art = client.settings["meant"], client.documents["meant"]
    app.put("key", value)
    art.put(value, id="key")
    app.edit("key", change)
    art.edit("key", change)
    document = art.get("key")
    assert app["key"] == wanted and document is not None and document.value == wanted


def test_a_default_is_the_same_each_time(client: kura.Kura) -> None:
    app = client.settings["edited defaults"]
    default: List[int] = []
    disturbed: List[bool] = []

    def extend(value: Any) -> Any:
        if not disturbed:
            disturbed.append(True)
            app["list"] = 0
            del app["list"]
        value.append(1)
        return value

    assert app.edit("list", extend, default=default) == [1] and default == []
    with pytest.raises(TypeError, match="returned None"):
        app.edit("none", lambda value: None)
    assert "none" not in app


def test_what_is_not_there_is_not_found_by_its_id(client: kura.Kura) -> None:
    notes = client.documents["absent"]
    changes: List[Callable[[], object]] = [
        lambda: notes.edit("nope", lambda value: value),
        lambda: notes.patch("nope", {"a": 1}),
        lambda: notes.attach("nope", "a", b""),
    ]
    for change in changes:
        with pytest.raises(kura.NotFoundError) as caught:
            change()
        assert isinstance(caught.value, KeyError) and "collection absent; id nope" in str(caught.value)
        assert not str(caught.value).startswith("'")
