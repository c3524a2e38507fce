from __future__ import annotations

import threading
from typing import Any, List

import pytest

import kura
from conftest import PATIENCE, Daemon


def test_a_domain_is_a_mapping(client: kura.Kura) -> None:
    app = client.settings["mapping"]
    app["theme"] = "dark"
    app.update(size=12, tab=4)
    assert dict(app) == {"theme": "dark", "size": 12, "tab": 4}
    assert list(app) == ["size", "tab", "theme"] and len(app) == 3
    assert app["theme"] == "dark" and "theme" in app and "nothing" not in app and app.__contains__(5) is False
    assert app.get("nothing") is None and app.get("nothing", 7) == 7
    assert app.pop("tab") == 4 and "tab" not in app
    assert app.setdefault("size", 1) == 12 and app.setdefault("new", [1]) == [1] and app["new"] == [1]
    del app["theme"]
    with pytest.raises(KeyError):
        app["theme"]
    with pytest.raises(KeyError):
        del app["theme"]
    app.clear()
    assert dict(app) == {}


def test_a_domain_does_what_a_dict_does(client: kura.Kura) -> None:
    app = client.settings["dict"]
    app |= {"a": 1}
    client.settings["dict"] |= {"b": 2}
    app |= [("c", 3)]
    assert app | {"c": 4} == {"a": 1, "b": 2, "c": 4} and {"c": 4} | app == {"a": 1, "b": 2, "c": 3}
    same: Any = {"a": 1, "b": 2, "c": 3}
    other: Any = {**same, "d": 4}
    assert app == same and same == app and app != other and bool(app)
    assert app.pop("c") == 3 and app.pop("c", "none") == "none" and app.pop("c", None) is None
    with pytest.raises(KeyError):
        app.pop("c")
    assert dict([app.popitem(), app.popitem()]) == {"a": 1, "b": 2} and not app
    with pytest.raises(KeyError):
        app.popitem()
    with pytest.raises(TypeError, match="update"):
        client.settings["dict"] = {"a": 1}
    with pytest.raises(TypeError, match="update"):
        client.settings["dict"] = client.settings["another"]


def test_what_is_registered_is_not_stored_and_not_popped(client: kura.Kura) -> None:
    app = client.settings["popped"]
    app.register({"size": 10})
    assert app.pop("size", None) is None and app["size"] == 10
    app["size"] = 12
    assert app.popitem() == ("size", 12) and app["size"] == 10
    with pytest.raises(KeyError):
        app.popitem()


def test_of_several_who_pop_at_once_one_gets_it(daemon: Daemon) -> None:
    with kura.Kura(daemon.socket, timeout=PATIENCE) as client:
        app = client.settings["crowd"]
        app.put_many({f"{number}": number for number in range(50)})
        got: List[int] = []

        def work() -> None:
            for number in range(50):
                value = app.pop(f"{number}", None)
                if value is not None:
                    got.append(value)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(got) == list(range(50)) and not app


def test_null_is_a_value_and_no_value_is_none(client: kura.Kura) -> None:
    app = client.settings["null"]
    app["nothing"] = None
    assert "nothing" in app and app["nothing"] is None and app.get("nothing", 1) is None
    assert "absent" not in app


def test_a_domain_of_several_pages_is_read_whole(client: kura.Kura) -> None:
    app = client.settings["pages"]
    app.put_many({f"key {number:05}": number for number in range(2500)})
    assert app.all() == {f"key {number:05}": number for number in range(2500)}
    assert app.all("key 0000") == {f"key {number:05}": number for number in range(10)}


def test_an_edit_meets_other_writers_and_loses_nothing(client: kura.Kura) -> None:
    app = client.settings["edits"]
    disturbed: List[bool] = []

    def add(value: kura.JSON) -> kura.JSON:
        if not disturbed:
            disturbed.append(True)
            app["list"] = ["somebody else's"]
        return [*value, "mine"]

    assert app.edit("list", add, default=[]) == ["somebody else's", "mine"]
    assert app["list"] == ["somebody else's", "mine"]


def test_a_condition_that_does_not_hold_is_a_conflict(client: kura.Kura) -> None:
    app = client.settings["conflicts"]
    first = app.put("key", 1)
    second = app.put("key", 2, if_rev=first)
    with pytest.raises(kura.ConflictError) as caught:
        app.put("key", 3, if_rev=first)
    assert caught.value.current_rev == second and caught.value.kind == "conflict"
    assert "edit" in str(caught.value)
    assert app["key"] == 2


def test_defaults_show_and_are_not_stored(client: kura.Kura) -> None:
    app = client.settings["defaults"]
    app.register({"size": 10})
    assert app["size"] == 10 and client.settings.count("defaults")["count"] == 0


def test_an_override_is_this_clients_alone_and_outlives_a_reconnect(own_daemon: Daemon) -> None:
    with kura.Kura(own_daemon.socket, patience=60) as client, kura.Kura(own_daemon.socket, patience=60) as other:
        app = client.settings["app"]
        app["theme"] = "dark"
        app.override("theme", "light")
        assert app["theme"] == "light" and other.settings["app"]["theme"] == "dark"
        own_daemon.restart()
        assert app["theme"] == "light" and other.settings["app"]["theme"] == "dark"
        app.clear_overrides("theme")
        own_daemon.restart()
        assert app["theme"] == "dark"


def test_values_come_back_as_they_were(client: kura.Kura) -> None:
    app = client.settings["values"]
    for value in [0, -1, 2**70, 0.1, 1e300, "", "ä\u2028\U0001f600\0", True, None, [], {}, {"a": [1, {"b": None}]}]:
        app["value"] = value
        assert app["value"] == value and type(app["value"]) is type(value)


@pytest.mark.parametrize(
    "value, told",
    [
        (b"bytes", "value is of type bytes, which JSON does not have: store it as a blob"),
        ({"a": [1, {2, 3}]}, "value['a'][1] is of type set"),
        ({1: 1}, "value has the key 1: names in JSON are strings"),
        ([float("nan")], "value[0] is nan, which JSON cannot say"),
        ("half \ud83d", "value has half of a surrogate pair"),
        ({"\ud83d": 1}, "half of a surrogate pair"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(client: kura.Kura, value: kura.JSON, told: str) -> None:
    app = client.settings["wrong"]
    if isinstance(value, dict) and 1 in value:
        # JSON's writer makes a string of it; only together with that string is it a fault.
        value = {1: 1, "1": 2}
        told = "has the name '1' twice"
    with pytest.raises(kura.NotJSONError) as caught:
        app["value"] = value
    assert told in str(caught.value) and isinstance(caught.value, TypeError)
    assert "value" not in app


def test_a_value_that_is_nested_too_deep_is_refused_and_others_go_on(client: kura.Kura) -> None:
    value: kura.JSON = 1
    for _ in range(127):
        value = [value]
    with pytest.raises(kura.KuraError):
        client.settings["deep"]["value"] = value
    client.settings["deep"]["value"] = value[0]
    assert client.settings["deep"]["value"] == value[0]
