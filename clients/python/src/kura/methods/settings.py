# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Literal, Mapping, Optional, Sequence, TypedDict, cast

from ..caller import AsyncCaller, Caller
from ..stores import Store
from ..values import JSON, UNSET


class SettingsGetResultHidden(TypedDict):
    # A lower layer that has a value too.
    layer: Literal["locked", "session", "app", "registered", "schema", "default", "none"]
    # Its value.
    value: JSON


class _SettingsGetResult(TypedDict):
    # Revision of the last change of what is stored under the key; 0 when nothing is.
    rev: int


class SettingsGetResult(_SettingsGetResult, total=False):
    # The value that shows; left out when no layer has one and no default is given.
    value: JSON
    # With `explain`: where the value comes from.
    layer: Literal["locked", "session", "app", "registered", "schema", "default", "none"]
    # With `explain`: why the setting is locked.
    reason: str
    # With `explain`: what the value hides, highest first; left out when it hides nothing.
    hidden: List[SettingsGetResultHidden]


class _SettingsGetManyResult(TypedDict):
    # The values that show by key; settings without one are left out.
    values: Dict[str, JSON]
    # Newest revision that the answer takes into account.
    rev: int


class SettingsGetManyResult(_SettingsGetManyResult, total=False):
    # With `explain`: where each value comes from.
    layers: Dict[str, Literal["locked", "session", "app", "registered", "schema", "default", "none"]]


class SettingsPutResultWarning(TypedDict):
    # Where in the value, as a JSON pointer; empty for the whole.
    path: str
    # What the schema asks for there.
    message: str


class _SettingsPutResult(TypedDict):
    # Revision of the setting's last change.
    rev: int


class SettingsPutResult(_SettingsPutResult, total=False):
    # The value breaks the domain's schema and is stored all the same.
    warning: SettingsPutResultWarning
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class _SettingsDeleteResult(TypedDict):
    # Revision of this change; 0 when the setting was absent.
    rev: int
    # Whether there was something to remove.
    deleted: bool


class SettingsDeleteResult(_SettingsDeleteResult, total=False):
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class _SettingsListResult(TypedDict):
    # Values by key.
    values: Dict[str, JSON]
    # Newest revision that the answer takes into account.
    rev: int


class SettingsListResult(_SettingsListResult, total=False):
    # With `explain`: where each value comes from.
    layers: Dict[str, Literal["locked", "session", "app", "registered", "schema", "default", "none"]]
    # Where the next page starts; absent at the end.
    cursor: str


class SettingsPutManyResultWarnings(TypedDict):
    # Whose value it is.
    key: str
    # Where in the value, as a JSON pointer; empty for the whole.
    path: str
    # What the schema asks for there.
    message: str


class _SettingsPutManyResult(TypedDict):
    # Revision of the domain's last change; the newest of all when nothing was asked for.
    rev: int
    # How many settings this call changed.
    changed: int


class SettingsPutManyResult(_SettingsPutManyResult, total=False):
    # Values that break the domain's schema and are stored all the same.
    warnings: List[SettingsPutManyResultWarnings]
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class SettingsIncrementResultWarning(TypedDict):
    # Where in the value, as a JSON pointer; empty for the whole.
    path: str
    # What the schema asks for there.
    message: str


class _SettingsIncrementResult(TypedDict):
    # The sum.
    value: int
    # Revision of the item's last change; 0 when it is absent.
    rev: int


class SettingsIncrementResult(_SettingsIncrementResult, total=False):
    # The value breaks the domain's schema and is stored all the same.
    warning: SettingsIncrementResultWarning
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class SettingsCountResult(TypedDict):
    # Settings in the domain.
    count: int
    # Newest revision that the answer takes into account.
    rev: int


class SettingsScopesResultScopes(TypedDict):
    # Name.
    domain: str
    # Settings in it.
    count: int
    # Bytes of keys and values.
    bytes: int
    # Revision of its last change.
    rev: int


class SettingsScopesResult(TypedDict):
    # One object a domain, in the order of names.
    scopes: List[SettingsScopesResultScopes]
    # Newest revision that the answer takes into account.
    rev: int


class SettingsRegisterResultWarnings(TypedDict):
    # Whose value it is.
    key: str
    # Where in the value, as a JSON pointer; empty for the whole.
    path: str
    # What the schema asks for there.
    message: str


class _SettingsRegisterResult(TypedDict):
    # Revision of the last change of the domain's defaults.
    rev: int
    # How many defaults came, went or became others.
    changed: int


class SettingsRegisterResult(_SettingsRegisterResult, total=False):
    # Values that break the domain's schema and are stored all the same.
    warnings: List[SettingsRegisterResultWarnings]


class SettingsOverrideResult(TypedDict):
    # How many settings this connection overrides now.
    overrides: int


class SettingsClearOverridesResult(TypedDict):
    # How many settings this connection overrides now.
    overrides: int


class _SettingsConfigureResultViolations(TypedDict):
    # Whose value it is.
    key: str
    # Where in the value, as a JSON pointer; empty for the whole.
    path: str
    # What the schema asks for there.
    message: str


class SettingsConfigureResultViolations(_SettingsConfigureResultViolations, total=False):
    # Whose default it is; absent for stored values.
    layer: Literal["registered", "schema"]


class SettingsConfigureResult(TypedDict):
    # Revision of the last change of the domain's configuration.
    rev: int
    # Whether the domain is now as the request says.
    applied: bool
    # What breaks the schema; the first 100.
    violations: List[SettingsConfigureResultViolations]
    # How many values were held against the schema.
    checked: int


class _SettingsDescribeResultKeys(TypedDict):
    # Where the value that shows comes from.
    layer: Literal["locked", "session", "app", "registered", "schema", "default", "none"]


class SettingsDescribeResultKeys(_SettingsDescribeResultKeys, total=False):
    # What shows when nothing is stored.
    default: JSON
    # Types by the schema.
    types: List[str]
    # By the schema.
    title: str
    # By the schema.
    description: str
    # Why it is locked.
    reason: str


class _SettingsDescribeResult(TypedDict):
    # Revision of the last change of the domain's configuration; 0 when there was none.
    rev: int
    # Whether backups have the domain.
    backup: bool
    # When changes are durable.
    durability: Literal["durable", "relaxed"]
    # By key: those with a value in any layer, and those that the schema names.
    keys: Dict[str, SettingsDescribeResultKeys]


class SettingsDescribeResult(_SettingsDescribeResult, total=False):
    # The schema; left out when there is none.
    schema: JSON
    # What a value meets that breaks the schema.
    mode: Literal["off", "warn", "enforce"]
    # Seconds after which a relaxed change is synced.
    flushSeconds: int
    # Where the next page starts; absent at the end.
    cursor: str


class _SettingsExportResult(TypedDict):
    # Values by domain and key.
    values: Dict[str, Dict[str, JSON]]
    # Newest revision that the answer takes into account.
    rev: int


class SettingsExportResult(_SettingsExportResult, total=False):
    # Where the next page starts; absent at the end.
    cursor: str


class SettingsImportResultDiffAdded(TypedDict):
    # Its domain.
    domain: str
    # Its key.
    key: str


class SettingsImportResultDiffChanged(TypedDict):
    # Its domain.
    domain: str
    # Its key.
    key: str


class SettingsImportResultDiffRemoved(TypedDict):
    # Its domain.
    domain: str
    # Its key.
    key: str


class SettingsImportResultDiff(TypedDict):
    # Those that were not there.
    added: List[SettingsImportResultDiffAdded]
    # Those that had another value.
    changed: List[SettingsImportResultDiffChanged]
    # Those that are gone.
    removed: List[SettingsImportResultDiffRemoved]


class SettingsImportResultWarnings(TypedDict):
    # Whose value it is.
    key: str
    # Where in the value, as a JSON pointer; empty for the whole.
    path: str
    # What the schema asks for there.
    message: str


class _SettingsImportResult(TypedDict):
    # Revision of all changes; the newest one there is when nothing was changed.
    rev: int
    # Settings that were not there.
    added: int
    # Settings that had another value.
    changed: int
    # Settings that are gone.
    removed: int
    # Their names, the first 1,000 of each.
    diff: SettingsImportResultDiff


class SettingsImportResult(_SettingsImportResult, total=False):
    # Values that break the domain's schema and are stored all the same.
    warnings: List[SettingsImportResultWarnings]
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class SettingsMethods(Store):
    """Small values by domain and key, kept in memory whole."""

    _store, _word = "settings", "domain"

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def get(
        self,
        domain: str,
        key: str,
        *,
        default: JSON = UNSET,
        explain: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> SettingsGetResult:
        """Reads one setting.

        `domain`: Which application's or part's settings.
        `key`: Name of the setting.
        `default`: Returned as `value` when the setting is absent.
        `explain`: Name the layer that the value comes from, and what it hides.
        """
        sent: Dict[str, JSON] = {"domain": domain, "key": key}
        if default is not UNSET:
            sent["default"] = default
        if explain is not None:
            sent["explain"] = explain
        result = self._caller.call("settings.get", sent, timeout)
        return cast(SettingsGetResult, result)

    def get_many(
        self,
        domain: str,
        keys: Sequence[str],
        *,
        explain: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> SettingsGetManyResult:
        """Reads several settings of one domain at one moment.

        `domain`: Which application's or part's settings.
        `keys`: Names of the settings.
        `explain`: Name the layers that the values come from.
        """
        sent: Dict[str, JSON] = {"domain": domain, "keys": keys}
        if explain is not None:
            sent["explain"] = explain
        result = self._caller.call("settings.getMany", sent, timeout)
        return cast(SettingsGetManyResult, result)

    def put(
        self,
        domain: str,
        key: str,
        value: JSON,
        *,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsPutResult:
        """Writes one setting; writing the value that is there changes nothing.

        `domain`: Which application's or part's settings.
        `key`: Name of the setting.
        `value`: Any JSON value of at most 1 MiB.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, LockedError, NoSpaceError, OutcomeUnknownError, QuotaExceededError,
            RequestKeyReusedError, SchemaViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "key": key, "value": value}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("settings.put", sent, timeout)
        return cast(SettingsPutResult, result)

    def delete(
        self,
        domain: str,
        key: str,
        *,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsDeleteResult:
        """Removes one setting; removing an absent one changes nothing.

        `domain`: Which application's or part's settings.
        `key`: Name of the setting.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, LockedError, NoSpaceError, OutcomeUnknownError, RequestKeyReusedError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "key": key}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("settings.delete", sent, timeout)
        return cast(SettingsDeleteResult, result)

    def list(
        self,
        domain: str,
        *,
        prefix: Optional[str] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        layers: Optional[Literal["effective", "app"]] = None,
        explain: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> SettingsListResult:
        """Lists a domain's settings in the order of their keys' bytes.

        `domain`: Which application's or part's settings.
        `prefix`: Only keys that start so.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 1000 when absent.
        `layers`: `effective`: the values that show, from all layers; `app`: only what is stored. `effective` when
            absent.
        `explain`: Name the layers that the values come from.

        Raises ReplyTooLargeError.
        """
        sent: Dict[str, JSON] = {"domain": domain}
        if prefix is not None:
            sent["prefix"] = prefix
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if layers is not None:
            sent["layers"] = layers
        if explain is not None:
            sent["explain"] = explain
        result = self._caller.call("settings.list", sent, timeout)
        return cast(SettingsListResult, result)

    def put_many(
        self,
        domain: str,
        values: Mapping[str, JSON],
        *,
        delete: Optional[Sequence[str]] = None,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsPutManyResult:
        """Writes and removes several settings of one domain: all or nothing, one revision.

        `domain`: Which application's or part's settings.
        `values`: Values by key; at most 10,000.
        `delete`: Keys to remove; none of them in `values`, and none twice.
        `if_rev`: Write only when no setting of the domain has changed since this revision.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, LockedError, NoSpaceError, OutcomeUnknownError, QuotaExceededError,
            RequestKeyReusedError, SchemaViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "values": values}
        if delete is not None:
            sent["delete"] = delete
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("settings.putMany", sent, timeout)
        return cast(SettingsPutManyResult, result)

    def increment(
        self,
        domain: str,
        key: str,
        *,
        by: Optional[int] = None,
        initial: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsIncrementResult:
        """Adds to an integer setting in one step.

        `domain`: Which application's or part's settings.
        `key`: Name of the setting.
        `by`: What to add; 1 when absent.
        `initial`: What a setting counts as that is not stored; when absent its default by registration or schema,
            or 0.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises LockedError, NoSpaceError, OutOfRangeError, OutcomeUnknownError, QuotaExceededError,
            RequestKeyReusedError, SchemaViolationError, TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "key": key}
        if by is not None:
            sent["by"] = by
        if initial is not None:
            sent["initial"] = initial
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("settings.increment", sent, timeout)
        return cast(SettingsIncrementResult, result)

    def count(self, domain: str, *, timeout: Optional[float] = None) -> SettingsCountResult:
        """Counts a domain's stored settings.

        `domain`: Which application's or part's settings.
        """
        sent: Dict[str, JSON] = {"domain": domain}
        result = self._caller.call("settings.count", sent, timeout)
        return cast(SettingsCountResult, result)

    def scopes(self, *, timeout: Optional[float] = None) -> SettingsScopesResult:
        """Lists the domains with their sizes."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("settings.scopes", sent, timeout)
        return cast(SettingsScopesResult, result)

    def register(
        self,
        domain: str,
        defaults: Mapping[str, JSON],
        *,
        replace: Optional[bool] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsRegisterResult:
        """Registers defaults: they show where nothing is stored, for all who read the domain.

        `domain`: Which application's or part's settings.
        `defaults`: Values by key; a domain has at most 10,000.
        `replace`: Forget the defaults that are not named; when absent or false they stay.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError, SchemaViolationError,
            ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "defaults": defaults}
        if replace is not None:
            sent["replace"] = replace
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("settings.register", sent, timeout)
        return cast(SettingsRegisterResult, result)

    def override(
        self,
        domain: str,
        key: str,
        value: JSON,
        *,
        timeout: Optional[float] = None,
    ) -> SettingsOverrideResult:
        """Shows this connection another value, until it ends or clears it; nothing is stored.

        `domain`: Which application's or part's settings.
        `key`: Name of the setting.
        `value`: Any JSON value; it is not held against the schema.

        Raises LockedError, QuotaExceededError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "key": key, "value": value}
        result = self._caller.call("settings.override", sent, timeout)
        return cast(SettingsOverrideResult, result)

    def clear_overrides(
        self,
        *,
        domain: Optional[str] = None,
        key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsClearOverridesResult:
        """Takes away overrides of this connection.

        `domain`: Only those of this domain; all when absent.
        `key`: Only that of this setting of the domain.
        """
        sent: Dict[str, JSON] = {}
        if domain is not None:
            sent["domain"] = domain
        if key is not None:
            sent["key"] = key
        result = self._caller.call("settings.clearOverrides", sent, timeout)
        return cast(SettingsClearOverridesResult, result)

    def configure(
        self,
        domain: str,
        *,
        schema: JSON = UNSET,
        mode: Optional[Literal["off", "warn", "enforce"]] = None,
        backup: Optional[bool] = None,
        durability: Optional[Literal["durable", "relaxed"]] = None,
        flush_seconds: Optional[int] = None,
        force: Optional[bool] = None,
        dry_run: Optional[bool] = None,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsConfigureResult:
        """Says what a domain is: its schema, whether it is in backups, when its changes are durable.

        `domain`: Which application's or part's settings.
        `schema`: JSON Schema (draft-07) of the domain as an object; null takes it away. At most 65,536 bytes.
        `mode`: What a value meets that breaks the schema: nothing, a warning in the reply, a refusal. At first
            `warn`.
        `backup`: Whether backups have the domain. At first true.
        `durability`: `relaxed`: changes are acknowledged at once and synced later. At first `durable`.
        `flush_seconds`: With `relaxed`: a change is synced after so many seconds at the latest. At first 5.
        `force`: Enforce the schema though stored values break it.
        `dry_run`: Report what stored values break, and change nothing.
        `if_rev`: Change it only when the `rev` that `describe` tells is this one; 0: only when nothing was ever
            configured.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"domain": domain}
        if schema is not UNSET:
            sent["schema"] = schema
        if mode is not None:
            sent["mode"] = mode
        if backup is not None:
            sent["backup"] = backup
        if durability is not None:
            sent["durability"] = durability
        if flush_seconds is not None:
            sent["flushSeconds"] = flush_seconds
        if force is not None:
            sent["force"] = force
        if dry_run is not None:
            sent["dryRun"] = dry_run
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("settings.configure", sent, timeout)
        return cast(SettingsConfigureResult, result)

    def describe(
        self,
        domain: str,
        *,
        key: Optional[str] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SettingsDescribeResult:
        """Tells what a domain and its keys are configured to be.

        `domain`: Which application's or part's settings.
        `key`: Only this setting, and no schema.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 1000 when absent.
        """
        sent: Dict[str, JSON] = {"domain": domain}
        if key is not None:
            sent["key"] = key
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = self._caller.call("settings.describe", sent, timeout)
        return cast(SettingsDescribeResult, result)

    def export(
        self,
        *,
        domains: Optional[Sequence[str]] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SettingsExportResult:
        """Returns what is stored in domains, in the order of names' and keys' bytes; defaults and locks are left out.

        `domains`: Only these; all when absent.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 10000 when absent.
        """
        sent: Dict[str, JSON] = {}
        if domains is not None:
            sent["domains"] = domains
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = self._caller.call("settings.export", sent, timeout)
        return cast(SettingsExportResult, result)

    def import_(
        self,
        values: Mapping[str, Mapping[str, JSON]],
        *,
        mode: Optional[Literal["merge", "replace"]] = None,
        dry_run: Optional[bool] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsImportResult:
        """Stores settings of several domains as exported: all or nothing, one revision.

        `values`: Values by domain and key; at most 10,000 together.
        `mode`: `replace` removes the other settings of these domains; `merge` when absent.
        `dry_run`: Tell what would be different, and change nothing.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises LockedError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SchemaViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"values": values}
        if mode is not None:
            sent["mode"] = mode
        if dry_run is not None:
            sent["dryRun"] = dry_run
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("settings.import", sent, timeout)
        return cast(SettingsImportResult, result)


class AsyncSettingsMethods(Store):
    """Small values by domain and key, kept in memory whole."""

    _store, _word = "settings", "domain"

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def get(
        self,
        domain: str,
        key: str,
        *,
        default: JSON = UNSET,
        explain: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> SettingsGetResult:
        """Reads one setting.

        `domain`: Which application's or part's settings.
        `key`: Name of the setting.
        `default`: Returned as `value` when the setting is absent.
        `explain`: Name the layer that the value comes from, and what it hides.
        """
        sent: Dict[str, JSON] = {"domain": domain, "key": key}
        if default is not UNSET:
            sent["default"] = default
        if explain is not None:
            sent["explain"] = explain
        result = await self._caller.call("settings.get", sent, timeout)
        return cast(SettingsGetResult, result)

    async def get_many(
        self,
        domain: str,
        keys: Sequence[str],
        *,
        explain: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> SettingsGetManyResult:
        """Reads several settings of one domain at one moment.

        `domain`: Which application's or part's settings.
        `keys`: Names of the settings.
        `explain`: Name the layers that the values come from.
        """
        sent: Dict[str, JSON] = {"domain": domain, "keys": keys}
        if explain is not None:
            sent["explain"] = explain
        result = await self._caller.call("settings.getMany", sent, timeout)
        return cast(SettingsGetManyResult, result)

    async def put(
        self,
        domain: str,
        key: str,
        value: JSON,
        *,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsPutResult:
        """Writes one setting; writing the value that is there changes nothing.

        `domain`: Which application's or part's settings.
        `key`: Name of the setting.
        `value`: Any JSON value of at most 1 MiB.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, LockedError, NoSpaceError, OutcomeUnknownError, QuotaExceededError,
            RequestKeyReusedError, SchemaViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "key": key, "value": value}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("settings.put", sent, timeout)
        return cast(SettingsPutResult, result)

    async def delete(
        self,
        domain: str,
        key: str,
        *,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsDeleteResult:
        """Removes one setting; removing an absent one changes nothing.

        `domain`: Which application's or part's settings.
        `key`: Name of the setting.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, LockedError, NoSpaceError, OutcomeUnknownError, RequestKeyReusedError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "key": key}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("settings.delete", sent, timeout)
        return cast(SettingsDeleteResult, result)

    async def list(
        self,
        domain: str,
        *,
        prefix: Optional[str] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        layers: Optional[Literal["effective", "app"]] = None,
        explain: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> SettingsListResult:
        """Lists a domain's settings in the order of their keys' bytes.

        `domain`: Which application's or part's settings.
        `prefix`: Only keys that start so.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 1000 when absent.
        `layers`: `effective`: the values that show, from all layers; `app`: only what is stored. `effective` when
            absent.
        `explain`: Name the layers that the values come from.

        Raises ReplyTooLargeError.
        """
        sent: Dict[str, JSON] = {"domain": domain}
        if prefix is not None:
            sent["prefix"] = prefix
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if layers is not None:
            sent["layers"] = layers
        if explain is not None:
            sent["explain"] = explain
        result = await self._caller.call("settings.list", sent, timeout)
        return cast(SettingsListResult, result)

    async def put_many(
        self,
        domain: str,
        values: Mapping[str, JSON],
        *,
        delete: Optional[Sequence[str]] = None,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsPutManyResult:
        """Writes and removes several settings of one domain: all or nothing, one revision.

        `domain`: Which application's or part's settings.
        `values`: Values by key; at most 10,000.
        `delete`: Keys to remove; none of them in `values`, and none twice.
        `if_rev`: Write only when no setting of the domain has changed since this revision.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, LockedError, NoSpaceError, OutcomeUnknownError, QuotaExceededError,
            RequestKeyReusedError, SchemaViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "values": values}
        if delete is not None:
            sent["delete"] = delete
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("settings.putMany", sent, timeout)
        return cast(SettingsPutManyResult, result)

    async def increment(
        self,
        domain: str,
        key: str,
        *,
        by: Optional[int] = None,
        initial: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsIncrementResult:
        """Adds to an integer setting in one step.

        `domain`: Which application's or part's settings.
        `key`: Name of the setting.
        `by`: What to add; 1 when absent.
        `initial`: What a setting counts as that is not stored; when absent its default by registration or schema,
            or 0.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises LockedError, NoSpaceError, OutOfRangeError, OutcomeUnknownError, QuotaExceededError,
            RequestKeyReusedError, SchemaViolationError, TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "key": key}
        if by is not None:
            sent["by"] = by
        if initial is not None:
            sent["initial"] = initial
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("settings.increment", sent, timeout)
        return cast(SettingsIncrementResult, result)

    async def count(self, domain: str, *, timeout: Optional[float] = None) -> SettingsCountResult:
        """Counts a domain's stored settings.

        `domain`: Which application's or part's settings.
        """
        sent: Dict[str, JSON] = {"domain": domain}
        result = await self._caller.call("settings.count", sent, timeout)
        return cast(SettingsCountResult, result)

    async def scopes(self, *, timeout: Optional[float] = None) -> SettingsScopesResult:
        """Lists the domains with their sizes."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("settings.scopes", sent, timeout)
        return cast(SettingsScopesResult, result)

    async def register(
        self,
        domain: str,
        defaults: Mapping[str, JSON],
        *,
        replace: Optional[bool] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsRegisterResult:
        """Registers defaults: they show where nothing is stored, for all who read the domain.

        `domain`: Which application's or part's settings.
        `defaults`: Values by key; a domain has at most 10,000.
        `replace`: Forget the defaults that are not named; when absent or false they stay.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError, SchemaViolationError,
            ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "defaults": defaults}
        if replace is not None:
            sent["replace"] = replace
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("settings.register", sent, timeout)
        return cast(SettingsRegisterResult, result)

    async def override(
        self,
        domain: str,
        key: str,
        value: JSON,
        *,
        timeout: Optional[float] = None,
    ) -> SettingsOverrideResult:
        """Shows this connection another value, until it ends or clears it; nothing is stored.

        `domain`: Which application's or part's settings.
        `key`: Name of the setting.
        `value`: Any JSON value; it is not held against the schema.

        Raises LockedError, QuotaExceededError.
        """
        sent: Dict[str, JSON] = {"domain": domain, "key": key, "value": value}
        result = await self._caller.call("settings.override", sent, timeout)
        return cast(SettingsOverrideResult, result)

    async def clear_overrides(
        self,
        *,
        domain: Optional[str] = None,
        key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsClearOverridesResult:
        """Takes away overrides of this connection.

        `domain`: Only those of this domain; all when absent.
        `key`: Only that of this setting of the domain.
        """
        sent: Dict[str, JSON] = {}
        if domain is not None:
            sent["domain"] = domain
        if key is not None:
            sent["key"] = key
        result = await self._caller.call("settings.clearOverrides", sent, timeout)
        return cast(SettingsClearOverridesResult, result)

    async def configure(
        self,
        domain: str,
        *,
        schema: JSON = UNSET,
        mode: Optional[Literal["off", "warn", "enforce"]] = None,
        backup: Optional[bool] = None,
        durability: Optional[Literal["durable", "relaxed"]] = None,
        flush_seconds: Optional[int] = None,
        force: Optional[bool] = None,
        dry_run: Optional[bool] = None,
        if_rev: Optional[int] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsConfigureResult:
        """Says what a domain is: its schema, whether it is in backups, when its changes are durable.

        `domain`: Which application's or part's settings.
        `schema`: JSON Schema (draft-07) of the domain as an object; null takes it away. At most 65,536 bytes.
        `mode`: What a value meets that breaks the schema: nothing, a warning in the reply, a refusal. At first
            `warn`.
        `backup`: Whether backups have the domain. At first true.
        `durability`: `relaxed`: changes are acknowledged at once and synced later. At first `durable`.
        `flush_seconds`: With `relaxed`: a change is synced after so many seconds at the latest. At first 5.
        `force`: Enforce the schema though stored values break it.
        `dry_run`: Report what stored values break, and change nothing.
        `if_rev`: Change it only when the `rev` that `describe` tells is this one; 0: only when nothing was ever
            configured.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"domain": domain}
        if schema is not UNSET:
            sent["schema"] = schema
        if mode is not None:
            sent["mode"] = mode
        if backup is not None:
            sent["backup"] = backup
        if durability is not None:
            sent["durability"] = durability
        if flush_seconds is not None:
            sent["flushSeconds"] = flush_seconds
        if force is not None:
            sent["force"] = force
        if dry_run is not None:
            sent["dryRun"] = dry_run
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("settings.configure", sent, timeout)
        return cast(SettingsConfigureResult, result)

    async def describe(
        self,
        domain: str,
        *,
        key: Optional[str] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SettingsDescribeResult:
        """Tells what a domain and its keys are configured to be.

        `domain`: Which application's or part's settings.
        `key`: Only this setting, and no schema.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 1000 when absent.
        """
        sent: Dict[str, JSON] = {"domain": domain}
        if key is not None:
            sent["key"] = key
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = await self._caller.call("settings.describe", sent, timeout)
        return cast(SettingsDescribeResult, result)

    async def export(
        self,
        *,
        domains: Optional[Sequence[str]] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SettingsExportResult:
        """Returns what is stored in domains, in the order of names' and keys' bytes; defaults and locks are left out.

        `domains`: Only these; all when absent.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 10000 when absent.
        """
        sent: Dict[str, JSON] = {}
        if domains is not None:
            sent["domains"] = domains
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = await self._caller.call("settings.export", sent, timeout)
        return cast(SettingsExportResult, result)

    async def import_(
        self,
        values: Mapping[str, Mapping[str, JSON]],
        *,
        mode: Optional[Literal["merge", "replace"]] = None,
        dry_run: Optional[bool] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SettingsImportResult:
        """Stores settings of several domains as exported: all or nothing, one revision.

        `values`: Values by domain and key; at most 10,000 together.
        `mode`: `replace` removes the other settings of these domains; `merge` when absent.
        `dry_run`: Tell what would be different, and change nothing.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises LockedError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SchemaViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"values": values}
        if mode is not None:
            sent["mode"] = mode
        if dry_run is not None:
            sent["dryRun"] = dry_run
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("settings.import", sent, timeout)
        return cast(SettingsImportResult, result)
