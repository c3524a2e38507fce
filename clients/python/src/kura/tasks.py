"""A connection that the tasks of an event loop share. The names are those of `threads.py`.

What tasks send within one round of the loop leaves by one system call.
"""

from __future__ import annotations

import array
import asyncio
import inspect
import os
import socket
import time
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Generator, List, NamedTuple, Optional, Set, TypeVar

from .descriptors import BytesLike
from .errors import Lost, NoReplyError
from .places import Peer
from .sources import piece_of
from .threads import forked, receive
from .wire import Backlog, Exchange, Item, Request

__all__ = ["Connection", "Lock", "AsyncOpening", "beside", "forked", "items_of", "mark", "opened", "pieces_of", "sleep", "spawn"]

sleep = asyncio.sleep
# Beyond so much that is not sent yet, who sends waits.
OUTPUT_BYTES = 1 << 20
_spawned: Set[asyncio.Task[Any]] = set()


def spawn(function: Callable[..., Awaitable[Any]], *arguments: Any) -> None:
    """Runs it besides; what it raises is told by the loop's exception handler."""
    task = asyncio.ensure_future(function(*arguments))
    # The loop itself keeps no task alive.
    _spawned.add(task)
    task.add_done_callback(_spawned.discard)


def mark(function: Any) -> None:
    """Has it known as what is awaited when it is called, by those who ask `iscoroutinefunction`."""
    if hasattr(inspect, "markcoroutinefunction"):
        inspect.markcoroutinefunction(function)
    else:
        # Before Python 3.12 only asyncio's can be told.
        function._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)


OpeningType = TypeVar("OpeningType", bound="AsyncOpening")
Result = TypeVar("Result")


class AsyncOpening:
    """What begins when it is awaited, entered by `async with`, or asked, whichever comes first."""

    _is_begun = False

    async def begin(self) -> None:
        raise NotImplementedError

    async def begun(self: OpeningType) -> OpeningType:
        if not self._is_begun:
            self._is_begun = True
            try:
                await self.begin()
            except BaseException:
                self._is_begun = False
                raise
        return self

    def __await__(self: OpeningType) -> Generator[Any, None, OpeningType]:
        return self.begun().__await__()


def opened(opening: OpeningType) -> OpeningType:
    """It is awaited, or entered, by whoever gets it."""
    return opening


async def beside(function: Callable[[], Result]) -> Result:
    """Has something done that may wait for the disk, while the loop goes on."""
    return await asyncio.get_running_loop().run_in_executor(None, function)


async def pieces_of(data: Any, size: int) -> AsyncIterator[BytesLike]:
    """What is read from a stream, so many bytes at once, or iterated over; what is to be awaited is."""
    if hasattr(data, "read"):
        while True:
            piece = data.read(size)
            piece = await piece if inspect.isawaitable(piece) else piece
            if not piece:
                return
            yield piece_of(piece)
    else:
        async for piece in items_of(data):
            yield piece_of(piece)


async def items_of(data: Any) -> AsyncIterator[Any]:
    """What an iterable has, or an asynchronous one."""
    if hasattr(data, "__aiter__"):
        async for item in data:
            yield item
    else:
        for item in data:
            yield item


class Lock:
    """An asyncio.Lock that belongs to whichever loop uses it."""

    def __init__(self) -> None:
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            self._lock = asyncio.Lock()
        await self._lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()


class _Piece(NamedTuple):
    """Something to be sent."""

    line: bytes
    # A copy of the request's, ours to close.
    descriptor: Optional[int]
    request: Optional[Request]


class Connection:
    """One socket, used from one event loop."""

    def __init__(self, sock: socket.socket, decimals: bool = False) -> None:
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self.exchange = Exchange(decimals)
        self._futures: Dict[Item, asyncio.Future[None]] = {}
        self._output: List[_Piece] = []
        self._output_bytes = 0
        self._is_scheduled = False
        self._room: Optional[asyncio.Future[None]] = None
        self._loop.add_reader(sock.fileno(), self._read)

    @classmethod
    async def open(cls, peer: Peer, deadline: Optional[float], decimals: bool = False) -> Connection:
        """Connects, and looks who listens. Raises OSError, also as ServerGoneError."""
        owner = peer.check_directory()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            seconds = None if deadline is None else max(0.001, deadline - time.monotonic())
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(sock, peer.path), seconds)
            peer.check(sock, owner)
            return cls(sock, decimals)
        except asyncio.TimeoutError:
            sock.close()
            raise OSError("nobody has accepted the connection in time") from None
        except BaseException:
            sock.close()
            raise

    @property
    def is_lost(self) -> bool:
        return self.exchange.failure is not None or self._loop.is_closed()

    def close(self) -> None:
        """Ends it: whoever waits is told that it is lost."""
        self._fail(Lost("the client was closed"))

    def disown(self) -> None:
        """In a child after a fork: leaves the connection to the parent, whose loop is not touched."""
        self.exchange.fail(Lost("the connection belongs to the process that this one was forked from"))
        self._sock.close()

    # MARK: Writing

    async def send(self, request: Request, deadline: Optional[float]) -> None:
        """Sends a request. Raises Lost, and NoReplyError when there is no room for it in time."""
        await self.send_all([request], deadline)

    async def send_all(self, requests: List[Request], deadline: Optional[float]) -> None:
        while self._output_bytes > OUTPUT_BYTES and not self.is_lost:
            await self._wait_for_room(deadline)
        for request in requests:
            line = self.exchange.begin(request)
            self._put(line, None if request.descriptor is None else os.dup(request.descriptor), request)

    def abandon(self, request: Request) -> None:
        """Nobody waits for it any more."""
        self._tell(self.exchange.abandon(request))

    def end(self, backlog: Backlog) -> None:
        """Ends a subscription."""
        lines = b"" if self.is_lost else self.exchange.end(backlog)
        backlog.is_lost = True
        self._wake([backlog])
        self._tell(lines)

    def _tell(self, lines: bytes) -> None:
        if lines and not self.is_lost:
            self._put(lines, None, None)

    def _put(self, line: bytes, descriptor: Optional[int], request: Optional[Request]) -> None:
        self._output.append(_Piece(line, descriptor, request))
        self._output_bytes += len(line)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._write)

    async def _wait_for_room(self, deadline: Optional[float]) -> None:
        if self._room is None:
            self._room = self._loop.create_future()
        seconds = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            await asyncio.wait_for(asyncio.shield(self._room), seconds)
        except asyncio.TimeoutError:
            raise NoReplyError("the daemon took no request in time: it may be stopped, or very busy") from None

    def _write(self) -> None:
        """Sends what there is. Stays scheduled, by the loop, while the socket is full."""
        if self.is_lost:
            return
        try:
            while self._output:
                self._write_once()
        except BlockingIOError:
            self._loop.add_writer(self._sock.fileno(), self._write_rest)
            return
        except OSError as error:
            self._fail(error)
            return
        self._is_scheduled = False
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        self._room = None

    def _write_rest(self) -> None:
        self._loop.remove_writer(self._sock.fileno())
        self._write()

    def _write_once(self) -> None:
        first = self._output[0]
        if first.descriptor is not None:
            rights = array.array("i", [first.descriptor])
            count, pieces = 1, [first.line]
            sent = self._sock.sendmsg(pieces, [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            os.close(first.descriptor)
            self._output[0] = first._replace(descriptor=None)
        else:
            count = 1
            while count < len(self._output) and self._output[count].descriptor is None:
                count += 1
            sent = self._sock.send(b"".join([piece.line for piece in self._output[:count]]) if count > 1 else first.line)
        self._output_bytes -= sent
        done = 0
        for piece in self._output[:count]:
            if sent <= 0:
                break
            if piece.request is not None:
                piece.request.is_sent = True
            if sent < len(piece.line):
                self._output[done] = piece._replace(line=piece.line[sent:])
                break
            sent -= len(piece.line)
            done += 1
        del self._output[:done]

    # MARK: Reading

    async def wait(self, item: Item, deadline: Optional[float]) -> bool:
        """Until the item has something, or the connection is lost; False when the time is over."""
        if item.is_ready or self.is_lost:
            return True
        future: asyncio.Future[None] = self._loop.create_future()
        self._futures[item] = future
        timer = None
        if deadline is not None:
            timer = self._loop.call_later(max(0.0, deadline - time.monotonic()), self._wake, [item])
        try:
            await future
            return item.is_ready or self.is_lost
        finally:
            if timer is not None:
                timer.cancel()
            if self._futures.get(item) is future:
                del self._futures[item]

    def _read(self) -> None:
        try:
            data = receive(self._sock, self.exchange)
            if not data:
                raise Lost("the daemon has closed the connection")
            told = self.exchange.dispatch(self.exchange.parse(data))
        except BlockingIOError:
            return
        except Exception as error:
            # Also of what a message says: nobody would be told of what came with it.
            self._fail(error)
            return
        self._wake(told)
        lines = b"".join(self.exchange.to_send)
        self.exchange.to_send.clear()
        self._tell(lines)

    def _wake(self, items: List[Item]) -> None:
        for item in items:
            future = self._futures.pop(item, None)
            if future is not None and not future.done():
                future.set_result(None)

    def _fail(self, error: BaseException) -> None:
        if self._sock.fileno() < 0:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(self._sock.fileno())
            self._loop.remove_writer(self._sock.fileno())
        self._sock.close()
        for piece in self._output:
            if piece.descriptor is not None:
                os.close(piece.descriptor)
        self._output = []
        self.exchange.fail(error)
        if self._loop.is_closed():
            return
        self._wake(list(self._futures))
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
