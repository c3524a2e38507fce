# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Literal, Mapping, Optional, Sequence, TypedDict, cast

from ..caller import AsyncCaller, Caller
from ..stores import Store
from ..values import JSON, UNSET


class SecretsPutResult(TypedDict):
    # Revision of this change.
    rev: int
    # Number of the version, from 1.
    version: int


class _SecretsGetResult(TypedDict):
    # Revision of the item's last change; 0 when it is absent.
    rev: int


class SecretsGetResult(_SecretsGetResult, total=False):
    # The text, or texts by name; left out when the secret is absent, or is bytes.
    secret: JSON
    # In its place: bytes, as base64.
    secretBase64: str
    # With `sealTo`: an object with `id` of the request, `service`, `account`, `accessGroup`, `version` and the
    # secret, sealed, as base64.
    secretSealed: str
    # Number of the version.
    version: int
    # When the version was written.
    createdAt: str
    # When it expires; left out for never.
    expiresAt: str


class _SecretsGetManyResultSecrets(TypedDict):
    # Whose.
    account: str
    # Revision of the item's last change; 0 when it is absent.
    rev: int
    # Number of the version.
    version: int
    # When the version was written.
    createdAt: str


class SecretsGetManyResultSecrets(_SecretsGetManyResultSecrets, total=False):
    # The text, or texts by name; left out when the secret is absent, or is bytes.
    secret: JSON
    # In its place: bytes, as base64.
    secretBase64: str
    # With `sealTo`: an object with `id` of the request, `service`, `account`, `accessGroup`, `version` and the
    # secret, sealed, as base64.
    secretSealed: str
    # When it expires; left out for never.
    expiresAt: str


class SecretsGetManyResult(TypedDict):
    # Those that exist, in the order asked for.
    secrets: List[SecretsGetManyResultSecrets]
    # Accounts without a secret, or whose newest version was destroyed.
    missing: List[str]
    # Newest revision that the answer takes into account.
    rev: int


class SecretsDeleteResult(TypedDict):
    # Revision of this change; 0 when the secret was absent.
    rev: int
    # Whether there was something to remove.
    deleted: bool


class _SecretsListResultItems(TypedDict):
    # Of which service.
    service: str
    # Whose.
    account: str
    # What it is.
    kind: Literal["text", "binary", "dictionary", "key"]
    # When it may be read.
    accessibility: Literal["whenUnlocked", "afterFirstUnlock", "always"]
    # Revision of its last change.
    rev: int
    # Number of the newest version.
    version: int
    # When it was first put.
    createdAt: str
    # When it was changed last.
    updatedAt: str


class SecretsListResultItems(_SecretsListResultItems, total=False):
    # The group that it is in.
    accessGroup: str
    # What to show people.
    label: str
    # Texts by name.
    attributes: Dict[str, str]
    # Of a key: what it is good for.
    algorithm: Literal["ed25519", "hmac-sha512-256", "blake2b-256", "xchacha20-poly1305"]
    # True when it is sealed with a key of this host besides.
    deviceOnly: bool
    # False when backups do not have it.
    backup: bool
    # Versions that are kept, when the item says.
    maxVersions: int
    # When it expires; left out for never.
    expiresAt: str


class _SecretsListResult(TypedDict):
    # Some of them; there may be fewer than `limit`, or none, and more to come.
    items: List[SecretsListResultItems]
    # Newest revision that the answer takes into account.
    rev: int


class SecretsListResult(_SecretsListResult, total=False):
    # Where the next page starts; absent at the end.
    cursor: str


class _SecretsVersionsResultVersions(TypedDict):
    # Number.
    version: int
    # Revision that it was written at.
    rev: int
    # When.
    createdAt: str
    # What it is.
    kind: Literal["text", "binary", "dictionary", "key"]
    # Its size.
    bytes: int


class SecretsVersionsResultVersions(_SecretsVersionsResultVersions, total=False):
    # When it expires; left out for never.
    expiresAt: str
    # Of a key: what it is good for.
    algorithm: Literal["ed25519", "hmac-sha512-256", "blake2b-256", "xchacha20-poly1305"]
    # True when its value was destroyed.
    destroyed: bool


class SecretsVersionsResult(TypedDict):
    # None when the secret is absent.
    versions: List[SecretsVersionsResultVersions]
    # Revision of the item's last change; 0 when it is absent.
    rev: int


class SecretsRestoreVersionResult(TypedDict):
    # Revision of this change.
    rev: int
    # Number of the new version.
    version: int


class SecretsDestroyVersionResult(TypedDict):
    # Revision of this change.
    rev: int
    # Who has a copy still, if they had one: `backups`, copies of the data directory that were made before;
    # `quarantine`, when there is one.
    keptIn: List[Literal["backups", "quarantine"]]


class _SecretsGenerateResult(TypedDict):
    # Revision of this change.
    rev: int
    # Number of the version, from 1.
    version: int


class SecretsGenerateResult(_SecretsGenerateResult, total=False):
    # With `returnSecret`: the password or UUID.
    secret: str
    # With `returnSecret`: the key, as base64.
    secretBase64: str


class SecretsRenameResult(TypedDict):
    # Revision of this change.
    rev: int


class SecretsSetAttributesResult(TypedDict):
    # Revision of this change.
    rev: int


class SecretsConfigureResult(TypedDict):
    # Revision of the service's last change.
    rev: int


class _SecretsDescribeResult(TypedDict):
    # Versions that an item keeps.
    maxVersions: int


class SecretsDescribeResult(_SecretsDescribeResult, total=False):
    # Secrets in it that the caller sees; left out, as `rev` is, where it sees some access groups and there are more
    # than 1,000 secrets.
    count: int
    # When reads are in the audit; left out when there is no such service.
    auditReads: Literal["each", "batched"]
    # Which installation its secrets belong to.
    installation: str
    # Which key of its own it has, from 1; for who sees all of it.
    keyNumber: int
    # True while something is still to be sealed anew with it.
    rewrapping: bool
    # What its secrets come to, 64 hexadecimal digits: another one after each change, the same again only for the
    # same secrets; for who sees all of it.
    head: str
    # Revision of the last change of them; 0 when there is no such service.
    rev: int


class _SecretsScopesResultScopes(TypedDict):
    # Name.
    service: str


class SecretsScopesResultScopes(_SecretsScopesResultScopes, total=False):
    # Secrets in it that the caller sees; left out, as `rev` is, where it sees some access groups and there are more
    # than 1,000 secrets.
    count: int
    # Revision of the last change of them.
    rev: int


class SecretsScopesResult(TypedDict):
    # One object a service, in an order of its own; those in which the caller sees a secret.
    scopes: List[SecretsScopesResultScopes]
    # Newest revision that the answer takes into account.
    rev: int


class SecretsClearResult(TypedDict):
    # Revision of this change; 0 when there was nothing.
    rev: int
    # How many are gone.
    deleted: int
    # How many are still there.
    left: int


class _SecretsVerifyResultDamaged(TypedDict):
    # `store`: services' records were altered, removed or set back; `service`: its record, and with it all of its
    # values; `sum`: secrets of it are missing or were set back; `secret`: a head; `version`: a value; `audit`: the
    # audit is not that of the secrets, `secrets.auditVerify` says why.
    what: Literal["store", "service", "sum", "secret", "version", "audit"]


class SecretsVerifyResultDamaged(_SecretsVerifyResultDamaged, total=False):
    # Of which service, when that can be told.
    service: str
    # Whose, when that can be told.
    account: str
    # The group that it is in.
    accessGroup: str
    # What its row is called on the disk.
    row: str
    # Number of the version.
    version: int
    # Of `sum`: how many secrets are not there.
    missing: int


class _SecretsVerifyResult(TypedDict):
    # How many were looked at.
    services: int
    # Secrets.
    secrets: int
    # Values.
    versions: int
    # The first thousand.
    damaged: List[SecretsVerifyResultDamaged]
    # How many there are.
    damagedCount: int
    # Newest revision that the answer takes into account.
    rev: int


class SecretsVerifyResult(_SecretsVerifyResult, total=False):
    # Values besides that are `deviceOnly` and sealed with another `keys/host.key`: nothing is damaged, and they
    # open when that is back. Left out when there are none.
    otherHostKey: int


class _SecretsRepairResultDamaged(TypedDict):
    # `store`: services' records were altered, removed or set back; `service`: its record, and with it all of its
    # values; `sum`: secrets of it are missing or were set back; `secret`: a head; `version`: a value; `audit`: the
    # audit is not that of the secrets, `secrets.auditVerify` says why.
    what: Literal["store", "service", "sum", "secret", "version", "audit"]


class SecretsRepairResultDamaged(_SecretsRepairResultDamaged, total=False):
    # Of which service, when that can be told.
    service: str
    # Whose, when that can be told.
    account: str
    # The group that it is in.
    accessGroup: str
    # What its row is called on the disk.
    row: str
    # Number of the version.
    version: int
    # Of `sum`: how many secrets are not there.
    missing: int


class _SecretsRepairResult(TypedDict):
    # Revision of this change.
    rev: int
    # Secrets that stay.
    kept: int
    # Secrets that are gone.
    lostSecrets: int
    # Versions that stay without their values.
    lostVersions: int
    # The first thousand.
    damaged: List[SecretsRepairResultDamaged]
    # How many there are.
    damagedCount: int


class SecretsRepairResult(_SecretsRepairResult, total=False):
    # Values besides that are `deviceOnly` and sealed with another `keys/host.key`: nothing is damaged, and they
    # open when that is back. Left out when there are none.
    otherHostKey: int


class SecretsStatusResultRewrapping(TypedDict):
    # Secrets that were sealed anew.
    done: int
    # Of about so many.
    total: int


class _SecretsStatusResult(TypedDict):
    # `unusable`: the slots cannot be read or made; `reason` says why.
    state: Literal["sealed", "unlocked", "unusable"]
    # Whether they have been unlocked since the daemon started.
    hasBeenUnlocked: bool
    # Whether the kernel keeps the memory of all keys out of swap.
    memoryLocked: bool
    # How many slots lead to the root key.
    slots: int


class SecretsStatusResult(_SecretsStatusResult, total=False):
    # Why they are unusable.
    reason: str
    # When `keys/host.key` was missing and another was made: what is `deviceOnly` from before is lost without the
    # old one. `storage.acknowledge` ends it.
    hostKeyRenewedAt: str
    # True: `keys/root.key` is there and no slot needs it. It goes when the secrets are unlocked; where
    # `keys/slots.json` is an older one, bring the newer one back before.
    rootKeyUnneeded: bool
    # True: `keys/host.key` has not 32 bytes, or cannot be read: what is `deviceOnly` answers `integrity` until a
    # start finds the right one.
    hostKeyUnusable: bool
    # Whether what is on the disk is what was written; left out while sealed.
    integrity: Literal["checking", "whole", "damaged"]
    # What the chain over all changes has come to: 64 hexadecimal digits. Whoever noted one elsewhere can tell that
    # the directory was not set back behind it. Left out for who may not list all secrets.
    chainHead: str
    # Changes in the chain; left out with `chainHead`.
    chainLength: int
    # While secrets are sealed anew after a rotation.
    rewrapping: SecretsStatusResultRewrapping
    # True while what destroyed versions have left on the disk is still to be overwritten.
    scrubbing: bool
    # Names this store of secrets: 32 hexadecimal digits.
    storeId: str
    # Which root key new secrets are sealed with, from 1.
    keyEpoch: int
    # With `service`: its secrets are those of another installation than this connection has named in
    # `session.hello`.
    installationMismatch: bool
    # X25519 key to seal secrets to for this daemon, as base64; left out while sealed.
    publicKey: str


class _SecretsSlotsResultSlots(TypedDict):
    # Given once, never again.
    id: int
    # Where its key comes from.
    kind: Literal["keyFile", "descriptor", "credential", "container", "passphrase"]
    # What it was called; may be empty.
    label: str
    # When it was made.
    createdAt: str


class SecretsSlotsResultSlots(_SecretsSlotsResultSlots, total=False):
    # Of a passphrase: Argon2id's passes.
    passes: int
    # Of a passphrase: Argon2id's memory, bytes.
    memoryBytes: int


class SecretsSlotsResult(TypedDict):
    # In the order of their ids.
    slots: List[SecretsSlotsResultSlots]
    # Which root key the slots lead to.
    keyEpoch: int
    # Earlier root keys that something is still sealed with.
    retiredEpochs: List[int]


class _SecretsAddSlotResultSlot(TypedDict):
    # Given once, never again.
    id: int
    # Where its key comes from.
    kind: Literal["keyFile", "descriptor", "credential", "container", "passphrase"]
    # What it was called; may be empty.
    label: str
    # When it was made.
    createdAt: str


class SecretsAddSlotResultSlot(_SecretsAddSlotResultSlot, total=False):
    # Of a passphrase: Argon2id's passes.
    passes: int
    # Of a passphrase: Argon2id's memory, bytes.
    memoryBytes: int


class SecretsAddSlotResult(TypedDict):
    # The slot that was made.
    slot: SecretsAddSlotResultSlot
    # How many there are now.
    slots: int


class _SecretsRemoveSlotResultSlot(TypedDict):
    # Given once, never again.
    id: int
    # Where its key comes from.
    kind: Literal["keyFile", "descriptor", "credential", "container", "passphrase"]
    # What it was called; may be empty.
    label: str
    # When it was made.
    createdAt: str


class SecretsRemoveSlotResultSlot(_SecretsRemoveSlotResultSlot, total=False):
    # Of a passphrase: Argon2id's passes.
    passes: int
    # Of a passphrase: Argon2id's memory, bytes.
    memoryBytes: int


class SecretsRemoveSlotResult(TypedDict):
    # The slot that is gone.
    slot: SecretsRemoveSlotResultSlot
    # How many there are now.
    slots: int


class _SecretsUnlockResult(TypedDict):
    # `unlocked`.
    state: Literal["sealed", "unlocked", "unusable"]


class SecretsUnlockResult(_SecretsUnlockResult, total=False):
    # The `id` of the slot that opened; left out when the slots were only made now.
    slot: int


class SecretsLockResult(TypedDict):
    # `sealed`.
    state: Literal["sealed", "unlocked", "unusable"]


class _SecretsChangePassphraseResultSlot(TypedDict):
    # Given once, never again.
    id: int
    # Where its key comes from.
    kind: Literal["keyFile", "descriptor", "credential", "container", "passphrase"]
    # What it was called; may be empty.
    label: str
    # When it was made.
    createdAt: str


class SecretsChangePassphraseResultSlot(_SecretsChangePassphraseResultSlot, total=False):
    # Of a passphrase: Argon2id's passes.
    passes: int
    # Of a passphrase: Argon2id's memory, bytes.
    memoryBytes: int


class SecretsChangePassphraseResult(TypedDict):
    # The slot that it opens.
    slot: SecretsChangePassphraseResultSlot


class SecretsRotateResultKeptSlots(TypedDict):
    # Which one.
    id: int
    # Where its key comes from.
    kind: Literal["keyFile", "descriptor", "credential", "container", "passphrase"]
    # How it gets another key.
    change: str


class _SecretsRotateResult(TypedDict):
    # The newest root key's.
    keyEpoch: int


class SecretsRotateResult(_SecretsRotateResult, total=False):
    # With `service`: revision of its last change.
    rev: int
    # True while something is still to be sealed anew.
    rewrapping: bool
    # With `rootKey`: slots whose own keys are what they were. Whoever has one of those opens what is new as well.
    keptSlots: List[SecretsRotateResultKeptSlots]


class SecretsSignResult(TypedDict):
    # 64 bytes, as base64.
    signature: str
    # The version of the key that was used.
    version: int


class SecretsVerifySignatureResult(TypedDict):
    # Whether it is.
    valid: bool
    # The version of the key that was used.
    version: int


class SecretsPublicKeyResult(TypedDict):
    # 32 bytes, as base64.
    publicKey: str
    # The version of the key that was used.
    version: int


class SecretsHmacResult(TypedDict):
    # 32 bytes, as base64.
    code: str
    # The version of the key that was used.
    version: int


class SecretsVerifyHmacResult(TypedDict):
    # Whether it is.
    valid: bool
    # The version of the key that was used.
    version: int


class SecretsEncryptResult(TypedDict):
    # What only this key opens, as base64; it says which version does.
    ciphertext: str
    # The version of the key that was used.
    version: int


class _SecretsDecryptResult(TypedDict):
    # The version of the key that was used.
    version: int


class SecretsDecryptResult(_SecretsDecryptResult, total=False):
    # The text that was sealed.
    data: str
    # In its place, when bytes were sealed: these, as base64.
    dataBase64: str


class SecretsRewrapResult(TypedDict):
    # To be kept in the old one's place.
    ciphertext: str
    # The version of the key that was used.
    version: int


class SecretsIssueTokenResult(TypedDict):
    # To be handed on.
    token: str
    # When it becomes worthless, at the latest.
    expiresAt: str


class _SecretsRedeemTokenResult(TypedDict):
    # Of which service the secret is.
    service: str
    # Whose.
    account: str
    # Revision of the item's last change; 0 when it is absent.
    rev: int
    # Number of the version.
    version: int
    # When the version was written.
    createdAt: str


class SecretsRedeemTokenResult(_SecretsRedeemTokenResult, total=False):
    # The group that it is in.
    accessGroup: str
    # The text, or texts by name; left out when it is bytes.
    secret: JSON
    # In its place: bytes, as base64.
    secretBase64: str
    # When it expires; left out for never.
    expiresAt: str


class _SecretsAuditResultRecords(TypedDict):
    # From 1, without gaps.
    number: int
    # When it was, the first time.
    at: str
    # What was asked for.
    method: str
    # Who asked, as the kernel says.
    uid: int
    # In which role.
    role: str
    # Newest revision that the answer gave away; 0 for none.
    rev: int


class SecretsAuditResultRecords(_SecretsAuditResultRecords, total=False):
    # With `count`: when it was the last time.
    lastAt: str
    # How often, when more than once.
    count: int
    # The error's kind, when it was not done. `lost`, of `secrets.audit`: so many records found no room while the
    # secrets were sealed; `missing`: the newest change had no record at a start; `accepted`: a repair has accepted
    # the audit as it was, which is not as it was written.
    refused: str
    # What the client called itself.
    client: str
    # What it was about.
    service: str
    # Whose secret.
    account: str
    # The group that it is in.
    accessGroup: str
    # True when it came by way of the public key while the secrets were sealed: whoever can write to the data
    # directory can have made it up.
    unproved: bool


class _SecretsAuditResult(TypedDict):
    # Some of them; there may be fewer than `limit`, or none, and more to come.
    records: List[SecretsAuditResultRecords]


class SecretsAuditResult(_SecretsAuditResult, total=False):
    # Where the next page starts; absent at the end.
    cursor: str


class _SecretsAuditVerifyResult(TypedDict):
    # Whether all records that were looked at are.
    valid: bool
    # How many are as they were written.
    records: int
    # Number of the newest record.
    newest: int


class SecretsAuditVerifyResult(_SecretsAuditVerifyResult, total=False):
    # Number of the first record that has been altered, is missing, or is not known of; 0 when that cannot be told.
    firstBroken: int
    # What is wrong. `record`: that one; `head`: the row of the audit's head; `dropped`: all of the audit is gone;
    # `setBack`: it ends before what the secrets know of, or both end before what was acknowledged;
    # `secretsSetBack`: the secrets end before what it knows of; `beyond`: something lies behind the newest record
    # that the secrets know of; `unbound`: the record that tells where it ends is lost, or does not fit the
    # services.
    reason: Literal["record", "head", "dropped", "setBack", "secretsSetBack", "beyond", "unbound"]
    # What all records have come to: noted elsewhere it tells whether the audit was set back as a whole.
    head: str
    # Where the next page starts; absent at the end.
    cursor: str


class SecretsMethods(Store):
    """Sealed values by service and account, and the keys that lead to them."""

    _store, _word = "secrets", "service"

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def put(
        self,
        service: str,
        account: str,
        *,
        secret: JSON = UNSET,
        secret_base64: Optional[str] = None,
        secret_sealed: Optional[str] = None,
        label: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
        accessibility: Optional[Literal["whenUnlocked", "afterFirstUnlock", "always"]] = None,
        device_only: Optional[bool] = None,
        access_group: Optional[str] = None,
        backup: Optional[bool] = None,
        expires_at: Optional[str] = None,
        max_versions: Optional[int] = None,
        if_rev: Optional[int] = None,
        algorithm: Optional[Literal["ed25519", "hmac-sha512-256", "blake2b-256", "xchacha20-poly1305"]] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsPutResult:
        """Stores a secret, as a new version; what is left out of what is known of it stays as it was.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `secret`: A text, or texts by name (user, password, host…) in one object; at most 1 MiB.
        `secret_base64`: In its place: bytes, as base64.
        `secret_sealed`: In its place: sealed to `publicKey` of `secrets.status`, as base64.
        `label`: What to show people.
        `attributes`: Texts by name, sealed like the secret, to find it by; at most 8 KiB. They take the place of
            all that were there.
        `accessibility`: When it may be read; `whenUnlocked` at first.
        `device_only`: It is sealed with a key of this host besides, which no backup has.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `backup`: Whether backups have it. At first true.
        `expires_at`: RFC 3339, UTC, as in 2030-01-31T12:00:00Z: from then on the secret is absent. Of this version
            alone.
        `max_versions`: Versions that are kept; 0, as at first: as many as the service says.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `algorithm`: With bytes, 32 of them: they are a key that is good for this alone (`secrets.sign` and the
            like).
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, OutcomeUnknownError,
            QuotaExceededError, RequestKeyReusedError, SealedError, TypeMismatchError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if secret is not UNSET:
            sent["secret"] = secret
        if secret_base64 is not None:
            sent["secretBase64"] = secret_base64
        if secret_sealed is not None:
            sent["secretSealed"] = secret_sealed
        if label is not None:
            sent["label"] = label
        if attributes is not None:
            sent["attributes"] = attributes
        if accessibility is not None:
            sent["accessibility"] = accessibility
        if device_only is not None:
            sent["deviceOnly"] = device_only
        if access_group is not None:
            sent["accessGroup"] = access_group
        if backup is not None:
            sent["backup"] = backup
        if expires_at is not None:
            sent["expiresAt"] = expires_at
        if max_versions is not None:
            sent["maxVersions"] = max_versions
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if algorithm is not None:
            sent["algorithm"] = algorithm
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("secrets.put", sent, timeout)
        return cast(SecretsPutResult, result)

    def get(
        self,
        service: str,
        account: str,
        *,
        version: Optional[int] = None,
        field: Optional[str] = None,
        seal_to: Optional[str] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsGetResult:
        """Reads a secret.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `version`: Which version; the newest when absent.
        `field`: Only the text of this name, of a secret that has several.
        `seal_to`: X25519 public key, as base64: the secret comes sealed to it (crypto_box_seal), and nobody between
            sees it.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if version is not None:
            sent["version"] = version
        if field is not None:
            sent["field"] = field
        if seal_to is not None:
            sent["sealTo"] = seal_to
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.get", sent, timeout)
        return cast(SecretsGetResult, result)

    def get_many(
        self,
        service: str,
        accounts: Sequence[str],
        *,
        seal_to: Optional[str] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsGetManyResult:
        """Reads several secrets of one service at one moment.

        `service`: Which application's or server's secrets.
        `accounts`: Whose secrets, at most 1,000.
        `seal_to`: X25519 public key, as base64: each secret comes sealed to it, as with `secrets.get`.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, ReplyTooLargeError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "accounts": accounts}
        if seal_to is not None:
            sent["sealTo"] = seal_to
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.getMany", sent, timeout)
        return cast(SecretsGetManyResult, result)

    def delete(
        self,
        service: str,
        account: str,
        *,
        if_rev: Optional[int] = None,
        access_group: Optional[str] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsDeleteResult:
        """Removes a secret with all its versions; removing an absent one changes nothing.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, OutcomeUnknownError,
            QuotaExceededError, RequestKeyReusedError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if access_group is not None:
            sent["accessGroup"] = access_group
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("secrets.delete", sent, timeout)
        return cast(SecretsDeleteResult, result)

    def list(
        self,
        *,
        service: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
        access_group: Optional[str] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SecretsListResult:
        """Lists what is known of secrets, never their values; in an order of its own, the same each time.

        `service`: Only those of this service.
        `attributes`: Only those with all of these.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 100 when absent.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        if service is not None:
            sent["service"] = service
        if attributes is not None:
            sent["attributes"] = attributes
        if access_group is not None:
            sent["accessGroup"] = access_group
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = self._caller.call("secrets.list", sent, timeout)
        return cast(SecretsListResult, result)

    def versions(
        self,
        service: str,
        account: str,
        *,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsVersionsResult:
        """Lists a secret's versions, the oldest first.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.versions", sent, timeout)
        return cast(SecretsVersionsResult, result)

    def restore_version(
        self,
        service: str,
        account: str,
        version: int,
        *,
        if_rev: Optional[int] = None,
        access_group: Optional[str] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsRestoreVersionResult:
        """Stores what an earlier version was once more, as the newest.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `version`: Which one.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, NotFoundError,
            OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "version": version}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if access_group is not None:
            sent["accessGroup"] = access_group
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("secrets.restoreVersion", sent, timeout)
        return cast(SecretsRestoreVersionResult, result)

    def destroy_version(
        self,
        service: str,
        account: str,
        version: int,
        *,
        if_rev: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsDestroyVersionResult:
        """Destroys a version: its key and value are overwritten wherever the data directory has them; answered when
        they are.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `version`: Which one.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, NotFoundError,
            OutcomeUnknownError, OverloadedError, QuotaExceededError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "version": version}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.destroyVersion", sent, timeout)
        return cast(SecretsDestroyVersionResult, result)

    def generate(
        self,
        service: str,
        account: str,
        *,
        kind: Optional[Literal["password", "key", "uuid"]] = None,
        length: Optional[int] = None,
        alphabet: Optional[str] = None,
        return_secret: Optional[bool] = None,
        label: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
        accessibility: Optional[Literal["whenUnlocked", "afterFirstUnlock", "always"]] = None,
        device_only: Optional[bool] = None,
        access_group: Optional[str] = None,
        backup: Optional[bool] = None,
        expires_at: Optional[str] = None,
        max_versions: Optional[int] = None,
        if_rev: Optional[int] = None,
        algorithm: Optional[Literal["ed25519", "hmac-sha512-256", "blake2b-256", "xchacha20-poly1305"]] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsGenerateResult:
        """Makes a secret and stores it; nobody sees it unless asked for.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `kind`: What to make; a password when absent.
        `length`: Characters of a password (24 when absent), bytes of a key (32 when absent).
        `alphabet`: What a password is made of: ASCII characters, each once; letters and digits when absent.
        `return_secret`: Return it as well. Not within a transaction, nor with `requestKey`.
        `label`: What to show people.
        `attributes`: Texts by name, sealed like the secret, to find it by; at most 8 KiB. They take the place of
            all that were there.
        `accessibility`: When it may be read; `whenUnlocked` at first.
        `device_only`: It is sealed with a key of this host besides, which no backup has.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `backup`: Whether backups have it. At first true.
        `expires_at`: RFC 3339, UTC, as in 2030-01-31T12:00:00Z: from then on the secret is absent. Of this version
            alone.
        `max_versions`: Versions that are kept; 0, as at first: as many as the service says.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `algorithm`: With `kind` `key`: it has 32 bytes, and is good for this alone.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, OutcomeUnknownError,
            QuotaExceededError, RequestKeyReusedError, SealedError, TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if kind is not None:
            sent["kind"] = kind
        if length is not None:
            sent["length"] = length
        if alphabet is not None:
            sent["alphabet"] = alphabet
        if return_secret is not None:
            sent["returnSecret"] = return_secret
        if label is not None:
            sent["label"] = label
        if attributes is not None:
            sent["attributes"] = attributes
        if accessibility is not None:
            sent["accessibility"] = accessibility
        if device_only is not None:
            sent["deviceOnly"] = device_only
        if access_group is not None:
            sent["accessGroup"] = access_group
        if backup is not None:
            sent["backup"] = backup
        if expires_at is not None:
            sent["expiresAt"] = expires_at
        if max_versions is not None:
            sent["maxVersions"] = max_versions
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if algorithm is not None:
            sent["algorithm"] = algorithm
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("secrets.generate", sent, timeout)
        return cast(SecretsGenerateResult, result)

    def rename(
        self,
        service: str,
        account: str,
        new_account: str,
        *,
        if_rev: Optional[int] = None,
        access_group: Optional[str] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsRenameResult:
        """Gives a secret another account, with all its versions.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `new_account`: Of which there must be none: not the secret's own, either.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, NotFoundError,
            OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError, SealedError, TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "newAccount": new_account}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if access_group is not None:
            sent["accessGroup"] = access_group
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("secrets.rename", sent, timeout)
        return cast(SecretsRenameResult, result)

    def set_attributes(
        self,
        service: str,
        account: str,
        *,
        label: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
        accessibility: Optional[Literal["whenUnlocked", "afterFirstUnlock", "always"]] = None,
        backup: Optional[bool] = None,
        expires_at: Optional[str] = None,
        max_versions: Optional[int] = None,
        if_rev: Optional[int] = None,
        access_group: Optional[str] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsSetAttributesResult:
        """Changes what is known of a secret; its value stays, and what is left out as well.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `label`: What to show people.
        `attributes`: Texts by name, sealed like the secret, to find it by; at most 8 KiB. They take the place of
            all that were there.
        `accessibility`: When it may be read; `whenUnlocked` at first.
        `backup`: Whether backups have it. At first true.
        `expires_at`: RFC 3339, UTC, as in 2030-01-31T12:00:00Z: from then on the secret is absent. Of this version
            alone.
        `max_versions`: Versions that are kept; 0, as at first: as many as the service says.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, NotFoundError,
            OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if label is not None:
            sent["label"] = label
        if attributes is not None:
            sent["attributes"] = attributes
        if accessibility is not None:
            sent["accessibility"] = accessibility
        if backup is not None:
            sent["backup"] = backup
        if expires_at is not None:
            sent["expiresAt"] = expires_at
        if max_versions is not None:
            sent["maxVersions"] = max_versions
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if access_group is not None:
            sent["accessGroup"] = access_group
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("secrets.setAttributes", sent, timeout)
        return cast(SecretsSetAttributesResult, result)

    def configure(
        self,
        service: str,
        *,
        max_versions: Optional[int] = None,
        installation: Optional[str] = None,
        audit_reads: Optional[Literal["each", "batched"]] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsConfigureResult:
        """Says what a service is.

        `service`: Which application's or server's secrets.
        `max_versions`: Versions that an item keeps; at first 10.
        `installation`: Which installation of the application its secrets belong to.
        `audit_reads`: `each`: a read is answered when it is in the audit, on the disk; `batched`, as at first: it
            is there some seconds later.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises IntegrityError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SealedError.
        """
        sent: Dict[str, JSON] = {"service": service}
        if max_versions is not None:
            sent["maxVersions"] = max_versions
        if installation is not None:
            sent["installation"] = installation
        if audit_reads is not None:
            sent["auditReads"] = audit_reads
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("secrets.configure", sent, timeout)
        return cast(SecretsConfigureResult, result)

    def describe(self, service: str, *, timeout: Optional[float] = None) -> SecretsDescribeResult:
        """Tells what a service is.

        `service`: Which application's or server's secrets.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service}
        result = self._caller.call("secrets.describe", sent, timeout)
        return cast(SecretsDescribeResult, result)

    def scopes(self, *, timeout: Optional[float] = None) -> SecretsScopesResult:
        """Lists the services with their sizes.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        result = self._caller.call("secrets.scopes", sent, timeout)
        return cast(SecretsScopesResult, result)

    def clear(
        self,
        service: str,
        confirm: str,
        *,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsClearResult:
        """Removes secrets of a service, 1,000 at most, fewer on a full disk: send it again until nothing is left.

        `service`: Which application's or server's secrets.
        `confirm`: The service's installation when it has one, else its name once more.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises IntegrityError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "confirm": confirm}
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("secrets.clear", sent, timeout)
        return cast(SecretsClearResult, result)

    def verify(self, *, service: Optional[str] = None, timeout: Optional[float] = None) -> SecretsVerifyResult:
        """Looks at everything that is there: records and secrets against their sums, and each value; tells what is not
        what was written.

        `service`: Only this one's; when absent, all, and the store's record.

        Raises NotFoundError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        if service is not None:
            sent["service"] = service
        result = self._caller.call("secrets.verify", sent, timeout)
        return cast(SecretsVerifyResult, result)

    def repair(
        self,
        confirm: str,
        *,
        service: Optional[str] = None,
        other_host_key: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> SecretsRepairResult:
        """Has a damaged service, or the store, go on with what is whole; says what is lost.

        `confirm`: The service's name once more; without `service`, `storeId` of `secrets.status`.
        `service`: Which one; when absent, the services' records and the audit are accepted as they are.
        `other_host_key`: With `service`; true: versions that are `deviceOnly` and sealed with another
            `keys/host.key` lose their values as well. Else they stay, and open when that is back.

        Raises IntegrityError, NoSpaceError, NotFoundError, OutcomeUnknownError, QuotaExceededError, SealedError.
        """
        sent: Dict[str, JSON] = {"confirm": confirm}
        if service is not None:
            sent["service"] = service
        if other_host_key is not None:
            sent["otherHostKey"] = other_host_key
        result = self._caller.call("secrets.repair", sent, timeout)
        return cast(SecretsRepairResult, result)

    def status(self, *, service: Optional[str] = None, timeout: Optional[float] = None) -> SecretsStatusResult:
        """Tells whether the secrets are sealed, and how their keys are kept.

        `service`: Tells `installationMismatch` of this one.
        """
        sent: Dict[str, JSON] = {}
        if service is not None:
            sent["service"] = service
        result = self._caller.call("secrets.status", sent, timeout)
        return cast(SecretsStatusResult, result)

    def slots(self, *, timeout: Optional[float] = None) -> SecretsSlotsResult:
        """Lists the slots: the ways to the root key.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        result = self._caller.call("secrets.slots", sent, timeout)
        return cast(SecretsSlotsResult, result)

    def add_slot(
        self,
        kind: Literal["keyFile", "descriptor", "credential", "container", "passphrase"],
        *,
        new_passphrase: Optional[str] = None,
        label: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsAddSlotResult:
        """Adds a way to the root key; the secrets have to be unlocked.

        `kind`: Where the slot's key comes from.
        `new_passphrase`: With `kind` `passphrase`: what opens the slot; not empty.
        `label`: What to call it.

        Raises IntegrityError, NoSpaceError, OverloadedError, QuotaExceededError, SealedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {"kind": kind}
        if new_passphrase is not None:
            sent["newPassphrase"] = new_passphrase
        if label is not None:
            sent["label"] = label
        result = self._caller.call("secrets.addSlot", sent, timeout)
        return cast(SecretsAddSlotResult, result)

    def remove_slot(self, slot: int, *, timeout: Optional[float] = None) -> SecretsRemoveSlotResult:
        """Removes a way to the root key, but never the last one; the secrets have to be unlocked.

        `slot`: Its `id`.

        Raises IntegrityError, NoSpaceError, NotFoundError, OverloadedError, SealedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {"slot": slot}
        result = self._caller.call("secrets.removeSlot", sent, timeout)
        return cast(SecretsRemoveSlotResult, result)

    def unlock(self, *, passphrase: Optional[str] = None, timeout: Optional[float] = None) -> SecretsUnlockResult:
        """Opens the secrets with a passphrase, or with the keys that the daemon can read by itself.

        `passphrase`: Tried on each passphrase slot; left out: files and credentials.

        Raises IntegrityError, NoSpaceError, OverloadedError, SealedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {}
        if passphrase is not None:
            sent["passphrase"] = passphrase
        result = self._caller.call("secrets.unlock", sent, timeout)
        return cast(SecretsUnlockResult, result)

    def lock(self, *, timeout: Optional[float] = None) -> SecretsLockResult:
        """Forgets all keys: the secrets are sealed until somebody unlocks them."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("secrets.lock", sent, timeout)
        return cast(SecretsLockResult, result)

    def change_passphrase(
        self,
        passphrase: str,
        new_passphrase: str,
        *,
        timeout: Optional[float] = None,
    ) -> SecretsChangePassphraseResult:
        """Puts a new passphrase in the place of an old one; also while the secrets are sealed.

        `passphrase`: The old one.
        `new_passphrase`: The new one; not empty.

        Raises IntegrityError, NoSpaceError, OverloadedError, SealedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {"passphrase": passphrase, "newPassphrase": new_passphrase}
        result = self._caller.call("secrets.changePassphrase", sent, timeout)
        return cast(SecretsChangePassphraseResult, result)

    def rotate(
        self,
        *,
        root_key: Optional[bool] = None,
        passphrase: Optional[str] = None,
        service: Optional[str] = None,
        wait_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SecretsRotateResult:
        """Makes a new root key, or a new key for one service; what is sealed with the old one is sealed anew by and by,
        and then it goes.

        `root_key`: True: the root key.
        `passphrase`: With `rootKey`: of the passphrase slots, which all have to have this one.
        `service`: In its place: the service whose key it is.
        `wait_ms`: How long to wait until everything is sealed anew; meanwhile notifications `progress` tell how far
            it is. 0, as when absent: not at all.

        Raises IntegrityError, NoSpaceError, NotFoundError, OutcomeUnknownError, OverloadedError,
            QuotaExceededError, SealedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {}
        if root_key is not None:
            sent["rootKey"] = root_key
        if passphrase is not None:
            sent["passphrase"] = passphrase
        if service is not None:
            sent["service"] = service
        if wait_ms is not None:
            sent["waitMs"] = wait_ms
        result = self._caller.call("secrets.rotate", sent, timeout)
        return cast(SecretsRotateResult, result)

    def sign(
        self,
        service: str,
        account: str,
        *,
        data: Optional[str] = None,
        data_base64: Optional[str] = None,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsSignResult:
        """Signs data with a stored Ed25519 key, which nobody sees.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `data`: Text, whose UTF-8 is meant; at most 256 KiB.
        `data_base64`: In its place: bytes, as base64.
        `version`: Which version of the key; the newest when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if data is not None:
            sent["data"] = data
        if data_base64 is not None:
            sent["dataBase64"] = data_base64
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.sign", sent, timeout)
        return cast(SecretsSignResult, result)

    def verify_signature(
        self,
        service: str,
        account: str,
        signature: str,
        *,
        data: Optional[str] = None,
        data_base64: Optional[str] = None,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsVerifySignatureResult:
        """Tells whether a signature is that of data by a stored Ed25519 key.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `signature`: 64 bytes, as base64.
        `data`: Text, whose UTF-8 is meant; at most 256 KiB.
        `data_base64`: In its place: bytes, as base64.
        `version`: Which version of the key; the newest when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "signature": signature}
        if data is not None:
            sent["data"] = data
        if data_base64 is not None:
            sent["dataBase64"] = data_base64
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.verifySignature", sent, timeout)
        return cast(SecretsVerifySignatureResult, result)

    def public_key(
        self,
        service: str,
        account: str,
        *,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsPublicKeyResult:
        """Reads the public half of a stored Ed25519 key, with which anybody can check signatures.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `version`: Which version of the key; the newest when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.publicKey", sent, timeout)
        return cast(SecretsPublicKeyResult, result)

    def hmac(
        self,
        service: str,
        account: str,
        *,
        data: Optional[str] = None,
        data_base64: Optional[str] = None,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsHmacResult:
        """Makes the code of data by a stored key: HMAC-SHA-512/256 or keyed BLAKE2b, as the key says.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `data`: Text, whose UTF-8 is meant; at most 256 KiB.
        `data_base64`: In its place: bytes, as base64.
        `version`: Which version of the key; the newest when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if data is not None:
            sent["data"] = data
        if data_base64 is not None:
            sent["dataBase64"] = data_base64
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.hmac", sent, timeout)
        return cast(SecretsHmacResult, result)

    def verify_hmac(
        self,
        service: str,
        account: str,
        code: str,
        *,
        data: Optional[str] = None,
        data_base64: Optional[str] = None,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsVerifyHmacResult:
        """Tells whether a code is that of data by a stored key; compared in constant time.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `code`: 32 bytes, as base64.
        `data`: Text, whose UTF-8 is meant; at most 256 KiB.
        `data_base64`: In its place: bytes, as base64.
        `version`: Which version of the key; the newest when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "code": code}
        if data is not None:
            sent["data"] = data
        if data_base64 is not None:
            sent["dataBase64"] = data_base64
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.verifyHmac", sent, timeout)
        return cast(SecretsVerifyHmacResult, result)

    def encrypt(
        self,
        service: str,
        account: str,
        *,
        data: Optional[str] = None,
        data_base64: Optional[str] = None,
        associated_data: Optional[str] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsEncryptResult:
        """Seals data with the newest version of a stored XChaCha20-Poly1305 key.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `data`: Text, whose UTF-8 is meant; at most 256 KiB.
        `data_base64`: In its place: bytes, as base64.
        `associated_data`: What is sealed belongs to it: opening needs the same. Not inside, and no secret.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if data is not None:
            sent["data"] = data
        if data_base64 is not None:
            sent["dataBase64"] = data_base64
        if associated_data is not None:
            sent["associatedData"] = associated_data
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.encrypt", sent, timeout)
        return cast(SecretsEncryptResult, result)

    def decrypt(
        self,
        service: str,
        account: str,
        ciphertext: str,
        *,
        associated_data: Optional[str] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsDecryptResult:
        """Opens what `secrets.encrypt` has sealed.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `ciphertext`: From `secrets.encrypt`, as base64.
        `associated_data`: What is sealed belongs to it: opening needs the same. Not inside, and no secret.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises ForgedError, InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "ciphertext": ciphertext}
        if associated_data is not None:
            sent["associatedData"] = associated_data
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.decrypt", sent, timeout)
        return cast(SecretsDecryptResult, result)

    def rewrap(
        self,
        service: str,
        account: str,
        ciphertext: str,
        *,
        associated_data: Optional[str] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsRewrapResult:
        """Seals what `secrets.encrypt` has sealed anew with the newest version of the key, and shows it to nobody.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `ciphertext`: From `secrets.encrypt`, as base64.
        `associated_data`: What is sealed belongs to it: opening needs the same. Not inside, and no secret.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises ForgedError, InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "ciphertext": ciphertext}
        if associated_data is not None:
            sent["associatedData"] = associated_data
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.rewrap", sent, timeout)
        return cast(SecretsRewrapResult, result)

    def issue_token(
        self,
        service: str,
        account: str,
        ttl_seconds: int,
        *,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsIssueTokenResult:
        """Makes a token that leads to a secret once, for whoever presents it on another connection.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `ttl_seconds`: How long it is good.
        `version`: Which version; the newest at that time when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, OverloadedError, QuotaExceededError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "ttlSeconds": ttl_seconds}
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = self._caller.call("secrets.issueToken", sent, timeout)
        return cast(SecretsIssueTokenResult, result)

    def redeem_token(self, token: str, *, timeout: Optional[float] = None) -> SecretsRedeemTokenResult:
        """Reads the secret that a token leads to; the token is all that is needed, and worthless afterwards.

        `token`: From `secrets.issueToken`.

        Raises IntegrityError, NotFoundError, SealedError, TokenUnusableError.
        """
        sent: Dict[str, JSON] = {"token": token}
        result = self._caller.call("secrets.redeemToken", sent, timeout)
        return cast(SecretsRedeemTokenResult, result)

    def audit(
        self,
        *,
        service: Optional[str] = None,
        since: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsAuditResult:
        """Lists what was asked of secrets and by whom, the oldest first; never values.

        `service`: Only what was about this service.
        `since`: Only what was from then on: RFC 3339, UTC.
        `limit`: Most items to return; 100 when absent.
        `cursor`: A cursor of the previous page.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        if service is not None:
            sent["service"] = service
        if since is not None:
            sent["since"] = since
        if limit is not None:
            sent["limit"] = limit
        if cursor is not None:
            sent["cursor"] = cursor
        result = self._caller.call("secrets.audit", sent, timeout)
        return cast(SecretsAuditResult, result)

    def audit_verify(
        self,
        *,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsAuditVerifyResult:
        """Checks that the audit is as it was written: send it again with `cursor` until there is none.

        `cursor`: A cursor of the previous page.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        result = self._caller.call("secrets.auditVerify", sent, timeout)
        return cast(SecretsAuditVerifyResult, result)


class AsyncSecretsMethods(Store):
    """Sealed values by service and account, and the keys that lead to them."""

    _store, _word = "secrets", "service"

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def put(
        self,
        service: str,
        account: str,
        *,
        secret: JSON = UNSET,
        secret_base64: Optional[str] = None,
        secret_sealed: Optional[str] = None,
        label: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
        accessibility: Optional[Literal["whenUnlocked", "afterFirstUnlock", "always"]] = None,
        device_only: Optional[bool] = None,
        access_group: Optional[str] = None,
        backup: Optional[bool] = None,
        expires_at: Optional[str] = None,
        max_versions: Optional[int] = None,
        if_rev: Optional[int] = None,
        algorithm: Optional[Literal["ed25519", "hmac-sha512-256", "blake2b-256", "xchacha20-poly1305"]] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsPutResult:
        """Stores a secret, as a new version; what is left out of what is known of it stays as it was.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `secret`: A text, or texts by name (user, password, host…) in one object; at most 1 MiB.
        `secret_base64`: In its place: bytes, as base64.
        `secret_sealed`: In its place: sealed to `publicKey` of `secrets.status`, as base64.
        `label`: What to show people.
        `attributes`: Texts by name, sealed like the secret, to find it by; at most 8 KiB. They take the place of
            all that were there.
        `accessibility`: When it may be read; `whenUnlocked` at first.
        `device_only`: It is sealed with a key of this host besides, which no backup has.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `backup`: Whether backups have it. At first true.
        `expires_at`: RFC 3339, UTC, as in 2030-01-31T12:00:00Z: from then on the secret is absent. Of this version
            alone.
        `max_versions`: Versions that are kept; 0, as at first: as many as the service says.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `algorithm`: With bytes, 32 of them: they are a key that is good for this alone (`secrets.sign` and the
            like).
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, OutcomeUnknownError,
            QuotaExceededError, RequestKeyReusedError, SealedError, TypeMismatchError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if secret is not UNSET:
            sent["secret"] = secret
        if secret_base64 is not None:
            sent["secretBase64"] = secret_base64
        if secret_sealed is not None:
            sent["secretSealed"] = secret_sealed
        if label is not None:
            sent["label"] = label
        if attributes is not None:
            sent["attributes"] = attributes
        if accessibility is not None:
            sent["accessibility"] = accessibility
        if device_only is not None:
            sent["deviceOnly"] = device_only
        if access_group is not None:
            sent["accessGroup"] = access_group
        if backup is not None:
            sent["backup"] = backup
        if expires_at is not None:
            sent["expiresAt"] = expires_at
        if max_versions is not None:
            sent["maxVersions"] = max_versions
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if algorithm is not None:
            sent["algorithm"] = algorithm
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("secrets.put", sent, timeout)
        return cast(SecretsPutResult, result)

    async def get(
        self,
        service: str,
        account: str,
        *,
        version: Optional[int] = None,
        field: Optional[str] = None,
        seal_to: Optional[str] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsGetResult:
        """Reads a secret.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `version`: Which version; the newest when absent.
        `field`: Only the text of this name, of a secret that has several.
        `seal_to`: X25519 public key, as base64: the secret comes sealed to it (crypto_box_seal), and nobody between
            sees it.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if version is not None:
            sent["version"] = version
        if field is not None:
            sent["field"] = field
        if seal_to is not None:
            sent["sealTo"] = seal_to
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.get", sent, timeout)
        return cast(SecretsGetResult, result)

    async def get_many(
        self,
        service: str,
        accounts: Sequence[str],
        *,
        seal_to: Optional[str] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsGetManyResult:
        """Reads several secrets of one service at one moment.

        `service`: Which application's or server's secrets.
        `accounts`: Whose secrets, at most 1,000.
        `seal_to`: X25519 public key, as base64: each secret comes sealed to it, as with `secrets.get`.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, ReplyTooLargeError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "accounts": accounts}
        if seal_to is not None:
            sent["sealTo"] = seal_to
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.getMany", sent, timeout)
        return cast(SecretsGetManyResult, result)

    async def delete(
        self,
        service: str,
        account: str,
        *,
        if_rev: Optional[int] = None,
        access_group: Optional[str] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsDeleteResult:
        """Removes a secret with all its versions; removing an absent one changes nothing.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, OutcomeUnknownError,
            QuotaExceededError, RequestKeyReusedError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if access_group is not None:
            sent["accessGroup"] = access_group
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("secrets.delete", sent, timeout)
        return cast(SecretsDeleteResult, result)

    async def list(
        self,
        *,
        service: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
        access_group: Optional[str] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SecretsListResult:
        """Lists what is known of secrets, never their values; in an order of its own, the same each time.

        `service`: Only those of this service.
        `attributes`: Only those with all of these.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 100 when absent.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        if service is not None:
            sent["service"] = service
        if attributes is not None:
            sent["attributes"] = attributes
        if access_group is not None:
            sent["accessGroup"] = access_group
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = await self._caller.call("secrets.list", sent, timeout)
        return cast(SecretsListResult, result)

    async def versions(
        self,
        service: str,
        account: str,
        *,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsVersionsResult:
        """Lists a secret's versions, the oldest first.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.versions", sent, timeout)
        return cast(SecretsVersionsResult, result)

    async def restore_version(
        self,
        service: str,
        account: str,
        version: int,
        *,
        if_rev: Optional[int] = None,
        access_group: Optional[str] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsRestoreVersionResult:
        """Stores what an earlier version was once more, as the newest.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `version`: Which one.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, NotFoundError,
            OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "version": version}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if access_group is not None:
            sent["accessGroup"] = access_group
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("secrets.restoreVersion", sent, timeout)
        return cast(SecretsRestoreVersionResult, result)

    async def destroy_version(
        self,
        service: str,
        account: str,
        version: int,
        *,
        if_rev: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsDestroyVersionResult:
        """Destroys a version: its key and value are overwritten wherever the data directory has them; answered when
        they are.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `version`: Which one.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, NotFoundError,
            OutcomeUnknownError, OverloadedError, QuotaExceededError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "version": version}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.destroyVersion", sent, timeout)
        return cast(SecretsDestroyVersionResult, result)

    async def generate(
        self,
        service: str,
        account: str,
        *,
        kind: Optional[Literal["password", "key", "uuid"]] = None,
        length: Optional[int] = None,
        alphabet: Optional[str] = None,
        return_secret: Optional[bool] = None,
        label: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
        accessibility: Optional[Literal["whenUnlocked", "afterFirstUnlock", "always"]] = None,
        device_only: Optional[bool] = None,
        access_group: Optional[str] = None,
        backup: Optional[bool] = None,
        expires_at: Optional[str] = None,
        max_versions: Optional[int] = None,
        if_rev: Optional[int] = None,
        algorithm: Optional[Literal["ed25519", "hmac-sha512-256", "blake2b-256", "xchacha20-poly1305"]] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsGenerateResult:
        """Makes a secret and stores it; nobody sees it unless asked for.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `kind`: What to make; a password when absent.
        `length`: Characters of a password (24 when absent), bytes of a key (32 when absent).
        `alphabet`: What a password is made of: ASCII characters, each once; letters and digits when absent.
        `return_secret`: Return it as well. Not within a transaction, nor with `requestKey`.
        `label`: What to show people.
        `attributes`: Texts by name, sealed like the secret, to find it by; at most 8 KiB. They take the place of
            all that were there.
        `accessibility`: When it may be read; `whenUnlocked` at first.
        `device_only`: It is sealed with a key of this host besides, which no backup has.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `backup`: Whether backups have it. At first true.
        `expires_at`: RFC 3339, UTC, as in 2030-01-31T12:00:00Z: from then on the secret is absent. Of this version
            alone.
        `max_versions`: Versions that are kept; 0, as at first: as many as the service says.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `algorithm`: With `kind` `key`: it has 32 bytes, and is good for this alone.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, OutcomeUnknownError,
            QuotaExceededError, RequestKeyReusedError, SealedError, TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if kind is not None:
            sent["kind"] = kind
        if length is not None:
            sent["length"] = length
        if alphabet is not None:
            sent["alphabet"] = alphabet
        if return_secret is not None:
            sent["returnSecret"] = return_secret
        if label is not None:
            sent["label"] = label
        if attributes is not None:
            sent["attributes"] = attributes
        if accessibility is not None:
            sent["accessibility"] = accessibility
        if device_only is not None:
            sent["deviceOnly"] = device_only
        if access_group is not None:
            sent["accessGroup"] = access_group
        if backup is not None:
            sent["backup"] = backup
        if expires_at is not None:
            sent["expiresAt"] = expires_at
        if max_versions is not None:
            sent["maxVersions"] = max_versions
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if algorithm is not None:
            sent["algorithm"] = algorithm
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("secrets.generate", sent, timeout)
        return cast(SecretsGenerateResult, result)

    async def rename(
        self,
        service: str,
        account: str,
        new_account: str,
        *,
        if_rev: Optional[int] = None,
        access_group: Optional[str] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsRenameResult:
        """Gives a secret another account, with all its versions.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `new_account`: Of which there must be none: not the secret's own, either.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, NotFoundError,
            OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError, SealedError, TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "newAccount": new_account}
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if access_group is not None:
            sent["accessGroup"] = access_group
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("secrets.rename", sent, timeout)
        return cast(SecretsRenameResult, result)

    async def set_attributes(
        self,
        service: str,
        account: str,
        *,
        label: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
        accessibility: Optional[Literal["whenUnlocked", "afterFirstUnlock", "always"]] = None,
        backup: Optional[bool] = None,
        expires_at: Optional[str] = None,
        max_versions: Optional[int] = None,
        if_rev: Optional[int] = None,
        access_group: Optional[str] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsSetAttributesResult:
        """Changes what is known of a secret; its value stays, and what is left out as well.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `label`: What to show people.
        `attributes`: Texts by name, sealed like the secret, to find it by; at most 8 KiB. They take the place of
            all that were there.
        `accessibility`: When it may be read; `whenUnlocked` at first.
        `backup`: Whether backups have it. At first true.
        `expires_at`: RFC 3339, UTC, as in 2030-01-31T12:00:00Z: from then on the secret is absent. Of this version
            alone.
        `max_versions`: Versions that are kept; 0, as at first: as many as the service says.
        `if_rev`: Write only when the item's revision is this one; 0: only when it is absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises ConflictError, InstallationMismatchError, IntegrityError, NoSpaceError, NotFoundError,
            OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if label is not None:
            sent["label"] = label
        if attributes is not None:
            sent["attributes"] = attributes
        if accessibility is not None:
            sent["accessibility"] = accessibility
        if backup is not None:
            sent["backup"] = backup
        if expires_at is not None:
            sent["expiresAt"] = expires_at
        if max_versions is not None:
            sent["maxVersions"] = max_versions
        if if_rev is not None:
            sent["ifRev"] = if_rev
        if access_group is not None:
            sent["accessGroup"] = access_group
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("secrets.setAttributes", sent, timeout)
        return cast(SecretsSetAttributesResult, result)

    async def configure(
        self,
        service: str,
        *,
        max_versions: Optional[int] = None,
        installation: Optional[str] = None,
        audit_reads: Optional[Literal["each", "batched"]] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsConfigureResult:
        """Says what a service is.

        `service`: Which application's or server's secrets.
        `max_versions`: Versions that an item keeps; at first 10.
        `installation`: Which installation of the application its secrets belong to.
        `audit_reads`: `each`: a read is answered when it is in the audit, on the disk; `batched`, as at first: it
            is there some seconds later.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises IntegrityError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SealedError.
        """
        sent: Dict[str, JSON] = {"service": service}
        if max_versions is not None:
            sent["maxVersions"] = max_versions
        if installation is not None:
            sent["installation"] = installation
        if audit_reads is not None:
            sent["auditReads"] = audit_reads
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("secrets.configure", sent, timeout)
        return cast(SecretsConfigureResult, result)

    async def describe(self, service: str, *, timeout: Optional[float] = None) -> SecretsDescribeResult:
        """Tells what a service is.

        `service`: Which application's or server's secrets.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service}
        result = await self._caller.call("secrets.describe", sent, timeout)
        return cast(SecretsDescribeResult, result)

    async def scopes(self, *, timeout: Optional[float] = None) -> SecretsScopesResult:
        """Lists the services with their sizes.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("secrets.scopes", sent, timeout)
        return cast(SecretsScopesResult, result)

    async def clear(
        self,
        service: str,
        confirm: str,
        *,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsClearResult:
        """Removes secrets of a service, 1,000 at most, fewer on a full disk: send it again until nothing is left.

        `service`: Which application's or server's secrets.
        `confirm`: The service's installation when it has one, else its name once more.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises IntegrityError, NoSpaceError, OutcomeUnknownError, QuotaExceededError, RequestKeyReusedError,
            SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "confirm": confirm}
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("secrets.clear", sent, timeout)
        return cast(SecretsClearResult, result)

    async def verify(self, *, service: Optional[str] = None, timeout: Optional[float] = None) -> SecretsVerifyResult:
        """Looks at everything that is there: records and secrets against their sums, and each value; tells what is not
        what was written.

        `service`: Only this one's; when absent, all, and the store's record.

        Raises NotFoundError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        if service is not None:
            sent["service"] = service
        result = await self._caller.call("secrets.verify", sent, timeout)
        return cast(SecretsVerifyResult, result)

    async def repair(
        self,
        confirm: str,
        *,
        service: Optional[str] = None,
        other_host_key: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> SecretsRepairResult:
        """Has a damaged service, or the store, go on with what is whole; says what is lost.

        `confirm`: The service's name once more; without `service`, `storeId` of `secrets.status`.
        `service`: Which one; when absent, the services' records and the audit are accepted as they are.
        `other_host_key`: With `service`; true: versions that are `deviceOnly` and sealed with another
            `keys/host.key` lose their values as well. Else they stay, and open when that is back.

        Raises IntegrityError, NoSpaceError, NotFoundError, OutcomeUnknownError, QuotaExceededError, SealedError.
        """
        sent: Dict[str, JSON] = {"confirm": confirm}
        if service is not None:
            sent["service"] = service
        if other_host_key is not None:
            sent["otherHostKey"] = other_host_key
        result = await self._caller.call("secrets.repair", sent, timeout)
        return cast(SecretsRepairResult, result)

    async def status(self, *, service: Optional[str] = None, timeout: Optional[float] = None) -> SecretsStatusResult:
        """Tells whether the secrets are sealed, and how their keys are kept.

        `service`: Tells `installationMismatch` of this one.
        """
        sent: Dict[str, JSON] = {}
        if service is not None:
            sent["service"] = service
        result = await self._caller.call("secrets.status", sent, timeout)
        return cast(SecretsStatusResult, result)

    async def slots(self, *, timeout: Optional[float] = None) -> SecretsSlotsResult:
        """Lists the slots: the ways to the root key.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("secrets.slots", sent, timeout)
        return cast(SecretsSlotsResult, result)

    async def add_slot(
        self,
        kind: Literal["keyFile", "descriptor", "credential", "container", "passphrase"],
        *,
        new_passphrase: Optional[str] = None,
        label: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsAddSlotResult:
        """Adds a way to the root key; the secrets have to be unlocked.

        `kind`: Where the slot's key comes from.
        `new_passphrase`: With `kind` `passphrase`: what opens the slot; not empty.
        `label`: What to call it.

        Raises IntegrityError, NoSpaceError, OverloadedError, QuotaExceededError, SealedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {"kind": kind}
        if new_passphrase is not None:
            sent["newPassphrase"] = new_passphrase
        if label is not None:
            sent["label"] = label
        result = await self._caller.call("secrets.addSlot", sent, timeout)
        return cast(SecretsAddSlotResult, result)

    async def remove_slot(self, slot: int, *, timeout: Optional[float] = None) -> SecretsRemoveSlotResult:
        """Removes a way to the root key, but never the last one; the secrets have to be unlocked.

        `slot`: Its `id`.

        Raises IntegrityError, NoSpaceError, NotFoundError, OverloadedError, SealedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {"slot": slot}
        result = await self._caller.call("secrets.removeSlot", sent, timeout)
        return cast(SecretsRemoveSlotResult, result)

    async def unlock(self, *, passphrase: Optional[str] = None, timeout: Optional[float] = None) -> SecretsUnlockResult:
        """Opens the secrets with a passphrase, or with the keys that the daemon can read by itself.

        `passphrase`: Tried on each passphrase slot; left out: files and credentials.

        Raises IntegrityError, NoSpaceError, OverloadedError, SealedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {}
        if passphrase is not None:
            sent["passphrase"] = passphrase
        result = await self._caller.call("secrets.unlock", sent, timeout)
        return cast(SecretsUnlockResult, result)

    async def lock(self, *, timeout: Optional[float] = None) -> SecretsLockResult:
        """Forgets all keys: the secrets are sealed until somebody unlocks them."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("secrets.lock", sent, timeout)
        return cast(SecretsLockResult, result)

    async def change_passphrase(
        self,
        passphrase: str,
        new_passphrase: str,
        *,
        timeout: Optional[float] = None,
    ) -> SecretsChangePassphraseResult:
        """Puts a new passphrase in the place of an old one; also while the secrets are sealed.

        `passphrase`: The old one.
        `new_passphrase`: The new one; not empty.

        Raises IntegrityError, NoSpaceError, OverloadedError, SealedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {"passphrase": passphrase, "newPassphrase": new_passphrase}
        result = await self._caller.call("secrets.changePassphrase", sent, timeout)
        return cast(SecretsChangePassphraseResult, result)

    async def rotate(
        self,
        *,
        root_key: Optional[bool] = None,
        passphrase: Optional[str] = None,
        service: Optional[str] = None,
        wait_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SecretsRotateResult:
        """Makes a new root key, or a new key for one service; what is sealed with the old one is sealed anew by and by,
        and then it goes.

        `root_key`: True: the root key.
        `passphrase`: With `rootKey`: of the passphrase slots, which all have to have this one.
        `service`: In its place: the service whose key it is.
        `wait_ms`: How long to wait until everything is sealed anew; meanwhile notifications `progress` tell how far
            it is. 0, as when absent: not at all.

        Raises IntegrityError, NoSpaceError, NotFoundError, OutcomeUnknownError, OverloadedError,
            QuotaExceededError, SealedError, WrongKeyError.
        """
        sent: Dict[str, JSON] = {}
        if root_key is not None:
            sent["rootKey"] = root_key
        if passphrase is not None:
            sent["passphrase"] = passphrase
        if service is not None:
            sent["service"] = service
        if wait_ms is not None:
            sent["waitMs"] = wait_ms
        result = await self._caller.call("secrets.rotate", sent, timeout)
        return cast(SecretsRotateResult, result)

    async def sign(
        self,
        service: str,
        account: str,
        *,
        data: Optional[str] = None,
        data_base64: Optional[str] = None,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsSignResult:
        """Signs data with a stored Ed25519 key, which nobody sees.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `data`: Text, whose UTF-8 is meant; at most 256 KiB.
        `data_base64`: In its place: bytes, as base64.
        `version`: Which version of the key; the newest when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if data is not None:
            sent["data"] = data
        if data_base64 is not None:
            sent["dataBase64"] = data_base64
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.sign", sent, timeout)
        return cast(SecretsSignResult, result)

    async def verify_signature(
        self,
        service: str,
        account: str,
        signature: str,
        *,
        data: Optional[str] = None,
        data_base64: Optional[str] = None,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsVerifySignatureResult:
        """Tells whether a signature is that of data by a stored Ed25519 key.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `signature`: 64 bytes, as base64.
        `data`: Text, whose UTF-8 is meant; at most 256 KiB.
        `data_base64`: In its place: bytes, as base64.
        `version`: Which version of the key; the newest when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "signature": signature}
        if data is not None:
            sent["data"] = data
        if data_base64 is not None:
            sent["dataBase64"] = data_base64
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.verifySignature", sent, timeout)
        return cast(SecretsVerifySignatureResult, result)

    async def public_key(
        self,
        service: str,
        account: str,
        *,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsPublicKeyResult:
        """Reads the public half of a stored Ed25519 key, with which anybody can check signatures.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `version`: Which version of the key; the newest when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.publicKey", sent, timeout)
        return cast(SecretsPublicKeyResult, result)

    async def hmac(
        self,
        service: str,
        account: str,
        *,
        data: Optional[str] = None,
        data_base64: Optional[str] = None,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsHmacResult:
        """Makes the code of data by a stored key: HMAC-SHA-512/256 or keyed BLAKE2b, as the key says.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `data`: Text, whose UTF-8 is meant; at most 256 KiB.
        `data_base64`: In its place: bytes, as base64.
        `version`: Which version of the key; the newest when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if data is not None:
            sent["data"] = data
        if data_base64 is not None:
            sent["dataBase64"] = data_base64
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.hmac", sent, timeout)
        return cast(SecretsHmacResult, result)

    async def verify_hmac(
        self,
        service: str,
        account: str,
        code: str,
        *,
        data: Optional[str] = None,
        data_base64: Optional[str] = None,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsVerifyHmacResult:
        """Tells whether a code is that of data by a stored key; compared in constant time.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `code`: 32 bytes, as base64.
        `data`: Text, whose UTF-8 is meant; at most 256 KiB.
        `data_base64`: In its place: bytes, as base64.
        `version`: Which version of the key; the newest when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "code": code}
        if data is not None:
            sent["data"] = data
        if data_base64 is not None:
            sent["dataBase64"] = data_base64
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.verifyHmac", sent, timeout)
        return cast(SecretsVerifyHmacResult, result)

    async def encrypt(
        self,
        service: str,
        account: str,
        *,
        data: Optional[str] = None,
        data_base64: Optional[str] = None,
        associated_data: Optional[str] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsEncryptResult:
        """Seals data with the newest version of a stored XChaCha20-Poly1305 key.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `data`: Text, whose UTF-8 is meant; at most 256 KiB.
        `data_base64`: In its place: bytes, as base64.
        `associated_data`: What is sealed belongs to it: opening needs the same. Not inside, and no secret.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account}
        if data is not None:
            sent["data"] = data
        if data_base64 is not None:
            sent["dataBase64"] = data_base64
        if associated_data is not None:
            sent["associatedData"] = associated_data
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.encrypt", sent, timeout)
        return cast(SecretsEncryptResult, result)

    async def decrypt(
        self,
        service: str,
        account: str,
        ciphertext: str,
        *,
        associated_data: Optional[str] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsDecryptResult:
        """Opens what `secrets.encrypt` has sealed.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `ciphertext`: From `secrets.encrypt`, as base64.
        `associated_data`: What is sealed belongs to it: opening needs the same. Not inside, and no secret.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises ForgedError, InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "ciphertext": ciphertext}
        if associated_data is not None:
            sent["associatedData"] = associated_data
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.decrypt", sent, timeout)
        return cast(SecretsDecryptResult, result)

    async def rewrap(
        self,
        service: str,
        account: str,
        ciphertext: str,
        *,
        associated_data: Optional[str] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsRewrapResult:
        """Seals what `secrets.encrypt` has sealed anew with the newest version of the key, and shows it to nobody.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `ciphertext`: From `secrets.encrypt`, as base64.
        `associated_data`: What is sealed belongs to it: opening needs the same. Not inside, and no secret.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises ForgedError, InstallationMismatchError, IntegrityError, NotFoundError, OverloadedError, SealedError,
            TypeMismatchError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "ciphertext": ciphertext}
        if associated_data is not None:
            sent["associatedData"] = associated_data
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.rewrap", sent, timeout)
        return cast(SecretsRewrapResult, result)

    async def issue_token(
        self,
        service: str,
        account: str,
        ttl_seconds: int,
        *,
        version: Optional[int] = None,
        access_group: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsIssueTokenResult:
        """Makes a token that leads to a secret once, for whoever presents it on another connection.

        `service`: Which application's or server's secrets.
        `account`: Whose secret it is there.
        `ttl_seconds`: How long it is good.
        `version`: Which version; the newest at that time when absent.
        `access_group`: The group that the secret is in: only a grant for the group leads to it. Absent: none. Two
            groups may have secrets of one name.

        Raises InstallationMismatchError, IntegrityError, OverloadedError, QuotaExceededError, SealedError.
        """
        sent: Dict[str, JSON] = {"service": service, "account": account, "ttlSeconds": ttl_seconds}
        if version is not None:
            sent["version"] = version
        if access_group is not None:
            sent["accessGroup"] = access_group
        result = await self._caller.call("secrets.issueToken", sent, timeout)
        return cast(SecretsIssueTokenResult, result)

    async def redeem_token(self, token: str, *, timeout: Optional[float] = None) -> SecretsRedeemTokenResult:
        """Reads the secret that a token leads to; the token is all that is needed, and worthless afterwards.

        `token`: From `secrets.issueToken`.

        Raises IntegrityError, NotFoundError, SealedError, TokenUnusableError.
        """
        sent: Dict[str, JSON] = {"token": token}
        result = await self._caller.call("secrets.redeemToken", sent, timeout)
        return cast(SecretsRedeemTokenResult, result)

    async def audit(
        self,
        *,
        service: Optional[str] = None,
        since: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsAuditResult:
        """Lists what was asked of secrets and by whom, the oldest first; never values.

        `service`: Only what was about this service.
        `since`: Only what was from then on: RFC 3339, UTC.
        `limit`: Most items to return; 100 when absent.
        `cursor`: A cursor of the previous page.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        if service is not None:
            sent["service"] = service
        if since is not None:
            sent["since"] = since
        if limit is not None:
            sent["limit"] = limit
        if cursor is not None:
            sent["cursor"] = cursor
        result = await self._caller.call("secrets.audit", sent, timeout)
        return cast(SecretsAuditResult, result)

    async def audit_verify(
        self,
        *,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SecretsAuditVerifyResult:
        """Checks that the audit is as it was written: send it again with `cursor` until there is none.

        `cursor`: A cursor of the previous page.

        Raises IntegrityError, SealedError.
        """
        sent: Dict[str, JSON] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        result = await self._caller.call("secrets.auditVerify", sent, timeout)
        return cast(SecretsAuditVerifyResult, result)
