"""Compiles the simulated kernel, once for each state of its sources."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "Tests/Simulator/kernel"
COMPILER = os.environ.get("CC") or shutil.which("cc") or "clang"
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
        subprocess.run([COMPILER, *FLAGS, "-o", made, *sources, "-ldl"], check=True)
        os.rename(made, library)
    return library


TESTS = ROOT / "Tests/Simulator/tests"
# The program: (its own sources, those of the kernel, libraries, words).
PROGRAMS = {
    "disk_test": ("disk_test*.c", ("disk*.c", "files*.c", "random.c", "descriptors.c"), ["-lsqlite3"], ["300"]),
    "sockets_test": ("sockets_test.c", None, [], []),
    "events_test": ("events_test.c", None, [], []),
    "like_linux_test": ("like_linux_test.c", None, [], []),
    "epoll_like_linux_test": ("epoll_like_linux_test.c", None, [], []),
}
# What stands in for these in the tests of sockets and events.
STOOD_FOR = ("baton.c", "locks.c", "clock.c", "faults.c", "control.c", "disk*.c", "files*.c")


def test():
    """Builds and runs the tests of the simulated kernel and of the workload's model. Returns how many failed."""
    folder = ROOT / ".build/simulate"
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, (own, parts, libraries, words) in PROGRAMS.items():
        sources = sorted(TESTS.glob(own))
        if parts is None:
            left_out = {path for pattern in STOOD_FOR for path in SOURCES.glob(pattern)}
            sources += [TESTS / "stand_in.c", *(path for path in sorted(SOURCES.glob("*.c")) if path not in left_out)]
            flags = ["-fno-builtin"]
        else:
            sources += [path for pattern in parts for path in sorted(SOURCES.glob(pattern))]
            flags = ["-rdynamic"]
        program = folder / name
        command = [COMPILER, "-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", *flags]
        built = subprocess.run([*command, "-I", SOURCES, "-o", program, *sources, *libraries]).returncode == 0
        done = subprocess.run([program, *words]) if built else None
        if done is None or done.returncode != 0:
            print(f"FAILED {name}")
            failed += 1
    if list(TESTS.glob("*.py")):
        failed += subprocess.run(["python3", "-m", "unittest", "discover", "-q", "-s", TESTS, "-p", "*.py"], cwd=ROOT).returncode != 0
    return failed
