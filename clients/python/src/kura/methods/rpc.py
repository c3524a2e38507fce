# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Optional, TypedDict, cast

from ..caller import AsyncCaller, Caller
from ..values import JSON


class RpcDiscoverResult(TypedDict):
    # Version of the OpenRPC specification.
    openrpc: str
    # Name and version of this API.
    info: Dict[str, JSON]
    # One object a method.
    methods: List[Dict[str, JSON]]
    # Errors by kind: when they come, what to do.
    components: Dict[str, JSON]


class RpcCancelResult(TypedDict):
    # Whether there was something to end; the request may still be answered with what it has found.
    cancelled: bool


class RpcMethods:
    """The protocol, described by itself."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def discover(self, *, timeout: Optional[float] = None) -> RpcDiscoverResult:
        """Describes every method as an OpenRPC document."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("rpc.discover", sent, timeout)
        return cast(RpcDiscoverResult, result)

    def cancel(self, id: JSON, *, timeout: Optional[float] = None) -> RpcCancelResult:
        """Ends a query, a transfer or a wait of this connection that is under way; its own reply is the error
        `cancelled`.

        `id`: The request's id, written as it was.
        """
        sent: Dict[str, JSON] = {"id": id}
        result = self._caller.call("rpc.cancel", sent, timeout)
        return cast(RpcCancelResult, result)


class AsyncRpcMethods:
    """The protocol, described by itself."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def discover(self, *, timeout: Optional[float] = None) -> RpcDiscoverResult:
        """Describes every method as an OpenRPC document."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("rpc.discover", sent, timeout)
        return cast(RpcDiscoverResult, result)

    async def cancel(self, id: JSON, *, timeout: Optional[float] = None) -> RpcCancelResult:
        """Ends a query, a transfer or a wait of this connection that is under way; its own reply is the error
        `cancelled`.

        `id`: The request's id, written as it was.
        """
        sent: Dict[str, JSON] = {"id": id}
        result = await self._caller.call("rpc.cancel", sent, timeout)
        return cast(RpcCancelResult, result)
