"""What errors advise is Python: its names of methods, parameters and options."""

from __future__ import annotations

import json
import re

import pytest

import kura
from conftest import CLIENT
from kura.errors import in_python
from kura.methods.kinds import KINDS

DOCUMENT = json.loads((CLIENT.parent.parent / "proto-docs" / "openrpc.json").read_text("utf-8"))
PARAMETERS = {parameter["name"] for method in DOCUMENT["methods"] for parameter in method["params"]} | {"onError"}
METHODS = {method["name"] for method in DOCUMENT["methods"]}


@pytest.mark.parametrize("kind", KINDS)
def test_no_advice_names_what_python_spells_otherwise(kind: str) -> None:
    text = str(KINDS[kind]("documents.find", "Message", {"kind": kind}))
    words = {word for word in re.findall(r"[a-z]+[A-Z]\w*", text) if word in PARAMETERS}
    assert not words, text
    assert not re.search(r"\w: (true|false|\")", text) and " data." not in text and "`data." not in text
    named = [name for name in re.findall(r"(?<![\w.])[a-z]+\.[a-z]\w+", text.split(": ", 1)[1]) if name in METHODS]
    assert not named, text


def test_a_parameter_is_named_as_python_spells_it() -> None:
    error = kura.InvalidParamsError("settings.put", "Invalid params", {"kind": "invalidParams", "parameter": "ifRev"})
    assert "(parameter if_rev)" in str(error) and error.data["parameter"] == "ifRev"


@pytest.mark.parametrize(
    "told, wanted",
    [
        ("send `allowScan: true`", "send `allow_scan=True`"),
        ("documents.configure with searchFields", "client.documents.configure with search_fields"),
        ("no importRoots are configured", "no importRoots are configured"),
        ("go on from `data.offset`", 'go on from `error.data["offset"]`'),
        ("/area/$between: unknown", "/area/$between: unknown"),
    ],
)
def test_the_protocols_words_become_pythons(told: str, wanted: str) -> None:
    assert in_python(told) == wanted


def test_a_bad_line_says_which_what_is_stored_and_how_to_go_on(client: kura.Kura) -> None:
    with pytest.raises(kura.BadRecordError) as caught:
        client.documents["bad lines"].import_from([b'{"id":"a","value":1}', b"{", b'{"id":"b","value":2}'])
    text = str(caught.value)
    assert "line 2" in text and "What comes before that line is stored" in text and "skip_bad=True" in text and "onError" not in text


def test_a_search_that_needs_an_index_says_how_python_asks_for_it(client: kura.Kura) -> None:
    many = client.documents["scanned"]
    many.import_from((f"{number}", {"number": number}) for number in range(10_001))
    with pytest.raises(kura.IndexNeededError) as caught:
        list(many.find({"number": 7}))
    text = str(caught.value)
    assert "add_index" in text and "allow_scan=True" in text and "allowScan" not in text


def test_where_something_is_wrong_far_down_is_told_briefly(client: kura.Kura) -> None:
    deep: kura.JSON = 1
    for _ in range(127):
        deep = [deep]
    around: kura.JSON = []
    around.append({"around": around})
    for value in (deep, [deep], around):
        with pytest.raises((kura.NotJSONError, kura.ServerError)) as caught:
            client.settings["deep"]["value"] = value
        assert len(str(caught.value)) < 300, str(caught.value)
