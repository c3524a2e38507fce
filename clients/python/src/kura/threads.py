"""A connection that threads share, without a thread of its own.

Whoever waits first reads for all (the leader); what it reads for others it hands to them, and when its own is there it
hands the reading on. So a process with one thread pays for no other, and after a fork there is none to miss. The names
are those of `tasks.py`.
"""

from __future__ import annotations

import array
import os
import select
import socket
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, TypeVar

from .descriptors import BytesLike
from .errors import Lost, NoReplyError
from .places import Peer
from .sources import piece_of
from .wire import Backlog, Exchange, Item, Request

Lock = threading.Lock
sleep = time.sleep
READ_BYTES = 1 << 16
# Python does not ask for it by itself here.
CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
ANCILLARY = socket.CMSG_SPACE(64 * array.array("i").itemsize)


def spawn(function: Callable[..., Any], *arguments: Any) -> None:
    """Runs it besides; what it raises is told by threading.excepthook."""
    threading.Thread(target=function, args=arguments, daemon=True).start()


def mark(function: Any) -> None:
    """It is called as functions are."""


OpeningType = TypeVar("OpeningType", bound="Opening")
Result = TypeVar("Result")


class Opening:
    """What has begun when somebody gets it."""

    def begin(self) -> None:
        raise NotImplementedError

    def begun(self: OpeningType) -> OpeningType:
        return self


def opened(opening: OpeningType) -> OpeningType:
    """Begun: what changes from now on is told."""
    opening.begin()
    return opening


def beside(function: Callable[[], Result]) -> Result:
    """Has something done that may wait for the disk."""
    return function()


def pieces_of(data: Any, size: int) -> Iterator[BytesLike]:
    """What is read from a stream, so many bytes at once, or iterated over."""
    for piece in iter(lambda: data.read(size) or b"", b"") if hasattr(data, "read") else data:
        yield piece_of(piece)


def items_of(data: Any) -> Iterator[Any]:
    return iter(data)


def receive(sock: socket.socket, exchange: Exchange) -> bytes:
    """Reads once; descriptors that come along are the exchange's. None but this reads from the socket."""
    data, ancillary, _, _ = sock.recvmsg(READ_BYTES, ANCILLARY, CLOSE_ON_EXEC)
    if ancillary:
        descriptors = array.array("i")
        for level, kind, part in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(part[: len(part) - len(part) % descriptors.itemsize])
        exchange.take_descriptors(list(descriptors))
    return data


def _milliseconds(deadline: Optional[float]) -> Optional[float]:
    # poll(2) takes an int.
    return None if deadline is None else min(max(0.0, (deadline - time.monotonic()) * 1000), 2**31 - 1)


class Connection:
    """One socket, shared by threads. All methods may be called by any thread."""

    def __init__(self, sock: socket.socket, decimals: bool = False) -> None:
        sock.setblocking(False)
        self._sock = sock
        self.exchange = Exchange(decimals)
        # Guards the exchange and what follows; never held while something waits.
        self._lock = threading.Lock()
        # Held by whoever writes, so that lines stay whole.
        self._writing = threading.Lock()
        self._has_leader = False
        self._promoted: Optional[Item] = None
        self._gates: Dict[Item, threading.Lock] = {}
        self._readable = select.poll()
        self._readable.register(sock, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(sock, select.POLLOUT)
        self._either = select.poll()
        self._either.register(sock, select.POLLIN | select.POLLOUT)

    @classmethod
    def open(cls, peer: Peer, deadline: Optional[float], decimals: bool = False) -> Connection:
        """Connects, and looks who listens. Raises OSError, also as ServerGoneError."""
        owner = peer.check_directory()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(None if deadline is None else max(0.001, deadline - time.monotonic()))
            sock.connect(peer.path)
            peer.check(sock, owner)
            return cls(sock, decimals)
        except BaseException:
            sock.close()
            raise

    def __del__(self) -> None:
        self._sock.close()

    @property
    def is_lost(self) -> bool:
        return self.exchange.failure is not None

    def close(self) -> None:
        """Ends it: whoever waits is told that it is lost."""
        self._fail(Lost("the client was closed"))

    def disown(self) -> None:
        """In a child after a fork: leaves the connection to the parent. No lock is taken: somebody may have had it."""
        self.exchange.fail(Lost("the connection belongs to the process that this one was forked from"))
        self._sock.close()

    # MARK: Writing

    def send(self, request: Request, deadline: Optional[float]) -> None:
        """Sends a request. Raises Lost, and NoReplyError when there is no room for it in time."""
        with self._lock:
            line = self.exchange.begin(request)
        self._write(line, deadline, [request])

    def send_all(self, requests: List[Request], deadline: Optional[float]) -> None:
        """Sends several at once; none of them has a descriptor."""
        with self._lock:
            lines = b"".join([self.exchange.begin(request) for request in requests])
        self._write(lines, deadline, requests)

    def abandon(self, request: Request) -> None:
        """Nobody waits for it any more. What it leads to is closed, and the daemon told, when that needs no waiting."""
        with self._lock:
            lines = self.exchange.abandon(request)
        self._tell(lines)

    def end(self, backlog: Backlog) -> None:
        """Ends a subscription."""
        with self._lock:
            line = b"" if self.is_lost else self.exchange.end(backlog)
            backlog.is_lost = True
            self._release([backlog])
        self._tell(line)

    def _tell(self, line: bytes) -> None:
        """Sends what nobody waits for, when there is room for it at once."""
        if line and not self.is_lost:
            try:
                self._write(line, time.monotonic())
            except (Lost, NoReplyError):
                pass

    def _write(self, lines: bytes, deadline: Optional[float], requests: Sequence[Request] = ()) -> None:
        if not self._writing.acquire(timeout=-1.0 if deadline is None else max(0.0, deadline - time.monotonic())):
            raise NoReplyError("other calls of this client wait for the daemon to take them: it may be stopped, or very busy")
        rest = memoryview(lines)
        descriptor = requests[0].descriptor if requests else None
        try:
            while rest:
                try:
                    if descriptor is not None:
                        rights = array.array("i", [descriptor])
                        sent = self._sock.sendmsg([rest], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
                        descriptor = None
                    else:
                        sent = self._sock.send(rest)
                    rest = rest[sent:]
                    for request in requests:
                        request.is_sent = True
                    requests = ()
                except BlockingIOError:
                    if not self._wait_for_room(deadline):
                        raise NoReplyError("the daemon took no request in time: it may be stopped, or very busy") from None
        except BaseException as error:
            # Too late, or an interrupt: nothing can follow half a line.
            is_half = 0 < len(rest) < len(lines)
            is_broken = isinstance(error, OSError) and not isinstance(error, NoReplyError)
            if is_half or is_broken:
                self._fail(error if is_broken else Lost("a request was not written to its end"))
            if is_broken:
                raise Lost(str(error)) from None
            raise
        finally:
            self._writing.release()

    def _wait_for_room(self, deadline: Optional[float]) -> bool:
        """Waits until something can be written. Reads meanwhile unless another thread does: the daemon may be waiting
        for its replies to be read before it goes on reading."""
        with self._lock:
            leads = not self._has_leader
            self._has_leader = True
        try:
            if not leads:
                # Not for ever: the leader may be through.
                return bool(self._writable.poll(min(_milliseconds(deadline) or 50.0, 50.0))) or not self._is_over(deadline)
            events = self._either.poll(_milliseconds(deadline))
            if any(event & ~select.POLLOUT for _, event in events):
                self._read()
            return bool(events)
        finally:
            if leads:
                self._hand_on()

    @staticmethod
    def _is_over(deadline: Optional[float]) -> bool:
        return deadline is not None and time.monotonic() >= deadline

    # MARK: Waiting

    def wait(self, item: Item, deadline: Optional[float]) -> bool:
        """Until the item has something, or the connection is lost; False when the time is over."""
        if item.is_ready:
            return True
        gate = threading.Lock()
        gate.acquire()
        with self._lock:
            if item.is_ready or self.is_lost:
                return True
            leads = not self._has_leader
            if leads:
                self._has_leader = True
            else:
                self._gates[item] = gate
        try:
            while not leads:
                seconds = -1.0 if deadline is None else max(0.0, deadline - time.monotonic())
                is_told = gate.acquire(timeout=seconds)
                with self._lock:
                    leads = self._promoted is item
                    if leads:
                        self._promoted = None
                    if item.is_ready or self.is_lost:
                        return True
                    if not is_told and not leads:
                        return False
            while not item.is_ready and not self.is_lost:
                if not self._readable.poll(_milliseconds(deadline)):
                    return False
                self._read()
                # What comes and is not this answer gives no more time.
                if not item.is_ready and not self.is_lost and self._is_over(deadline):
                    return False
            return True
        finally:
            with self._lock:
                self._gates.pop(item, None)
                # An interrupt may come between being promoted and knowing it.
                leads = leads or self._promoted is item
                if self._promoted is item:
                    self._promoted = None
            if leads:
                self._hand_on()

    def _hand_on(self) -> None:
        with self._lock:
            for item, gate in self._gates.items():
                if not item.is_ready:
                    self._promoted = item
                    del self._gates[item]
                    gate.release()
                    return
            self._has_leader = False

    def _read(self) -> None:
        """The leader's part: reads what is there, and tells whom it is for."""
        try:
            data = receive(self._sock, self.exchange)
            if not data:
                raise Lost("the daemon has closed the connection")
            messages = self.exchange.parse(data)
            with self._lock:
                self._release(self.exchange.dispatch(messages))
                lines = b"".join(self.exchange.to_send)
                self.exchange.to_send.clear()
        except BlockingIOError:
            return
        except Exception as error:
            self._fail(error)
            return
        except BaseException:
            # An interrupt: what was read may be gone, and replies of others with it.
            self._fail(Lost("reading was interrupted"))
            raise
        if lines and self._writing.acquire(blocking=False):
            # As far as there is room: what is not said costs the daemon a little, and nobody an answer.
            try:
                if self._sock.send(lines) < len(lines):
                    self._fail(Lost("the connection is behind"))
            except BlockingIOError:
                pass
            except OSError as error:
                self._fail(error)
            finally:
                self._writing.release()

    def _release(self, items: List[Item]) -> None:
        for item in items:
            gate = self._gates.pop(item, None)
            if gate is not None:
                gate.release()

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self.exchange.fail(error)
            gates, self._gates = self._gates, {}
            for gate in gates.values():
                gate.release()
        try:
            # Whoever reads wakes up; the descriptor goes when nobody has the connection any more.
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def forked(action: Callable[[], None]) -> None:
    """Has an action run in every child that this process forks."""
    os.register_at_fork(after_in_child=action)
