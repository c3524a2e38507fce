"""The page's examples, run from top to bottom."""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any, Dict

import pytest

from conftest import CLIENT, KURAD, Daemon


def test_every_example_of_the_page_prints_what_it_says(own_daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KURA_SOCKET", own_daemon.socket)
    monkeypatch.setenv("KURAD", KURAD)
    # Where the host has a daemon, an error names its socket besides.
    monkeypatch.setattr("kura.places.HOST_SOCKET", f"{own_daemon.folder}/none.sock")
    text = (CLIENT / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 10
    names: Dict[str, Any] = {"__name__": "readme"}
    for block in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "README.md", "exec"), names)
        assert printed.getvalue().splitlines() == re.findall(r"^# -> (.*)$", block, re.MULTILINE), block
