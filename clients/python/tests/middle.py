"""A socket between client and daemon that looks at lines, holds them back, or cuts the connection."""

from __future__ import annotations

import socket
import tempfile
import threading
from typing import Callable, List, Optional

# Given a line and its direction ("->" to the daemon, "<-" from it); returns what becomes of it.
Judge = Callable[[str, bytes], str]


class Middle:
    """Forwards lines between its own socket and the daemon's. `judge` says `pass`, `drop`, or `cut`."""

    def __init__(self, target: str, judge: Optional[Judge] = None) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="kura-py-", dir="/tmp")
        self.socket = f"{self.folder.name}/m.sock"
        self.target = target
        self.judge = judge or (lambda direction, line: "pass")
        self.seen: List[bytes] = []
        self.connections = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.socket)
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Middle:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.folder.cleanup()

    def requests(self, method: str) -> List[bytes]:
        return [line for line in self.seen if b'"method":"' + method.encode() + b'"' in line]

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self.target)
            except OSError:
                near.close()
                continue
            for source, sink, direction in ((near, far, "->"), (far, near, "<-")):
                threading.Thread(target=self._forward, args=(source, sink, direction), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, direction: str) -> None:
        rest = b""
        try:
            while True:
                data = source.recv(1 << 16)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    if direction == "->":
                        self.seen.append(line)
                    verdict = self.judge(direction, line)
                    if verdict == "cut":
                        return
                    if verdict == "pass":
                        sink.sendall(line + b"\n")
        except OSError:
            pass
        finally:
            for end in (source, sink):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
