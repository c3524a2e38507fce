# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Literal, Optional, Sequence, TypedDict, cast

from ..caller import AsyncCaller, Caller, Descriptor
from ..values import JSON


class _BackupsListResultBackups(TypedDict):
    # What it is called.
    name: str
    # Bytes of the file.
    bytes: int
    # When it was finished.
    createdAt: str
    # Whether the daemon made it by itself.
    scheduled: bool
    # Whether a key is needed to open it.
    encrypted: bool


class BackupsListResultBackups(_BackupsListResultBackups, total=False):
    # Names the history that its revision belongs to; not of encrypted ones.
    epoch: str
    # Everything in it is as of this revision; not of encrypted ones.
    backupRev: int


class BackupsListResult(TypedDict):
    # One object each.
    backups: List[BackupsListResultBackups]
    # Newest revision that the answer takes into account.
    rev: int


class _BackupsVerifyResultLeftOut(TypedDict):
    # `settings`, `secrets` or `documents`.
    store: str
    # Items.
    count: int
    # `marked`: configured with `backup: false`; `deviceOnly`: bound to this host; `damaged`: a content that is not
    # what was stored, or secrets that are not, of which single ones go along as they are; `locked`: the secrets
    # were.
    reason: Literal["marked", "deviceOnly", "damaged", "locked"]


class BackupsVerifyResultLeftOut(_BackupsVerifyResultLeftOut, total=False):
    # Domain, collection or service.
    scope: str
    # Which item, where not the whole scope is meant.
    name: str


class BackupsVerifyResult(TypedDict):
    # Which one.
    name: str
    # Bytes of the file.
    bytes: int
    # BLAKE2b-256 of the file, hexadecimal.
    digest: str
    # `ours`: a daemon with these keys made it, and it was not altered; `otherHost`: it says that one with others
    # did; `unproved`: it has no proof, or the secrets are sealed.
    origin: Literal["ours", "otherHost", "unproved"]
    # When it was begun.
    createdAt: str
    # Names the history that its revision belongs to.
    epoch: str
    # Everything in it is as of this revision.
    backupRev: int
    # Items that are in it.
    counts: Dict[str, int]
    # What is not in it, and why.
    leftOut: List[BackupsVerifyResultLeftOut]
    # Newest revision that the answer takes into account.
    rev: int


class BackupsCompareResultDifferencesExamples(TypedDict):
    # Key, or the document's id.
    key: str
    # What would become of it.
    change: Literal["added", "changed", "removed"]


class BackupsCompareResultDifferences(TypedDict):
    # Where it is.
    store: Literal["settings", "documents", "attachments"]
    # Domain or collection.
    scope: str
    # Items that only the backup has: they would come back.
    added: int
    # Items that would have another value.
    changed: int
    # Items that the backup does not have: they would go.
    removed: int
    # The first of them.
    examples: List[BackupsCompareResultDifferencesExamples]


class BackupsCompareResult(TypedDict):
    # Names the history that its revision belongs to.
    epoch: str
    # Everything in it is as of this revision.
    backupRev: int
    # `ours`: a daemon with these keys made it, and it was not altered; `otherHost`: it says that one with others
    # did; `unproved`: it has no proof, or the secrets are sealed.
    origin: Literal["ours", "otherHost", "unproved"]
    # When it was begun.
    createdAt: str
    # Items that would be as they are; secrets are sealed, so they are neither compared nor counted.
    same: int
    # Items that only the backup has: they would come back.
    added: int
    # Items that would have another value.
    changed: int
    # Items that the backup does not have: they would go.
    removed: int
    # Domains and collections that would not be as they are.
    differing: int
    # The first 1,000 of them. 10,000 items are named at most.
    differences: List[BackupsCompareResultDifferences]
    # Newest revision that the answer takes into account.
    rev: int


class BackupsPruneResult(TypedDict):
    # What was removed, or would be.
    removed: List[str]
    # Bytes of these.
    bytes: int
    # Backups that stay.
    kept: int
    # Newest revision that the answer takes into account.
    rev: int


class BackupsMethods:
    """Backups in the data directory."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def list(self, *, timeout: Optional[float] = None) -> BackupsListResult:
        """Lists the backups in the data directory, the newest first.

        Raises TransferFailedError.
        """
        sent: Dict[str, JSON] = {}
        result = self._caller.call("backups.list", sent, timeout)
        return cast(BackupsListResult, result)

    def verify(
        self,
        name: str,
        *,
        passphrase: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BackupsVerifyResult:
        """Reads a backup to its end and checks every part of it.

        `name`: Which one.
        `passphrase`: What opens it, when it is encrypted with one.

        Raises IntegrityError, NotFoundError, OverloadedError, TransferFailedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {"name": name}
        if passphrase is not None:
            sent["passphrase"] = passphrase
        result = self._caller.call("backups.verify", sent, timeout)
        return cast(BackupsVerifyResult, result)

    def compare(
        self,
        *,
        name: Optional[str] = None,
        fd: Optional[Descriptor] = None,
        passphrase: Optional[str] = None,
        include: Optional[Sequence[str]] = None,
        examples: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> BackupsCompareResult:
        """Tells what a restore of a backup would change of the settings, documents and attachments that are there now.

        `name`: Which one of those in the data directory.
        `fd`: A file, or its descriptor: it goes along with the request.
        `passphrase`: What opens it, when it is encrypted with one.
        `include`: Only this: `settings`, `documents`, or a scope such as `documents/notes`.
        `examples`: Most differences that are named, a scope; 3 when absent.

        Raises CancelledError, DescriptorMissingError, IntegrityError, NoSpaceError, NotFoundError, OverloadedError,
            TransferFailedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {}
        if name is not None:
            sent["name"] = name
        if fd is not None:
            sent["fd"] = True
        if passphrase is not None:
            sent["passphrase"] = passphrase
        if include is not None:
            sent["include"] = include
        if examples is not None:
            sent["examples"] = examples
        result = self._caller.call("backups.compare", sent, timeout, descriptor=fd)
        return cast(BackupsCompareResult, result)

    def prune(
        self,
        *,
        hourly: Optional[int] = None,
        daily: Optional[int] = None,
        weekly: Optional[int] = None,
        names: Optional[Sequence[str]] = None,
        dry_run: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> BackupsPruneResult:
        """Removes scheduled snapshots that are older than what is kept; those that somebody named stay unless they are
        named here.

        `hourly`: How many hours keep their newest; as configured when absent.
        `daily`: The same of days.
        `weekly`: The same of weeks.
        `names`: Remove exactly these, whatever is kept otherwise.
        `dry_run`: true: only tell.

        Raises NotFoundError, TransferFailedError.
        """
        sent: Dict[str, JSON] = {}
        if hourly is not None:
            sent["hourly"] = hourly
        if daily is not None:
            sent["daily"] = daily
        if weekly is not None:
            sent["weekly"] = weekly
        if names is not None:
            sent["names"] = names
        if dry_run is not None:
            sent["dryRun"] = dry_run
        result = self._caller.call("backups.prune", sent, timeout)
        return cast(BackupsPruneResult, result)


class AsyncBackupsMethods:
    """Backups in the data directory."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def list(self, *, timeout: Optional[float] = None) -> BackupsListResult:
        """Lists the backups in the data directory, the newest first.

        Raises TransferFailedError.
        """
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("backups.list", sent, timeout)
        return cast(BackupsListResult, result)

    async def verify(
        self,
        name: str,
        *,
        passphrase: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BackupsVerifyResult:
        """Reads a backup to its end and checks every part of it.

        `name`: Which one.
        `passphrase`: What opens it, when it is encrypted with one.

        Raises IntegrityError, NotFoundError, OverloadedError, TransferFailedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {"name": name}
        if passphrase is not None:
            sent["passphrase"] = passphrase
        result = await self._caller.call("backups.verify", sent, timeout)
        return cast(BackupsVerifyResult, result)

    async def compare(
        self,
        *,
        name: Optional[str] = None,
        fd: Optional[Descriptor] = None,
        passphrase: Optional[str] = None,
        include: Optional[Sequence[str]] = None,
        examples: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> BackupsCompareResult:
        """Tells what a restore of a backup would change of the settings, documents and attachments that are there now.

        `name`: Which one of those in the data directory.
        `fd`: A file, or its descriptor: it goes along with the request.
        `passphrase`: What opens it, when it is encrypted with one.
        `include`: Only this: `settings`, `documents`, or a scope such as `documents/notes`.
        `examples`: Most differences that are named, a scope; 3 when absent.

        Raises CancelledError, DescriptorMissingError, IntegrityError, NoSpaceError, NotFoundError, OverloadedError,
            TransferFailedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {}
        if name is not None:
            sent["name"] = name
        if fd is not None:
            sent["fd"] = True
        if passphrase is not None:
            sent["passphrase"] = passphrase
        if include is not None:
            sent["include"] = include
        if examples is not None:
            sent["examples"] = examples
        result = await self._caller.call("backups.compare", sent, timeout, descriptor=fd)
        return cast(BackupsCompareResult, result)

    async def prune(
        self,
        *,
        hourly: Optional[int] = None,
        daily: Optional[int] = None,
        weekly: Optional[int] = None,
        names: Optional[Sequence[str]] = None,
        dry_run: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> BackupsPruneResult:
        """Removes scheduled snapshots that are older than what is kept; those that somebody named stay unless they are
        named here.

        `hourly`: How many hours keep their newest; as configured when absent.
        `daily`: The same of days.
        `weekly`: The same of weeks.
        `names`: Remove exactly these, whatever is kept otherwise.
        `dry_run`: true: only tell.

        Raises NotFoundError, TransferFailedError.
        """
        sent: Dict[str, JSON] = {}
        if hourly is not None:
            sent["hourly"] = hourly
        if daily is not None:
            sent["daily"] = daily
        if weekly is not None:
            sent["weekly"] = weekly
        if names is not None:
            sent["names"] = names
        if dry_run is not None:
            sent["dryRun"] = dry_run
        result = await self._caller.call("backups.prune", sent, timeout)
        return cast(BackupsPruneResult, result)
