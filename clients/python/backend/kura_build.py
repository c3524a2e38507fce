"""Builds the package (PEP 517, PEP 660): pure Python in a zip file. So installing it needs nothing from a network."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, Optional

ROOT = Path(__file__).resolve().parent.parent
# Each build of the same tree is the same file.
MOMENT = (2020, 1, 1, 0, 0, 0)


def _project() -> Dict[str, str]:
    """`[project]` of pyproject.toml, its lines of text; Python 3.9 has no reader of TOML."""
    text = (ROOT / "pyproject.toml").read_text("utf-8").split("[project]\n")[1].split("\n[")[0]
    return dict(re.findall(r'^([a-z-]+) = "(.*)"$', text, re.MULTILINE))


def _metadata(project: Dict[str, str]) -> str:
    return (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\nSummary: {project['description']}\n"
        f"Requires-Python: {project['requires-python']}\nDescription-Content-Type: text/markdown\n\n"
        + (ROOT / project["readme"]).read_text("utf-8")
    )


def _wheel(folder: str, files: Dict[str, bytes]) -> str:
    project = _project()
    about = f"{project['name']}-{project['version']}.dist-info"
    tag = "Wheel-Version: 1.0\nGenerator: kura_build\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {**files, f"{about}/METADATA": _metadata(project).encode(), f"{about}/WHEEL": tag.encode()}
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    wheel = f"{project['name']}-{project['version']}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, MOMENT)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return wheel


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    source = ROOT / "src"
    paths = sorted([*source.glob("kura/**/*.py"), source / "kura" / "py.typed"])
    return _wheel(wheel_directory, {str(path.relative_to(source)): path.read_bytes() for path in paths})


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    return _wheel(wheel_directory, {"kura.pth": f"{ROOT / 'src'}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    project = _project()
    base = f"{project['name']}-{project['version']}"
    with tarfile.open(Path(sdist_directory) / f"{base}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        about = _metadata(project).encode()
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        entry.size = len(about)
        archive.addfile(entry, io.BytesIO(about))
        for name in ("pyproject.toml", "README.md", "backend", "src"):
            archive.add(ROOT / name, f"{base}/{name}", filter=lambda part: None if "__pycache__" in part.name else part)
    return f"{base}.tar.gz"
