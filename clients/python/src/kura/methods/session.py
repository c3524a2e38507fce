# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, TypedDict, cast

from ..caller import AsyncCaller, Caller
from ..values import JSON, UNSET


class _SessionHelloResultGrants(TypedDict):
    # Name of the store; `*`: all.
    store: str
    # Pattern of the scopes.
    scope: str
    # Verbs.
    allow: List[str]


class SessionHelloResultGrants(_SessionHelloResultGrants, total=False):
    # Pattern of the access groups whose secrets it is about; left out where it is about those in none.
    accessGroup: str


class SessionHelloResult(TypedDict):
    # `kurad`.
    server: str
    # The daemon's version.
    version: str
    # Version of this protocol.
    protocol: int
    # What this connection is allowed to be.
    role: str
    # What the role may do, `{uid}` replaced by this user's number.
    grants: List[SessionHelloResultGrants]
    # Names the history that revisions belong to (UUID).
    epoch: str
    # What `enable` accepts.
    capabilities: List[str]
    # Bounds, in bytes or items.
    limits: Dict[str, int]


class _SessionCanResultGrant(TypedDict):
    # Name of the store; `*`: all, or with what is missing any.
    store: str
    # Verbs.
    allow: List[str]


class SessionCanResultGrant(_SessionCanResultGrant, total=False):
    # Its scope; left out where any would do.
    scope: str
    # The secrets' access group, `*`: every one; left out where secrets in no group are meant.
    accessGroup: str


class _SessionCanResult(TypedDict):
    # Whether the call would be begun.
    allowed: bool


class SessionCanResult(_SessionCanResult, total=False):
    # Kind of the error that it would get.
    reason: str
    # What would be right.
    hint: str
    # With `forbidden`: what is missing.
    grant: SessionCanResultGrant


class SessionMethods:
    """The connection: who is there, and what both sides can do."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def hello(
        self,
        *,
        client: Optional[str] = None,
        version: Optional[str] = None,
        launch: Optional[bool] = None,
        enable: Optional[Sequence[str]] = None,
        installation: Optional[str] = None,
        protocol: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SessionHelloResult:
        """Introduces a client and returns the daemon's version, limits and capabilities.

        `client`: Name of the application, for the log and the write bill.
        `version`: Version of the application; needs `client`.
        `launch`: The application has just started: its first connection says so, once a start; needs `client`. Its
            scopes are swept.
        `enable`: Capabilities to switch on for this connection; all must be among those offered.
        `installation`: Which installation of the application this is, as it was named at its installation: secrets
            of another one are not shown to it.
        `protocol`: Version of this protocol that the client speaks; another one than the daemon's is refused.

        Raises ProtocolMismatchError.
        """
        sent: Dict[str, JSON] = {}
        if client is not None:
            sent["client"] = client
        if version is not None:
            sent["version"] = version
        if launch is not None:
            sent["launch"] = launch
        if enable is not None:
            sent["enable"] = enable
        if installation is not None:
            sent["installation"] = installation
        if protocol is not None:
            sent["protocol"] = protocol
        result = self._caller.call("session.hello", sent, timeout)
        return cast(SessionHelloResult, result)

    def can(self, method: str, *, params: JSON = UNSET, timeout: Optional[float] = None) -> SessionCanResult:
        """Tells whether this connection may make a call, without making it.

        `method`: Name of the method.
        `params`: Its parameters; without them only the method is judged.
        """
        sent: Dict[str, JSON] = {"method": method}
        if params is not UNSET:
            sent["params"] = params
        result = self._caller.call("session.can", sent, timeout)
        return cast(SessionCanResult, result)


class AsyncSessionMethods:
    """The connection: who is there, and what both sides can do."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def hello(
        self,
        *,
        client: Optional[str] = None,
        version: Optional[str] = None,
        launch: Optional[bool] = None,
        enable: Optional[Sequence[str]] = None,
        installation: Optional[str] = None,
        protocol: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SessionHelloResult:
        """Introduces a client and returns the daemon's version, limits and capabilities.

        `client`: Name of the application, for the log and the write bill.
        `version`: Version of the application; needs `client`.
        `launch`: The application has just started: its first connection says so, once a start; needs `client`. Its
            scopes are swept.
        `enable`: Capabilities to switch on for this connection; all must be among those offered.
        `installation`: Which installation of the application this is, as it was named at its installation: secrets
            of another one are not shown to it.
        `protocol`: Version of this protocol that the client speaks; another one than the daemon's is refused.

        Raises ProtocolMismatchError.
        """
        sent: Dict[str, JSON] = {}
        if client is not None:
            sent["client"] = client
        if version is not None:
            sent["version"] = version
        if launch is not None:
            sent["launch"] = launch
        if enable is not None:
            sent["enable"] = enable
        if installation is not None:
            sent["installation"] = installation
        if protocol is not None:
            sent["protocol"] = protocol
        result = await self._caller.call("session.hello", sent, timeout)
        return cast(SessionHelloResult, result)

    async def can(self, method: str, *, params: JSON = UNSET, timeout: Optional[float] = None) -> SessionCanResult:
        """Tells whether this connection may make a call, without making it.

        `method`: Name of the method.
        `params`: Its parameters; without them only the method is judged.
        """
        sent: Dict[str, JSON] = {"method": method}
        if params is not UNSET:
            sent["params"] = params
        result = await self._caller.call("session.can", sent, timeout)
        return cast(SessionCanResult, result)
