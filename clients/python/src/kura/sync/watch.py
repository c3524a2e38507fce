# Generated from ../aio/watch.py by generator/: change it there.

"""Following changes, over reconnects and restarts."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Optional, Tuple

from ..errors import KuraError
from ..events import Document, Event, LiveList, Resync, change_of
from ..methods.kinds import KINDS, CompactedError, EpochChangedError
from ..threads import Opening, Connection
from ..values import JSON, UNSET
from ..wire import Backlog, Request

if TYPE_CHECKING:
    from .client import Kura


class Subscription:
    """A subscription that begins again, from its place, when its connection is lost."""

    def __init__(self, client: Kura, method: str, params: Dict[str, JSON], patience: Optional[float]) -> None:
        self._client = client
        self._method = method
        self._params = params
        self._patience = patience
        self._backlog: Optional[Backlog] = None
        self._connection: Optional[Connection] = None
        self._is_closed = False
        # Where it begins again: what follows this revision, of this history.
        self.rev: Optional[int] = None
        self.epoch: Optional[str] = None
        # Why something was missed, until that has been told.
        self._missed: Optional[str] = None

    def close(self) -> None:
        """Ends it; whoever waits for it stops waiting."""
        self._is_closed = True
        if self._connection is not None and self._backlog is not None:
            self._connection.end(self._backlog)

    def subscribe(self, deadline: Optional[float] = None, patience: Optional[float] = UNSET) -> Optional[Resync]:
        """Begins, or goes on from its place. Returns what has to be told when that is not possible."""
        while True:
            params = dict(self._params)
            if self.rev is not None and self._missed is None:
                params["afterRev"] = self.rev
                if self.epoch is not None:
                    params["epoch"] = self.epoch
            request = Request(self._method, params, decimals=self._client.decimals)
            request.backlog = backlog = Backlog(self._method.split(".")[0])
            try:
                result, connection = self._client.perform(request, None, deadline, patience)
            except (EpochChangedError, CompactedError) as error:
                # Who has named no revision would be answered the same again.
                if "afterRev" not in params:
                    raise
                self._missed = error.kind
                continue
            self._backlog, self._connection = backlog, connection
            if self.rev is None or self._missed is not None:
                self.rev = result["rev"]
            self.epoch = result["epoch"]
            missed, self._missed = self._missed, None
            return None if missed is None else Resync(missed, result["rev"], result["epoch"])

    def next_event(self, deadline: Optional[float]) -> Optional[Tuple[str, Dict[str, Any]]]:
        """What it is told next; None when the time is over or it is closed. ("resync", …) when something was missed."""
        while not self._is_closed:
            backlog, connection = self._backlog, self._connection
            if backlog is None or connection is None or (not backlog.events and (backlog.is_lost or connection.is_lost)):
                resync = self.subscribe(deadline, self._patience)
                if resync is not None:
                    return "resync", resync._asdict()
            else:
                event = backlog.take()
                if event is not None:
                    return event
                if not connection.wait(backlog, deadline):
                    return None
        return None


class Watch(Opening):
    """Changes as they happen: iterate over it.

    `rev` and `epoch` are the place that a later watch can begin from: everything up to there has been given out. A
    watch that nobody iterates over costs nothing but its place: it goes on from there.
    """

    def __init__(
        self, client: Kura, params: Dict[str, JSON], rev: Optional[int], epoch: Optional[str], patience: Optional[float]
    ) -> None:
        self._subscription = Subscription(client, "changes.watch", params, patience)
        self._subscription.rev, self._subscription.epoch = rev, epoch
        self._coming: Deque[Event] = deque()
        # The place that has been reached when what is coming has been given out.
        self._reached: Optional[int] = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} after rev {self.rev}>"

    @property
    def rev(self) -> int:
        return self._subscription.rev or 0

    @property
    def epoch(self) -> str:
        return self._subscription.epoch or ""

    def begin(self) -> None:
        """Subscribes; what changes from then on is told."""
        resync = self._subscription.subscribe(time.monotonic() + self._subscription._client.timeout)
        if resync is not None:
            self._coming.append(resync)

    def close(self) -> None:
        """Ends it; whoever waits in an iteration comes to its end."""
        self._subscription.close()

    def __enter__(self) -> Watch:
        return self.begun()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> Event:
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next change, waited for; None when `timeout` seconds are over, or the watch is closed."""
        self.begun()
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._coming:
            told = self._subscription.next_event(deadline)
            if told is None:
                return None
            self._take(*told)
        event = self._coming.popleft()
        if not self._coming and self._reached is not None:
            self._subscription.rev, self._reached = self._reached, None
        return event

    def next_batch(self, timeout: Optional[float] = None) -> List[Event]:
        """All changes that came together, those of one transaction always; none when the time is over."""
        event = self.next(timeout)
        batch = [] if event is None else [event]
        while self._coming:
            following = self.next()
            assert following is not None
            batch.append(following)
        return batch

    def _take(self, event: str, params: Dict[str, Any]) -> None:
        subscription = self._subscription
        if event == "resync":
            self._coming.append(Resync(**params))
        elif event == "overflow":
            subscription.rev = params["resyncRev"]
            self._coming.append(Resync("overflow", params["resyncRev"], self.epoch))
        elif event == "lost":
            subscription.rev = params["toRev"]
            self._coming.append(Resync("lost", params["toRev"], self.epoch))
        elif event == "changed":
            self._coming.extend(change_of(change) for change in params["changes"])
            if self._coming:
                self._reached = params["rev"]
            else:
                subscription.rev = params["rev"]


class LiveQuery(Opening):
    """The documents that match, in their order, kept up to date: iterate for the list after each change of it."""

    def __init__(self, client: Kura, params: Dict[str, JSON], patience: Optional[float]) -> None:
        self._subscription = Subscription(client, "documents.watch", params, patience)
        self._list = LiveList()
        self._backlog: Optional[Backlog] = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.documents)} documents>"

    @property
    def documents(self) -> List[Document]:
        """The list as it was told last. Do not change it."""
        return self._list.documents

    @property
    def rev(self) -> Optional[int]:
        """What the list is as of."""
        return self._list.rev

    def begin(self) -> None:
        self._subscription.subscribe(time.monotonic() + self._subscription._client.timeout)
        # The place is that of what has been told, which is nothing yet.
        self._subscription.rev = None

    def close(self) -> None:
        self._subscription.close()

    def __enter__(self) -> LiveQuery:
        return self.begun()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> LiveQuery:
        return self

    def __next__(self) -> List[Document]:
        documents = self.next()
        if documents is None:
            raise StopIteration
        return documents

    def next(self, timeout: Optional[float] = None) -> Optional[List[Document]]:
        """The list when it has changed, waited for; None when `timeout` seconds are over, or the query is closed."""
        self.begun()
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            told = self._subscription.next_event(deadline)
            if told is None:
                return None
            event, params = told
            if event == "ended":
                self.close()
                error = params["error"]
                kind = KINDS.get(error.get("data", {}).get("kind", ""))
                raise kind("documents.watch", error["message"], error["data"]) if kind else KuraError(error["message"])
            if event != "changed":
                # Another history: the snapshot that follows has everything.
                self._list = LiveList()
                continue
            if self._backlog is not self._subscription._backlog:
                self._backlog = self._subscription._backlog
                self._list.begin_again()
            is_new = self._list.apply(params)
            self._subscription.rev = self._list.rev
            if is_new:
                return self.documents


