"""Checks that what `scripts/docs` generates in proto-docs, KuraServer and clients/python is fresh, and README.md's session as recorded."""

import functools
import os
import subprocess
import tempfile
from pathlib import Path

from programs import ROOT, SWIFT_BUILD, needs_to_build
from tree import passed_over


@functools.cache
def daemon():
    """The daemon that prints the documents."""
    if os.environ.get("KURAD"):
        return Path(os.environ["KURAD"]).resolve()
    needs_to_build()
    subprocess.run([*SWIFT_BUILD, "--product", "kurad"], cwd=ROOT, check=True)
    return ROOT / ".build/debug/kurad"


def check(tree):
    with tempfile.TemporaryDirectory() as copy:
        tree.write(copy, r"README\.md|(proto-docs|scripts|clients|Sources/\w+/Generated)/.*")
        done = subprocess.run(
            [f"{copy}/scripts/docs", "--check"], capture_output=True, text=True, env={**os.environ, "KURAD": daemon()})
    lines = (done.stdout + done.stderr).splitlines()
    return (lines or [f"scripts/docs: exit {done.returncode}"]) if done.returncode else [], "all that is generated is fresh"


SESSION = "\n$ kura settings increment app launches\n"
MISTAKES = [
    ("proto-docs/openrpc.json", '"openrpc"', '"openprc"', "proto-docs/openrpc.json"),
    ("proto-docs/settings.md", "<!-- methods:settings -->\n", "<!-- methods:settings -->\nTrust us.\n", "proto-docs/settings.md"),
    ("scripts/docs.d/architecture.txt", "label 733 94 middle ", "label 733 94 middle pretends to ", "architecture.svg"),
    ("Sources/KuraServer/Generated/Parameters.swift", "TextParameter(1)", "TextParameter(2)", "Parameters.swift"),
    ("Sources/KuraServer/Generated/Handlers.swift", "SettingsHandlers.get)", "SettingsHandlers.list)", "Handlers.swift"),
    ("Sources/KuraServer/Generated/Members.swift", "static var rev:", "static var revs:", "Members.swift"),
    ("Sources/KuraClient/Generated/WatchedStores.swift", "settings, secrets", "settings", "WatchedStores.swift"),
    ("README.md", SESSION, f"{SESSION[:-1]} 2\n", "session.cast"),
    ("clients/python/src/kura/methods/settings.py", "def get", "def got", "stale: clients/python/src/kura/methods/settings.py"),
    ("clients/python/src/kura/sync/documents.py", "def get", "def got", "stale: clients/python/src/kura/sync/documents.py"),
]


def self_test(tree):
    return passed_over(check, tree, MISTAKES), len(MISTAKES)
