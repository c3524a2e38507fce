"""It installs from the tree, without a network."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from conftest import CLIENT, Daemon

sys.path.insert(0, str(CLIENT / "backend"))
import kura_build  # noqa: E402


def has_pip() -> bool:
    return subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0


def check(target: Path, daemon: Daemon) -> None:
    program = "import kura; c = kura.connect(); c.settings['a']['b'] = 1; print(kura.__file__, c.settings['a']['b'], kura.__version__)"
    environment = {**os.environ, "PYTHONPATH": str(target), "KURA_SOCKET": daemon.socket}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd=target)
    assert ended.stdout.split() == [str(target / "kura" / "__init__.py"), "1", "0.1.0"], ended.stderr


def test_the_wheel_has_all_of_the_package(daemon: Daemon, tmp_path: Path) -> None:
    wheel = tmp_path / kura_build.build_wheel(str(tmp_path))
    first = hashlib.sha256(wheel.read_bytes()).digest()
    kura_build.build_wheel(str(tmp_path))
    assert hashlib.sha256(wheel.read_bytes()).digest() == first
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")
        assert b"Name: kura\nVersion: 0.1.0\n" in archive.read("kura-0.1.0.dist-info/METADATA")
    sources = [str(path.relative_to(CLIENT / "src")) for path in (CLIENT / "src").glob("kura/**/*.py")]
    assert {*sources, "kura/py.typed"} == {name for name in names if not name.startswith("kura-0.1.0")}
    check(tmp_path / "site", daemon)


def test_the_source_distribution_builds_the_same_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / kura_build.build_wheel(str(tmp_path))
    with tarfile.open(tmp_path / kura_build.build_sdist(str(tmp_path))) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "source")
    base = "kura-0.1.0"
    assert {f"{base}/PKG-INFO", f"{base}/pyproject.toml", f"{base}/src/kura/py.typed"} <= set(names) and all(name.startswith(base) for name in names)
    assert (tmp_path / "source" / base / "PKG-INFO").read_text("utf-8").startswith("Metadata-Version: 2.1\nName: kura\nVersion: 0.1.0\n")
    again = tmp_path / "again"
    again.mkdir()
    build = "import kura_build; kura_build.build_wheel(%r)" % str(again)
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path / "source" / base / "backend", check=True)
    assert (again / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.skipif(not has_pip(), reason="this Python has no pip")
@pytest.mark.parametrize("options", [[], ["--no-build-isolation"]])
def test_pip_installs_it_from_the_tree(daemon: Daemon, tmp_path: Path, options: "list[str]") -> None:
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-index", *options, "--target", str(target), str(CLIENT)]
    ended = subprocess.run(install, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    check(target, daemon)
