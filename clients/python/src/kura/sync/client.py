# Generated from ../aio/client.py by generator/: change it there.

"""The client: connecting, calling, and calling again."""

from __future__ import annotations

import itertools
import os
import random
import time
import uuid
import weakref
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

from ..caller import Descriptor
from ..descriptors import number_of
from ..errors import (
    ClosedError,
    Lost,
    NoReplyError,
    NotJSONError,
    ProtocolError,
    ServerError,
    ServerGoneError,
    VersionMismatchError,
)
from ..limits import earlier
from ..methods import Methods
from ..methods.kinds import KINDS, LineTooLongError, OutcomeUnknownError, OverloadedError, ShuttingDownError
from ..methods.table import METHODS, Method
from ..places import Peer, default_socket, why_unreachable
from ..threads import Connection, Lock, forked, opened, sleep
from ..values import JSON, UNSET, params_of, repeated_name
from ..wire import Progress, Request
from .backups import Backups
from .blobs import Blobs
from .cached import Cache, check_cached
from .documents import Documents
from .secrets import Secrets
from .settings import Settings
from .transaction import Pipeline, Transactions
from .watch import Watch

PROTOCOL = 1
# Of a method that this client does not know: sent once, as what it says.
UNKNOWN = Method(is_read=False, takes_key=False, repeats=False, is_slow=False)
# How often a request is sent again that loses its connection or meets a daemon with too much to do.
ATTEMPTS = 6


class Server(NamedTuple):
    """Who is at the other end, as `session.hello` answers."""

    version: str
    epoch: str
    role: str
    grants: List[Dict[str, Any]]
    limits: Dict[str, int]
    capabilities: List[str]


class Kura(Methods):
    """A client. All threads may use it at once: their calls share one connection.

    It connects when it is first used, and again by itself when the daemon has been away. Reads are sent again then; so
    are writes, under a request key of their own, so that each is done once. A write that can have no key (of a cache)
    and loses its connection raises OutcomeUnknownError.

    `socket`: where the daemon listens; KURA_SOCKET, or its usual place, when left out.
    `peer_uid`: the user, or users, of whom one has to listen there, by number; KURA_PEER_UID (numbers with commas between them) when left
    out. Where neither names them the usual place is checked: its directory is this user's or root's and nobody else writes there, and
    one of the two listens. Nothing is sent to anybody else (ServerGoneError).
    `name`, `version`: of the application, for the daemon's log and the write bill.
    `timeout`: seconds for which a call waits for its reply.
    `patience`: seconds for which a daemon that has gone away is waited for.
    `request_keys`: False sends writes without keys: they are sent once, and relaxed domains stay relaxed.
    `decimals`: numbers that are no whole ones are read as decimal.Decimal, digit by digit, and may be written so.
    """

    # Stores that have more than their methods.
    backups: Backups
    transaction: Transactions
    settings: Settings
    secrets: Secrets
    documents: Documents
    blobs: Blobs

    def __init__(
        self,
        socket: Union[None, str, "os.PathLike[str]"] = None,
        *,
        peer_uid: Union[None, int, Iterable[int]] = None,
        name: Optional[str] = None,
        version: Optional[str] = None,
        launch: bool = False,
        installation: Optional[str] = None,
        timeout: float = 30.0,
        patience: float = 10.0,
        request_keys: bool = True,
        decimals: bool = False,
    ) -> None:
        self.socket = os.fspath(socket) if socket else default_socket()
        self._peer = Peer.of(self.socket, peer_uid)
        self.timeout = timeout
        self.patience = patience
        self.request_keys = request_keys
        self.decimals = decimals
        super().__init__(self)
        self.backups = Backups(self)
        self.transaction = Transactions(self)
        self.settings = Settings(self)
        self.secrets = Secrets(self)
        self.documents = Documents(self)
        self.blobs = Blobs(self)
        hello = {"client": name, "version": version, "launch": launch or None, "installation": installation}
        self._hello: Dict[str, JSON] = {key: value for key, value in hello.items() if value is not None}
        # What `session.hello` answered last.
        self._server: Optional[Server] = None
        self._connection: Optional[Connection] = None
        self._opening = Lock()
        self._is_closed = False
        # Of this connection's overrides, which end with it: set again on the next one.
        self._overrides: Dict[Tuple[str, str], JSON] = {}
        self._keys = uuid.uuid4().hex
        # Counted in one step, whoever else counts: two writes of one key would be one.
        self._key_numbers = itertools.count(1)
        _clients.add(self)

    def __enter__(self) -> Kura:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.socket}>"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a client is neither pickled nor copied: all of a process may share one, and a forked child too; another process "
            "makes its own (kura.connect, or kura.default_client() within the function that needs it)"
        )

    def open(self, timeout: Optional[float] = None) -> None:
        """Connects now, rather than at the first call. With `timeout` it waits so long for a daemon to be there."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        self._connected(deadline, 0.0 if timeout is None else timeout)

    def close(self) -> None:
        """Ends the connection; calls under way raise ClosedError."""
        self._is_closed = True
        # Its descriptor goes with the last call that has it.
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # MARK: Who is there

    def server(self) -> Server:
        """Who is at the other end: version, role, grants, limits, epoch."""
        self._connected(time.monotonic() + self.timeout, self.patience)
        assert self._server is not None
        return self._server

    # MARK: What calls are made of

    def pipeline(self) -> Pipeline:
        """Collects calls, of any store, and sends them at once."""
        return Pipeline(self)

    def watch(
        self,
        *,
        stores: Optional[List[str]] = None,
        scope: Optional[str] = None,
        prefix: Optional[str] = None,
        values: bool = False,
        after_rev: Optional[int] = None,
        epoch: Optional[str] = None,
        patience: Optional[float] = None,
    ) -> Watch:
        """Follows what changes, whoever changes it: an iterator of Change, and of Resync where something was missed.

        It goes on over reconnects and the daemon's restarts without losing or repeating a change. `after_rev` and `epoch`
        begin where an earlier watch ended (`watch.rev`, `watch.epoch`). `patience`: seconds without a daemon after which it
        raises ServerGoneError; for ever when None.
        """
        filters = {"stores": stores, "scope": scope, "prefix": prefix, "values": values or None}
        params = {key: value for key, value in filters.items() if value is not None}
        return opened(Watch(self, params, after_rev, epoch, patience))

    def cached(self, namespace: str, **options: Any) -> Callable[[Callable[..., Any]], Any]:
        """Decorates a function whose results all processes of the host share: see `kura.cached`."""
        check_cached(namespace, options)
        return Cache(lambda: self, namespace, **options)

    # MARK: Calling

    def call(
        self,
        method: str,
        params: Dict[str, JSON],
        timeout: Optional[float] = None,
        *,
        descriptor: Optional[Descriptor] = None,
        wants_descriptor: bool = False,
        progress: Optional[Progress] = None,
        patience: Optional[float] = UNSET,
    ) -> JSON:
        """Calls any method by its name; the methods of the stores do it so.

        `progress` is called, as `progress(done, total)`, with what methods tell that take long (imports, exports, backups).
        `patience`: seconds for which a daemon that is away is waited for; the client's when left out.
        """
        about = METHODS.get(method, UNKNOWN)
        key = self.key_of(method, params)
        number = None if descriptor is None else number_of(descriptor)
        request = Request(method, params, number, wants_descriptor, self.decimals, progress)
        result, _ = self.perform(request, key, self.deadline(about, params, timeout), patience)
        if method in ("settings.override", "settings.clearOverrides"):
            self._remember(method, params)
        return result

    def deadline(self, about: Method, params: Mapping[str, JSON], timeout: Optional[float]) -> Optional[float]:
        """When the reply has to be there. What the daemon is asked to wait for comes on top."""
        if timeout is None:
            if about.is_slow:
                return None
            asked = [params[name] for name in ("timeoutMs", "waitMs") if isinstance(params.get(name), int)]
            timeout = self.timeout + max(asked, default=0) / 1000
        return time.monotonic() + timeout

    def key_of(self, method: str, params: Dict[str, JSON]) -> Optional[str]:
        """The write's name; made up when it has none and can have one."""
        if not METHODS.get(method, UNKNOWN).takes_key:
            return None
        if "requestKey" not in params:
            # Deletions by a selector go in slices, which a key would forbid; what is returned only once is not kept.
            if not self.request_keys or params.get("where") is not None or params.get("returnSecret"):
                return None
            params["requestKey"] = f"{self._keys}-{os.getpid()}-{next(self._key_numbers)}"
        return str(params["requestKey"])

    def perform(
        self,
        request: Request,
        key: Optional[str],
        deadline: Optional[float],
        patience: Optional[float] = UNSET,
        sent_on: Optional[Connection] = None,
    ) -> Tuple[Dict[str, JSON], Connection]:
        """Sends a request until it is answered, over as many connections as that takes, and as is safe.

        `sent_on`: the connection that it has been sent on already.
        """
        if patience is UNSET:
            # Whoever has never been connected is told at once that nobody is there.
            patience = self.patience if self._server is not None else 0.0
        deadline = earlier(deadline)
        about = METHODS.get(request.method, UNKNOWN)
        is_safe = key is not None or (about.repeats and b'"token":' not in request.body and b'"ifAbsent":' not in request.body)
        reported: Optional[Exception] = None
        for attempt in range(ATTEMPTS):
            connection, is_sent, sent_on = sent_on, sent_on is not None, None
            try:
                connection = connection or self._connected(deadline, patience)
            except (ServerGoneError, NoReplyError) as error:
                raise reported or error from None
            if self._server is not None and len(request.body) + 40 > self._server.limits.get("lineBytes", 1 << 62):
                raise self._too_long(request)
            try:
                if not is_sent:
                    connection.send(request, deadline)
                if request.news is not None:
                    self._follow(request, connection, deadline)
                is_told = connection.wait(request, deadline)
            except Lost:
                is_told = True
                request.failure = request.failure or Lost()
            except NoReplyError as error:
                connection.abandon(request)
                raise NoReplyError(f"{request.method}: {error}", key) from None
            except BaseException:
                connection.abandon(request)
                raise
            if not is_told:
                connection.abandon(request)
                raise NoReplyError(self._late(request, key), key)
            if request.failure is not None or not request.is_ready:
                if isinstance(request.failure, ProtocolError):
                    raise request.failure
                if self._is_closed:
                    raise ClosedError("the client was closed while the call was under way")
                if request.is_sent and not is_safe:
                    raise self._unknown(request, key)
                reported = self._unknown(request, key) if request.is_sent and not about.is_read else reported
            elif request.error is None:
                return request.result, connection
            else:
                refusal = self._error(request, key)
                # What was not begun is sent again, and so is what is told under its key how it ended.
                is_again = refusal.kind in ("shuttingDown", "overloaded") or (refusal.kind == "outcomeUnknown" and key is not None)
                if not is_again or attempt == ATTEMPTS - 1:
                    raise refusal
                if refusal.kind != "overloaded":
                    reported = refusal
                    connection.close()
            self._pause(attempt, deadline)
        raise reported or ServerGoneError(
            f"the daemon at {self.socket} has closed the connection {ATTEMPTS} times during {request.method}: look at its log"
        )

    def _follow(self, request: Request, connection: Connection, deadline: Optional[float]) -> None:
        """Tells how far the request is, until it is answered."""
        assert request.news is not None and request.progress is not None
        is_over = False
        while not is_over:
            is_over = request.is_ready or not connection.wait(request.news, deadline) or connection.is_lost
            event = request.news.take()
            while event is not None:
                request.progress(event[1]["done"], event[1].get("total"))
                event = request.news.take()

    def _pause(self, attempt: int, deadline: Optional[float]) -> None:
        seconds = min(1.0, 0.02 * 2**attempt) * (0.5 + random.random())
        if deadline is not None:
            seconds = max(0.0, min(seconds, deadline - time.monotonic()))
        sleep(seconds)

    # MARK: Connecting

    def connected(self, deadline: Optional[float]) -> Connection:
        """A connection that works, as far as is known."""
        return self._connected(deadline, self.patience if self._server is not None else 0.0)

    def _connected(self, deadline: Optional[float], patience: Optional[float]) -> Connection:
        """A connection that works, as far as is known. A daemon that is not there is waited for `patience` seconds."""
        begun = None
        attempt = 0
        while True:
            connection = self._connection
            if connection is not None and not connection.is_lost:
                return connection
            if self._is_closed:
                raise ClosedError("the client is closed: make another one")
            try:
                with self._opening:
                    connection = self._connection
                    if connection is None or connection.is_lost:
                        self._connection = connection = self._open(deadline)
                    return connection
            except (ServerGoneError, OverloadedError, ShuttingDownError) as error:
                now = time.monotonic()
                begun = begun or now
                is_over = patience is not None and now - begun >= patience
                if is_over or (deadline is not None and now >= deadline):
                    raise error
            self._pause(attempt, deadline)
            attempt = min(attempt + 1, 5)

    def _open(self, deadline: Optional[float]) -> Connection:
        limit = time.monotonic() + self.timeout
        deadline = limit if deadline is None else min(deadline, limit)
        try:
            connection = Connection.open(self._peer, deadline, self.decimals)
        except ServerGoneError:
            raise
        except OSError as error:
            raise ServerGoneError(why_unreachable(self.socket, error)) from None
        try:
            hello = self._ask(connection, "session.hello", {**self._hello, "enable": ["outOfOrder"]}, deadline)
            if hello.get("server") != "kurad" or hello.get("protocol") != PROTOCOL:
                raise VersionMismatchError(
                    f"{self.socket}: {hello.get('server')} {hello.get('version')} speaks version {hello.get('protocol')} of the "
                    f"protocol, this client version {PROTOCOL}: install the client that belongs to the daemon, or update the daemon"
                )
            for (domain, name), value in self._overrides.items():
                self._ask(connection, "settings.override", {"domain": domain, "key": name, "value": value}, deadline)
        except Lost as error:
            connection.close()
            raise ServerGoneError(f"{self.socket}: the daemon closes connections at once ({error}): look at its log") from None
        except NoReplyError:
            connection.close()
            raise ServerGoneError(
                f"{self.socket}: somebody listens there and does not answer: the daemon may be stopped, or it is none of ours"
            ) from None
        except BaseException:
            connection.close()
            raise
        limits = hello.get("limits", {})
        if not isinstance(limits, dict) or not all(isinstance(limit, int) for limit in limits.values()):
            connection.close()
            raise ProtocolError("the limits that session.hello answers are no numbers: is this Kura's socket?")
        # The application starts once, however often it connects.
        self._hello.pop("launch", None)
        fields = {name: hello.get(name) for name in Server._fields}
        fields["limits"] = limits
        self._server = Server(**fields)  # type: ignore[arg-type]
        return connection

    def _ask(self, connection: Connection, method: str, params: Dict[str, JSON], deadline: float) -> Dict[str, JSON]:
        request = Request(method, params, decimals=self.decimals)
        connection.send(request, deadline)
        if not connection.wait(request, deadline):
            raise NoReplyError(method)
        if isinstance(request.failure, ProtocolError):
            raise request.failure
        if request.failure is not None or not request.is_ready:
            raise Lost(str(request.failure))
        if request.error is not None:
            if request.error.get("data", {}).get("kind") in ("methodNotFound", "invalidParams"):
                raise VersionMismatchError(
                    f"{self.socket}: what listens there does not know this client's {method} "
                    f"({request.error.get('message')}): update the older one of daemon and client"
                )
            raise self._error(request, None)
        return request.result

    def _remember(self, method: str, params: Mapping[str, JSON]) -> None:
        if method == "settings.override":
            self._overrides[(params["domain"], params["key"])] = params["value"]
            return
        for domain, name in list(self._overrides):
            if params.get("domain", domain) == domain and params.get("key", name) == name:
                del self._overrides[(domain, name)]

    def forked(self) -> None:
        """In a child after a fork: the connection stays the parent's, and so do the keys."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disown()
        self._opening = Lock()
        self._keys = uuid.uuid4().hex

    # MARK: What is said when it goes wrong

    def _error(self, request: Request, key: Optional[str]) -> ServerError:
        error = request.error or {}
        data = error.get("data") or {}
        if data.get("kind") == "parseError":
            name = repeated_name(request.line())
            if name is not None:
                raise NotJSONError(f"an object has the name {name!r} twice: keys that are no strings become such (1 and '1')")
        if data.get("kind") == "notFound":
            data = {**params_of(request.line()), **data}
        return KINDS.get(data.get("kind", ""), ServerError)(
            request.method, error.get("message", "unknown error"), data, error.get("code"), key
        )

    def _unknown(self, request: Request, key: Optional[str]) -> OutcomeUnknownError:
        hint = {"kind": "outcomeUnknown", "retryable": False, "hint": "the connection was lost before the reply came"}
        return OutcomeUnknownError(request.method, "Outcome unknown", hint, None, key)

    def _too_long(self, request: Request) -> LineTooLongError:
        assert self._server is not None
        hint = {"kind": "lineTooLong", "retryable": False, "limit": self._server.limits["lineBytes"]}
        return LineTooLongError(
            request.method, f"Line too long: {len(request.body)} bytes", {**hint, "hint": "Large contents are blobs, passed by descriptor"}
        )

    def _late(self, request: Request, key: Optional[str]) -> str:
        text = f"{request.method}: no reply in time. The daemon may be busy or stopped, or the call takes long: give it a `timeout`"
        if METHODS.get(request.method, UNKNOWN).is_read:
            return text + "."
        if key is None:
            return text + ". Whether the change is made is not known."
        return text + f". The change may be made yet: the same call with request_key={key!r} is not done twice."


_clients: "weakref.WeakSet[Kura]" = weakref.WeakSet()


def _forked() -> None:
    for client in list(_clients):
        client.forked()


forked(_forked)


def connect(socket: Union[None, str, "os.PathLike[str]"] = None, *, wait: Optional[float] = None, **options: Any) -> Kura:
    """A client that is connected. Raises ServerGoneError when no daemon is there, or none within `wait` seconds."""
    client = Kura(socket, **options)
    client.open(wait)
    return client


__all__ = ["Kura", "Server", "connect"]
