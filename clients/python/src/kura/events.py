"""What a watch tells."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

from .values import JSON


class Change(NamedTuple):
    """The newest state of one item that has changed.

    `value` is there when the watch asked for `values`. `about` has what is told besides, as it came: `mode`, `tag` and
    `prefix` of what was invalidated in a cache, `variant` of a blob.
    """

    store: str
    scope: Optional[str]
    # None when the scope as a whole was dropped.
    key: Optional[str]
    rev: int
    value: JSON
    is_deleted: bool
    is_dropped: bool
    # What the writer called itself.
    client: Optional[str]
    about: Mapping[str, Any]


class Resync(NamedTuple):
    """Something was missed, or belongs to another history: read the items themselves; what follows `rev` is told as ever.

    `reason`: `compacted` and `overflow` (what changed meanwhile is no longer kept), `lost` (changes that were acknowledged with
    `durable: false` went with a loss of power), `epochChanged` (a restore, a recovery, or
    for caches the daemon's restart: every revision that was remembered before says nothing any more).
    """

    reason: str
    rev: int
    epoch: str


Event = Union[Change, Resync]


def change_of(about: Mapping[str, Any]) -> Change:
    """A change as `changes.list` and `changes.wait` return it."""
    return Change(
        about["store"],
        about.get("scope"),
        about.get("key"),
        about["rev"],
        about.get("value"),
        bool(about.get("deleted", False)),
        bool(about.get("dropped", False)),
        about.get("client"),
        about,
    )


class Document(NamedTuple):
    """A document as it was read."""

    id: str
    value: JSON
    rev: int
    # Left out by queries.
    version: Optional[int] = None
    created_at: Optional[str] = None
    updated_at: Optional[str] = None
    attachments: List[Dict[str, Any]] = []


class Index(NamedTuple):
    """An index of a collection, as it stands."""

    name: str
    # Paths, the first counts first.
    fields: List[str]
    unique: bool
    # The selector of the documents that it is about; None for all.
    where: Optional[Mapping[str, JSON]]
    # "building", "ready", or "failed": two documents (`conflict`) are equal where none must be.
    state: str
    entries: int
    conflict: List[str] = []


class Found(NamedTuple):
    """A document that a search has found; `snippets` by field."""

    id: str
    value: JSON
    rev: int
    rank: float
    snippets: Mapping[str, str]


class LiveList:
    """The documents that a live query shows, kept by what it is told."""

    def __init__(self) -> None:
        self.documents: List[Document] = []
        self.rev: Optional[int] = None
        self._coming: List[Document] = []

    def apply(self, told: Mapping[str, Any]) -> bool:
        """Takes one notification in. Whether the list is another one now, and whole."""
        if told.get("snapshot"):
            # Documents without a value are those that we have.
            kept = {document.id: document for document in self.documents}
            for part in told["documents"]:
                value = part["value"] if "value" in part else kept[part["id"]].value
                self._coming.append(Document(part["id"], value, part["rev"]))
            if told.get("hasMore"):
                return False
            is_new = self.rev is None or self._coming != self.documents
            self.documents, self._coming = self._coming, []
            self.rev = told["rev"]
            return is_new
        changes = told.get("changes", [])
        gone = {change["id"] for change in changes if change["change"] in ("removed", "moved")}
        new = {change["id"]: change for change in changes if change["change"] == "updated"}
        documents = [
            Document(document.id, new[document.id]["value"], new[document.id]["rev"]) if document.id in new else document
            for document in self.documents
            if document.id not in gone
        ]
        for change in changes:
            if change["change"] in ("inserted", "moved"):
                documents.insert(change["position"], Document(change["id"], change["value"], change["rev"]))
        self.documents = documents
        self.rev = told["rev"]
        return bool(changes)

    def begin_again(self) -> None:
        """Another subscription tells a snapshot first."""
        self._coming = []
