"""Compiles the simulated kernel, once for each state of its sources."""

import hashlib
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "Tests/Simulator/kernel"
FLAGS = ["-std=gnu17", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-fPIC", "-shared"]


def built():
    """The library's path."""
    sources = sorted(SOURCES.glob("*.c"))
    state = hashlib.sha256()
    for path in [*sources, *sorted(SOURCES.glob("*.h"))]:
        state.update(path.name.encode() + b"\0" + path.read_bytes())
    folder = ROOT / ".build/simulate"
    library = folder / f"kernel-{state.hexdigest()[:16]}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = f"{library}.{os.getpid()}"
        subprocess.run([os.environ.get("CC", "cc"), *FLAGS, "-o", made, *sources, "-ldl"], check=True)
        os.rename(made, library)
    return library
