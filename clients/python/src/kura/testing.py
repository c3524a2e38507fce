"""A daemon for tests of applications, and what may go wrong there.

    from kura.testing import EphemeralDaemon

    with EphemeralDaemon() as daemon, daemon.connect() as client:
        notes = client.documents["notes"]
        with daemon.fault("full"):
            try:
                notes.put({"text": "Rest"}, "rest")
            except kura.NoSpaceError:
                ...                             # what the application does then
        daemon.inject("conflict", method="documents.put")
        notes.edit("rest", lambda note: note)   # reads again, and tries again

With pytest a fixture is five lines:

    @pytest.fixture
    def daemon():
        with EphemeralDaemon() as daemon:
            yield daemon
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from typing import Any, Iterator, Literal, Optional, Sequence

from .sync import Kura

Fault = Literal["full", "sync", "slow", "conflict", "overloaded", "gone", "powerCut"]

# Reads from a pipe that only this process can write to, and ends the daemon when the pipe does: also when this process is killed.
_KEEPER = """
exec 3<&0
"$@" </dev/null 3<&- &
daemon=$!
read -r _ <&3
kill "$daemon"
wait "$daemon"
"""


class EphemeralDaemon:
    """A daemon of its own, whose data goes with it.

    It is the program `kurad --ephemeral`, which is looked for in KURAD and in PATH, and ends with the block, or with this process however that
    ends. Several live side by side.

    `memory`: its data lie in memory, where syncs cost nothing; False: in a temporary directory, as slow as a disk is.
    `options`: what kurad is told besides, such as `["--config", "kura.json"]`.
    """

    def __init__(self, *, memory: bool = False, options: Sequence[str] = (), patience: float = 30.0) -> None:
        program = os.environ.get("KURAD") or shutil.which("kurad")
        if program is None:
            raise FileNotFoundError("there is no kurad in KURAD or PATH: build or install it, or name it in KURAD")
        # Short: a socket's path has 107 bytes at most.
        self._folder = tempfile.TemporaryDirectory(prefix="kura-py-", dir="/tmp")
        self.socket = f"{self._folder.name}/kura.sock"
        arguments = [program, "--ephemeral", "--socket", self.socket, "--log-level", "error", *options]
        if memory:
            arguments.append("--memory")
        environment = {"KURA_MIN_FREE_BYTES": "0", **os.environ, "TMPDIR": self._folder.name}
        for name in ("KURA_SOCKET", "KURA_CONFIG", "KURA_DATA_DIR"):
            environment.pop(name, None)
        self._keeper: Optional["subprocess.Popen[bytes]"] = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "sh", *arguments], stdin=subprocess.PIPE, env=environment
        )
        self._client = Kura(self.socket, name="kura.testing", patience=patience)
        try:
            self._client.open(patience)
        except BaseException:
            self.close()
            raise

    def connect(self, **options: Any) -> Kura:
        """A client of it; options are those of `kura.connect`."""
        client = Kura(self.socket, **options)
        client.storage.ping()
        return client

    def inject(
        self, kind: Fault, *, method: Optional[str] = None, count: Optional[int] = None, millis: Optional[int] = None
    ) -> int:
        """Has something go wrong (`fault.inject`), and returns its number.

        `full`: the disk is, until `clear` or for `millis`. `sync`: the next sync fails, and the daemon starts anew. `slow`: requests are begun
        `millis` later. `conflict`: the next writes with `if_rev` find that another writer came first. `overloaded`: the next requests are
        refused. `gone`: nobody is there for `millis`. `powerCut`: what is not synced is lost, and the daemon starts anew.

        `method`, `count`: which requests `slow`, `conflict` and `overloaded` strike, and how many.

        A daemon that is away or starts anew because of an earlier fault is waited for; one that has started anew has none of its faults left.
        """
        return self._client.fault.inject(kind, method=method, count=count, millis=millis)["id"]

    def clear(self, fault: Optional[int] = None) -> None:
        """Ends a fault, or all of them. One that is over is ended already."""
        self._client.fault.clear(id=fault)

    @contextlib.contextmanager
    def fault(
        self, kind: Fault, *, method: Optional[str] = None, count: Optional[int] = None, millis: Optional[int] = None
    ) -> Iterator[int]:
        """The same for as long as a block lasts."""
        number = self.inject(kind, method=method, count=count, millis=millis)
        try:
            yield number
        finally:
            # The numbers of a daemon that has started anew begin again: another fault may have this one.
            if any((fault["id"], fault["kind"]) == (number, kind) for fault in self._client.fault.list()["faults"]):
                self.clear(number)

    def close(self) -> None:
        """Ends the daemon; its data go."""
        if self._keeper is None:
            return
        self._client.close()
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait()
        self._keeper = None
        self._folder.cleanup()

    def __enter__(self) -> EphemeralDaemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
