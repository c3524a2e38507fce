"""Contents that pass by descriptor: into the daemon from memory, out of it as mapped memory."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import stat
import tempfile
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Iterator, Optional, Type, Union

from .caller import Descriptor, HasFileno
from .errors import ProtocolError

BytesLike = Union[bytes, bytearray, memoryview]
# Shorter contents go along in the line: making a file in memory costs more than base64 of them.
INLINE_BYTES = 8192


def number_of(descriptor: Descriptor) -> int:
    return descriptor if isinstance(descriptor, int) else descriptor.fileno()


@contextmanager
def descriptor_of(data: Union[BytesLike, Descriptor]) -> Iterator[int]:
    """A descriptor to pass: a file's own, or for bytes that of a sealed file in memory."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        yield number_of(data)
        return
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("kura", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    else:
        with tempfile.TemporaryFile() as file:
            number = os.dup(file.fileno())
    try:
        view = memoryview(data).cast("B")
        while view:
            view = view[os.write(number, view) :]
        os.lseek(number, 0, os.SEEK_SET)
        if hasattr(fcntl, "F_ADD_SEALS") and hasattr(os, "memfd_create"):
            # Nobody changes it while it is copied, this process included.
            fcntl.fcntl(number, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        yield number
    finally:
        os.close(number)


class Contents:
    """Bytes as they lie in the daemon's file or memory, mapped and not copied; nothing can be written through them.

    They stay readable when the blob is replaced or removed. `view` is a memoryview; `close`, or the end of a `with`,
    lets the memory go when no other view of it is left.
    """

    def __init__(self, descriptor: int, length: Optional[int] = None) -> None:
        """Takes the descriptor, and begins where it stands."""
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise ProtocolError("what came as contents is no file: is this Kura's socket?")
            begin = os.lseek(descriptor, 0, os.SEEK_CUR)
            size = about.st_size
            end = size if length is None else min(size, begin + length)
            # Nothing cannot be mapped. The map keeps a descriptor of its own.
            self._map = mmap.mmap(descriptor, end, access=mmap.ACCESS_READ) if end > begin else None
        finally:
            os.close(descriptor)
        self._length = max(0, end - begin)
        self.view = memoryview(self._map)[begin:] if self._map is not None else memoryview(b"")

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:
        # What is there is true, however short it is.
        return True

    def __bytes__(self) -> bytes:
        return self.view.tobytes()

    def is_what(self, digest: str) -> bool:
        """Whether its BLAKE2b-256 is this, in hexadecimal: reads all of it."""
        return hashlib.blake2b(self.view, digest_size=32).hexdigest() == digest

    def close(self) -> None:
        try:
            self.view.release()
            if self._map is not None:
                self._map.close()
        except BufferError:
            # Somebody has a view of it, and keeps it.
            pass

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} bytes>"

    def __reduce__(self) -> Any:
        raise TypeError("mapped contents are neither pickled nor copied: bytes(contents) are")

    def __enter__(self: "Contents") -> "Contents":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


__all__ = ["BytesLike", "Contents", "HasFileno", "descriptor_of", "number_of", "INLINE_BYTES"]
