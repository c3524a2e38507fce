"""Worlds that begin with a data directory of an earlier release: an archive of Tests/Fixtures, which scripts/fixtures has made."""

import json
import random
import tarfile
from functools import lru_cache
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "Tests/Fixtures"
DATA = "/home/kura/data"
# One seed in so many.
ONE_IN = 12


def chosen(seed):
    """Of a seed: what its world's head says of it."""
    dice = random.Random(f"{seed}/upgrade")
    names = sorted(path.name for path in FIXTURES.glob("*.tar.gz"))
    return {"fixture": dice.choice(names)} if names and dice.randrange(ONE_IN) == 0 else {}


@lru_cache(maxsize=8)
def _archive(name):
    files, expected = {}, []
    with tarfile.open(FIXTURES / name) as archive:
        for member in archive.getmembers():
            if member.name == "expected.ndjson":
                expected = [line for line in archive.extractfile(member).read().decode().split("\n") if line]
            elif member.name.startswith("data/") and not member.isdir() and "/tmp/" not in member.name:
                files[f"{DATA}/{member.name[5:]}"] = archive.extractfile(member).read(), member.mode
            elif member.name.rstrip("/") == "data" or member.name.startswith("data/") and member.isdir():
                files[f"{DATA}/{member.name[5:]}".rstrip("/")] = b"", 0o40000 | member.mode
    return files, expected


def tree(head):
    """Path: content and mode."""
    return _archive(head["fixture"])[0] if head.get("fixture") else {}


def expected(name):
    """What the release itself answered: method, parameters, result."""
    from values import parse
    lines = [parse(line) for line in _archive(name)[1]]
    assert lines or not name, name
    return [(line["method"], json.loads(line["params"]), (line.get("reply") or line)["result"]) for line in lines]
