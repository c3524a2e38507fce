"""How long calls may take, said for a block of code."""

from __future__ import annotations

import contextlib
import contextvars
import time
from typing import Iterator, Optional

_end: "contextvars.ContextVar[Optional[float]]" = contextvars.ContextVar("kura_end", default=None)


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """All calls of the block together have so long; then NoReplyError, and the daemon is told to stop (`rpc.cancel`).

        with kura.within(2.0):
            app["theme"] = "dark"
            notes.put({"text": "Buy rice"})

    It holds for this thread or task (and tasks that it starts), whatever the client; a block within another one may only make
    it shorter. Waiting for a daemon that is away counts; waiting for the next of a watch does not.
    """
    end = time.monotonic() + seconds
    token = _end.set(earlier(end))
    try:
        yield
    finally:
        _end.reset(token)


def earlier(deadline: Optional[float]) -> Optional[float]:
    """A call's own end, or the block's when that comes first."""
    end = _end.get()
    if end is None or deadline is None:
        return end if deadline is None else deadline
    return min(end, deadline)
