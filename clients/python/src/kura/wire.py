"""The protocol without I/O: what one connection has asked, and what the lines that come mean for it.

Nothing here waits or reads; `threads.py` and `tasks.py` do, and tell whom `dispatch` names.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple, Union

from .errors import Lost, ProtocolError
from .values import JSON, decoded, encoded, repeated_name

# Changes that a subscription keeps for a client that does not ask for them; beyond, it is ended and begun again from
# its place when somebody does.
BACKLOG_CHANGES = 10_000
# No line of the daemon's is longer (WireLimits.replyLineBytes of the daemon's source).
LINE_BYTES = 128 << 20
# Descriptors that wait for their replies; no daemon has so many come before one of these.
DESCRIPTORS = 64
# Told how far something is, and of how much; the latter is None when nobody knows.
Progress = Callable[[int, Optional[int]], object]


class Request:
    """One call: its text, and what becomes of it."""

    __slots__ = (
        "method", "body", "id", "descriptor", "wants_descriptor", "backlog", "progress", "news", "result", "error", "failure",
        "is_ready", "is_sent", "is_abandoned", "exchange",
    )  # fmt: skip

    def __init__(
        self,
        method: str,
        params: Dict[str, JSON],
        descriptor: Optional[int] = None,
        wants_descriptor: bool = False,
        decimals: bool = False,
        progress: Optional[Progress] = None,
    ) -> None:
        self.method = method
        self.body = b',"method":"%s","params":%s}\n' % (method.encode(), encoded(params, "", decimals))
        self.descriptor = descriptor
        self.wants_descriptor = wants_descriptor
        self.backlog: Optional[Backlog] = None
        # Called by whoever waits for the request; `news` has what it has not been told yet.
        self.progress = progress
        self.news: Optional[Backlog] = None
        self.begin(0)

    def begin(self, number: int) -> None:
        """Forgets what became of it on another connection."""
        self.id = number
        self.result: Dict[str, Any] = {}
        self.error: Optional[Dict[str, Any]] = None
        self.failure: Optional[BaseException] = None
        self.is_ready = False
        self.is_sent = False
        self.is_abandoned = False
        self.news = None if self.progress is None else Backlog("progress")
        # Of which connection it is.
        self.exchange: Optional[Exchange] = None

    def line(self) -> bytes:
        return b'{"jsonrpc":"2.0","id":%d%s' % (self.id, self.body)


class Backlog:
    """What a subscription was told and nobody has asked for yet."""

    __slots__ = ("family", "number", "events", "changes", "is_lost", "is_overfull")

    def __init__(self, family: str) -> None:
        # `changes` or `documents`: each counts its subscriptions by itself.
        self.family = family
        self.number = -1
        self.events: Deque[Tuple[str, Dict[str, Any]]] = deque()
        self.changes = 0
        self.is_lost = False
        self.is_overfull = False

    @property
    def is_ready(self) -> bool:
        return bool(self.events) or self.is_lost

    def take(self) -> Optional[Tuple[str, Dict[str, Any]]]:
        """The oldest; None when there is none, or none any more since it became too much."""
        try:
            event = self.events.popleft()
        except IndexError:
            return None
        self.changes -= _weight(event[1])
        return event


def _weight(params: Dict[str, Any]) -> int:
    return 1 + len(params.get("changes", ())) + len(params.get("documents", ()))


Item = Union[Request, Backlog]


class Exchange:
    """What one connection is about. `decimals`: numbers that are no whole ones become Decimals."""

    def __init__(self, decimals: bool = False) -> None:
        self._decimals = decimals
        self.pending: Dict[int, Request] = {}
        self.backlogs: Dict[Tuple[str, int], Backlog] = {}
        # Requests, told in lines, that nobody waits for any more or that end what was too much.
        self.to_send: List[bytes] = []
        self._descriptors: Deque[int] = deque()
        self._parts: List[bytes] = []
        # Bytes of `_parts`.
        self._kept = 0
        self._last = 0
        self.failure: Optional[BaseException] = None

    def begin(self, request: Request) -> bytes:
        """Takes a request on, and returns its line."""
        if self.failure is not None:
            raise Lost(str(self.failure))
        self._last += 1
        request.begin(self._last)
        request.exchange = self
        self.pending[self._last] = request
        return request.line()

    def abandon(self, request: Request) -> bytes:
        """Nobody waits for this one any more: returns what tells the daemon so."""
        request.is_abandoned = True
        if not request.is_ready:
            return b'{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":%d}}\n' % request.id
        self._discard(request)
        lines = b"".join(self.to_send)
        self.to_send.clear()
        return lines

    def parse(self, data: bytes) -> List[Dict[str, Any]]:
        """The messages that are whole now. Descriptors that came along go to `descriptors` first."""
        cut = data.rfind(b"\n")
        if cut < 0:
            self._kept += len(data)
            if self._kept > LINE_BYTES:
                self._parts = []
                raise ProtocolError(f"more than {LINE_BYTES >> 20} MiB came without a line end, which no daemon sends: is this Kura's socket?")
            self._parts.append(data)
            return []
        lines = data[:cut]
        if self._parts:
            self._parts.append(lines)
            lines = b"".join(self._parts)
            self._parts = []
        self._kept = len(data) - cut - 1
        if cut + 1 < len(data):
            self._parts.append(data[cut + 1 :])
        messages: List[Dict[str, Any]] = []
        try:
            texts = lines.decode().split("\n")
        except UnicodeDecodeError:
            raise ProtocolError("a line from the socket is no UTF-8: is this Kura's socket?") from None
        for text in texts:
            try:
                message, end = decoded(text, self._decimals)
            except (ValueError, RecursionError):
                end = -1
            if end != len(text):
                raise ProtocolError(f"a line of {len(text)} characters from the socket is no JSON: is this Kura's socket?")
            if not isinstance(message, dict) or not _is_sound(message):
                raise ProtocolError("a line from the socket is no JSON-RPC reply: is this Kura's socket?")
            messages.append(message)
        return messages

    def take_descriptors(self, descriptors: List[int]) -> None:
        self._descriptors.extend(descriptors)
        if len(self._descriptors) > DESCRIPTORS:
            raise ProtocolError("more descriptors came than anybody has asked for: is this Kura's socket?")

    def dispatch(self, messages: List[Dict[str, Any]]) -> List[Item]:
        """Does what the messages say; returns those that have something now."""
        told: List[Item] = []
        for message in messages:
            number = message.get("id")
            if number is not None:
                request = self.pending.pop(number, None)
                if request is not None:
                    self._answer(request, message)
                    told.append(request)
                    if request.news is not None:
                        request.news.is_lost = True
                        told.append(request.news)
            elif message.get("method") == "progress":
                told += self._progress(message.get("params", {}))
            elif "method" in message:
                backlog = self._notify(message["method"], message.get("params", {}))
                if backlog is not None:
                    told.append(backlog)
            else:
                told += self._blame(message.get("error", {}))
        # What nobody waits for would be taken for what comes with a later reply.
        if self._descriptors and not any(request.wants_descriptor for request in self.pending.values()):
            self._close_descriptors()
        return told

    def fail(self, failure: BaseException) -> List[Item]:
        """The connection is no more: returns everybody who has to know."""
        if self.failure is None:
            self.failure = failure
        told: List[Item] = list(self.pending.values())
        for request in self.pending.values():
            request.failure = self.failure
            request.is_ready = True
            if request.news is not None:
                request.news.is_lost = True
                told.append(request.news)
        self.pending = {}
        for backlog in self.backlogs.values():
            backlog.is_lost = True
            told.append(backlog)
        self.backlogs = {}
        self._close_descriptors()
        return told

    def _close_descriptors(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.popleft())

    def end(self, backlog: Backlog) -> bytes:
        """Ends a subscription: returns what tells the daemon so. It is answered, under an id of nobody's, so that whoever
        reads for all looks up."""
        self.backlogs.pop((backlog.family, backlog.number), None)
        return b'{"jsonrpc":"2.0","id":0,"method":"%s.unwatch","params":{"subscription":%d}}\n' % (
            backlog.family.encode(),
            backlog.number,
        )

    # MARK: One message

    def _answer(self, request: Request, message: Dict[str, Any]) -> None:
        request.error = message.get("error")
        request.result = message.get("result", {})
        request.is_ready = True
        if request.error is None:
            if request.wants_descriptor and _carries(request.result):
                if self._descriptors:
                    request.result["fd"] = self._descriptors.popleft()
                else:
                    request.failure = ProtocolError(
                        f"{request.method}: the descriptor did not arrive: this process may have too many open files (ulimit -n)"
                    )
            if request.backlog is not None:
                number = request.result.get("subscription")
                if isinstance(number, int) and isinstance(request.result.get("rev"), int):
                    request.backlog.number = number
                    self.backlogs[(request.backlog.family, number)] = request.backlog
                else:
                    request.failure = ProtocolError(f"{request.method}: the answer has no number of a subscription, or no revision")
        if request.is_abandoned:
            self._discard(request)

    def _discard(self, request: Request) -> None:
        descriptor = request.result.pop("fd", None) if request.error is None else None
        if descriptor is not None:
            os.close(descriptor)
        if request.backlog is not None and request.backlog.number >= 0:
            self.to_send.append(self.end(request.backlog))

    def _notify(self, method: str, params: Dict[str, Any]) -> Optional[Backlog]:
        family, _, event = method.partition(".")
        backlog = self.backlogs.get((family, params.get("subscription", -1)))
        if backlog is None:
            return None
        if not backlog.events:
            # Counting is shared with whoever takes, and need not be exact: it begins anew now and then.
            backlog.changes = 0
        backlog.events.append((event, params))
        backlog.changes += _weight(params)
        if backlog.changes > BACKLOG_CHANGES and len(backlog.events) > 1:
            backlog.events.clear()
            backlog.changes = 0
            backlog.is_overfull = True
            backlog.is_lost = True
            self.to_send.append(self.end(backlog))
        elif event == "ended":
            self.backlogs.pop((family, backlog.number), None)
        return backlog

    def _progress(self, params: Dict[str, Any]) -> List[Item]:
        request = self.pending.get(params.get("id", -1))
        if request is None or request.news is None:
            return []
        request.news.events.append(("progress", params))
        return [request.news]

    def _blame(self, error: Dict[str, Any]) -> List[Item]:
        """An error under id null is about a line of ours that the daemon could not read: finds whose it was."""
        kind = error.get("data", {}).get("kind")
        limit = error.get("data", {}).get("limit", 0)
        waiting = list(self.pending.values())
        if kind == "lineTooLong":
            guilty = [request for request in waiting if len(request.line()) > limit]
        elif kind in ("parseError", "invalidRequest"):
            guilty = [request for request in waiting if _is_faulty(request.line())]
        else:
            guilty = []
        if not guilty and len(waiting) == 1:
            guilty = waiting
        if not guilty:
            # About the connection as a whole: too many, no role, no memory.
            told: List[Item] = list(waiting)
            for request in waiting:
                request.error = error
                request.is_ready = True
                if request.news is not None:
                    request.news.is_lost = True
                    told.append(request.news)
            self.pending = {}
            return told
        request = guilty[0]
        del self.pending[request.id]
        self._answer(request, {"error": error})
        if request.news is not None:
            request.news.is_lost = True
        return [request] if request.news is None else [request, request.news]


def _is_sound(message: Dict[str, Any]) -> bool:
    """Whether what is looked at of a message has the types that the protocol gives it."""
    params, error = message.get("params", {}), message.get("error", {})
    if type(message.get("id")) not in (int, type(None)) or not isinstance(message.get("method", ""), str):
        return False
    if not isinstance(message.get("result", {}), dict) or not isinstance(params, dict) or not isinstance(error, dict):
        return False
    if params:
        numbers = [params.get(name, 0) for name in ("subscription", "id", "rev", "done")]
        lists = [params.get(name, []) for name in ("changes", "documents")]
        return all(isinstance(number, int) for number in numbers) and all(isinstance(part, list) for part in lists)
    if error:
        data = error.get("data", {})
        return (
            isinstance(error.get("message", ""), str)
            and isinstance(data, dict)
            and isinstance(data.get("kind", ""), str)
            and isinstance(data.get("limit", 0), int)
        )
    return True


def _carries(result: Dict[str, Any]) -> bool:
    """Whether a descriptor belongs to the reply."""
    return bool(result.get("found", True)) and "data" not in result and "path" not in result


def _is_faulty(line: bytes) -> bool:
    """Whether a line that we have written is no I-JSON: a name twice in an object, or too deep."""
    try:
        if repeated_name(line) is not None:
            return True
    except RecursionError:
        return True
    depth = deepest = 0
    for byte in line:
        depth += (byte in b"[{") - (byte in b"]}")
        deepest = max(deepest, depth)
    return deepest > 128
