# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Literal, Mapping, Optional, Sequence, TypedDict, cast

from ..caller import AsyncCaller, Caller, Descriptor
from ..stores import Store
from ..values import JSON, UNSET


class DocumentsPutResultWarning(TypedDict):
    # The place in the document, a JSON pointer.
    path: str
    # What the schema asks for there.
    message: str


class _DocumentsPutResult(TypedDict):
    # The document's id.
    id: str
    # Revision of this change.
    rev: int


class DocumentsPutResult(_DocumentsPutResult, total=False):
    # The document breaks the collection's schema and is stored all the same.
    warning: DocumentsPutResultWarning
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class _DocumentsGetResultAttachments(TypedDict):
    # Its name.
    name: str
    # The content's bytes.
    bytes: int
    # The content's BLAKE2b-256 in hexadecimal.
    digest: str


class DocumentsGetResultAttachments(_DocumentsGetResultAttachments, total=False):
    # Its media type, when it was given one.
    contentType: str


class _DocumentsGetResult(TypedDict):
    # Revision of the item's last change; 0 when it is absent.
    rev: int


class DocumentsGetResult(_DocumentsGetResult, total=False):
    # The document; left out when absent and no default is given.
    value: JSON
    # How many times it has been written; left out when absent.
    version: int
    # When it was first written.
    createdAt: str
    # When it was last written.
    updatedAt: str
    # Its attachments in the order of their names' bytes; left out when there are none.
    attachments: List[DocumentsGetResultAttachments]
    # With `expand`: the documents that are referred to, each once, by collection and id: `{"value":…,"rev":…}`, or
    # `{"rev":0}` where there is none.
    expanded: Dict[str, Dict[str, JSON]]


class DocumentsGetManyResultDocuments(TypedDict):
    # The document's id.
    id: str
    # The document.
    value: JSON
    # Revision of the item's last change; 0 when it is absent.
    rev: int


class _DocumentsGetManyResult(TypedDict):
    # Those that exist, in the order asked for.
    documents: List[DocumentsGetManyResultDocuments]
    # Ids that are absent.
    missing: List[str]
    # Newest revision that the answer takes into account.
    rev: int


class DocumentsGetManyResult(_DocumentsGetManyResult, total=False):
    # With `expand`: the documents that are referred to, each once, by collection and id: `{"value":…,"rev":…}`, or
    # `{"rev":0}` where there is none.
    expanded: Dict[str, Dict[str, JSON]]


class _DocumentsHistoryResultVersions(TypedDict):
    # Revision of the change that made it.
    rev: int
    # When that was.
    updatedAt: str


class DocumentsHistoryResultVersions(_DocumentsHistoryResultVersions, total=False):
    # True when the change deleted the document; left out otherwise.
    deleted: bool
    # Size of the value; left out when deleted.
    bytes: int
    # With `values`: the document; left out when deleted.
    value: JSON
    # The top-level members in which it differs from the version before; left out where all may differ.
    members: List[str]
    # What the writer called itself; left out when it did not.
    client: str


class DocumentsHistoryResult(TypedDict):
    # The newest first.
    versions: List[DocumentsHistoryResultVersions]
    # The list ends with the document's first version; false when the log does not reach back so far, too.
    complete: bool
    # There are older ones to ask for with `beforeRev`.
    hasMore: bool


class DocumentsPutManyResultWarnings(TypedDict):
    # Its position in the list.
    index: int
    # The place in the document, a JSON pointer.
    path: str
    # What the schema asks for there.
    message: str


class _DocumentsPutManyResult(TypedDict):
    # The ids, in the order given.
    ids: List[str]
    # Revision of this change.
    rev: int


class DocumentsPutManyResult(_DocumentsPutManyResult, total=False):
    # Documents that break the collection's schema and are stored all the same, the first 100; left out when none
    # does.
    warnings: List[DocumentsPutManyResultWarnings]
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class _DocumentsPutManyDocuments(TypedDict):
    # The document.
    value: JSON


class DocumentsPutManyDocuments(_DocumentsPutManyDocuments, total=False):
    # Its name; a new UUIDv7 when absent.
    id: str
    # Write only when the item's revision is this one; 0: only when it is absent.
    ifRev: int


class _DocumentsDeleteResult(TypedDict):
    # Revision of this change; 0 when the document was absent.
    rev: int
    # Whether there was something to delete.
    deleted: bool


class DocumentsDeleteResult(_DocumentsDeleteResult, total=False):
    # Documents that were deleted because they referred to what was; left out when there are none.
    cascaded: int
    # Documents that have lost a reference to what was deleted; left out when there are none.
    nullified: int
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class _DocumentsDeleteManyResult(TypedDict):
    # Documents that were there, or match.
    deleted: int
    # Revision of this change, the last slice's; the newest one there is when nothing was there.
    rev: int


class DocumentsDeleteManyResult(_DocumentsDeleteManyResult, total=False):
    # With `where`: transactions that it took.
    slices: int
    # true: nothing was deleted.
    dryRun: bool
    # Documents that were deleted because they referred to what was; left out when there are none.
    cascaded: int
    # Documents that have lost a reference to what was deleted; left out when there are none.
    nullified: int
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class DocumentsPatchResultWarning(TypedDict):
    # The place in the document, a JSON pointer.
    path: str
    # What the schema asks for there.
    message: str


class _DocumentsPatchResult(TypedDict):
    # Revision of this change; the document's when nothing changed.
    rev: int
    # Whether the patch made the document another.
    changed: bool


class DocumentsPatchResult(_DocumentsPatchResult, total=False):
    # The document breaks the collection's schema and is stored all the same.
    warning: DocumentsPatchResultWarning
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


DocumentsPatchJsonPatch = TypedDict(
    "DocumentsPatchJsonPatch",
    {
        "op": Literal["add", "remove", "replace", "move", "copy", "test"],
        "path": str,
        "from": str,
        "value": JSON,
    },
    total=False,
)


class DocumentsIncrementResultWarning(TypedDict):
    # The place in the document, a JSON pointer.
    path: str
    # What the schema asks for there.
    message: str


class _DocumentsIncrementResult(TypedDict):
    # The sum.
    value: JSON
    # Revision of this change; the document's when nothing changed.
    rev: int


class DocumentsIncrementResult(_DocumentsIncrementResult, total=False):
    # The document breaks the collection's schema and is stored all the same.
    warning: DocumentsIncrementResultWarning
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class DocumentsRestoreResultWarning(TypedDict):
    # The place in the document, a JSON pointer.
    path: str
    # What the schema asks for there.
    message: str


class _DocumentsRestoreResult(TypedDict):
    # Revision of this change; the document's when it is not deleted.
    rev: int
    # Whether it was deleted.
    restored: bool


class DocumentsRestoreResult(_DocumentsRestoreResult, total=False):
    # The document breaks the collection's schema and is stored all the same.
    warning: DocumentsRestoreResultWarning
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class DocumentsAttachResult(TypedDict):
    # Revision of this change; the document's when it had this attachment.
    rev: int
    # The content's bytes.
    bytes: int
    # The content's BLAKE2b-256 in hexadecimal.
    digest: str


class _DocumentsAttachmentResult(TypedDict):
    # The content's bytes.
    bytes: int
    # Its BLAKE2b-256 in hexadecimal.
    digest: str
    # The document's revision.
    rev: int


class DocumentsAttachmentResult(_DocumentsAttachmentResult, total=False):
    # Its media type, when it was given one.
    contentType: str
    # With `inline`: the content as base64.
    data: str
    # With `as_="fd"`: a descriptor, open for reading, that is the caller's to close.
    fd: int


class DocumentsDetachResult(TypedDict):
    # Revision of this change; the document's when nothing changed.
    rev: int
    # Whether it had such an attachment.
    detached: bool


class DocumentsListResultDocuments(TypedDict):
    # The document's id.
    id: str
    # The document.
    value: JSON
    # Revision of the item's last change; 0 when it is absent.
    rev: int


class _DocumentsListResult(TypedDict):
    # The page; it ends early rather than grow over 1 MiB.
    documents: List[DocumentsListResultDocuments]
    # What the page was read as of; a document that changed meanwhile may be newer.
    rev: int


class DocumentsListResult(_DocumentsListResult, total=False):
    # Where the next page starts; absent at the end.
    cursor: str


class DocumentsImportResultErrors(TypedDict):
    # Where the record begins; reading began in line 1.
    line: int
    # What is wrong with it.
    message: str


class DocumentsImportResult(TypedDict):
    # Documents stored.
    imported: int
    # Bad records.
    skipped: int
    # The first 100 bad records.
    errors: List[DocumentsImportResultErrors]
    # Bytes of the input that have been taken.
    offset: int
    # Newest revision that the answer takes into account.
    rev: int


class _DocumentsExportResult(TypedDict):
    # Documents written.
    exported: int
    # What the first of them were read as of; documents that changed meanwhile may be newer.
    rev: int


class DocumentsExportResult(_DocumentsExportResult, total=False):
    # Documents whose attachments are not in the output. Left out when there are none.
    attachmentsLeftOut: int
    # Of these: documents with an attachment that is damaged or gone on the disk. Left out when there are none.
    attachmentsDamaged: int
    # What is not in the output; left out when all is.
    warnings: List[str]


class _DocumentsScopesResultScopes(TypedDict):
    # Name.
    collection: str
    # Documents in it.
    count: int
    # Bytes of their values.
    bytes: int
    # Revision of its last change.
    rev: int


class DocumentsScopesResultScopes(_DocumentsScopesResultScopes, total=False):
    # Bytes of their attachments, equal contents counted as often; left out when there are none.
    attachmentBytes: int


class DocumentsScopesResult(TypedDict):
    # One object a collection, in the order of names.
    scopes: List[DocumentsScopesResultScopes]
    # Newest revision that the answer takes into account.
    rev: int


class DocumentsConfigureResultDryRunSteps(TypedDict):
    # The version that it leads to.
    to: int
    # Its position in that migration, from 0.
    step: int
    # Documents that it would change.
    changed: int
    # Documents in which it would not find a value that can be converted, and go on.
    unconverted: int


class _DocumentsConfigureResultDryRunFailures(TypedDict):
    # The document's id.
    id: str
    # The place in the document, as a JSON pointer.
    path: str
    # Why.
    reason: str


class DocumentsConfigureResultDryRunFailures(_DocumentsConfigureResultDryRunFailures, total=False):
    # The version that the step leads to; left out when the whole result is at fault.
    to: int
    # The step's position in that migration, from 0.
    step: int


DocumentsConfigureResultDryRun = TypedDict(
    "DocumentsConfigureResultDryRun",
    {
        "from": int,
        "to": int,
        "documents": int,
        "changed": int,
        "failed": int,
        "steps": List[DocumentsConfigureResultDryRunSteps],
        "failures": List[DocumentsConfigureResultDryRunFailures],
    },
    total=True,
)


class _DocumentsConfigureResult(TypedDict):
    # Revision of the last change of the collection's configuration.
    rev: int
    # Indexes that are not complete yet; `documents.describe` with `waitMs` waits for them.
    building: List[str]


class DocumentsConfigureResult(_DocumentsConfigureResult, total=False):
    # With `version`: the stored version, as it is now.
    version: int
    # With `version`: documents are being migrated to it.
    migrating: bool
    # With `dryRun`: what would be done.
    dryRun: DocumentsConfigureResultDryRun
    # How the search index stands, when there is one.
    search: Literal["building", "ready"]


class _DocumentsDescribeResultIndexes(TypedDict):
    # Its name.
    name: str
    # Paths, the first counts first.
    fields: List[str]
    # No two documents have the same values there.
    unique: bool
    # `failed`: it was to be unique, and `conflict` names two documents that are not.
    state: Literal["building", "ready", "failed"]
    # Documents in it; with `each`, ids.
    entries: int
    # Bytes of their keys.
    bytes: int


class DocumentsDescribeResultIndexes(_DocumentsDescribeResultIndexes, total=False):
    # The selector of the documents that it is about; left out for all.
    where: JSON
    # While it is built: documents gone through.
    done: int
    # While it is built: documents to go through, deleted ones counted.
    total: int
    # Ids of two documents with the same values.
    conflict: List[str]
    # true: made for a reference, with an entry for each id; goes with it.
    each: bool


class _DocumentsDescribeResultMigrationFailures(TypedDict):
    # The document's id.
    id: str
    # The place in the document, as a JSON pointer.
    path: str
    # Why.
    reason: str


class DocumentsDescribeResultMigrationFailures(_DocumentsDescribeResultMigrationFailures, total=False):
    # The version that the step leads to; left out when the whole result is at fault.
    to: int
    # The step's position in that migration, from 0.
    step: int


DocumentsDescribeResultMigration = TypedDict(
    "DocumentsDescribeResultMigration",
    {
        "state": Literal["running", "done"],
        "from": int,
        "to": int,
        "done": int,
        "total": int,
        "changed": int,
        "failed": int,
        "failures": List[DocumentsDescribeResultMigrationFailures],
    },
    total=True,
)


class _DocumentsDescribeResultSearch(TypedDict):
    # Whether it can be searched.
    state: Literal["building", "ready"]
    # Documents in it: those that have text.
    entries: int


class DocumentsDescribeResultSearch(_DocumentsDescribeResultSearch, total=False):
    # While it is built: documents gone through.
    done: int
    # While it is built: documents to go through, deleted ones counted.
    total: int


class _DocumentsDescribeResultHistory(TypedDict):
    # Bytes of all former versions.
    bytes: int


class DocumentsDescribeResultHistory(_DocumentsDescribeResultHistory, total=False):
    # Former versions of a document.
    count: int
    # Days since a version was replaced.
    days: int


class DocumentsDescribeResultReferences(TypedDict):
    # Where the ids stand.
    field: str
    # Whose documents' they are.
    collection: str
    # What happens when one of those is deleted.
    onDelete: Literal["deny", "nullify", "cascade"]


class _DocumentsDescribeResult(TypedDict):
    # Revision of the last change of the collection's configuration; 0 when there was none.
    rev: int
    # Documents, deleted ones not counted.
    count: int
    # Bytes of their values.
    bytes: int
    # Deleted documents that are not forgotten yet.
    tombstones: int
    # In the order in which they were configured.
    indexes: List[DocumentsDescribeResultIndexes]
    # When changes are durable.
    durability: Literal["durable", "relaxed"]
    # Whether it belongs into backups.
    backup: bool


class DocumentsDescribeResult(_DocumentsDescribeResult, total=False):
    # The version of its documents; left out when none was declared.
    version: int
    # The last migration; left out when there was none.
    migration: DocumentsDescribeResultMigration
    # Fields whose text is searched; left out when none is.
    searchFields: List[JSON]
    # What is found of it.
    searchTokenizer: Literal["unicode61", "trigram"]
    # How the search index stands; left out when there is none.
    search: DocumentsDescribeResultSearch
    # The schema; left out when there is none.
    schema: JSON
    # What a document meets that breaks the schema.
    schemaMode: Literal["off", "warn", "enforce"]
    # Days that deleted documents are kept; left out for ever.
    tombstoneDays: int
    # Days that documents are kept; left out for ever.
    retainDays: int
    # What is kept of what documents were; left out for no more than the log has.
    history: DocumentsDescribeResultHistory
    # Seconds after which a relaxed change is synced.
    flushSeconds: int
    # What its documents refer to; left out when nothing.
    references: List[DocumentsDescribeResultReferences]


class DocumentsDropResult(TypedDict):
    # Revision of this change; 0 when there was no such collection.
    rev: int
    # Whether there was something to drop.
    dropped: bool


class DocumentsPurgeResult(TypedDict):
    # Deleted documents that are forgotten now.
    purged: int
    # Newest revision that the answer takes into account.
    rev: int


class DocumentsFindResultDocuments(TypedDict):
    # The document's id.
    id: str
    # The document, or the `fields` of it.
    value: JSON
    # Revision of the item's last change; 0 when it is absent.
    rev: int


class _DocumentsFindResultPlan(TypedDict):
    # By what: nothing can match, all documents, ranges of ids, an index.
    access: Literal["none", "collection", "ids", "index"]
    # Ranges of ids or of the index's keys.
    ranges: int
    # Not asked for, given by the access, or made in memory; nothing is ever written to a file for it.
    sort: Literal["none", "access", "memory"]


class DocumentsFindResultPlan(_DocumentsFindResultPlan, total=False):
    # Name of the index.
    index: str


class _DocumentsFindResult(TypedDict):
    # The page; it ends early rather than grow over 1 MiB.
    documents: List[DocumentsFindResultDocuments]
    # What it was read as of; a document that changed meanwhile may be newer.
    rev: int
    # How the documents were found.
    plan: DocumentsFindResultPlan


class DocumentsFindResult(_DocumentsFindResult, total=False):
    # Where the next page starts; absent at the end.
    cursor: str
    # What makes it slow; left out when nothing does.
    warnings: List[str]
    # With `expand`: the documents that are referred to, each once, by collection and id: `{"value":…,"rev":…}`, or
    # `{"rev":0}` where there is none.
    expanded: Dict[str, Dict[str, JSON]]


class _DocumentsCountResultPlan(TypedDict):
    # By what: nothing can match, all documents, ranges of ids, an index.
    access: Literal["none", "collection", "ids", "index"]
    # Ranges of ids or of the index's keys.
    ranges: int
    # Not asked for, given by the access, or made in memory; nothing is ever written to a file for it.
    sort: Literal["none", "access", "memory"]


class DocumentsCountResultPlan(_DocumentsCountResultPlan, total=False):
    # Name of the index.
    index: str


class _DocumentsCountResult(TypedDict):
    # Documents, deleted ones not counted.
    count: int
    # Newest revision that the answer takes into account.
    rev: int


class DocumentsCountResult(_DocumentsCountResult, total=False):
    # With `where`: how they were found.
    plan: DocumentsCountResultPlan


class _DocumentsDistinctResultPlan(TypedDict):
    # By what: nothing can match, all documents, ranges of ids, an index.
    access: Literal["none", "collection", "ids", "index"]
    # Ranges of ids or of the index's keys.
    ranges: int
    # Not asked for, given by the access, or made in memory; nothing is ever written to a file for it.
    sort: Literal["none", "access", "memory"]


class DocumentsDistinctResultPlan(_DocumentsDistinctResultPlan, total=False):
    # Name of the index.
    index: str


class _DocumentsDistinctResult(TypedDict):
    # Each once, as one of its documents has it written; documents without the field give none.
    values: List[JSON]
    # What it was read as of; a document that changed meanwhile may be newer.
    rev: int
    # How the documents were found.
    plan: DocumentsDistinctResultPlan


class DocumentsDistinctResult(_DocumentsDistinctResult, total=False):
    # Where the next page starts; absent at the end.
    cursor: str


class DocumentsAggregateResultGroups(TypedDict):
    # The values by path; missing ones left out.
    key: Dict[str, JSON]
    # Documents of the group.
    count: int
    # What was computed, by name.
    values: Dict[str, JSON]


class _DocumentsAggregateResultPlan(TypedDict):
    # By what: nothing can match, all documents, ranges of ids, an index.
    access: Literal["none", "collection", "ids", "index"]
    # Ranges of ids or of the index's keys.
    ranges: int
    # Not asked for, given by the access, or made in memory; nothing is ever written to a file for it.
    sort: Literal["none", "access", "memory"]


class DocumentsAggregateResultPlan(_DocumentsAggregateResultPlan, total=False):
    # Name of the index.
    index: str


class DocumentsAggregateResult(TypedDict):
    # In the order of their keys.
    groups: List[DocumentsAggregateResultGroups]
    # What it was read as of; a document that changed meanwhile may be newer.
    rev: int
    # How the documents were found.
    plan: DocumentsAggregateResultPlan


class _DocumentsExplainResultPlan(TypedDict):
    # By what: nothing can match, all documents, ranges of ids, an index.
    access: Literal["none", "collection", "ids", "index"]
    # Ranges of ids or of the index's keys.
    ranges: int
    # Not asked for, given by the access, or made in memory; nothing is ever written to a file for it.
    sort: Literal["none", "access", "memory"]


class DocumentsExplainResultPlan(_DocumentsExplainResultPlan, total=False):
    # Name of the index.
    index: str


class _DocumentsExplainResult(TypedDict):
    # How the documents were found.
    plan: DocumentsExplainResultPlan
    # Entries of the index that were walked over.
    keysVisited: int
    # Documents that were read, deleted ones counted.
    documentsVisited: int
    # Those of them that match.
    matched: int
    # Documents that the page would have.
    returned: int
    # States of the tables that it was spread over.
    snapshots: int
    # Milliseconds on the reader thread.
    elapsedMs: int
    # What it was read as of; a document that changed meanwhile may be newer.
    rev: int


class DocumentsExplainResult(_DocumentsExplainResult, total=False):
    # What makes it slow; left out when nothing does.
    warnings: List[str]


class _DocumentsSearchResultDocuments(TypedDict):
    # The document's id.
    id: str
    # The document, or the `fields` of it.
    value: JSON
    # Revision of the item's last change; 0 when it is absent.
    rev: int
    # A number above 0: how well it fits (bm25); more is better. Compares within one page.
    rank: JSON


class DocumentsSearchResultDocuments(_DocumentsSearchResultDocuments, total=False):
    # By search field: a part of its text with what was found; left out with `snippetWords` 0.
    snippets: Dict[str, str]


class _DocumentsSearchResult(TypedDict):
    # The page, the best first; it ends early rather than grow over 1 MiB.
    documents: List[DocumentsSearchResultDocuments]
    # What it was read as of; a document that changed meanwhile may be newer.
    rev: int


class DocumentsSearchResult(_DocumentsSearchResult, total=False):
    # Where the next page starts; absent at the end.
    cursor: str


class DocumentsWatchResult(TypedDict):
    # Names the live query on this connection.
    subscription: int
    # The first notifications are as of this revision or a later one.
    rev: int
    # Names the history that revisions belong to (UUID).
    epoch: str


class DocumentsUnwatchResult(TypedDict):
    # Whether there was such a live query.
    ended: bool


class DocumentsMethods(Store):
    """JSON documents of any shape by collection and id."""

    _store, _word = "documents", "collection"

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def put(
        self,
        collection: str,
        value: JSON,
        *,
        id: Optional[str] = None,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsPutResult:
        """Stores a document whole.

        `collection`: Which kind of document.
        `id`: Its name in the collection; a new UUIDv7 when absent.
        `value`: Any JSON value of at most 8 MiB.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, UniqueViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "value": value}
        if id is not None:
            sent["id"] = id
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.put", sent, timeout)
        return cast(DocumentsPutResult, result)

    def get(
        self,
        collection: str,
        id: str,
        *,
        default: JSON = UNSET,
        expand: Optional[Sequence[str]] = None,
        at_rev: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsGetResult:
        """Reads one document.

        `collection`: Which kind of document.
        `id`: The document's id.
        `default`: Returned as `value` when the document is absent.
        `expand`: Fields for which references are configured: the documents that they refer to come along, at most
            1,000.
        `at_rev`: The document as it was at this revision, as far as the log reaches back; not together with
            `expand`.

        Raises CompactedError, OverloadedError, ReplyTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id}
        if default is not UNSET:
            sent["default"] = default
        if expand is not None:
            sent["expand"] = expand
        if at_rev is not None:
            sent["atRev"] = at_rev
        result = self._caller.call("documents.get", sent, timeout)
        return cast(DocumentsGetResult, result)

    def get_many(
        self,
        collection: str,
        ids: Sequence[str],
        *,
        expand: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsGetManyResult:
        """Reads several documents of one collection at one moment.

        `collection`: Which kind of document.
        `ids`: Ids, at most 1,000.
        `expand`: Fields for which references are configured: the documents that they refer to come along, at most
            1,000.

        Raises ReplyTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "ids": ids}
        if expand is not None:
            sent["expand"] = expand
        result = self._caller.call("documents.getMany", sent, timeout)
        return cast(DocumentsGetManyResult, result)

    def history(
        self,
        collection: str,
        id: str,
        *,
        limit: Optional[int] = None,
        before_rev: Optional[int] = None,
        values: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsHistoryResult:
        """Lists a document's versions, the newest first, as far as the log reaches back.

        `collection`: Name of the collection.
        `id`: The document's id.
        `limit`: Most versions to return; 100 when absent.
        `before_rev`: Only versions before this revision: that of the last one, for the next page.
        `values`: Return the values too.

        Raises OverloadedError, ReplyTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id}
        if limit is not None:
            sent["limit"] = limit
        if before_rev is not None:
            sent["beforeRev"] = before_rev
        if values is not None:
            sent["values"] = values
        result = self._caller.call("documents.history", sent, timeout)
        return cast(DocumentsHistoryResult, result)

    def put_many(
        self,
        collection: str,
        documents: Sequence[DocumentsPutManyDocuments],
        *,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsPutManyResult:
        """Stores several documents: all or nothing, one revision.

        `collection`: Which kind of document.
        `documents`: At most 10,000; no id twice.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, UniqueViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "documents": documents}
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.putMany", sent, timeout)
        return cast(DocumentsPutManyResult, result)

    def delete(
        self,
        collection: str,
        id: str,
        *,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDeleteResult:
        """Deletes a document; a tombstone stays so that others can learn of it.

        `collection`: Which kind of document.
        `id`: The document's id.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, OutcomeUnknownError, ReferencedError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, TooManyDocumentsError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.delete", sent, timeout)
        return cast(DocumentsDeleteResult, result)

    def delete_many(
        self,
        collection: str,
        *,
        ids: Optional[Sequence[str]] = None,
        where: JSON = UNSET,
        atomic: Optional[bool] = None,
        dry_run: Optional[bool] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDeleteManyResult:
        """Deletes several documents, by their ids or by what is in them.

        `collection`: Which kind of document.
        `ids`: At most 10,000; no id twice. Those of no documents are passed over. All or nothing, one revision.
            This or `where`.
        `where`: A selector (queries.md): what the documents must have. Up to 5,000 of them, and 64 MiB of values,
            go in one transaction; more, or more than a full disk has room for at once, in slices, each a revision
            of its own, with notifications `progress`.
        `atomic`: With `where`, true: in one transaction or not at all, as with a `requestKey`.
        `dry_run`: With `where`, true: count the documents and delete none.
        `allow_scan`: With `where`, true: look at every document, though there are more than 10,000 and no index
            helps.
        `timeout_ms`: With `where`: milliseconds that looking for the documents may take, before each 5,000 of them;
            5,000 when absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises CancelledError, IndexNeededError, NoSpaceError, OutcomeUnknownError, OverloadedError,
            ReferencedError, RequestKeyReusedError, SchemaTooNewError, SchemaViolationError, ShuttingDownError,
            TimeoutError, TooManyDocumentsError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if ids is not None:
            sent["ids"] = ids
        if where is not UNSET:
            sent["where"] = where
        if atomic is not None:
            sent["atomic"] = atomic
        if dry_run is not None:
            sent["dryRun"] = dry_run
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.deleteMany", sent, timeout)
        return cast(DocumentsDeleteManyResult, result)

    def patch(
        self,
        collection: str,
        id: str,
        *,
        merge_patch: JSON = UNSET,
        json_patch: Optional[Sequence[DocumentsPatchJsonPatch]] = None,
        if_rev: Optional[int] = None,
        replace: Optional[bool] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsPatchResult:
        """Changes parts of a document.

        `collection`: Which kind of document.
        `id`: The document's id.
        `merge_patch`: A JSON Merge Patch (RFC 7396): an object of members that take the place of the document's,
            null taking them away. This or `jsonPatch`.
        `json_patch`: A JSON Patch (RFC 6902): operations in their order, all or none.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `replace`: Allows a `mergePatch` that is no object, which takes the place of the whole document, as RFC 7396
            has it. Without it that is refused: it is mostly a mistake.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, NotFoundError, OutcomeUnknownError, PatchFailedError,
            QuotaExceededError, RequestKeyReusedError, SchemaTooNewError, SchemaViolationError,
            UniqueViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id}
        if merge_patch is not UNSET:
            sent["mergePatch"] = merge_patch
        if json_patch is not None:
            sent["jsonPatch"] = json_patch
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if replace is not None:
            sent["replace"] = replace
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.patch", sent, timeout)
        return cast(DocumentsPatchResult, result)

    def increment(
        self,
        collection: str,
        id: str,
        path: str,
        *,
        by: JSON = UNSET,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsIncrementResult:
        """Adds to a number in a document in one step, exactly.

        `collection`: Which kind of document.
        `id`: The document's id.
        `path`: Where the number stands: names with dots between them, `\\.` for a dot in a name. What is missing
            comes to be, from 0.
        `by`: The number to add, whole or decimal; 1 when absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises NoSpaceError, NotFoundError, OutOfRangeError, OutcomeUnknownError, QuotaExceededError,
            RequestKeyReusedError, SchemaTooNewError, SchemaViolationError, TypeMismatchError, UniqueViolationError,
            ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id, "path": path}
        if by is not UNSET:
            sent["by"] = by
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.increment", sent, timeout)
        return cast(DocumentsIncrementResult, result)

    def restore(
        self,
        collection: str,
        id: str,
        *,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsRestoreResult:
        """Brings back a deleted document with its last value, as long as its tombstone is kept.

        `collection`: Which kind of document.
        `id`: The document's id.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises NoSpaceError, NotFoundError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, UniqueViolationError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id}
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.restore", sent, timeout)
        return cast(DocumentsRestoreResult, result)

    def attach(
        self,
        collection: str,
        id: str,
        name: str,
        *,
        content_type: Optional[str] = None,
        fd: Optional[Descriptor] = None,
        data: Optional[str] = None,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsAttachResult:
        """Gives a document an attachment, in the place of one of the same name.

        `collection`: Which kind of document.
        `id`: The document's id.
        `name`: The attachment's name in its document.
        `content_type`: Its media type; kept and returned as it is.
        `fd`: A file, or its descriptor: it goes along with the request.
        `data`: The content as base64, of at most 8 MiB.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, DescriptorMissingError, NoSpaceError, NotFoundError, OutcomeUnknownError,
            OverloadedError, QuotaExceededError, RequestKeyReusedError, SchemaTooNewError, ShuttingDownError,
            TransferFailedError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id, "name": name}
        if content_type is not None:
            sent["contentType"] = content_type
        if fd is not None:
            sent["fd"] = True
        if data is not None:
            sent["data"] = data
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.attach", sent, timeout, descriptor=fd)
        return cast(DocumentsAttachResult, result)

    def attachment(
        self,
        collection: str,
        id: str,
        name: str,
        *,
        as_: Optional[Literal["inline", "fd"]] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsAttachmentResult:
        """Reads an attachment: as base64, or as a descriptor of a file open for reading.

        `collection`: Which kind of document.
        `id`: The document's id.
        `name`: The attachment's name in its document.
        `as_`: `inline`: base64 in the reply, of at most 8 MiB. `fd`: a descriptor comes with the reply's first
            byte. `inline` when absent.

        Raises IntegrityError, NotFoundError, OverloadedError, ShuttingDownError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id, "name": name}
        if as_ is not None:
            sent["as"] = as_
        result = self._caller.call("documents.attachment", sent, timeout, wants_descriptor=as_ == "fd")
        return cast(DocumentsAttachmentResult, result)

    def detach(
        self,
        collection: str,
        id: str,
        name: str,
        *,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDetachResult:
        """Takes an attachment away from a document.

        `collection`: Which kind of document.
        `id`: The document's id.
        `name`: The attachment's name in its document.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, NotFoundError, OutcomeUnknownError, RequestKeyReusedError,
            SchemaTooNewError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id, "name": name}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.detach", sent, timeout)
        return cast(DocumentsDetachResult, result)

    def list(
        self,
        collection: str,
        *,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsListResult:
        """Lists a collection's documents in the order of their ids' bytes.

        `collection`: Which kind of document.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 100 when absent.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = self._caller.call("documents.list", sent, timeout)
        return cast(DocumentsListResult, result)

    def import_(
        self,
        collection: str,
        *,
        fd: Optional[Descriptor] = None,
        path: Optional[str] = None,
        id_field: Optional[str] = None,
        format: Optional[Literal["lines", "array"]] = None,
        on_error: Optional[Literal["fail", "skip"]] = None,
        offset: Optional[int] = None,
        attachments: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsImportResult:
        """Stores documents from a descriptor or file of NDJSON or one JSON array, in batches.

        `collection`: Which kind of document.
        `fd`: A file, or its descriptor: it goes along with the request.
        `path`: An absolute path beneath one of the daemon's `importRoots`, for its own user only.
        `id_field`: The member that holds a document's id, a string or number. Without it a record is
            `{"id":…,"value":…}`, or a document that gets a new UUIDv7.
        `format`: What the input is; told by its first byte when absent.
        `on_error`: Whether a bad record ends the import or is passed over and reported; `fail` when absent.
        `offset`: Bytes of the input to pass over: where an earlier import ended.
        `attachments`: true: a record of id, value and `attachments`, as an export writes it, brings the document's
            attachments: those and no others.

        Raises BadRecordError, CancelledError, DescriptorMissingError, NoSpaceError, OutcomeUnknownError,
            OverloadedError, PathDeniedError, QuotaExceededError, SchemaTooNewError, ShuttingDownError,
            TransferFailedError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if fd is not None:
            sent["fd"] = True
        if path is not None:
            sent["path"] = path
        if id_field is not None:
            sent["idField"] = id_field
        if format is not None:
            sent["format"] = format
        if on_error is not None:
            sent["onError"] = on_error
        if offset is not None:
            sent["offset"] = offset
        if attachments is not None:
            sent["attachments"] = attachments
        result = self._caller.call("documents.import", sent, timeout, descriptor=fd)
        return cast(DocumentsImportResult, result)

    def export(
        self,
        collection: str,
        *,
        fd: Optional[Descriptor] = None,
        path: Optional[str] = None,
        attachments: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsExportResult:
        """Writes a collection to a descriptor or new file, a line a document: `{"id":…,"value":…}`.

        `collection`: Which kind of document.
        `fd`: A file, or its descriptor: it goes along with the request.
        `path`: An absolute path beneath one of the daemon's `importRoots`, for its own user only.
        `attachments`: true: a document's attachments go along in its line as base64, up to 8 MiB of them together.

        Raises CancelledError, DescriptorMissingError, OverloadedError, PathDeniedError, ShuttingDownError,
            TransferFailedError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if fd is not None:
            sent["fd"] = True
        if path is not None:
            sent["path"] = path
        if attachments is not None:
            sent["attachments"] = attachments
        result = self._caller.call("documents.export", sent, timeout, descriptor=fd)
        return cast(DocumentsExportResult, result)

    def scopes(self, *, timeout: Optional[float] = None) -> DocumentsScopesResult:
        """Lists the collections with their sizes."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("documents.scopes", sent, timeout)
        return cast(DocumentsScopesResult, result)

    def configure(
        self,
        collection: str,
        *,
        indexes: JSON = UNSET,
        schema: JSON = UNSET,
        schema_mode: Optional[Literal["off", "warn", "enforce"]] = None,
        tombstone_days: JSON = UNSET,
        retain_days: JSON = UNSET,
        history: JSON = UNSET,
        durability: Optional[Literal["durable", "relaxed"]] = None,
        flush_seconds: Optional[int] = None,
        references: JSON = UNSET,
        backup: Optional[bool] = None,
        version: Optional[int] = None,
        migrations: JSON = UNSET,
        dry_run: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        search_fields: JSON = UNSET,
        search_tokenizer: Optional[Literal["unicode61", "trigram"]] = None,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsConfigureResult:
        """Says what a collection is: its indexes, schema, references, what ages out, when its changes are durable. What
        is absent stays.

        `collection`: Which kind of document.
        `indexes`: All its indexes, a list of at most 64 objects `{name, fields, unique, where}`: 1 to 16 paths,
            whether no two documents have the same values there, and a selector of the documents that it is about.
            Those that are not in the list are dropped; null or `[]` drops all. They are built in the background;
            one that has failed is built anew.
        `schema`: JSON Schema (draft-07) of its documents; null takes it away. At most 65,536 bytes. Writes are held
            against it.
        `schema_mode`: What a document meets that breaks the schema: nothing, a warning in the reply, a refusal. At
            first `warn`.
        `tombstone_days`: Days after which what is deleted can be forgotten, 1 to 36,500; null, as at first: never
            by itself.
        `retain_days`: Days after its last change when a document is deleted, 1 to 36,500; null, as at first: never
            by itself.
        `history`: What is kept of what its documents were, `{count, days, bytes}`: so many former versions of each,
            1 to 10,000, for so many days after they were replaced, 1 to 36,500, and so many bytes of all of them,
            at first 268,435,456; one of `count` and `days` at least. Null, as at first, keeps no more than the log,
            and erases what was kept.
        `durability`: `relaxed`: changes are acknowledged at once and synced later. At first `durable`.
        `flush_seconds`: With `relaxed`: a change is synced after so many seconds at the latest. At first 5.
        `references`: All that its documents refer to, a list of at most 16 objects `{field, collection, onDelete}`:
            a path at which an id stands or an array of ids, whose documents these are, and what happens when one of
            those is deleted: `deny` refuses it, `nullify` takes the id away, `cascade` deletes who refers to it as
            well. Null or `[]` takes them away. Each has an index of its own. Needs `admin` on those collections
            too.
        `backup`: Whether backups have its documents and attachments; true at first.
        `version`: The version of its documents that the caller knows. A lower one than the stored one is refused
            with `schemaTooNew`, a higher one needs `migrations` as soon as there are documents. Those of a
            collection without a version are of version 1.
        `migrations`: With `version`: how documents become those of the next version, a list of at most 256 objects
            `{to, steps}` in the order of versions. A step is one of `{rename: {from, to, ifExists}}`, `{move:
            {from, to, ifExists}}`, `{setDefault: {path, value}}`, `{remove: path}`, `{convert: {path, to,
            onFailure}}`. Those up to the stored version are passed over. They run in the background.
        `dry_run`: With `version`: change nothing, and tell what the migrations would do. At first false.
        `timeout_ms`: With `dryRun`: how long it may take. At first 60,000.
        `search_fields`: All fields whose text `documents.search` finds, a list of at most 16 paths or objects
            `{path, weight}`. Null or `[]` ends that. Another list is built anew in the background, unless only
            weights differ.
        `search_tokenizer`: What is found: words without case and diacritics, as at first, or any three characters
            in a row.
        `if_rev`: Change it only when the `rev` that `describe` tells is this one; 0: only when nothing was ever
            configured.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises CancelledError, ConflictError, NoSpaceError, OutcomeUnknownError, QuotaExceededError,
            RequestKeyReusedError, SchemaTooNewError, TimeoutError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if indexes is not UNSET:
            sent["indexes"] = indexes
        if schema is not UNSET:
            sent["schema"] = schema
        if schema_mode is not None:
            sent["schemaMode"] = schema_mode
        if tombstone_days is not UNSET:
            sent["tombstoneDays"] = tombstone_days
        if retain_days is not UNSET:
            sent["retainDays"] = retain_days
        if history is not UNSET:
            sent["history"] = history
        if durability is not None:
            sent["durability"] = durability
        if flush_seconds is not None:
            sent["flushSeconds"] = flush_seconds
        if references is not UNSET:
            sent["references"] = references
        if backup is not None:
            sent["backup"] = backup
        if version is not None:
            sent["version"] = version
        if migrations is not UNSET:
            sent["migrations"] = migrations
        if dry_run is not None:
            sent["dryRun"] = dry_run
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        if search_fields is not UNSET:
            sent["searchFields"] = search_fields
        if search_tokenizer is not None:
            sent["searchTokenizer"] = search_tokenizer
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.configure", sent, timeout)
        return cast(DocumentsConfigureResult, result)

    def describe(
        self,
        collection: str,
        *,
        wait_ms: Optional[int] = None,
        version: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDescribeResult:
        """Tells what a collection is configured to be, how its indexes stand and how large it is.

        `collection`: Which kind of document.
        `wait_ms`: Wait until no index is being built, that of the search included, and no migration is under way,
            so long at most.
        `version`: The version of its documents that the caller knows; a lower one than the stored one is refused.

        Raises SchemaTooNewError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if wait_ms is not None:
            sent["waitMs"] = wait_ms
        if version is not None:
            sent["version"] = version
        result = self._caller.call("documents.describe", sent, timeout)
        return cast(DocumentsDescribeResult, result)

    def drop(
        self,
        collection: str,
        *,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDropResult:
        """Drops a collection with all that is in it and configured for it; its name is free at once.

        `collection`: Which kind of document.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises NoSpaceError, OutcomeUnknownError, RequestKeyReusedError, SchemaTooNewError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("documents.drop", sent, timeout)
        return cast(DocumentsDropResult, result)

    def purge(
        self,
        collection: str,
        *,
        older_than_days: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsPurgeResult:
        """Forgets deleted documents for good: what is purged cannot be brought back.

        `collection`: Which kind of document.
        `older_than_days`: Only what was deleted so many days ago; everything that is deleted when it is 0 or
            absent.

        Raises NoSpaceError, OutcomeUnknownError, SchemaTooNewError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if older_than_days is not None:
            sent["olderThanDays"] = older_than_days
        result = self._caller.call("documents.purge", sent, timeout)
        return cast(DocumentsPurgeResult, result)

    def find(
        self,
        collection: str,
        *,
        where: JSON = UNSET,
        sort: Optional[Sequence[JSON]] = None,
        fields: Optional[Sequence[str]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        expand: Optional[Sequence[str]] = None,
        at_rev: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsFindResult:
        """Finds documents by what is in them.

        `collection`: Which kind of document.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `sort`: Paths to sort by, each `"path"` or `{"path":"desc"}`; `_id` is the document's id.
        `fields`: Paths: only these parts of the documents are returned.
        `limit`: Most items to return; 100 when absent.
        `cursor`: A cursor of the same query's previous page.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.
        `expand`: Fields for which references are configured: the documents that they refer to come along, at most
            1,000.
        `at_rev`: Documents as they were at this revision, as far as the tables have it; not together with `expand`.

        Raises CancelledError, CompactedError, IndexNeededError, OverloadedError, ReplyTooLargeError,
            ShuttingDownError, TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if where is not UNSET:
            sent["where"] = where
        if sort is not None:
            sent["sort"] = sort
        if fields is not None:
            sent["fields"] = fields
        if limit is not None:
            sent["limit"] = limit
        if cursor is not None:
            sent["cursor"] = cursor
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        if expand is not None:
            sent["expand"] = expand
        if at_rev is not None:
            sent["atRev"] = at_rev
        result = self._caller.call("documents.find", sent, timeout)
        return cast(DocumentsFindResult, result)

    def count(
        self,
        collection: str,
        *,
        where: JSON = UNSET,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsCountResult:
        """Counts a collection's documents, or those that match.

        `collection`: Which kind of document.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.

        Raises CancelledError, IndexNeededError, OverloadedError, ShuttingDownError, TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if where is not UNSET:
            sent["where"] = where
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = self._caller.call("documents.count", sent, timeout)
        return cast(DocumentsCountResult, result)

    def distinct(
        self,
        collection: str,
        field: str,
        *,
        where: JSON = UNSET,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDistinctResult:
        """Lists the different values that a field has, in their order.

        `collection`: Which kind of document.
        `field`: Path of the field.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `limit`: Most items to return; 100 when absent.
        `cursor`: A cursor of the same query's previous page.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.

        Raises CancelledError, IndexNeededError, OverloadedError, ShuttingDownError, TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "field": field}
        if where is not UNSET:
            sent["where"] = where
        if limit is not None:
            sent["limit"] = limit
        if cursor is not None:
            sent["cursor"] = cursor
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = self._caller.call("documents.distinct", sent, timeout)
        return cast(DocumentsDistinctResult, result)

    def aggregate(
        self,
        collection: str,
        *,
        where: JSON = UNSET,
        group_by: Optional[Sequence[str]] = None,
        compute: Optional[Mapping[str, JSON]] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsAggregateResult:
        """Counts, sums up and compares documents, in groups.

        `collection`: Which kind of document.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `group_by`: Paths: documents with equal values there are a group. Without them all are one.
        `compute`: What to compute, by name: `{"total":{"sum":"price"}}`, with `count`, `sum`, `min`, `max` or
            `avg`.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.

        Raises CancelledError, IndexNeededError, OverloadedError, ReplyTooLargeError, ShuttingDownError,
            TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if where is not UNSET:
            sent["where"] = where
        if group_by is not None:
            sent["groupBy"] = group_by
        if compute is not None:
            sent["compute"] = compute
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = self._caller.call("documents.aggregate", sent, timeout)
        return cast(DocumentsAggregateResult, result)

    def explain(
        self,
        collection: str,
        *,
        where: JSON = UNSET,
        sort: Optional[Sequence[JSON]] = None,
        fields: Optional[Sequence[str]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsExplainResult:
        """Makes a query and tells how it went, without its documents.

        `collection`: Which kind of document.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `sort`: Paths to sort by, each `"path"` or `{"path":"desc"}`; `_id` is the document's id.
        `fields`: Paths: only these parts of the documents are returned.
        `limit`: Most items to return; 100 when absent.
        `cursor`: A cursor of the same query's previous page.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.

        Raises CancelledError, IndexNeededError, OverloadedError, ReplyTooLargeError, ShuttingDownError,
            TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if where is not UNSET:
            sent["where"] = where
        if sort is not None:
            sent["sort"] = sort
        if fields is not None:
            sent["fields"] = fields
        if limit is not None:
            sent["limit"] = limit
        if cursor is not None:
            sent["cursor"] = cursor
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = self._caller.call("documents.explain", sent, timeout)
        return cast(DocumentsExplainResult, result)

    def search(
        self,
        collection: str,
        query: str,
        *,
        limit: Optional[int] = None,
        where: JSON = UNSET,
        fields: Optional[Sequence[str]] = None,
        cursor: Optional[str] = None,
        snippet_words: Optional[int] = None,
        mark_start: Optional[str] = None,
        mark_end: Optional[str] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsSearchResult:
        """Finds documents by the words in their text, the best first.

        `collection`: Which kind of document; it has `searchFields`.
        `query`: Words, "phrases", beginnings*, OR, NOT or -, parentheses. See search.md.
        `limit`: Most items to return; 20 when absent.
        `where`: A selector that documents must fulfil besides. See queries.md.
        `fields`: Paths: only these parts of the documents are returned.
        `cursor`: A cursor of the same search's previous page.
        `snippet_words`: Words of a snippet, with the trigram tokenizer characters; 0 for no snippets, 16 when
            absent.
        `mark_start`: What stands in a snippet before what was found; `[` when absent.
        `mark_end`: What stands behind it; `]` when absent.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.

        Raises CancelledError, IndexBuildingError, IndexNeededError, OverloadedError, ReplyTooLargeError,
            ShuttingDownError, TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "query": query}
        if limit is not None:
            sent["limit"] = limit
        if where is not UNSET:
            sent["where"] = where
        if fields is not None:
            sent["fields"] = fields
        if cursor is not None:
            sent["cursor"] = cursor
        if snippet_words is not None:
            sent["snippetWords"] = snippet_words
        if mark_start is not None:
            sent["markStart"] = mark_start
        if mark_end is not None:
            sent["markEnd"] = mark_end
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = self._caller.call("documents.search", sent, timeout)
        return cast(DocumentsSearchResult, result)

    def watch(
        self,
        collection: str,
        *,
        where: JSON = UNSET,
        sort: Optional[Sequence[JSON]] = None,
        limit: Optional[int] = None,
        after_rev: Optional[int] = None,
        epoch: Optional[str] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsWatchResult:
        """Begins a live query: notifications `documents.changed` follow, first what matches, then how that changes with
        each durable revision.

        `collection`: Which kind of document.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `sort`: Paths to sort by, each `"path"` or `{"path":"desc"}`; what is equal in them, and everything when
            absent, is in the order of ids.
        `limit`: Only the first documents in that order; all of them when absent.
        `after_rev`: The client has what the same query showed at this revision: values that have not changed since
            are left out of the beginning.
        `epoch`: The history that `afterRev` comes from; another one is refused.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which reading what it begins with ends with `timeout`; 5,000 when absent.

        Raises CancelledError, EpochChangedError, IndexNeededError, LiveQueryTooLargeError, OverloadedError,
            ShuttingDownError, TimeoutError, TooManySubscriptionsError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if where is not UNSET:
            sent["where"] = where
        if sort is not None:
            sent["sort"] = sort
        if limit is not None:
            sent["limit"] = limit
        if after_rev is not None:
            sent["afterRev"] = after_rev
        if epoch is not None:
            sent["epoch"] = epoch
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = self._caller.call("documents.watch", sent, timeout)
        return cast(DocumentsWatchResult, result)

    def unwatch(self, subscription: int, *, timeout: Optional[float] = None) -> DocumentsUnwatchResult:
        """Ends a live query; ending one that is not there changes nothing.

        `subscription`: As `documents.watch` returned it.
        """
        sent: Dict[str, JSON] = {"subscription": subscription}
        result = self._caller.call("documents.unwatch", sent, timeout)
        return cast(DocumentsUnwatchResult, result)


class AsyncDocumentsMethods(Store):
    """JSON documents of any shape by collection and id."""

    _store, _word = "documents", "collection"

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def put(
        self,
        collection: str,
        value: JSON,
        *,
        id: Optional[str] = None,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsPutResult:
        """Stores a document whole.

        `collection`: Which kind of document.
        `id`: Its name in the collection; a new UUIDv7 when absent.
        `value`: Any JSON value of at most 8 MiB.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, UniqueViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "value": value}
        if id is not None:
            sent["id"] = id
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.put", sent, timeout)
        return cast(DocumentsPutResult, result)

    async def get(
        self,
        collection: str,
        id: str,
        *,
        default: JSON = UNSET,
        expand: Optional[Sequence[str]] = None,
        at_rev: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsGetResult:
        """Reads one document.

        `collection`: Which kind of document.
        `id`: The document's id.
        `default`: Returned as `value` when the document is absent.
        `expand`: Fields for which references are configured: the documents that they refer to come along, at most
            1,000.
        `at_rev`: The document as it was at this revision, as far as the log reaches back; not together with
            `expand`.

        Raises CompactedError, OverloadedError, ReplyTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id}
        if default is not UNSET:
            sent["default"] = default
        if expand is not None:
            sent["expand"] = expand
        if at_rev is not None:
            sent["atRev"] = at_rev
        result = await self._caller.call("documents.get", sent, timeout)
        return cast(DocumentsGetResult, result)

    async def get_many(
        self,
        collection: str,
        ids: Sequence[str],
        *,
        expand: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsGetManyResult:
        """Reads several documents of one collection at one moment.

        `collection`: Which kind of document.
        `ids`: Ids, at most 1,000.
        `expand`: Fields for which references are configured: the documents that they refer to come along, at most
            1,000.

        Raises ReplyTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "ids": ids}
        if expand is not None:
            sent["expand"] = expand
        result = await self._caller.call("documents.getMany", sent, timeout)
        return cast(DocumentsGetManyResult, result)

    async def history(
        self,
        collection: str,
        id: str,
        *,
        limit: Optional[int] = None,
        before_rev: Optional[int] = None,
        values: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsHistoryResult:
        """Lists a document's versions, the newest first, as far as the log reaches back.

        `collection`: Name of the collection.
        `id`: The document's id.
        `limit`: Most versions to return; 100 when absent.
        `before_rev`: Only versions before this revision: that of the last one, for the next page.
        `values`: Return the values too.

        Raises OverloadedError, ReplyTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id}
        if limit is not None:
            sent["limit"] = limit
        if before_rev is not None:
            sent["beforeRev"] = before_rev
        if values is not None:
            sent["values"] = values
        result = await self._caller.call("documents.history", sent, timeout)
        return cast(DocumentsHistoryResult, result)

    async def put_many(
        self,
        collection: str,
        documents: Sequence[DocumentsPutManyDocuments],
        *,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsPutManyResult:
        """Stores several documents: all or nothing, one revision.

        `collection`: Which kind of document.
        `documents`: At most 10,000; no id twice.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, UniqueViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "documents": documents}
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.putMany", sent, timeout)
        return cast(DocumentsPutManyResult, result)

    async def delete(
        self,
        collection: str,
        id: str,
        *,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDeleteResult:
        """Deletes a document; a tombstone stays so that others can learn of it.

        `collection`: Which kind of document.
        `id`: The document's id.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, OutcomeUnknownError, ReferencedError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, TooManyDocumentsError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.delete", sent, timeout)
        return cast(DocumentsDeleteResult, result)

    async def delete_many(
        self,
        collection: str,
        *,
        ids: Optional[Sequence[str]] = None,
        where: JSON = UNSET,
        atomic: Optional[bool] = None,
        dry_run: Optional[bool] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDeleteManyResult:
        """Deletes several documents, by their ids or by what is in them.

        `collection`: Which kind of document.
        `ids`: At most 10,000; no id twice. Those of no documents are passed over. All or nothing, one revision.
            This or `where`.
        `where`: A selector (queries.md): what the documents must have. Up to 5,000 of them, and 64 MiB of values,
            go in one transaction; more, or more than a full disk has room for at once, in slices, each a revision
            of its own, with notifications `progress`.
        `atomic`: With `where`, true: in one transaction or not at all, as with a `requestKey`.
        `dry_run`: With `where`, true: count the documents and delete none.
        `allow_scan`: With `where`, true: look at every document, though there are more than 10,000 and no index
            helps.
        `timeout_ms`: With `where`: milliseconds that looking for the documents may take, before each 5,000 of them;
            5,000 when absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises CancelledError, IndexNeededError, NoSpaceError, OutcomeUnknownError, OverloadedError,
            ReferencedError, RequestKeyReusedError, SchemaTooNewError, SchemaViolationError, ShuttingDownError,
            TimeoutError, TooManyDocumentsError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if ids is not None:
            sent["ids"] = ids
        if where is not UNSET:
            sent["where"] = where
        if atomic is not None:
            sent["atomic"] = atomic
        if dry_run is not None:
            sent["dryRun"] = dry_run
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.deleteMany", sent, timeout)
        return cast(DocumentsDeleteManyResult, result)

    async def patch(
        self,
        collection: str,
        id: str,
        *,
        merge_patch: JSON = UNSET,
        json_patch: Optional[Sequence[DocumentsPatchJsonPatch]] = None,
        if_rev: Optional[int] = None,
        replace: Optional[bool] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsPatchResult:
        """Changes parts of a document.

        `collection`: Which kind of document.
        `id`: The document's id.
        `merge_patch`: A JSON Merge Patch (RFC 7396): an object of members that take the place of the document's,
            null taking them away. This or `jsonPatch`.
        `json_patch`: A JSON Patch (RFC 6902): operations in their order, all or none.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `replace`: Allows a `mergePatch` that is no object, which takes the place of the whole document, as RFC 7396
            has it. Without it that is refused: it is mostly a mistake.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, NotFoundError, OutcomeUnknownError, PatchFailedError,
            QuotaExceededError, RequestKeyReusedError, SchemaTooNewError, SchemaViolationError,
            UniqueViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id}
        if merge_patch is not UNSET:
            sent["mergePatch"] = merge_patch
        if json_patch is not None:
            sent["jsonPatch"] = json_patch
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if replace is not None:
            sent["replace"] = replace
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.patch", sent, timeout)
        return cast(DocumentsPatchResult, result)

    async def increment(
        self,
        collection: str,
        id: str,
        path: str,
        *,
        by: JSON = UNSET,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsIncrementResult:
        """Adds to a number in a document in one step, exactly.

        `collection`: Which kind of document.
        `id`: The document's id.
        `path`: Where the number stands: names with dots between them, `\\.` for a dot in a name. What is missing
            comes to be, from 0.
        `by`: The number to add, whole or decimal; 1 when absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises NoSpaceError, NotFoundError, OutOfRangeError, OutcomeUnknownError, QuotaExceededError,
            RequestKeyReusedError, SchemaTooNewError, SchemaViolationError, TypeMismatchError, UniqueViolationError,
            ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id, "path": path}
        if by is not UNSET:
            sent["by"] = by
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.increment", sent, timeout)
        return cast(DocumentsIncrementResult, result)

    async def restore(
        self,
        collection: str,
        id: str,
        *,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsRestoreResult:
        """Brings back a deleted document with its last value, as long as its tombstone is kept.

        `collection`: Which kind of document.
        `id`: The document's id.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises NoSpaceError, NotFoundError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, UniqueViolationError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id}
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.restore", sent, timeout)
        return cast(DocumentsRestoreResult, result)

    async def attach(
        self,
        collection: str,
        id: str,
        name: str,
        *,
        content_type: Optional[str] = None,
        fd: Optional[Descriptor] = None,
        data: Optional[str] = None,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsAttachResult:
        """Gives a document an attachment, in the place of one of the same name.

        `collection`: Which kind of document.
        `id`: The document's id.
        `name`: The attachment's name in its document.
        `content_type`: Its media type; kept and returned as it is.
        `fd`: A file, or its descriptor: it goes along with the request.
        `data`: The content as base64, of at most 8 MiB.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, DescriptorMissingError, NoSpaceError, NotFoundError, OutcomeUnknownError,
            OverloadedError, QuotaExceededError, RequestKeyReusedError, SchemaTooNewError, ShuttingDownError,
            TransferFailedError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id, "name": name}
        if content_type is not None:
            sent["contentType"] = content_type
        if fd is not None:
            sent["fd"] = True
        if data is not None:
            sent["data"] = data
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.attach", sent, timeout, descriptor=fd)
        return cast(DocumentsAttachResult, result)

    async def attachment(
        self,
        collection: str,
        id: str,
        name: str,
        *,
        as_: Optional[Literal["inline", "fd"]] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsAttachmentResult:
        """Reads an attachment: as base64, or as a descriptor of a file open for reading.

        `collection`: Which kind of document.
        `id`: The document's id.
        `name`: The attachment's name in its document.
        `as_`: `inline`: base64 in the reply, of at most 8 MiB. `fd`: a descriptor comes with the reply's first
            byte. `inline` when absent.

        Raises IntegrityError, NotFoundError, OverloadedError, ShuttingDownError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id, "name": name}
        if as_ is not None:
            sent["as"] = as_
        result = await self._caller.call("documents.attachment", sent, timeout, wants_descriptor=as_ == "fd")
        return cast(DocumentsAttachmentResult, result)

    async def detach(
        self,
        collection: str,
        id: str,
        name: str,
        *,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDetachResult:
        """Takes an attachment away from a document.

        `collection`: Which kind of document.
        `id`: The document's id.
        `name`: The attachment's name in its document.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, NotFoundError, OutcomeUnknownError, RequestKeyReusedError,
            SchemaTooNewError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "id": id, "name": name}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.detach", sent, timeout)
        return cast(DocumentsDetachResult, result)

    async def list(
        self,
        collection: str,
        *,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsListResult:
        """Lists a collection's documents in the order of their ids' bytes.

        `collection`: Which kind of document.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 100 when absent.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = await self._caller.call("documents.list", sent, timeout)
        return cast(DocumentsListResult, result)

    async def import_(
        self,
        collection: str,
        *,
        fd: Optional[Descriptor] = None,
        path: Optional[str] = None,
        id_field: Optional[str] = None,
        format: Optional[Literal["lines", "array"]] = None,
        on_error: Optional[Literal["fail", "skip"]] = None,
        offset: Optional[int] = None,
        attachments: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsImportResult:
        """Stores documents from a descriptor or file of NDJSON or one JSON array, in batches.

        `collection`: Which kind of document.
        `fd`: A file, or its descriptor: it goes along with the request.
        `path`: An absolute path beneath one of the daemon's `importRoots`, for its own user only.
        `id_field`: The member that holds a document's id, a string or number. Without it a record is
            `{"id":…,"value":…}`, or a document that gets a new UUIDv7.
        `format`: What the input is; told by its first byte when absent.
        `on_error`: Whether a bad record ends the import or is passed over and reported; `fail` when absent.
        `offset`: Bytes of the input to pass over: where an earlier import ended.
        `attachments`: true: a record of id, value and `attachments`, as an export writes it, brings the document's
            attachments: those and no others.

        Raises BadRecordError, CancelledError, DescriptorMissingError, NoSpaceError, OutcomeUnknownError,
            OverloadedError, PathDeniedError, QuotaExceededError, SchemaTooNewError, ShuttingDownError,
            TransferFailedError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if fd is not None:
            sent["fd"] = True
        if path is not None:
            sent["path"] = path
        if id_field is not None:
            sent["idField"] = id_field
        if format is not None:
            sent["format"] = format
        if on_error is not None:
            sent["onError"] = on_error
        if offset is not None:
            sent["offset"] = offset
        if attachments is not None:
            sent["attachments"] = attachments
        result = await self._caller.call("documents.import", sent, timeout, descriptor=fd)
        return cast(DocumentsImportResult, result)

    async def export(
        self,
        collection: str,
        *,
        fd: Optional[Descriptor] = None,
        path: Optional[str] = None,
        attachments: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsExportResult:
        """Writes a collection to a descriptor or new file, a line a document: `{"id":…,"value":…}`.

        `collection`: Which kind of document.
        `fd`: A file, or its descriptor: it goes along with the request.
        `path`: An absolute path beneath one of the daemon's `importRoots`, for its own user only.
        `attachments`: true: a document's attachments go along in its line as base64, up to 8 MiB of them together.

        Raises CancelledError, DescriptorMissingError, OverloadedError, PathDeniedError, ShuttingDownError,
            TransferFailedError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if fd is not None:
            sent["fd"] = True
        if path is not None:
            sent["path"] = path
        if attachments is not None:
            sent["attachments"] = attachments
        result = await self._caller.call("documents.export", sent, timeout, descriptor=fd)
        return cast(DocumentsExportResult, result)

    async def scopes(self, *, timeout: Optional[float] = None) -> DocumentsScopesResult:
        """Lists the collections with their sizes."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("documents.scopes", sent, timeout)
        return cast(DocumentsScopesResult, result)

    async def configure(
        self,
        collection: str,
        *,
        indexes: JSON = UNSET,
        schema: JSON = UNSET,
        schema_mode: Optional[Literal["off", "warn", "enforce"]] = None,
        tombstone_days: JSON = UNSET,
        retain_days: JSON = UNSET,
        history: JSON = UNSET,
        durability: Optional[Literal["durable", "relaxed"]] = None,
        flush_seconds: Optional[int] = None,
        references: JSON = UNSET,
        backup: Optional[bool] = None,
        version: Optional[int] = None,
        migrations: JSON = UNSET,
        dry_run: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        search_fields: JSON = UNSET,
        search_tokenizer: Optional[Literal["unicode61", "trigram"]] = None,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsConfigureResult:
        """Says what a collection is: its indexes, schema, references, what ages out, when its changes are durable. What
        is absent stays.

        `collection`: Which kind of document.
        `indexes`: All its indexes, a list of at most 64 objects `{name, fields, unique, where}`: 1 to 16 paths,
            whether no two documents have the same values there, and a selector of the documents that it is about.
            Those that are not in the list are dropped; null or `[]` drops all. They are built in the background;
            one that has failed is built anew.
        `schema`: JSON Schema (draft-07) of its documents; null takes it away. At most 65,536 bytes. Writes are held
            against it.
        `schema_mode`: What a document meets that breaks the schema: nothing, a warning in the reply, a refusal. At
            first `warn`.
        `tombstone_days`: Days after which what is deleted can be forgotten, 1 to 36,500; null, as at first: never
            by itself.
        `retain_days`: Days after its last change when a document is deleted, 1 to 36,500; null, as at first: never
            by itself.
        `history`: What is kept of what its documents were, `{count, days, bytes}`: so many former versions of each,
            1 to 10,000, for so many days after they were replaced, 1 to 36,500, and so many bytes of all of them,
            at first 268,435,456; one of `count` and `days` at least. Null, as at first, keeps no more than the log,
            and erases what was kept.
        `durability`: `relaxed`: changes are acknowledged at once and synced later. At first `durable`.
        `flush_seconds`: With `relaxed`: a change is synced after so many seconds at the latest. At first 5.
        `references`: All that its documents refer to, a list of at most 16 objects `{field, collection, onDelete}`:
            a path at which an id stands or an array of ids, whose documents these are, and what happens when one of
            those is deleted: `deny` refuses it, `nullify` takes the id away, `cascade` deletes who refers to it as
            well. Null or `[]` takes them away. Each has an index of its own. Needs `admin` on those collections
            too.
        `backup`: Whether backups have its documents and attachments; true at first.
        `version`: The version of its documents that the caller knows. A lower one than the stored one is refused
            with `schemaTooNew`, a higher one needs `migrations` as soon as there are documents. Those of a
            collection without a version are of version 1.
        `migrations`: With `version`: how documents become those of the next version, a list of at most 256 objects
            `{to, steps}` in the order of versions. A step is one of `{rename: {from, to, ifExists}}`, `{move:
            {from, to, ifExists}}`, `{setDefault: {path, value}}`, `{remove: path}`, `{convert: {path, to,
            onFailure}}`. Those up to the stored version are passed over. They run in the background.
        `dry_run`: With `version`: change nothing, and tell what the migrations would do. At first false.
        `timeout_ms`: With `dryRun`: how long it may take. At first 60,000.
        `search_fields`: All fields whose text `documents.search` finds, a list of at most 16 paths or objects
            `{path, weight}`. Null or `[]` ends that. Another list is built anew in the background, unless only
            weights differ.
        `search_tokenizer`: What is found: words without case and diacritics, as at first, or any three characters
            in a row.
        `if_rev`: Change it only when the `rev` that `describe` tells is this one; 0: only when nothing was ever
            configured.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises CancelledError, ConflictError, NoSpaceError, OutcomeUnknownError, QuotaExceededError,
            RequestKeyReusedError, SchemaTooNewError, TimeoutError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if indexes is not UNSET:
            sent["indexes"] = indexes
        if schema is not UNSET:
            sent["schema"] = schema
        if schema_mode is not None:
            sent["schemaMode"] = schema_mode
        if tombstone_days is not UNSET:
            sent["tombstoneDays"] = tombstone_days
        if retain_days is not UNSET:
            sent["retainDays"] = retain_days
        if history is not UNSET:
            sent["history"] = history
        if durability is not None:
            sent["durability"] = durability
        if flush_seconds is not None:
            sent["flushSeconds"] = flush_seconds
        if references is not UNSET:
            sent["references"] = references
        if backup is not None:
            sent["backup"] = backup
        if version is not None:
            sent["version"] = version
        if migrations is not UNSET:
            sent["migrations"] = migrations
        if dry_run is not None:
            sent["dryRun"] = dry_run
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        if search_fields is not UNSET:
            sent["searchFields"] = search_fields
        if search_tokenizer is not None:
            sent["searchTokenizer"] = search_tokenizer
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.configure", sent, timeout)
        return cast(DocumentsConfigureResult, result)

    async def describe(
        self,
        collection: str,
        *,
        wait_ms: Optional[int] = None,
        version: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDescribeResult:
        """Tells what a collection is configured to be, how its indexes stand and how large it is.

        `collection`: Which kind of document.
        `wait_ms`: Wait until no index is being built, that of the search included, and no migration is under way,
            so long at most.
        `version`: The version of its documents that the caller knows; a lower one than the stored one is refused.

        Raises SchemaTooNewError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if wait_ms is not None:
            sent["waitMs"] = wait_ms
        if version is not None:
            sent["version"] = version
        result = await self._caller.call("documents.describe", sent, timeout)
        return cast(DocumentsDescribeResult, result)

    async def drop(
        self,
        collection: str,
        *,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDropResult:
        """Drops a collection with all that is in it and configured for it; its name is free at once.

        `collection`: Which kind of document.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises NoSpaceError, OutcomeUnknownError, RequestKeyReusedError, SchemaTooNewError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("documents.drop", sent, timeout)
        return cast(DocumentsDropResult, result)

    async def purge(
        self,
        collection: str,
        *,
        older_than_days: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsPurgeResult:
        """Forgets deleted documents for good: what is purged cannot be brought back.

        `collection`: Which kind of document.
        `older_than_days`: Only what was deleted so many days ago; everything that is deleted when it is 0 or
            absent.

        Raises NoSpaceError, OutcomeUnknownError, SchemaTooNewError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if older_than_days is not None:
            sent["olderThanDays"] = older_than_days
        result = await self._caller.call("documents.purge", sent, timeout)
        return cast(DocumentsPurgeResult, result)

    async def find(
        self,
        collection: str,
        *,
        where: JSON = UNSET,
        sort: Optional[Sequence[JSON]] = None,
        fields: Optional[Sequence[str]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        expand: Optional[Sequence[str]] = None,
        at_rev: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsFindResult:
        """Finds documents by what is in them.

        `collection`: Which kind of document.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `sort`: Paths to sort by, each `"path"` or `{"path":"desc"}`; `_id` is the document's id.
        `fields`: Paths: only these parts of the documents are returned.
        `limit`: Most items to return; 100 when absent.
        `cursor`: A cursor of the same query's previous page.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.
        `expand`: Fields for which references are configured: the documents that they refer to come along, at most
            1,000.
        `at_rev`: Documents as they were at this revision, as far as the tables have it; not together with `expand`.

        Raises CancelledError, CompactedError, IndexNeededError, OverloadedError, ReplyTooLargeError,
            ShuttingDownError, TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if where is not UNSET:
            sent["where"] = where
        if sort is not None:
            sent["sort"] = sort
        if fields is not None:
            sent["fields"] = fields
        if limit is not None:
            sent["limit"] = limit
        if cursor is not None:
            sent["cursor"] = cursor
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        if expand is not None:
            sent["expand"] = expand
        if at_rev is not None:
            sent["atRev"] = at_rev
        result = await self._caller.call("documents.find", sent, timeout)
        return cast(DocumentsFindResult, result)

    async def count(
        self,
        collection: str,
        *,
        where: JSON = UNSET,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsCountResult:
        """Counts a collection's documents, or those that match.

        `collection`: Which kind of document.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.

        Raises CancelledError, IndexNeededError, OverloadedError, ShuttingDownError, TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if where is not UNSET:
            sent["where"] = where
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = await self._caller.call("documents.count", sent, timeout)
        return cast(DocumentsCountResult, result)

    async def distinct(
        self,
        collection: str,
        field: str,
        *,
        where: JSON = UNSET,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsDistinctResult:
        """Lists the different values that a field has, in their order.

        `collection`: Which kind of document.
        `field`: Path of the field.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `limit`: Most items to return; 100 when absent.
        `cursor`: A cursor of the same query's previous page.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.

        Raises CancelledError, IndexNeededError, OverloadedError, ShuttingDownError, TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "field": field}
        if where is not UNSET:
            sent["where"] = where
        if limit is not None:
            sent["limit"] = limit
        if cursor is not None:
            sent["cursor"] = cursor
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = await self._caller.call("documents.distinct", sent, timeout)
        return cast(DocumentsDistinctResult, result)

    async def aggregate(
        self,
        collection: str,
        *,
        where: JSON = UNSET,
        group_by: Optional[Sequence[str]] = None,
        compute: Optional[Mapping[str, JSON]] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsAggregateResult:
        """Counts, sums up and compares documents, in groups.

        `collection`: Which kind of document.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `group_by`: Paths: documents with equal values there are a group. Without them all are one.
        `compute`: What to compute, by name: `{"total":{"sum":"price"}}`, with `count`, `sum`, `min`, `max` or
            `avg`.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.

        Raises CancelledError, IndexNeededError, OverloadedError, ReplyTooLargeError, ShuttingDownError,
            TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if where is not UNSET:
            sent["where"] = where
        if group_by is not None:
            sent["groupBy"] = group_by
        if compute is not None:
            sent["compute"] = compute
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = await self._caller.call("documents.aggregate", sent, timeout)
        return cast(DocumentsAggregateResult, result)

    async def explain(
        self,
        collection: str,
        *,
        where: JSON = UNSET,
        sort: Optional[Sequence[JSON]] = None,
        fields: Optional[Sequence[str]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsExplainResult:
        """Makes a query and tells how it went, without its documents.

        `collection`: Which kind of document.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `sort`: Paths to sort by, each `"path"` or `{"path":"desc"}`; `_id` is the document's id.
        `fields`: Paths: only these parts of the documents are returned.
        `limit`: Most items to return; 100 when absent.
        `cursor`: A cursor of the same query's previous page.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.

        Raises CancelledError, IndexNeededError, OverloadedError, ReplyTooLargeError, ShuttingDownError,
            TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if where is not UNSET:
            sent["where"] = where
        if sort is not None:
            sent["sort"] = sort
        if fields is not None:
            sent["fields"] = fields
        if limit is not None:
            sent["limit"] = limit
        if cursor is not None:
            sent["cursor"] = cursor
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = await self._caller.call("documents.explain", sent, timeout)
        return cast(DocumentsExplainResult, result)

    async def search(
        self,
        collection: str,
        query: str,
        *,
        limit: Optional[int] = None,
        where: JSON = UNSET,
        fields: Optional[Sequence[str]] = None,
        cursor: Optional[str] = None,
        snippet_words: Optional[int] = None,
        mark_start: Optional[str] = None,
        mark_end: Optional[str] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsSearchResult:
        """Finds documents by the words in their text, the best first.

        `collection`: Which kind of document; it has `searchFields`.
        `query`: Words, "phrases", beginnings*, OR, NOT or -, parentheses. See search.md.
        `limit`: Most items to return; 20 when absent.
        `where`: A selector that documents must fulfil besides. See queries.md.
        `fields`: Paths: only these parts of the documents are returned.
        `cursor`: A cursor of the same search's previous page.
        `snippet_words`: Words of a snippet, with the trigram tokenizer characters; 0 for no snippets, 16 when
            absent.
        `mark_start`: What stands in a snippet before what was found; `[` when absent.
        `mark_end`: What stands behind it; `]` when absent.
        `timeout_ms`: Milliseconds after which it ends with `timeout`; 5,000 when absent.

        Raises CancelledError, IndexBuildingError, IndexNeededError, OverloadedError, ReplyTooLargeError,
            ShuttingDownError, TimeoutError.
        """
        sent: Dict[str, JSON] = {"collection": collection, "query": query}
        if limit is not None:
            sent["limit"] = limit
        if where is not UNSET:
            sent["where"] = where
        if fields is not None:
            sent["fields"] = fields
        if cursor is not None:
            sent["cursor"] = cursor
        if snippet_words is not None:
            sent["snippetWords"] = snippet_words
        if mark_start is not None:
            sent["markStart"] = mark_start
        if mark_end is not None:
            sent["markEnd"] = mark_end
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = await self._caller.call("documents.search", sent, timeout)
        return cast(DocumentsSearchResult, result)

    async def watch(
        self,
        collection: str,
        *,
        where: JSON = UNSET,
        sort: Optional[Sequence[JSON]] = None,
        limit: Optional[int] = None,
        after_rev: Optional[int] = None,
        epoch: Optional[str] = None,
        allow_scan: Optional[bool] = None,
        timeout_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> DocumentsWatchResult:
        """Begins a live query: notifications `documents.changed` follow, first what matches, then how that changes with
        each durable revision.

        `collection`: Which kind of document.
        `where`: A selector: what documents must have; all of them when absent. See queries.md.
        `sort`: Paths to sort by, each `"path"` or `{"path":"desc"}`; what is equal in them, and everything when
            absent, is in the order of ids.
        `limit`: Only the first documents in that order; all of them when absent.
        `after_rev`: The client has what the same query showed at this revision: values that have not changed since
            are left out of the beginning.
        `epoch`: The history that `afterRev` comes from; another one is refused.
        `allow_scan`: true: look at every document, though there are more than 10,000 and no index helps.
        `timeout_ms`: Milliseconds after which reading what it begins with ends with `timeout`; 5,000 when absent.

        Raises CancelledError, EpochChangedError, IndexNeededError, LiveQueryTooLargeError, OverloadedError,
            ShuttingDownError, TimeoutError, TooManySubscriptionsError.
        """
        sent: Dict[str, JSON] = {"collection": collection}
        if where is not UNSET:
            sent["where"] = where
        if sort is not None:
            sent["sort"] = sort
        if limit is not None:
            sent["limit"] = limit
        if after_rev is not None:
            sent["afterRev"] = after_rev
        if epoch is not None:
            sent["epoch"] = epoch
        if allow_scan is not None:
            sent["allowScan"] = allow_scan
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        result = await self._caller.call("documents.watch", sent, timeout)
        return cast(DocumentsWatchResult, result)

    async def unwatch(self, subscription: int, *, timeout: Optional[float] = None) -> DocumentsUnwatchResult:
        """Ends a live query; ending one that is not there changes nothing.

        `subscription`: As `documents.watch` returned it.
        """
        sent: Dict[str, JSON] = {"subscription": subscription}
        result = await self._caller.call("documents.unwatch", sent, timeout)
        return cast(DocumentsUnwatchResult, result)
