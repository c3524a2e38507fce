# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict, cast

from ..caller import AsyncCaller, Caller
from ..values import JSON


class FaultInjectResult(TypedDict):
    # The fault's number, for `fault.clear`.
    id: int


class _FaultListResultFaults(TypedDict):
    # Its number.
    id: int
    # As in `fault.inject`.
    kind: Literal["full", "sync", "slow", "conflict", "overloaded", "gone", "powerCut"]


class FaultListResultFaults(_FaultListResultFaults, total=False):
    # Whose requests it strikes; left out: all.
    method: str
    # How many requests it strikes yet; left out: as long as it is there.
    left: int
    # As it was injected.
    millis: int


class FaultListResult(TypedDict):
    # In the order in which they came.
    faults: List[FaultListResultFaults]


class FaultClearResult(TypedDict):
    # How many have ended by it.
    cleared: int


class FaultMethods:
    """Faults on demand: what goes wrong in a test, on ephemeral daemons alone."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def inject(
        self,
        kind: Literal["full", "sync", "slow", "conflict", "overloaded", "gone", "powerCut"],
        *,
        method: Optional[str] = None,
        count: Optional[int] = None,
        millis: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> FaultInjectResult:
        """Has something go wrong on purpose, for a test of what an application does then; only on an ephemeral daemon.

        `kind`: `full`: the disk is. `sync`: the next sync fails, and the daemon starts anew. `slow`: requests are
            begun `millis` later. `conflict`: `ifRev` does not hold. `overloaded`: requests are refused. `gone`:
            nobody is there for `millis`. `powerCut`: what is not synced is lost, and the daemon starts anew.
        `method`: With `slow`, `conflict` and `overloaded`: requests of this method alone; without it of all but
            `rpc`, `session` and `fault`.
        `count`: With `slow`, `conflict` and `overloaded`: so many requests. Without it one, and with `slow` all
            until `fault.clear`.
        `millis`: `slow` and `gone` need it; `full` without it lasts until `fault.clear`.

        Raises NotSupportedError, OverloadedError.
        """
        sent: Dict[str, JSON] = {"kind": kind}
        if method is not None:
            sent["method"] = method
        if count is not None:
            sent["count"] = count
        if millis is not None:
            sent["millis"] = millis
        result = self._caller.call("fault.inject", sent, timeout)
        return cast(FaultInjectResult, result)

    def list(self, *, timeout: Optional[float] = None) -> FaultListResult:
        """Lists the faults that have been injected and are not over.

        Raises NotSupportedError.
        """
        sent: Dict[str, JSON] = {}
        result = self._caller.call("fault.list", sent, timeout)
        return cast(FaultListResult, result)

    def clear(self, *, id: Optional[int] = None, timeout: Optional[float] = None) -> FaultClearResult:
        """Ends a fault before its time, or all of them.

        `id`: Its number; without it all.

        Raises NotSupportedError.
        """
        sent: Dict[str, JSON] = {}
        if id is not None:
            sent["id"] = id
        result = self._caller.call("fault.clear", sent, timeout)
        return cast(FaultClearResult, result)


class AsyncFaultMethods:
    """Faults on demand: what goes wrong in a test, on ephemeral daemons alone."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def inject(
        self,
        kind: Literal["full", "sync", "slow", "conflict", "overloaded", "gone", "powerCut"],
        *,
        method: Optional[str] = None,
        count: Optional[int] = None,
        millis: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> FaultInjectResult:
        """Has something go wrong on purpose, for a test of what an application does then; only on an ephemeral daemon.

        `kind`: `full`: the disk is. `sync`: the next sync fails, and the daemon starts anew. `slow`: requests are
            begun `millis` later. `conflict`: `ifRev` does not hold. `overloaded`: requests are refused. `gone`:
            nobody is there for `millis`. `powerCut`: what is not synced is lost, and the daemon starts anew.
        `method`: With `slow`, `conflict` and `overloaded`: requests of this method alone; without it of all but
            `rpc`, `session` and `fault`.
        `count`: With `slow`, `conflict` and `overloaded`: so many requests. Without it one, and with `slow` all
            until `fault.clear`.
        `millis`: `slow` and `gone` need it; `full` without it lasts until `fault.clear`.

        Raises NotSupportedError, OverloadedError.
        """
        sent: Dict[str, JSON] = {"kind": kind}
        if method is not None:
            sent["method"] = method
        if count is not None:
            sent["count"] = count
        if millis is not None:
            sent["millis"] = millis
        result = await self._caller.call("fault.inject", sent, timeout)
        return cast(FaultInjectResult, result)

    async def list(self, *, timeout: Optional[float] = None) -> FaultListResult:
        """Lists the faults that have been injected and are not over.

        Raises NotSupportedError.
        """
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("fault.list", sent, timeout)
        return cast(FaultListResult, result)

    async def clear(self, *, id: Optional[int] = None, timeout: Optional[float] = None) -> FaultClearResult:
        """Ends a fault before its time, or all of them.

        `id`: Its number; without it all.

        Raises NotSupportedError.
        """
        sent: Dict[str, JSON] = {}
        if id is not None:
            sent["id"] = id
        result = await self._caller.call("fault.clear", sent, timeout)
        return cast(FaultClearResult, result)
