"""How contents go to the daemon: in the line when they are short, else by descriptor."""

from __future__ import annotations

import base64
import os
from typing import AsyncIterable, Awaitable, Callable, Iterable, Optional, TypeVar, Union

from ..caller import Descriptor, Readable
from ..descriptors import INLINE_BYTES, BytesLike, descriptor_of
from ..sources import Spool, file_of, readable
from ..tasks import pieces_of
from ..wire import Progress

Result = TypeVar("Result")
# Bytes; an open file; what can be read or iterated over for bytes.
Source = Union[BytesLike, Descriptor, Readable, AsyncIterable[BytesLike], Iterable[BytesLike]]
PIECE_BYTES = 1 << 18


async def pass_on(source: Source, call: Callable[..., Awaitable[Result]], progress: Optional[Progress] = None) -> Result:
    """Calls with contents: `call(data=…)` with base64, or `call(fd=…)`.

    A regular file is copied whole by the kernel, in one step. What has to be read is read first, a long one into a
    temporary file: so a call whose connection is lost can be made again.
    """
    if not isinstance(source, (bytes, bytearray, memoryview)):
        number = file_of(source)
        if number is not None:
            return await _send(number, os.fstat(number).st_size, call, progress)
        with Spool() as spool:
            async for piece in pieces_of(readable(source), PIECE_BYTES):
                spool.add(piece)
                if progress is not None:
                    progress(spool.size, None)
            return await _send(spool.contents(), spool.size, call, progress)
    return await _send(source, memoryview(source).nbytes, call, progress)


async def _send(
    contents: Union[BytesLike, Descriptor], size: int, call: Callable[..., Awaitable[Result]], progress: Optional[Progress]
) -> Result:
    if progress is not None:
        progress(0, size)
    if isinstance(contents, (bytes, bytearray, memoryview)) and size <= INLINE_BYTES:
        result = await call(data=base64.b64encode(contents).decode())
    else:
        with descriptor_of(contents) as descriptor:
            result = await call(fd=descriptor)
    if progress is not None:
        progress(size, size)
    return result
