# Generated from ../aio/documents.py by generator/: change it there.

"""Documents: a collection of JSON values that are found by what is in them."""

from __future__ import annotations

import os
import tempfile
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Iterator, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ..caller import Caller, Descriptor
from ..descriptors import Contents, descriptor_of
from ..edits import edited
from ..errors import next_cursor
from ..events import Document, Found, Index
from ..methods.documents import DocumentsMethods, DocumentsExportResult, DocumentsImportResult, DocumentsPutManyDocuments
from ..methods.kinds import ConflictError, IntegrityError, NotFoundError, UniqueViolationError
from ..sources import NewFile, Spool, stream_of
from ..stores import Scopes
from ..threads import beside, items_of, opened, pieces_of
from ..values import JSON, UNSET, encoded
from ..wire import Progress
from .contents import PIECE_BYTES, Source, pass_on
from .watch import LiveQuery, Watch

if TYPE_CHECKING:
    from .client import Kura


Order = Sequence[Union[str, Mapping[str, str]]]


class Put(NamedTuple):
    """What was stored."""

    id: str
    rev: int


def _line(record: Any, decimals: bool) -> bytes:
    """A line of an import."""
    if isinstance(record, (bytes, str)):
        return (record.encode() if isinstance(record, str) else record).rstrip(b"\n") + b"\n"
    if isinstance(record, tuple) and len(record) in (2, len(Document._fields)):
        record = {"id": record[0], "value": record[1]}
    return encoded(record, "the record", decimals) + b"\n"


def _order(sort: Optional[Order]) -> Optional[Order]:
    """Refuses what would quietly be another order, or none."""
    if sort is None:
        return None
    if isinstance(sort, (str, Mapping)):
        raise TypeError(f"sort is a list, of the field that counts first first: sort=[{sort!r}]")
    for field in sort:
        if isinstance(field, str) and field[:1] in ("-", "+"):
            order = "desc" if field[0] == "-" else "asc"
            raise ValueError(f"sort has {field!r}: write {{{field[1:]!r}: {order!r}}}. A field with such a name is {{{field!r}: 'asc'}}")
    return sort


def _row(record: Any, id_field: Optional[str]) -> DocumentsPutManyDocuments:
    """One of several documents that are put."""
    if isinstance(record, tuple) and len(record) in (2, len(Document._fields)) and isinstance(record[0], str):
        return {"id": record[0], "value": record[1]}
    if id_field is not None and isinstance(record, Mapping):
        if not isinstance(record.get(id_field), str):
            raise TypeError(f"put_many: a value without text in its {id_field!r}, which is to be its id: nothing was stored")
        return {"id": record[id_field], "value": record}
    raise TypeError(
        f"put_many takes a dict by ids, or (id, value) pairs, or Documents, and this is a {type(record).__name__}: nothing was stored. "
        "Values that have their ids within are put with id_field='id'"
    )


def _definition(index: Index) -> Dict[str, JSON]:
    """As it is configured."""
    definition: Dict[str, JSON] = {"name": index.name, "fields": index.fields, "unique": index.unique}
    if index.where is not None:
        definition["where"] = index.where
    return definition


class Documents(Scopes, DocumentsMethods):
    """All methods of documents; `documents["notes"]` is one collection."""

    def __getitem__(self, collection: str) -> Collection:
        return Collection(self._caller, collection)


class Collection:
    """The documents of one collection, each a JSON value of at most 8 MiB."""

    def __init__(self, caller: Caller, name: str) -> None:
        self._caller = caller
        self._methods = DocumentsMethods(caller)
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    # MARK: Reading

    def get(self, id: str) -> Optional[Document]:
        """The document; None when there is none."""
        found = self._methods.get(self.name, id)
        if found["rev"] == 0:
            return None
        return Document(
            id,
            found["value"],
            found["rev"],
            found.get("version"),
            found.get("createdAt"),
            found.get("updatedAt"),
            [dict(attachment) for attachment in found.get("attachments", [])],
        )

    def get_many(self, ids: Sequence[str]) -> Dict[str, Document]:
        """Those that are there, by id, as of one moment."""
        result = self._methods.get_many(self.name, ids)
        return {part["id"]: Document(part["id"], part["value"], part["rev"]) for part in result["documents"]}

    def count(self, where: JSON = UNSET, allow_scan: Optional[bool] = None) -> int:
        return (self._methods.count(self.name, where=where, allow_scan=allow_scan))["count"]

    def find(
        self,
        where: JSON = UNSET,
        *,
        sort: Optional[Order] = None,
        fields: Optional[Sequence[str]] = None,
        limit: Optional[int] = None,
        page: Optional[int] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
    ) -> Iterator[Document]:
        """Documents that a selector fits (proto-docs/queries.md), fetched a page at a time while they are iterated over.

        `limit`: how many at most, of all pages; `page`: how many are fetched at once, 1,000 at most; 100 when left
        out, and 1,000 with `allow_scan`, where each page looks at all documents anew.
        """
        sort = _order(sort)
        page = page or (1000 if allow_scan else 100)
        cursor: Optional[str] = None
        left = limit
        while left is None or left > 0:
            size = page if left is None else min(page, left)
            result = self._methods.find(
                self.name, where=where, sort=sort, fields=fields, limit=size, cursor=cursor, allow_scan=allow_scan, timeout_ms=timeout_ms
            )
            for part in result["documents"]:
                yield Document(part["id"], part["value"], part["rev"])
            left = None if left is None else left - len(result["documents"])
            cursor = next_cursor(result, cursor)
            if cursor is None:
                return

    def first(self, where: JSON = UNSET, *, sort: Optional[Order] = None) -> Optional[Document]:
        """The first that the selector fits; None when there is none."""
        result = self._methods.find(self.name, where=where, sort=_order(sort), limit=1)
        for part in result["documents"]:
            return Document(part["id"], part["value"], part["rev"])
        return None

    def each(self, page: int = 100) -> Iterator[Document]:
        """All documents, in the order in which they were first written, a page at a time."""
        cursor: Optional[str] = None
        while True:
            result = self._methods.list(self.name, cursor=cursor, limit=page)
            for part in result["documents"]:
                yield Document(part["id"], part["value"], part["rev"])
            cursor = next_cursor(result, cursor)
            if cursor is None:
                return

    def search(self, query: str, *, where: JSON = UNSET, limit: Optional[int] = None, page: int = 20) -> Iterator[Found]:
        """Documents by words (proto-docs/search.md), the best first; the collection needs `searchFields`."""
        cursor: Optional[str] = None
        left = limit
        while left is None or left > 0:
            size = page if left is None else min(page, left)
            result = self._methods.search(self.name, query, where=where, limit=size, cursor=cursor)
            for part in result["documents"]:
                yield Found(part["id"], part["value"], part["rev"], float(part["rank"]), part.get("snippets", {}))
            left = None if left is None else left - len(result["documents"])
            cursor = next_cursor(result, cursor)
            if cursor is None:
                return

    # MARK: Writing

    def put(self, value: JSON, *also_id: Optional[str], id: Optional[str] = None, if_rev: Optional[int] = None) -> Put:
        """Stores a document, whole, under its id: `put({…}, "rice")`, or `put({…}, id="rice")`.

        Without an id the daemon makes one, which sorts behind earlier ones. A document that is text takes its id by name,
        `put("text", id="rice")`: `put("rice", "text")` is a TypeError, as it may be the wrong way round.
        """
        if also_id:
            if len(also_id) > 1 or id is not None:
                raise TypeError("put takes a value, and one id: put(value, id=…)")
            id = also_id[0]
            if id is not None and not isinstance(id, str):
                raise TypeError(f"the value comes first, and then the id, which is text and not of type {type(id).__name__}: put(value, id=…)")
            if isinstance(value, str) and id is not None:
                raise TypeError(f"the value comes first, and then the id: when the document is to be a text, write put(…, id={id!r})")
        result = self._methods.put(self.name, value, id=id, if_rev=if_rev)
        return Put(result["id"], result["rev"])

    def put_many(self, documents: Union[Mapping[str, JSON], Iterable[Any]], *, id_field: Optional[str] = None) -> int:
        """Stores several: all or none, under one revision, which is returned. A dict by their ids; or (id, value) pairs, Documents, or,
        with `id_field`, values that have their ids in that member."""
        if isinstance(documents, Mapping):
            documents = documents.items()
        rows = [_row(record, id_field) for record in documents]
        return (self._methods.put_many(self.name, rows))["rev"]

    def delete(self, id: str, *, if_rev: Optional[int] = None) -> bool:
        """Whether there was something to remove."""
        return (self._methods.delete(self.name, id, if_rev=if_rev))["deleted"]

    def delete_where(self, where: JSON, *, allow_scan: Optional[bool] = None) -> int:
        """Deletes what the selector fits, and returns how many those were."""
        return (self._methods.delete_many(self.name, where=where, allow_scan=allow_scan))["deleted"]

    def patch(self, id: str, merge: JSON, *, if_rev: Optional[int] = None) -> int:
        """Changes parts of a document; returns its revision. A dict has members that take the place of the document's (RFC 7396: None
        removes one), a list the operations of a JSON Patch (RFC 6902). `put` replaces a whole document."""
        if isinstance(merge, Mapping):
            return (self._methods.patch(self.name, id, merge_patch=merge, if_rev=if_rev))["rev"]
        if isinstance(merge, (list, tuple)):
            return (self._methods.patch(self.name, id, json_patch=merge, if_rev=if_rev))["rev"]
        raise TypeError("a patch is a dict or a list of operations; put() replaces a whole document")

    def edit(self, id: str, change: Callable[[JSON], JSON], default: JSON = UNSET) -> Document:
        """Stores what `change` returns for the document's value, anew when somebody else was faster.

        `change` may be called several times. It has to return what is to be stored, also when it changes that in place: nothing is
        stored, and it is a TypeError, when it returns None (kura.NULL stores null), or has changed the value in place and returns
        something of another kind. An absent document is a NotFoundError (and KeyError) unless there is a default.
        """
        while True:
            found = self._methods.get(self.name, id)
            is_stored = found["rev"] != 0
            if not is_stored and default is UNSET:
                about = {"kind": "notFound", "retryable": False, "collection": self.name, "id": id}
                raise NotFoundError("documents.get", "Not found", {**about, "hint": "edit takes a default for what is not there"})
            value = edited(change, found["value"] if is_stored else deepcopy(default), is_stored)
            try:
                put = self._methods.put(self.name, value, id=id, if_rev=found["rev"])
                return Document(id, value, put["rev"])
            except ConflictError:
                continue

    # MARK: Attachments

    def attach(
        self,
        id: str,
        name: str,
        data: Source,
        content_type: Optional[str] = None,
        *,
        if_rev: Optional[int] = None,
        progress: Optional[Progress] = None,
    ) -> int:
        """Gives a document an attachment: bytes; a file, whole, which is passed by its descriptor; or what can be read or iterated
        over for bytes. Returns the revision."""

        def call(**contents: Any) -> int:
            return (self._methods.attach(self.name, id, name, content_type=content_type, if_rev=if_rev, **contents))["rev"]

        return pass_on(data, call, progress)

    def attachment(self, id: str, name: str, *, verify: bool = True) -> Contents:
        """An attachment, mapped and not copied. Raises NotFoundError, and IntegrityError when it is damaged.

        All of it is read for that: the daemon, which passes it by descriptor, has not. `verify=False` leaves it unread.
        """
        found = self._methods.attachment(self.name, id, name, as_="fd")
        contents = Contents(found["fd"])
        if verify and not beside(lambda: contents.is_what(found["digest"])):
            contents.close()
            about = {"kind": "integrity", "retryable": False, "collection": self.name, "id": id}
            hint = "the attachment's content is not what its digest says: 'kura storage check' has the daemon tell of it"
            raise IntegrityError("documents.attachment", "Integrity", {**about, "hint": hint})
        return contents

    # MARK: Indexes

    def indexes(self) -> List[Index]:
        """How the collection's indexes stand, whoever has made them."""
        return (self._described())[0]

    def add_index(
        self,
        name: str,
        fields: Sequence[str],
        *,
        unique: bool = False,
        where: Optional[Mapping[str, JSON]] = None,
        wait: bool = True,
    ) -> Index:
        """Has the collection have an index, and waits until it is built; while it is, documents are read and written.

        One that is there as it is to be stays, so every start of an application can say the same; another one of this name is
        built anew. Those of other names stay, also when somebody adds one at the same moment. Raises UniqueViolationError when
        two documents stand in the way of a unique one.
        """
        wanted: Dict[str, JSON] = {"name": name, "fields": list(fields), "unique": unique}
        if where is not None:
            wanted["where"] = where
        while True:
            present, rev = self._described()
            known = next((index for index in present if index.name == name), None)
            if known is not None and _definition(known) == wanted and known.state != "failed":
                break
            others = [_definition(index) for index in present if index.name != name]
            if self._configured([*others, wanted], rev):
                break
        while True:
            found = next((index for index in (self._described(wait_ms=10_000 if wait else None))[0] if index.name == name), None)
            if found is None:
                raise KeyError(name)
            if found.state == "failed":
                text = f"{' and '.join(found.conflict)} are equal: change or delete one of the two, then add the index again"
                data = {"kind": "uniqueViolation", "retryable": False, "indexName": name, "hint": text}
                raise UniqueViolationError("documents.configure", "Unique violation", data)
            if found.state == "ready" or not wait:
                return found

    def remove_index(self, name: str) -> bool:
        """Takes an index away. Whether there was one."""
        while True:
            present, rev = self._described()
            if all(index.name != name for index in present):
                return False
            if self._configured([_definition(index) for index in present if index.name != name], rev):
                return True

    def _described(self, wait_ms: Optional[int] = None) -> Tuple[List[Index], int]:
        """The indexes, but for those that references have, and the revision of what is configured."""
        about = self._methods.describe(self.name, wait_ms=wait_ms)
        indexes = [
            Index(
                part["name"],
                list(part["fields"]),
                part["unique"],
                part.get("where"),
                part["state"],
                part["entries"],
                list(part.get("conflict", [])),
            )
            for part in about["indexes"]
            if not part.get("each")
        ]
        return indexes, about["rev"]

    def _configured(self, indexes: List[Dict[str, JSON]], rev: int) -> bool:
        """The whole list; False when somebody else was faster."""
        try:
            self._methods.configure(self.name, indexes=indexes, if_rev=rev)
        except ConflictError:
            return False
        return True

    # MARK: As a whole

    def export_to(
        self, target: Union[str, "os.PathLike[str]", Descriptor], *, attachments: bool = False, replace: bool = False,
        progress: Optional[Progress] = None,
    ) -> DocumentsExportResult:  # fmt: skip
        """Writes all documents to a file, a line of JSON each: `{"id":…,"value":…}`, as they are stored, digit by digit.

        A path becomes a file when all of it is there; one that is there is left alone (FileExistsError) unless `replace`.
        """
        if isinstance(target, (str, os.PathLike)):
            with NewFile(target, replace) as file:
                result = self._export(file, attachments, progress)
                exported = result.get("exported")
                beside(lambda: file.expect_lines(exported))
                beside(file.finish)
            return result
        return self._export(target, attachments, progress)

    def export_lines(self, *, attachments: bool = False) -> Iterator[bytes]:
        """The same lines one after the other, from a temporary file: for gzip, a socket, a filter."""
        with tempfile.TemporaryFile(prefix="kura-") as file:
            self._export(file, attachments, None)
            file.seek(0)
            for line in file:
                yield line

    def import_from(
        self,
        source: Union[str, "os.PathLike[str]", Source, Iterable[Any]],
        *,
        id_field: Optional[str] = None,
        skip_bad: bool = False,
        attachments: bool = False,
        progress: Optional[Progress] = None,
    ) -> DocumentsImportResult:
        """Stores documents from lines of JSON, or one array: a path, a file from where it stands, a pipe, whatever can be read for
        bytes; or from what is iterated over: Documents, (id, value), values, lines; a dict by its ids.

        Each line is `{"id":…,"value":…}`, or a value, which gets the id in its `id_field`, or a new one. A bad line ends the
        import (BadRecordError; what came before it is stored), or with `skip_bad` is passed over and told in `errors`. An import
        that was cut off (OutcomeUnknownError) can be made again: what has ids is not stored twice.
        """
        params: Dict[str, Any] = {"collection": self.name, "fd": True}
        options = {"idField": id_field, "onError": "skip" if skip_bad else None, "attachments": attachments or None}
        params.update({key: value for key, value in options.items() if value is not None})
        if isinstance(source, (str, os.PathLike)):
            with open(source, "rb") as file:
                return self._import(file, params, progress)
        number = stream_of(source)
        if number is not None:
            return self._import(number, params, progress)
        with Spool() as spool:
            if isinstance(source, (bytes, bytearray, memoryview)):
                spool.add(source)
            elif hasattr(source, "read"):
                for piece in pieces_of(source, PIECE_BYTES):
                    spool.add(piece)
            else:
                for record in items_of(source.items() if isinstance(source, Mapping) else source):
                    spool.add(_line(record, self._client().decimals))
            with descriptor_of(spool.contents()) as descriptor:
                return self._import(descriptor, params, progress)

    def _export(self, target: Descriptor, attachments: bool, progress: Optional[Progress]) -> DocumentsExportResult:
        params: Dict[str, Any] = {"collection": self.name, "fd": True}
        if attachments:
            params["attachments"] = True
        result: DocumentsExportResult = self._client().call("documents.export", params, descriptor=target, progress=progress)
        return result

    def _import(self, source: Any, params: Dict[str, Any], progress: Optional[Progress]) -> DocumentsImportResult:
        result: DocumentsImportResult = self._client().call("documents.import", params, descriptor=source, progress=progress)
        return result

    # MARK: Following

    def live(
        self,
        where: JSON = UNSET,
        *,
        sort: Optional[Order] = None,
        limit: Optional[int] = None,
        patience: Optional[float] = None,
    ) -> LiveQuery:
        """A list of what the selector fits that follows everybody's changes."""
        params: Dict[str, Any] = {"collection": self.name}
        if where is not UNSET:
            params["where"] = where
        if sort is not None:
            params["sort"] = list(_order(sort) or ())
        if limit is not None:
            params["limit"] = limit
        return opened(LiveQuery(self._client(), params, patience))

    def watch(self, *, values: bool = False, after_rev: Optional[int] = None, epoch: Optional[str] = None) -> Watch:
        """Follows what changes in the collection."""
        return self._client().watch(
            stores=["documents"], scope=self.name, values=values, after_rev=after_rev, epoch=epoch
        )

    def _client(self) -> Kura:
        from .client import Kura

        if not isinstance(self._caller, Kura):
            raise TypeError("a transaction or pipeline only collects calls: follow changes with the client itself")
        return self._caller
