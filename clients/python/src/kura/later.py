"""What is to begin later, unless that is cancelled: in a thread, or in a task."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from typing import Any, Awaitable, Callable, Optional, Set

from .threads import forked, spawn


class Later:
    """Something that is run in a thread of its own after so many seconds, unless it is cancelled before; while it runs `wait` tells of that."""

    def __init__(self, seconds: float, function: Callable[[Later], Any]) -> None:
        self.at = time.monotonic() + seconds
        self._function = function
        self._is_over = threading.Event()
        _timekeeper.add(self)

    def begin(self) -> None:
        _spawned(self._function, self)

    def cancel(self) -> None:
        self._is_over.set()
        _timekeeper.forget(self)

    def wait(self, seconds: float) -> bool:
        """Whether it is cancelled within so many seconds."""
        return self._is_over.wait(seconds)


class _Timekeeper:
    """Looks at the time for all that is to begin later: one thread, which ends when nothing is. Who cancels in time, as most do, does not wake
    it; a thread for each (threading.Timer) would cost as much as the calls around it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: Set[Later] = set()
        self._alarm = 0.0
        self._is_running = False

    def add(self, later: Later) -> None:
        with self._changed:
            self._waiting.add(later)
            if self._is_running and later.at >= self._alarm:
                return
            self._alarm = later.at
            self._changed.notify()
            if not self._is_running:
                self._is_running = _spawned(self._run)

    def forget(self, later: Later) -> None:
        with self._changed:
            self._waiting.discard(later)

    def _run(self) -> None:
        with self._changed:
            # What it was begun for may be over: it stays until then all the same, for the next.
            while True:
                now = time.monotonic()
                if now >= self._alarm:
                    for later in [later for later in self._waiting if later.at <= now]:
                        self._waiting.remove(later)
                        later.begin()
                    if not self._waiting:
                        break
                    self._alarm = min(later.at for later in self._waiting)
                self._changed.wait(max(0.0, self._alarm - now))
            self._is_running = False


def _spawned(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether there is a thread for it: none can be had when there are too many, or the interpreter ends. Then nothing comes later."""
    try:
        spawn(function, *arguments)
    except RuntimeError:
        return False
    return True


_timekeeper = _Timekeeper()


def _forked() -> None:
    """In a child: the thread is the parent's, and so is what it waits for."""
    global _timekeeper
    _timekeeper = _Timekeeper()


forked(_forked)


class AsyncLater:
    """The same in a task, which is cancelled as tasks are."""

    def __init__(self, seconds: float, function: Callable[[AsyncLater], Awaitable[Any]]) -> None:
        self._function = function
        self._task: Optional[asyncio.Future[Any]] = None
        # In a context of its own: a time limit of whoever waits (`within`) is none of it.
        self._timer = asyncio.get_running_loop().call_later(seconds, self._begin, context=contextvars.Context())

    def _begin(self) -> None:
        self._task = asyncio.ensure_future(self._function(self))

    def cancel(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    async def wait(self, seconds: float) -> bool:
        """Until it is cancelled, or so many seconds are over: then False."""
        await asyncio.sleep(seconds)
        return False
