"""Where contents come from, and files that are made: what the kernel can copy by a descriptor, and what has to be read."""

from __future__ import annotations

import errno
import io
import os
import stat
import tempfile
from typing import IO, Any, Optional, Union

from .caller import HasFileno
from .descriptors import BytesLike
from .errors import ProtocolError


def _inside(data: Any) -> Any:
    """The file within one of text or of tempfile, buffered or not."""
    inside = getattr(data, "file", data)
    return getattr(inside, "buffer", inside)


def _number(data: Any) -> Optional[int]:
    """The descriptor that has the very bytes that reading would have: not that of gzip.open(…) or an HTTP response."""
    if isinstance(data, int):
        return data
    inside = _inside(data)
    raw = getattr(inside, "raw", inside)
    if isinstance(raw, io.FileIO):
        return raw.fileno()
    if hasattr(data, "read") or hasattr(data, "__iter__") or hasattr(data, "__aiter__") or not hasattr(data, "fileno"):
        return None
    return int(data.fileno())


def file_of(data: Any) -> Optional[int]:
    """The descriptor of a regular file, which the kernel copies; None for what has to be read.

    Raises TypeError for what is neither.
    """
    if isinstance(data, (bool, str, os.PathLike)) or not any(
        hasattr(data, name) for name in ("fileno", "read", "__iter__", "__aiter__", "__index__")
    ):
        told = "encode text, open paths" if isinstance(data, (str, os.PathLike)) else "JSON belongs into settings and documents"
        raise TypeError(f"contents are bytes, an open file, or what has bytes to read or iterate over, not {type(data).__name__}: {told}")
    number = _number(data)
    if number is None or not stat.S_ISREG(os.fstat(number).st_mode):
        return None
    if hasattr(data, "flush"):
        data.flush()
    return number


def readable(data: Any) -> Any:
    """Something to read or iterate over: of a bare descriptor a file, which leaves it open."""
    if hasattr(data, "read") or hasattr(data, "__iter__") or hasattr(data, "__aiter__"):
        return data
    return io.FileIO(data if isinstance(data, int) else data.fileno(), "rb", closefd=False)


def stream_of(data: Any) -> Optional[int]:
    """The descriptor of what can be read from where it stands: a file, a pipe, a socket. None for what has to be read here."""
    if isinstance(data, (bool, bytes, bytearray, memoryview)):
        return None
    number = _number(data)
    inside = _inside(data)
    if number is not None and hasattr(inside, "seekable") and inside.seekable():
        # Where Python's reader is, who may have read ahead.
        data.flush()
        os.lseek(number, inside.tell() if inside is data else data.tell(), os.SEEK_SET)
    return number


def piece_of(data: Any) -> BytesLike:
    """One of the pieces that contents come in. Raises TypeError."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return data
    told = "a file opened as text: open it with mode 'rb'" if isinstance(data, str) else f"{type(data).__name__}"
    raise TypeError(f"contents come in pieces of bytes, not of {told}")


class Spool:
    """Gathers contents that come in pieces: in memory, and in a temporary file when they are long."""

    MEMORY_BYTES = 1 << 20

    def __init__(self) -> None:
        self.size = 0
        self._memory = bytearray()
        self._file: Optional[IO[bytes]] = None

    def add(self, piece: BytesLike) -> None:
        self.size += memoryview(piece).nbytes
        if self._file is None:
            self._memory += piece
            if self.size <= self.MEMORY_BYTES:
                return
            self._file = tempfile.TemporaryFile(prefix="kura-")
            piece, self._memory = self._memory, bytearray()
        self._file.write(piece)

    def contents(self) -> Union[bytearray, HasFileno]:
        """What has come."""
        if self._file is None:
            return self._memory
        self._file.flush()
        self._file.seek(0)
        return self._file

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


class NewFile:
    """A file that gets its name when it is whole; what is not finished goes."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], replace: bool) -> None:
        self._path = os.path.abspath(os.fspath(path))
        self._replace = replace
        if not replace and os.path.lexists(self._path):
            raise FileExistsError(errno.EEXIST, "there is a file already, which is left alone unless `replace`", self._path)
        folder, name = os.path.split(self._path)
        self._number, self._part = tempfile.mkstemp(prefix=f"{name}.", suffix=".part", dir=folder)

    def fileno(self) -> int:
        return self._number

    def expect(self, size: object) -> None:
        """Raises ProtocolError unless it has as many bytes as the reply says."""
        found = os.fstat(self._number).st_size
        if found != size:
            raise ProtocolError(f"{self._path} was not made: {found} bytes have come, and the reply says {size!r}: is this Kura's socket?")

    def expect_lines(self, count: object) -> None:
        """The same of lines."""
        found = 0
        with open(self._number, "rb", closefd=False) as file:
            file.seek(0)
            for chunk in iter(lambda: file.read(1 << 18), b""):
                found += chunk.count(b"\n")
        if found != count:
            raise ProtocolError(f"{self._path} was not made: {found} lines have come, and the reply says {count!r}: is this Kura's socket?")

    def finish(self) -> None:
        """Has it on the disk, and under its name."""
        os.fsync(self._number)
        if self._replace:
            os.replace(self._part, self._path)
        else:
            # Unlike a rename it fails when somebody else was faster.
            os.link(self._part, self._path)
        folder = os.open(os.path.dirname(self._path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def __enter__(self) -> "NewFile":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._number)
        try:
            os.unlink(self._part)
        except FileNotFoundError:
            pass
