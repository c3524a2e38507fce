# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Literal, Optional, Sequence, TypedDict, cast

from ..caller import AsyncCaller, Caller, Descriptor
from ..values import JSON


class StoragePingResult(TypedDict):
    # Always true.
    pong: bool


class StorageHealthResult(TypedDict):
    # Always true: it answers.
    live: bool
    # Whether it takes reads and writes.
    ready: bool
    # Why it is not ready.
    reasons: List[Literal["draining", "diskFull", "overloaded"]]


class _StorageStatusResultRecoveredLeftOut(TypedDict):
    # `settings`, `secrets` or `documents`; `settings or secrets` and `documents or secrets` where nothing is left
    # that tells.
    store: str
    # Items, as of the snapshot.
    count: int
    # As in `storage.backup`.
    reason: Literal["marked", "deviceOnly", "damaged", "locked"]


class StorageStatusResultRecoveredLeftOut(_StorageStatusResultRecoveredLeftOut, total=False):
    # Domain, collection or service; left out where the snapshot does not name it.
    scope: str


class _StorageStatusResultRecoveredMissing(TypedDict):
    # The first of the revisions.
    fromRev: int
    # The last of them.
    toRev: int


class StorageStatusResultRecoveredMissing(_StorageStatusResultRecoveredMissing, total=False):
    # Absent when nothing is left that tells.
    store: str
    # The domain or collection; absent where names are sealed.
    scope: str


class _StorageStatusResultRecovered(TypedDict):
    # When the start was that did so.
    at: str
    # Tables and log, segments of the log that are damaged or gone, or files of caches.
    what: Literal["durable", "log", "caches"]
    # What the failed starts had come to.
    phase: str
    # Why they failed.
    reason: str


class StorageStatusResultRecovered(_StorageStatusResultRecovered, total=False):
    # Name below quarantine/ of what was set aside.
    quarantine: str
    # Files of caches that were dropped.
    files: List[str]
    # A copy of the tables, what could be read of damaged tables, a snapshot, the seed bundle or nothing; changes of
    # the log were added to it.
    startedFrom: Literal["tables", "salvage", "snapshot", "bundle", "nothing"]
    # The snapshot's name.
    snapshot: str
    # What the snapshot leaves out or could not be read of damaged tables, by scope: of that only what the log has
    # had since is there. Left out when there is nothing.
    leftOut: List[StorageStatusResultRecoveredLeftOut]
    # Every change up to this revision of the history before is there, but for what `leftOut` names.
    savedRev: int
    # Newest revision that was found in what was set aside: changes above `savedRev` are only there. With `log` the
    # newest that is known to have been given out.
    newestRev: int
    # Changes that were acknowledged and are lost, since the log was damaged; everything else is there.
    missing: List[StorageStatusResultRecoveredMissing]


class _StorageStatusResultLastTrap(TypedDict):
    # When it ended.
    at: str
    # The signal, `SIGILL` and the like.
    signal: str
    # The thread that trapped.
    thread: str
    # All of that, for people.
    line: str
    # What to do about it.
    help: str


class StorageStatusResultLastTrap(_StorageStatusResultLastTrap, total=False):
    # How long that run had served; left out when it did not come so far.
    servedMilliseconds: int
    # The change that the thread was at; left out when it was none in particular.
    rev: int


class _StorageStatusResultCheck(TypedDict):
    # Whether one is under way that nobody has asked for.
    running: bool


class StorageStatusResultCheck(_StorageStatusResultCheck, total=False):
    # When the last one ended.
    at: str
    # How many problems it has found.
    problems: int


class _StorageStatusResultDamage(TypedDict):
    # The file, below the data directory.
    file: str
    # `damaged`: it is not what was written there; `unreadable`: the disk does not give it, or it is gone.
    kind: Literal["damaged", "unreadable"]
    # Times that it was met; the log has a line for the first.
    count: int
    # When it was met first.
    firstAt: str
    # When it was met last.
    lastAt: str
    # What SQLite or the system said.
    reason: str


class StorageStatusResultDamage(_StorageStatusResultDamage, total=False):
    # The command that helps.
    help: str


class _StorageStatusResultBackups(TypedDict):
    # `backups.every` of the configuration.
    everySeconds: int
    # Snapshots that were not made, since the start.
    failures: int


class StorageStatusResultBackups(_StorageStatusResultBackups, total=False):
    # When the newest was made; left out when there is none, or nobody has looked yet.
    newestAt: str
    # When that was last, if none was made since.
    lastFailureAt: str
    # Why.
    lastFailure: str


class _StorageStatusResultSeedBundle(TypedDict):
    # The file, as the daemon was told.
    file: str
    # `notNeeded`: there was data, and the file was not looked at; `failed`: something that was absent began empty.
    state: Literal["notNeeded", "laidDown", "failed"]
    # What this start has laid down.
    stores: List[Literal["settings", "documents", "models"]]


class StorageStatusResultSeedBundle(_StorageStatusResultSeedBundle, total=False):
    # Why what is missing was not laid down.
    problem: str


class _StorageStatusResultSockets(TypedDict):
    # Where it is.
    path: str
    # Its permissions, in octal digits.
    mode: str
    # Open connections.
    connections: int


class StorageStatusResultSockets(_StorageStatusResultSockets, total=False):
    # Its name in the configuration.
    name: str
    # Number of its user, when the configuration gives one.
    owner: int
    # Number of its group, when the configuration gives one.
    group: int
    # The role of those who have no other.
    role: str


class _StorageStatusResult(TypedDict):
    # The daemon's version.
    version: str
    # Names the history that revisions belong to (UUID).
    epoch: str
    # When the daemon started.
    startedAt: str
    # `small`, `default` or `large`.
    profile: str
    # Newest revision.
    rev: int
    # Revision up to which the tables are written.
    foldedRev: int
    # Bounds, in bytes or items.
    limits: Dict[str, int]


class StorageStatusResult(_StorageStatusResult, total=False):
    # The daemon's process id; this and what follows, up to `limits`, needs `admin` on the store.
    pid: int
    # What starts have had to set aside or drop, until `storage.acknowledge`; left out when there is nothing.
    recovered: List[StorageStatusResultRecovered]
    # How the run before this one ended, when it ended by a fault of its own; left out when it did not.
    lastTrap: StorageStatusResultLastTrap
    # What has come of looking through everything last (`storage.check`, or by itself); left out before the first.
    check: StorageStatusResultCheck
    # Files that last and were found damaged since the start, by whatever read them; left out when none was.
    damage: List[StorageStatusResultDamage]
    # How the snapshots do that the daemon makes by itself; left out when it makes none.
    backups: StorageStatusResultBackups
    # What `--seed-bundle` was to this start; left out without one.
    seedBundle: StorageStatusResultSeedBundle
    # Domains, keys and bytes of the settings.
    settings: Dict[str, JSON]
    # Collections and documents.
    documents: Dict[str, JSON]
    # Namespaces, entries and bytes of the model cache, and its bytes in memory.
    models: Dict[str, JSON]
    # Blobs, their contents and bytes, uploads under way.
    blobs: Dict[str, JSON]
    # Bytes free and in all on the file system, below how many caches store nothing, and whether that is so; whether
    # changes are refused for want of room (`full`), how many bytes have to become free until they are not
    # (`missing`), and what takes the room (`usage`).
    space: Dict[str, JSON]
    # Segments and bytes of the log, commits and syncs, and `durableRev`, up to which no start needs the log.
    log: Dict[str, JSON]
    # Changes that are not folded yet: items, bytes, limit.
    overlay: Dict[str, JSON]
    # Items kept in memory: items, bytes, limit.
    cache: Dict[str, JSON]
    # Open connections, requests, subscriptions.
    connections: Dict[str, JSON]
    # Memory of all connections' buffers, its limit, and what has been refused for want of it.
    buffers: Dict[str, JSON]
    # Writes, bytes and syncs since the start, by file group.
    disk: Dict[str, JSON]
    # The whole path of the daemon's data directory.
    dataDirectory: str
    # True when that lies in memory, and goes with the daemon (`--memory`); left out otherwise.
    inMemory: bool
    # Where clients come in.
    sockets: List[StorageStatusResultSockets]
    # What each role with a quota holds: items, bytes, scopes, and their limits.
    quotas: Dict[str, Dict[str, JSON]]


class StorageStatsResultDatabases(TypedDict):
    # The file, below the data directory.
    name: str
    # Its size when the daemon started, or an application said that it has, such as `1-2 MB`.
    range: str


class StorageStatsResultModels(TypedDict):
    # Name.
    namespace: str
    # Entries.
    count: int
    # Bytes that they count as.
    bytes: int
    # Times that an entry was found fresh since the start.
    hits: int
    # Times that one was found stale.
    stale: int
    # Times that none was found.
    misses: int
    # Entries that were stored.
    puts: int
    # Entries that had to go for want of room.
    evictions: int
    # Those of them that were new and asked for less often than who would have had to go instead.
    rejections: int
    # Entries that were swept.
    expired: int


class StorageStatsResultBlobs(TypedDict):
    # Name.
    namespace: str
    # Its blobs, variants counted.
    count: int
    # Their bytes, equal contents counted each time.
    bytes: int
    # Reads that found a blob.
    hits: int
    # Reads that found none.
    misses: int
    # Blobs that were stored.
    stored: int
    # Blobs that were not.
    declined: int
    # Blobs that went for others.
    evicted: int
    # Blobs whose time was over.
    expired: int
    # Blobs whose content was found damaged or gone.
    damaged: int


class _StorageStatsResultDaemonRequestsLatency(TypedDict):
    # How many there were.
    count: int
    # All together.
    sumMicroseconds: int
    # The longest.
    maxNanoseconds: int
    # The median, rounded up to its bucket's bound.
    p50Nanoseconds: int
    # What nine of ten do not exceed.
    p90Nanoseconds: int
    # What 99 of 100 do not exceed.
    p99Nanoseconds: int
    # What 999 of 1,000 do not exceed.
    p999Nanoseconds: int


class StorageStatsResultDaemonRequestsLatency(_StorageStatsResultDaemonRequestsLatency, total=False):
    # With `histograms`: how many values each bucket has, by its upper bound, which belongs to it. A bound is at
    # most a sixteenth above the values below it. Empty buckets are left out.
    buckets: Dict[str, int]


class StorageStatsResultDaemonRequests(TypedDict):
    # Its name.
    method: str
    # Requests that were answered with an error.
    refused: int
    # From when the loop saw a request's last bytes to when the socket had taken its reply's last byte.
    latency: StorageStatsResultDaemonRequestsLatency


class _StorageStatsResultDaemonCommitsChanges(TypedDict):
    # How many there were.
    count: int
    # All together.
    sum: int
    # The greatest.
    max: int
    # The median, rounded up to its bucket's bound.
    p50: int
    # What nine of ten do not exceed.
    p90: int
    # What 99 of 100 do not exceed.
    p99: int
    # What 999 of 1,000 do not exceed.
    p999: int


class StorageStatsResultDaemonCommitsChanges(_StorageStatsResultDaemonCommitsChanges, total=False):
    # With `histograms`: how many values each bucket has, by its upper bound, which belongs to it. A bound is at
    # most a sixteenth above the values below it. Empty buckets are left out.
    buckets: Dict[str, int]


class StorageStatsResultDaemonCommits(TypedDict):
    # Changes of a commit.
    changes: StorageStatsResultDaemonCommitsChanges


class _StorageStatsResultDaemonSyncsTime(TypedDict):
    # How many there were.
    count: int
    # All together.
    sumMicroseconds: int
    # The longest.
    maxNanoseconds: int
    # The median, rounded up to its bucket's bound.
    p50Nanoseconds: int
    # What nine of ten do not exceed.
    p90Nanoseconds: int
    # What 99 of 100 do not exceed.
    p99Nanoseconds: int
    # What 999 of 1,000 do not exceed.
    p999Nanoseconds: int


class StorageStatsResultDaemonSyncsTime(_StorageStatsResultDaemonSyncsTime, total=False):
    # With `histograms`: how many values each bucket has, by its upper bound, which belongs to it. A bound is at
    # most a sixteenth above the values below it. Empty buckets are left out.
    buckets: Dict[str, int]


class _StorageStatsResultDaemonSyncsRevisions(TypedDict):
    # How many there were.
    count: int
    # All together.
    sum: int
    # The greatest.
    max: int
    # The median, rounded up to its bucket's bound.
    p50: int
    # What nine of ten do not exceed.
    p90: int
    # What 99 of 100 do not exceed.
    p99: int
    # What 999 of 1,000 do not exceed.
    p999: int


class StorageStatsResultDaemonSyncsRevisions(_StorageStatsResultDaemonSyncsRevisions, total=False):
    # With `histograms`: how many values each bucket has, by its upper bound, which belongs to it. A bound is at
    # most a sixteenth above the values below it. Empty buckets are left out.
    buckets: Dict[str, int]


class StorageStatsResultDaemonSyncs(TypedDict):
    # What a sync took.
    time: StorageStatsResultDaemonSyncsTime
    # Revisions that a sync made durable.
    revisions: StorageStatsResultDaemonSyncsRevisions


class _StorageStatsResultDaemonFoldsTime(TypedDict):
    # How many there were.
    count: int
    # All together.
    sumMicroseconds: int
    # The longest.
    maxNanoseconds: int
    # The median, rounded up to its bucket's bound.
    p50Nanoseconds: int
    # What nine of ten do not exceed.
    p90Nanoseconds: int
    # What 99 of 100 do not exceed.
    p99Nanoseconds: int
    # What 999 of 1,000 do not exceed.
    p999Nanoseconds: int


class StorageStatsResultDaemonFoldsTime(_StorageStatsResultDaemonFoldsTime, total=False):
    # With `histograms`: how many values each bucket has, by its upper bound, which belongs to it. A bound is at
    # most a sixteenth above the values below it. Empty buckets are left out.
    buckets: Dict[str, int]


class _StorageStatsResultDaemonFoldsChanges(TypedDict):
    # How many there were.
    count: int
    # All together.
    sum: int
    # The greatest.
    max: int
    # The median, rounded up to its bucket's bound.
    p50: int
    # What nine of ten do not exceed.
    p90: int
    # What 99 of 100 do not exceed.
    p99: int
    # What 999 of 1,000 do not exceed.
    p999: int


class StorageStatsResultDaemonFoldsChanges(_StorageStatsResultDaemonFoldsChanges, total=False):
    # With `histograms`: how many values each bucket has, by its upper bound, which belongs to it. A bound is at
    # most a sixteenth above the values below it. Empty buckets are left out.
    buckets: Dict[str, int]


class StorageStatsResultDaemonFolds(TypedDict):
    # What it took to write a slice to the tables.
    time: StorageStatsResultDaemonFoldsTime
    # Changes of a slice.
    changes: StorageStatsResultDaemonFoldsChanges


class _StorageStatsResultDaemonCheckpointsTime(TypedDict):
    # How many there were.
    count: int
    # All together.
    sumMicroseconds: int
    # The longest.
    maxNanoseconds: int
    # The median, rounded up to its bucket's bound.
    p50Nanoseconds: int
    # What nine of ten do not exceed.
    p90Nanoseconds: int
    # What 99 of 100 do not exceed.
    p99Nanoseconds: int
    # What 999 of 1,000 do not exceed.
    p999Nanoseconds: int


class StorageStatsResultDaemonCheckpointsTime(_StorageStatsResultDaemonCheckpointsTime, total=False):
    # With `histograms`: how many values each bucket has, by its upper bound, which belongs to it. A bound is at
    # most a sixteenth above the values below it. Empty buckets are left out.
    buckets: Dict[str, int]


class StorageStatsResultDaemonCheckpoints(TypedDict):
    # What one took.
    time: StorageStatsResultDaemonCheckpointsTime


class StorageStatsResultDaemonDocuments(TypedDict):
    # Found in memory.
    hits: int
    # Looked up in the tables.
    misses: int


class StorageStatsResultDaemonSlow(TypedDict):
    # From how long on a request is slow; 0: none is.
    thresholdMilliseconds: int
    # Slow requests since the start.
    count: int


class StorageStatsResultDaemon(TypedDict):
    # Since it began to serve.
    uptimeMilliseconds: int
    # Methods that were asked for, in the order of their latencies' sums.
    requests: List[StorageStatsResultDaemonRequests]
    # Errors by kind, of lines that name no method too.
    refusals: Dict[str, int]
    # Commits to the log: a turn's changes, of all connections.
    commits: StorageStatsResultDaemonCommits
    # Syncs of the log.
    syncs: StorageStatsResultDaemonSyncs
    # Slices of the log that were written to the tables.
    folds: StorageStatsResultDaemonFolds
    # Checkpoints of the tables.
    checkpoints: StorageStatsResultDaemonCheckpoints
    # Bytes of the tables' WAL that are not checkpointed.
    walBytes: int
    # Connections that wait: for the `sync`, for `room`, a `page` or a `query`, those that had `more` than one turn
    # answers, are `deferred`, `starved` of memory or `stalled`; long `transfers` under way.
    queues: Dict[str, int]
    # Documents looked up by their ids, to be read or changed.
    documents: StorageStatsResultDaemonDocuments
    # See `storage.slow`.
    slow: StorageStatsResultDaemonSlow


class StorageStatsResultSweep(TypedDict):
    # Whether it is under way.
    running: bool
    # Entries that were looked at.
    done: int
    # Entries to look at.
    total: int
    # Entries that were removed.
    removed: int
    # Bytes that they counted as.
    bytes: int


class StorageStatsResultLaunches(TypedDict):
    # The application.
    client: str
    # When it was done.
    at: str
    # Its starts since the daemon's, this one included.
    count: int
    # Entries that went of its namespaces of caches.
    swept: int
    # Bytes that they counted as.
    sweptBytes: int
    # Whether large database files were compacted: one start in five.
    compacted: bool
    # Bytes that these became smaller by.
    freedBytes: int


class _StorageStatsResult(TypedDict):
    # Database files that there were then.
    databases: List[StorageStatsResultDatabases]
    # How many of them were of each range.
    sizes: Dict[str, int]
    # Files of caches that could not be opened, read or written.
    openErrors: int
    # What namespaces of the model cache hold, and what has happened to them.
    models: List[StorageStatsResultModels]
    # The same of namespaces of blobs.
    blobs: List[StorageStatsResultBlobs]
    # How the sweep stands that is under way, or how the last one ended.
    sweep: StorageStatsResultSweep
    # Bytes that caches have given up for want of space.
    purgedBytes: int
    # What was done for the last start of each application (`session.hello` with `launch`); others' need `monitor`
    # or `admin` on the store.
    launches: List[StorageStatsResultLaunches]


class StorageStatsResult(_StorageStatsResult, total=False):
    # Memory that was free when the daemon started, as a range.
    freeMemoryRange: str
    # Entries of all models and their bytes, all blobs, their contents and the bytes of these, each once; needs
    # `monitor` or `admin` on the store.
    totals: Dict[str, int]
    # What the daemon has measured of its own work since it began to serve; needs `monitor` or `admin` on the store.
    daemon: StorageStatsResultDaemon


class StorageSweepResult(TypedDict):
    # Whether it is under way.
    running: bool
    # Entries that were looked at.
    done: int
    # Entries to look at.
    total: int
    # Entries that were removed.
    removed: int
    # Bytes that they counted as.
    bytes: int


class StorageDiskWritesResultTotals(TypedDict):
    # Bytes given to the disk.
    bytes: int
    # Those of the log.
    log: int
    # Those of the tables and their WAL.
    tables: int
    # Those of the caches' files.
    caches: int
    # Those of other files, temporary ones too.
    other: int
    # Syncs.
    syncs: int
    # Changes that were asked for.
    changes: int
    # Bytes of their keys and values.
    logicalBytes: int
    # Writes given to the system.
    writes: int
    # Files that were made.
    creates: int
    # Files that were renamed.
    renames: int
    # Files that were removed.
    deletes: int
    # What these cost the file system's own blocks, about: 16 KiB a file made or renamed, 8 KiB a file removed.
    metadataBytes: int
    # What the device is given besides, since it takes whole blocks of 4 KiB: a sync in the midst of one gives it
    # twice.
    blockBytes: int
    # Bytes that nobody asked for meanwhile: room for the log, folds and checkpoints of what came before, temporary
    # files.
    upkeepBytes: int
    # Writes that changed nothing, and so were not written.
    noOpWrites: int
    # Durable changes that shared another one's sync.
    syncsSaved: int


class _StorageDiskWritesResultGroups(TypedDict):
    # The group; what has no name of its own has an empty one.
    name: str
    # Changes that were asked for.
    changes: int
    # Bytes of their keys and values.
    logicalBytes: int


class StorageDiskWritesResultGroups(_StorageDiskWritesResultGroups, total=False):
    # Where it is, of scopes and keys.
    store: str
    # In which scope, of keys.
    scope: str
    # The group's part of what was written, by what it asked for; not of scopes and keys.
    bytes: int


class StorageDiskWritesResultSeries(TypedDict):
    # Where it begins.
    startedAt: str
    # How much of it the daemon was running.
    seconds: int
    # The stores' parts, and `upkeep`.
    byStore: Dict[str, int]
    # Bytes given to the disk.
    bytes: int
    # Those of the log.
    log: int
    # Those of the tables and their WAL.
    tables: int
    # Those of the caches' files.
    caches: int
    # Those of other files, temporary ones too.
    other: int
    # Syncs.
    syncs: int
    # Changes that were asked for.
    changes: int
    # Bytes of their keys and values.
    logicalBytes: int


class StorageDiskWritesResultDays(TypedDict):
    # Days that are known and over.
    count: int
    # Median of their bytes.
    p50: int
    # The bytes that one day in ten passes.
    p90: int
    # Bytes by which a day's writes grew from day to day over the last 14, by least squares.
    trend: int


class StorageDiskWritesResultFiles(TypedDict):
    # What the files are for.
    group: Literal["log", "tables", "caches", "other"]
    # Which of them: databases, their WAL, files of their own, room that is filled with zeros in advance.
    kind: Literal["database", "wal", "journal", "content", "temporary", "room"]
    # Bytes written.
    bytes: int
    # Writes given to the system.
    writes: int
    # Syncs, those of directories too.
    syncs: int
    # Files that were made.
    creates: int
    # Files that were renamed.
    renames: int
    # Files that were removed.
    deletes: int
    # What these cost the file system's own blocks, about: 16 KiB a file made or renamed, 8 KiB a file removed.
    metadataBytes: int
    # What the device is given besides, since it takes whole blocks of 4 KiB: a sync in the midst of one gives it
    # twice.
    blockBytes: int


class _StorageDiskWritesResultBudgets(TypedDict):
    # Bytes that may be written in a day.
    diskWriteBudget: int
    # Bytes that were written today, the target's part.
    bytes: int
    # Whether the client is throttled when it has written more.
    throttle: bool
    # Whether it is now.
    throttled: bool


class StorageDiskWritesResultBudgets(_StorageDiskWritesResultBudgets, total=False):
    # The store that it is about.
    store: str
    # The client that it is about.
    client: str


class StorageDiskWritesResultReportsClients(TypedDict):
    # The client, or the method.
    name: str
    # Changes that were asked for.
    changes: int
    # Their part of what was written.
    bytes: int


class StorageDiskWritesResultReportsMethods(TypedDict):
    # The client, or the method.
    name: str
    # Changes that were asked for.
    changes: int
    # Their part of what was written.
    bytes: int


class StorageDiskWritesResultReportsKeys(TypedDict):
    # Where it is.
    store: str
    # In which scope.
    scope: str
    # The key.
    key: str
    # Changes of it, estimated.
    changes: int


class _StorageDiskWritesResultReports(TypedDict):
    # Its number.
    id: int
    # Bytes that may be written in a day.
    diskWriteBudget: int
    # When the budget was found exceeded.
    openedAt: str
    # When it was last.
    lastAt: str
    # Days on which it was exceeded.
    count: int
    # Bytes that were written on the last of them, the target's part.
    bytes: int
    # Percent of all that was written on that day.
    share: int
    # Who, those that cost most first.
    clients: List[StorageDiskWritesResultReportsClients]
    # By which methods, those that cost most first.
    methods: List[StorageDiskWritesResultReportsMethods]
    # Keys that were written most, estimated; none of secrets.
    keys: List[StorageDiskWritesResultReportsKeys]
    # Changes that some of the last requests had each.
    batchSizes: List[int]


class StorageDiskWritesResultReports(_StorageDiskWritesResultReports, total=False):
    # The store that it is about.
    store: str
    # The client that it is about.
    client: str


class _StorageDiskWritesResultAdvice(TypedDict):
    # What was noticed.
    kind: Literal["rewrittenKey", "sameValue", "oneByOne", "scan", "shortLivedBlob"]
    # Where.
    store: str
    # Changes, writes that changed nothing, queries or blobs that it is about.
    count: int
    # What was noticed and what it has cost, as a sentence.
    what: str
    # What to do about it.
    fix: str
    # When it was noticed last.
    lastAt: str


class StorageDiskWritesResultAdvice(_StorageDiskWritesResultAdvice, total=False):
    # In which scope.
    scope: str
    # Of which key.
    key: str
    # Who; the last one where there were several.
    client: str
    # By which method.
    method: str
    # Bytes that reached the disk and need not have, about.
    bytes: int
    # Documents that were looked at.
    documents: int


class StorageDiskWritesResult(TypedDict):
    # As asked.
    window: str
    # As asked.
    by: str
    # Where what is known of the window begins.
    startedAt: str
    # How much of it the daemon was running.
    seconds: int
    # All of it.
    totals: StorageDiskWritesResultTotals
    # Those that cost most first.
    groups: List[StorageDiskWritesResultGroups]
    # The window's minutes, hours or days, those left out in which the daemon did not run.
    series: List[StorageDiskWritesResultSeries]
    # The days as a whole, whatever the window.
    days: StorageDiskWritesResultDays
    # What the window's writes were, by kind of file; kinds of which there was nothing are left out.
    files: List[StorageDiskWritesResultFiles]
    # What the configuration allows to be written in a day (UTC), and what of it is used today.
    budgets: List[StorageDiskWritesResultBudgets]
    # Budgets that were exceeded, until `storage.resolveReport`.
    reports: List[StorageDiskWritesResultReports]
    # What could be written less, of the last day of this run.
    advice: List[StorageDiskWritesResultAdvice]


class StorageResolveReportResult(TypedDict):
    # Reports that there were.
    resolved: int


class _StorageSlowResultItems(TypedDict):
    # Counts slow requests, from the start on.
    number: int
    # When the reply left.
    at: str
    # Its method.
    method: str
    # How many there were: requests of one method that came together and left together.
    requests: int
    # From when the request was read to when its reply had left.
    microseconds: int
    # What it was put back for: changes to be folded, a page of the tables, a query, a thread that does the work.
    # The sync is not told.
    waitedFor: List[Literal["room", "page", "query", "transfer"]]
    # What the client calls itself; may be empty.
    client: str
    # Its role.
    role: str


class StorageSlowResultItems(_StorageSlowResultItems, total=False):
    # Its user's number.
    user: int


class StorageSlowResult(TypedDict):
    # From how long on a request is slow; 0: none is. `slowMilliseconds` of the configuration.
    thresholdMilliseconds: int
    # Slow requests since the start; the newest 128 notes are kept.
    count: int
    # The newest first.
    items: List[StorageSlowResultItems]


class StorageRecordResult(TypedDict):
    # Requests that were written, each of a batch counted.
    requests: int
    # Replies that were written.
    replies: int
    # Requests and replies that are left out, since what reads the descriptor was too slow.
    dropped: int
    # Bytes that were written.
    bytes: int
    # Newest revision that the answer takes into account.
    rev: int


class StorageQuarantineResultItems(TypedDict):
    # Its name below quarantine/.
    name: str
    # When it was set aside.
    at: str
    # Why.
    reason: str
    # Sizes of its files.
    bytes: int
    # How many they are.
    files: int


class StorageQuarantineResult(TypedDict):
    # In the order of their names.
    items: List[StorageQuarantineResultItems]
    # Sizes of all of them.
    bytes: int


class StorageAcknowledgeResult(TypedDict):
    # Notices that there were.
    acknowledged: int


class StorageCheckResultProblems(TypedDict):
    # What kind of thing it is.
    what: Literal["table", "collection", "segment", "cache", "blob", "attachment", "orphan", "secret"]
    # A table, a collection, a file below the data directory, or a digest.
    where: str
    # What is wrong.
    problem: str


class StorageCheckResult(TypedDict):
    # What was found; empty when all is well.
    problems: List[StorageCheckResultProblems]
    # How many there are; beyond 1,000 they are only counted.
    problemCount: int
    # How much was looked at, by kind.
    checked: Dict[str, int]
    # What could not be looked at, and why.
    skipped: List[str]
    # Newest revision that the answer takes into account.
    rev: int


class StorageCompactResultFiles(TypedDict):
    # The file, below the data directory.
    name: str
    # Its bytes when it began.
    before: int
    # Its bytes at the end.
    after: int


class StorageCompactResult(TypedDict):
    # Bytes of the files, with their WALs, when it began.
    before: int
    # Bytes of the same files at the end.
    after: int
    # Each of them, in the order of their names.
    files: List[StorageCompactResultFiles]
    # Newest revision that the answer takes into account.
    rev: int


class _StorageBackupResultLeftOut(TypedDict):
    # `settings`, `secrets` or `documents`.
    store: str
    # Items.
    count: int
    # `marked`: configured with `backup: false`; `deviceOnly`: bound to this host; `damaged`: a content that is not
    # what was stored, or secrets that are not, of which single ones go along as they are; `locked`: the secrets
    # were.
    reason: Literal["marked", "deviceOnly", "damaged", "locked"]


class StorageBackupResultLeftOut(_StorageBackupResultLeftOut, total=False):
    # Domain, collection or service.
    scope: str
    # Which item, where not the whole scope is meant.
    name: str


class _StorageBackupResult(TypedDict):
    # Bytes of the file.
    bytes: int
    # BLAKE2b-256 of the file, hexadecimal.
    digest: str
    # Whether a key is needed to open it.
    encrypted: bool
    # Whether it was read back and found whole; false where what was written cannot be read.
    verified: bool
    # Items that are in it.
    counts: Dict[str, int]
    # What is not in it, and why.
    leftOut: List[StorageBackupResultLeftOut]
    # Everything is as of this revision.
    rev: int


class StorageBackupResult(_StorageBackupResult, total=False):
    # What it is called.
    name: str


class _StorageBundleResultLeftOut(TypedDict):
    # `settings`, `secrets` or `documents`.
    store: str
    # Items.
    count: int
    # `marked`: configured with `backup: false`; `deviceOnly`: bound to this host; `damaged`: a content that is not
    # what was stored, or secrets that are not, of which single ones go along as they are; `locked`: the secrets
    # were.
    reason: Literal["marked", "deviceOnly", "damaged", "locked"]


class StorageBundleResultLeftOut(_StorageBundleResultLeftOut, total=False):
    # Domain, collection or service.
    scope: str
    # Which item, where not the whole scope is meant.
    name: str


class _StorageBundleResult(TypedDict):
    # Bytes of the file.
    bytes: int
    # BLAKE2b-256 of the file, hexadecimal.
    digest: str
    # Whether it was read back and found whole; false where what was written cannot be read.
    verified: bool
    # Items that are in it.
    counts: Dict[str, int]
    # What is not in it, and why.
    leftOut: List[StorageBundleResultLeftOut]
    # Settings and documents are as of this revision.
    rev: int


class StorageBundleResult(_StorageBundleResult, total=False):
    # What it is called.
    name: str


class StorageMethods:
    """The daemon as a whole."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def ping(self, *, timeout: Optional[float] = None) -> StoragePingResult:
        """Answers at once, without looking at any store."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("storage.ping", sent, timeout)
        return cast(StoragePingResult, result)

    def health(self, *, timeout: Optional[float] = None) -> StorageHealthResult:
        """Tells whether the daemon is alive, and ready for work."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("storage.health", sent, timeout)
        return cast(StorageHealthResult, result)

    def status(self, *, timeout: Optional[float] = None) -> StorageStatusResult:
        """Reports revisions, sizes, limits and counters of the running daemon."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("storage.status", sent, timeout)
        return cast(StorageStatusResult, result)

    def stats(self, *, histograms: Optional[bool] = None, timeout: Optional[float] = None) -> StorageStatsResult:
        """Reports what an application may want to send along with its own reports: sizes as ranges, and how well caches
        do; to administrators also what the daemon measures of itself.

        `histograms`: With the buckets of all histograms; without it only their ranks.
        """
        sent: Dict[str, JSON] = {}
        if histograms is not None:
            sent["histograms"] = histograms
        result = self._caller.call("storage.stats", sent, timeout)
        return cast(StorageStatsResult, result)

    def sweep(self, *, timeout: Optional[float] = None) -> StorageSweepResult:
        """Removes from the caches what has expired, was deleted logically or dropped; answers when that is done."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("storage.sweep", sent, timeout)
        return cast(StorageSweepResult, result)

    def disk_writes(
        self,
        *,
        window: Optional[Literal["hour", "day", "week", "month"]] = None,
        by: Optional[Literal["store", "method", "client", "user", "scope", "key"]] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> StorageDiskWritesResult:
        """Tells what was written to the disk in a while, and for whom: the write bill.

        `window`: The last 60 minutes, 24 hours, 7 days or 30 days, the one that is not over counted; without it the
            day.
        `by`: What the groups are; without it the store. Scopes and keys are those written most in the last hour or
            two, estimated; none of secrets.
        `limit`: Groups to tell of at most; without it 20.
        """
        sent: Dict[str, JSON] = {}
        if window is not None:
            sent["window"] = window
        if by is not None:
            sent["by"] = by
        if limit is not None:
            sent["limit"] = limit
        result = self._caller.call("storage.diskWrites", sent, timeout)
        return cast(StorageDiskWritesResult, result)

    def resolve_report(
        self,
        *,
        id: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> StorageResolveReportResult:
        """Closes reports of budgets that were exceeded; for the rest of the day they are counted from here.

        `id`: The report's number; without it all.
        """
        sent: Dict[str, JSON] = {}
        if id is not None:
            sent["id"] = id
        result = self._caller.call("storage.resolveReport", sent, timeout)
        return cast(StorageResolveReportResult, result)

    def slow(self, *, limit: Optional[int] = None, timeout: Optional[float] = None) -> StorageSlowResult:
        """Lists requests that took long, the newest first; nothing of their parameters.

        `limit`: Most items to return; 20 when absent.
        """
        sent: Dict[str, JSON] = {}
        if limit is not None:
            sent["limit"] = limit
        result = self._caller.call("storage.slow", sent, timeout)
        return cast(StorageSlowResult, result)

    def record(
        self,
        fd: Descriptor,
        *,
        seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> StorageRecordResult:
        """Writes what the daemon is asked to a descriptor, a line of JSON each, until `rpc.cancel` ends it; secrets are
        replaced.

        `fd`: A file, or its descriptor: it goes along with the request.
        `seconds`: How long; until `rpc.cancel` when absent.

        Raises DescriptorMissingError, OverloadedError, TransferFailedError.
        """
        sent: Dict[str, JSON] = {"fd": True}
        if seconds is not None:
            sent["seconds"] = seconds
        result = self._caller.call("storage.record", sent, timeout, descriptor=fd)
        return cast(StorageRecordResult, result)

    def quarantine(self, *, timeout: Optional[float] = None) -> StorageQuarantineResult:
        """Lists what was set aside, beneath the data directory's quarantine/; the daemon never removes any of it."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("storage.quarantine", sent, timeout)
        return cast(StorageQuarantineResult, result)

    def acknowledge(self, *, timeout: Optional[float] = None) -> StorageAcknowledgeResult:
        """Clears the notices that `storage.status` has under `recovered`; what was set aside stays where it is.

        Raises NoSpaceError.
        """
        sent: Dict[str, JSON] = {}
        result = self._caller.call("storage.acknowledge", sent, timeout)
        return cast(StorageAcknowledgeResult, result)

    def check(self, *, timeout: Optional[float] = None) -> StorageCheckResult:
        """Looks through everything that the data directory has, while the daemon serves, and tells what is damaged.

        Raises OverloadedError, ShuttingDownError.
        """
        sent: Dict[str, JSON] = {}
        result = self._caller.call("storage.check", sent, timeout)
        return cast(StorageCheckResult, result)

    def compact(self, *, timeout: Optional[float] = None) -> StorageCompactResult:
        """Gives all pages of the database files that nothing uses any more back to the file system, while the daemon
        serves.

        Raises NoSpaceError, OverloadedError, ShuttingDownError.
        """
        sent: Dict[str, JSON] = {}
        result = self._caller.call("storage.compact", sent, timeout)
        return cast(StorageCompactResult, result)

    def backup(
        self,
        *,
        name: Optional[str] = None,
        fd: Optional[Descriptor] = None,
        recipients: Optional[Sequence[str]] = None,
        passphrase: Optional[str] = None,
        include: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> StorageBackupResult:
        """Writes one consistent backup of settings, secrets, documents and attachments, while writes go on.

        `name`: What it is called in the data directory's `backups/`: letters, digits, dots, dashes, underscores.
        `fd`: A file, or its descriptor: it goes along with the request.
        `recipients`: X25519 public keys, base64: it is encrypted, and each of their secret keys opens it.
        `passphrase`: It is encrypted, and the passphrase opens it.
        `include`: What of everything: `settings`, `secrets`, `documents`, or a scope such as `documents/notes`.

        Raises CancelledError, DescriptorMissingError, IntegrityError, NoSpaceError, OverloadedError, SealedError,
            TransferFailedError.
        """
        sent: Dict[str, JSON] = {}
        if name is not None:
            sent["name"] = name
        if fd is not None:
            sent["fd"] = True
        if recipients is not None:
            sent["recipients"] = recipients
        if passphrase is not None:
            sent["passphrase"] = passphrase
        if include is not None:
            sent["include"] = include
        result = self._caller.call("storage.backup", sent, timeout, descriptor=fd)
        return cast(StorageBackupResult, result)

    def bundle(
        self,
        *,
        name: Optional[str] = None,
        fd: Optional[Descriptor] = None,
        include: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> StorageBundleResult:
        """Writes a seed bundle: settings, documents and models that a daemon begins with (`kurad --seed-bundle`).

        `name`: What it is called in the data directory's `backups/`: letters, digits, dots, dashes, underscores.
        `fd`: A file, or its descriptor: it goes along with the request.
        `include`: What of everything: `settings`, `documents`, `models`, or a scope such as `models/feed`. Models
            need `read` of them besides: all of them, or those of each scope that is named.

        Raises CancelledError, DescriptorMissingError, IntegrityError, NoSpaceError, OverloadedError,
            TransferFailedError.
        """
        sent: Dict[str, JSON] = {}
        if name is not None:
            sent["name"] = name
        if fd is not None:
            sent["fd"] = True
        if include is not None:
            sent["include"] = include
        result = self._caller.call("storage.bundle", sent, timeout, descriptor=fd)
        return cast(StorageBundleResult, result)


class AsyncStorageMethods:
    """The daemon as a whole."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def ping(self, *, timeout: Optional[float] = None) -> StoragePingResult:
        """Answers at once, without looking at any store."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("storage.ping", sent, timeout)
        return cast(StoragePingResult, result)

    async def health(self, *, timeout: Optional[float] = None) -> StorageHealthResult:
        """Tells whether the daemon is alive, and ready for work."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("storage.health", sent, timeout)
        return cast(StorageHealthResult, result)

    async def status(self, *, timeout: Optional[float] = None) -> StorageStatusResult:
        """Reports revisions, sizes, limits and counters of the running daemon."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("storage.status", sent, timeout)
        return cast(StorageStatusResult, result)

    async def stats(self, *, histograms: Optional[bool] = None, timeout: Optional[float] = None) -> StorageStatsResult:
        """Reports what an application may want to send along with its own reports: sizes as ranges, and how well caches
        do; to administrators also what the daemon measures of itself.

        `histograms`: With the buckets of all histograms; without it only their ranks.
        """
        sent: Dict[str, JSON] = {}
        if histograms is not None:
            sent["histograms"] = histograms
        result = await self._caller.call("storage.stats", sent, timeout)
        return cast(StorageStatsResult, result)

    async def sweep(self, *, timeout: Optional[float] = None) -> StorageSweepResult:
        """Removes from the caches what has expired, was deleted logically or dropped; answers when that is done."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("storage.sweep", sent, timeout)
        return cast(StorageSweepResult, result)

    async def disk_writes(
        self,
        *,
        window: Optional[Literal["hour", "day", "week", "month"]] = None,
        by: Optional[Literal["store", "method", "client", "user", "scope", "key"]] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> StorageDiskWritesResult:
        """Tells what was written to the disk in a while, and for whom: the write bill.

        `window`: The last 60 minutes, 24 hours, 7 days or 30 days, the one that is not over counted; without it the
            day.
        `by`: What the groups are; without it the store. Scopes and keys are those written most in the last hour or
            two, estimated; none of secrets.
        `limit`: Groups to tell of at most; without it 20.
        """
        sent: Dict[str, JSON] = {}
        if window is not None:
            sent["window"] = window
        if by is not None:
            sent["by"] = by
        if limit is not None:
            sent["limit"] = limit
        result = await self._caller.call("storage.diskWrites", sent, timeout)
        return cast(StorageDiskWritesResult, result)

    async def resolve_report(
        self,
        *,
        id: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> StorageResolveReportResult:
        """Closes reports of budgets that were exceeded; for the rest of the day they are counted from here.

        `id`: The report's number; without it all.
        """
        sent: Dict[str, JSON] = {}
        if id is not None:
            sent["id"] = id
        result = await self._caller.call("storage.resolveReport", sent, timeout)
        return cast(StorageResolveReportResult, result)

    async def slow(self, *, limit: Optional[int] = None, timeout: Optional[float] = None) -> StorageSlowResult:
        """Lists requests that took long, the newest first; nothing of their parameters.

        `limit`: Most items to return; 20 when absent.
        """
        sent: Dict[str, JSON] = {}
        if limit is not None:
            sent["limit"] = limit
        result = await self._caller.call("storage.slow", sent, timeout)
        return cast(StorageSlowResult, result)

    async def record(
        self,
        fd: Descriptor,
        *,
        seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> StorageRecordResult:
        """Writes what the daemon is asked to a descriptor, a line of JSON each, until `rpc.cancel` ends it; secrets are
        replaced.

        `fd`: A file, or its descriptor: it goes along with the request.
        `seconds`: How long; until `rpc.cancel` when absent.

        Raises DescriptorMissingError, OverloadedError, TransferFailedError.
        """
        sent: Dict[str, JSON] = {"fd": True}
        if seconds is not None:
            sent["seconds"] = seconds
        result = await self._caller.call("storage.record", sent, timeout, descriptor=fd)
        return cast(StorageRecordResult, result)

    async def quarantine(self, *, timeout: Optional[float] = None) -> StorageQuarantineResult:
        """Lists what was set aside, beneath the data directory's quarantine/; the daemon never removes any of it."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("storage.quarantine", sent, timeout)
        return cast(StorageQuarantineResult, result)

    async def acknowledge(self, *, timeout: Optional[float] = None) -> StorageAcknowledgeResult:
        """Clears the notices that `storage.status` has under `recovered`; what was set aside stays where it is.

        Raises NoSpaceError.
        """
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("storage.acknowledge", sent, timeout)
        return cast(StorageAcknowledgeResult, result)

    async def check(self, *, timeout: Optional[float] = None) -> StorageCheckResult:
        """Looks through everything that the data directory has, while the daemon serves, and tells what is damaged.

        Raises OverloadedError, ShuttingDownError.
        """
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("storage.check", sent, timeout)
        return cast(StorageCheckResult, result)

    async def compact(self, *, timeout: Optional[float] = None) -> StorageCompactResult:
        """Gives all pages of the database files that nothing uses any more back to the file system, while the daemon
        serves.

        Raises NoSpaceError, OverloadedError, ShuttingDownError.
        """
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("storage.compact", sent, timeout)
        return cast(StorageCompactResult, result)

    async def backup(
        self,
        *,
        name: Optional[str] = None,
        fd: Optional[Descriptor] = None,
        recipients: Optional[Sequence[str]] = None,
        passphrase: Optional[str] = None,
        include: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> StorageBackupResult:
        """Writes one consistent backup of settings, secrets, documents and attachments, while writes go on.

        `name`: What it is called in the data directory's `backups/`: letters, digits, dots, dashes, underscores.
        `fd`: A file, or its descriptor: it goes along with the request.
        `recipients`: X25519 public keys, base64: it is encrypted, and each of their secret keys opens it.
        `passphrase`: It is encrypted, and the passphrase opens it.
        `include`: What of everything: `settings`, `secrets`, `documents`, or a scope such as `documents/notes`.

        Raises CancelledError, DescriptorMissingError, IntegrityError, NoSpaceError, OverloadedError, SealedError,
            TransferFailedError.
        """
        sent: Dict[str, JSON] = {}
        if name is not None:
            sent["name"] = name
        if fd is not None:
            sent["fd"] = True
        if recipients is not None:
            sent["recipients"] = recipients
        if passphrase is not None:
            sent["passphrase"] = passphrase
        if include is not None:
            sent["include"] = include
        result = await self._caller.call("storage.backup", sent, timeout, descriptor=fd)
        return cast(StorageBackupResult, result)

    async def bundle(
        self,
        *,
        name: Optional[str] = None,
        fd: Optional[Descriptor] = None,
        include: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> StorageBundleResult:
        """Writes a seed bundle: settings, documents and models that a daemon begins with (`kurad --seed-bundle`).

        `name`: What it is called in the data directory's `backups/`: letters, digits, dots, dashes, underscores.
        `fd`: A file, or its descriptor: it goes along with the request.
        `include`: What of everything: `settings`, `documents`, `models`, or a scope such as `models/feed`. Models
            need `read` of them besides: all of them, or those of each scope that is named.

        Raises CancelledError, DescriptorMissingError, IntegrityError, NoSpaceError, OverloadedError,
            TransferFailedError.
        """
        sent: Dict[str, JSON] = {}
        if name is not None:
            sent["name"] = name
        if fd is not None:
            sent["fd"] = True
        if include is not None:
            sent["include"] = include
        result = await self._caller.call("storage.bundle", sent, timeout, descriptor=fd)
        return cast(StorageBundleResult, result)
