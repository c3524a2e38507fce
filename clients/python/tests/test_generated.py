"""What is generated is current, and all of the protocol is in it."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys

import kura
from conftest import CLIENT
from kura import methods
from kura.methods.table import METHODS


def test_what_is_generated_is_current() -> None:
    ended = subprocess.run([sys.executable, str(CLIENT / "generator"), "--check"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_method_of_the_daemon_can_be_called_with_all_its_parameters(client: kura.Kura) -> None:
    document = client.rpc.discover()
    stored = json.loads((CLIENT.parent.parent / "proto-docs" / "openrpc.json").read_text("utf-8"))
    assert document["methods"] == stored["methods"]
    assert {method["name"] for method in document["methods"]} == set(METHODS)
    for face in (client, kura.aio.AsyncKura("/nowhere"), methods.Methods(client)):
        for method in document["methods"]:
            store, verb = method["name"].split(".")
            word = re.sub("([A-Z])", r"_\1", verb).lower()
            function = getattr(getattr(face, store), word, None) or getattr(getattr(face, store), word + "_")
            names = [name.rstrip("_") for name in inspect.signature(function).parameters]
            wanted = [re.sub("([A-Z])", r"_\1", parameter["name"]).lower() for parameter in method["params"]]
            assert sorted(names) == sorted([*wanted, "timeout"]), method["name"]


def test_every_parameter_is_sent_under_its_own_name(client: kura.Kura) -> None:
    sent = {}

    class Taker:
        def call(self, method: str, params: "dict[str, kura.JSON]", timeout: object = None, **options: object) -> kura.JSON:
            sent[method] = set(params)
            return {}

    face = methods.Methods(Taker())
    for method in client.rpc.discover()["methods"]:
        store, verb = method["name"].split(".")
        word = re.sub("([A-Z])", r"_\1", verb).lower()
        function = getattr(getattr(face, store), word, None) or getattr(getattr(face, store), word + "_")
        function(**{name: 0 for name in inspect.signature(function).parameters if name != "timeout"})
        assert sent[method["name"]] == {parameter["name"] for parameter in method["params"]}
        optional = [p["name"] for p in method["params"] if not p["required"]]
        required = [0 for p in method["params"] if p["required"]]
        function(*required)
        assert sent[method["name"]].isdisjoint(optional)


def test_a_read_that_takes_a_descriptor_is_sent_once(client: kura.Kura) -> None:
    takers = [m["name"] for m in client.rpc.discover()["methods"] if any(p["name"] == "fd" for p in m["params"])]
    assert {"storage.backup", "storage.bundle", "backups.compare"} <= set(takers)
    assert [name for name in takers if METHODS[name].is_read and METHODS[name].repeats] == []


def test_all_of_it_is_python_3_9() -> None:
    for path in CLIENT.glob("**/*.py"):
        ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 9))


def test_python_3_9_can_read_all_of_it() -> None:
    """Its grammar; what runs there is found by running the tests there (PYTHON=python3.9 scripts/test-python)."""
    for folder in ("src", "examples", "backend"):
        for path in CLIENT.glob(f"{folder}/**/*.py"):
            ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 9))


def test_files_that_are_written_are_of_one_idea() -> None:
    for path in [*CLIENT.glob("src/kura/*.py"), *CLIENT.glob("src/kura/aio/*.py"), *CLIENT.glob("tests/*.py"), *CLIENT.glob("generator/*.py")]:
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) < 500 and all(len(line) <= 160 for line in lines), path
