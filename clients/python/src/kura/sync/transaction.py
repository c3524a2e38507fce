# Generated from ../aio/transaction.py by generator/: change it there.

"""Calls that are collected and sent together: as one transaction, or side by side."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Dict, List, NoReturn, Optional, Type

from ..caller import Descriptor
from ..errors import KuraError, Lost
from ..methods import Methods
from ..methods.table import METHODS
from ..methods.transaction import TransactionMethods
from ..values import JSON
from ..wire import Request

if TYPE_CHECKING:
    from .client import Kura


class Pending(Dict[str, JSON]):
    """A result that is filled in when the block is over."""

    def __missing__(self, name: str) -> JSON:
        raise KeyError(name if self else f"{name} is known after the block: nothing is sent before its end")


class Outside:
    """A store whose calls do not go into a transaction."""

    def __init__(self, store: str) -> None:
        self._store = store

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise TypeError(
            f"{self._store}.{name} does not go into a transaction, only {', '.join(DURABLE)} do: call it before or after the block, "
            "of the client"
        )

    def __getitem__(self, scope: str) -> NoReturn:
        raise TypeError(f"{self._store} do not go into a transaction, only {', '.join(DURABLE)} do: use the client before or after the block")


# The stores that have operations of a transaction.
DURABLE = tuple(dict.fromkeys(name.split(".")[0] for name in METHODS if METHODS[name].takes_key and not name.startswith("transaction.")))


class Recorder:
    """Takes calls down. Each returns a dict that is filled in when the calls have been answered."""

    def __init__(self) -> None:
        self.calls: List[Dict[str, JSON]] = []
        self.results: List[Dict[str, JSON]] = []

    def call(
        self,
        method: str,
        params: Dict[str, JSON],
        timeout: Optional[float] = None,
        *,
        descriptor: Optional[Descriptor] = None,
        wants_descriptor: bool = False,
    ) -> JSON:
        if descriptor is not None or wants_descriptor:
            raise TypeError(f"{method}: descriptors do not go into a transaction or pipeline; call it by itself")
        self.check(method)
        result: Dict[str, JSON] = Pending()
        self.calls.append({"method": method, "params": params})
        self.results.append(result)
        return result

    def check(self, method: str) -> None:
        """Refuses what cannot be collected."""


class OperationRecorder(Recorder):
    """Takes down what can be an operation of a transaction."""

    def check(self, method: str) -> None:
        if METHODS[method].is_read:
            raise TypeError(f"{method} is no change: read before the transaction, and let if_rev hold what was read")


class Transactions(TransactionMethods):
    """`transaction.apply`; called, `client.transaction()`, it is a block whose changes are made together."""

    def __init__(self, caller: Kura) -> None:
        super().__init__(caller)
        self._client = caller

    def __call__(self, timeout: Optional[float] = None) -> Transaction:
        return Transaction(self._client, timeout)


class Transaction(Methods):
    """Changes in several stores, made in one step when the block ends, or none of them when it raises.

    Within the block the stores' methods return at once, and nothing is awaited; their results are empty dicts, which are
    filled in at the end.
    """

    def __init__(self, client: Kura, timeout: Optional[float]) -> None:
        self._recorder = OperationRecorder()
        super().__init__(self._recorder)
        for store in [name for name, methods in vars(self).items() if methods is not self._recorder and name not in DURABLE]:
            setattr(self, store, Outside(store))
        self._client = client
        self._timeout = timeout
        # Of all changes, once they are made.
        self.rev: Optional[int] = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} " + (f"of {len(self._recorder.calls)} calls>" if self.rev is None else f"made, rev {self.rev}>")

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        if kind is None:
            self.commit()

    def commit(self) -> None:
        """Makes the changes. The end of the block does so by itself."""
        calls, self._recorder.calls = self._recorder.calls, []
        if not calls:
            return
        result = self._client.transaction.apply(calls, timeout=self._timeout)  # type: ignore[arg-type]
        for empty, told in zip(self._recorder.results, result["results"]):
            empty.update(told)
        self._recorder.results = []
        self.rev = result["rev"]


class Pipeline(Methods):
    """Calls that are sent at once when the block ends, each for itself: one that fails changes nothing about the others.

    Their results are empty dicts, which are filled in at the end, and nothing is awaited before. `errors` has what went wrong by the call's place; the first of
    them is raised at the end of the block.
    """

    def __init__(self, client: Kura) -> None:
        self._recorder = Recorder()
        super().__init__(self._recorder)
        self._client = client
        self.errors: Dict[int, KuraError] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._recorder.calls)} calls>"

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        if kind is None:
            self.send()
            for index in sorted(self.errors):
                raise self.errors[index]

    def send(self, timeout: Optional[float] = None) -> List[Dict[str, JSON]]:
        """Sends what was collected, and returns the results in the order of the calls."""
        calls, self._recorder.calls = self._recorder.calls, []
        results, self._recorder.results = self._recorder.results, []
        self.errors = {}
        client = self._client
        deadline = time.monotonic() + (client.timeout if timeout is None else timeout)
        keys = [client.key_of(call["method"], call["params"]) for call in calls]
        requests = [Request(call["method"], call["params"], decimals=client.decimals) for call in calls]
        connection = client.connected(deadline)
        try:
            connection.send_all(requests, deadline)
        except Lost:
            # None was sent; each finds its way below.
            pass
        try:
            for index, request in enumerate(requests):
                if not request.is_ready:
                    connection.wait(request, deadline)
                if request.is_ready and request.error is None and request.failure is None:
                    results[index].update(request.result)
                    continue
                try:
                    # What does not come to an end here is judged, and sent again where that is safe, like any other call.
                    told, _ = client.perform(request, keys[index], deadline, sent_on=connection)
                    results[index].update(told)
                except KuraError as error:
                    self.errors[index] = error
        except BaseException:
            for request in requests:
                connection.abandon(request)
            raise
        return results
