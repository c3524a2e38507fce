"""Secrets: two services, a few accounts; what is sealed begins with a canary."""

import base64
import re
from datetime import datetime, timedelta, timezone

from makers import builds

CANARY = "canary-"
# The account of what expires.
FLEETING = "x0"


def name(g):
    """A service and an account; one that begins with g is in a group, by which judges know."""
    account = g.account()
    return {"service": g.service(), "account": account, **({"accessGroup": "team"} if account.startswith("g") else {})}


def value(g):
    chance = g.values.random()
    mark = f"{CANARY}{g.seed}-{g.unique()}-{g.values.getrandbits(64):016x}"
    if chance < 0.6:
        return {"secret": mark}
    if chance < 0.8:
        return {"secret": {"user": mark, "password": mark + "-p"}}
    return {"secretBase64": base64.b64encode(mark.encode()).decode()}


def revision(g, params):
    return g.if_rev("secrets", params["service"], params["account"])


def moment(text):
    """A time as requests tell it, in nanoseconds since 1970; None for what is none."""
    if not re.fullmatch(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z", str(text)):
        return None
    try:
        return int(datetime.fromisoformat(text[:-1]).replace(tzinfo=timezone.utc).timestamp()) * 10**9
    except ValueError:
        return None


def fleeting(g):
    """A secret that expires: soon, or in centuries."""
    moments = ["2700-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
    if g.wall is not None:
        soon = datetime.fromtimestamp(g.wall // 10**9, timezone.utc) + timedelta(seconds=g.values.choice([1, 2, 3]))
        moments += [f"{soon:%Y-%m-%dT%H:%M:%SZ}"] * 2
    at = g.values.choice(moments)
    g.last["fleeting"] = {"service": g.service(), "account": FLEETING}
    return g.last["fleeting"] | {"secret": f"{CANARY}{g.seed}-{g.unique()}-{g.values.getrandbits(64):016x}", "expiresAt": at}


@builds("secrets.put", 25)
def put(g):
    if g.is_on("fleeting") and g.chance(0.4):
        return fleeting(g)
    params = name(g)
    return params | value(g) | revision(g, params) | g.maybe("label", "Label") | \
        g.maybe("attributes", {"stage": g.values.choice(["live", "test"])}) | \
        g.maybe("maxVersions", g.values.choice([1, 2, 5]), 0.1) | \
            g.maybe("accessibility", g.values.choice(["whenUnlocked", "afterFirstUnlock", "always"]), 0.1)


@builds("secrets.get", 20)
def get(g):
    if "fleeting" in g.last and g.chance(0.4):
        return dict(g.last["fleeting"])
    return name(g) | g.maybe("version", g.values.choice([1, 2, 3]), 0.15) | g.maybe("field", "user", 0.1)


@builds("secrets.getMany", 5)
def get_many(g):
    return {"service": g.service(), "accounts": g.some([account for account in g.accounts if account[0] != "g"])}


@builds("secrets.delete", 6)
def delete(g):
    params = name(g)
    return params | revision(g, params)


@builds("secrets.list", 5)
def listing(g):
    return {**g.maybe("service", g.service()), **g.maybe("attributes", {"stage": "live"}), **g.page("secrets.list", 5)}


@builds("secrets.versions", 5)
def versions(g):
    return name(g)


@builds("secrets.restoreVersion", 3)
def restore_version(g):
    params = name(g)
    return params | {"version": g.values.choice([1, 2, 3])} | revision(g, params)


@builds("secrets.destroyVersion", 1)
def destroy_version(g):
    return name(g) | {"version": g.values.choice([1, 2])}


@builds("secrets.generate", 10)
def generate(g):
    params = name(g)
    kind = g.values.choice(["password", "key", "key", "key", "uuid"])
    params |= {"kind": kind} | g.maybe("returnSecret", True)
    if kind == "key" and g.chance(0.9):
        algorithm = g.values.choice(["ed25519", "hmac-sha512-256", "blake2b-256", "xchacha20-poly1305"])
        params |= {"algorithm": algorithm, "account": "key-" + algorithm[0]}
        params.pop("accessGroup", None)
    elif kind == "password":
        params |= g.maybe("length", g.values.choice([1, 20, 64]))
    return params


@builds("secrets.rename", 2)
def rename(g):
    return {"service": g.service(), "account": "a0", "newAccount": g.values.choice(["a1", "a9"])}


@builds("secrets.setAttributes", 3)
def set_attributes(g):
    params = name(g)
    return params | {"attributes": {"stage": "live"}} | g.maybe("label", "Other") | revision(g, params)


@builds("secrets.configure", 2)
def configure(g):
    return {"service": g.service(), **g.maybe("maxVersions", g.values.choice([1, 3, 100])),
            **g.maybe("auditReads", g.values.choice(["each", "batched"]))}


@builds("secrets.describe", 3)
def describe(g):
    return {"service": g.service()}


@builds("secrets.scopes", 3)
def scopes(g):
    return {}


@builds("secrets.clear", 1)
def clear(g):
    service = g.service()
    return {"service": service, "confirm": service}


@builds("secrets.verify", 2)
def verify(g):
    return g.maybe("service", g.service())


@builds("secrets.repair", 1)
def repair(g):
    service = g.service()
    return {"service": service, "confirm": service}


@builds("secrets.status", 5)
def status(g):
    return g.maybe("service", g.service())


@builds("secrets.slots", 3)
def slots(g):
    return {}


PASSPHRASE = "canary-passphrase of this world"


@builds("secrets.addSlot", 1)
def add_slot(g):
    return {"kind": "passphrase", "newPassphrase": PASSPHRASE, "label": "recovery"} if g.is_on("passphrases") else {"kind": "keyFile"}


@builds("secrets.removeSlot", 1)
def remove_slot(g):
    # The first one is the key file: without it a start is sealed until somebody says the passphrase.
    return {"slot": g.values.choice([2, 3, 4294967295])}


@builds("secrets.unlock", 4)
def unlock(g):
    return {"passphrase": PASSPHRASE} if g.is_on("passphrases") and g.chance(0.2) else {}


@builds("secrets.lock", 2)
def lock(g):
    return {}


@builds("secrets.changePassphrase", 1)
def change_passphrase(g):
    return {"passphrase": PASSPHRASE if g.is_on("passphrases") else "", "newPassphrase": PASSPHRASE}


@builds("secrets.rotate", 1)
def rotate(g):
    params = {"service": g.service()} if g.chance(0.7) else {"rootKey": True} | \
        ({"passphrase": PASSPHRASE} if g.is_on("passphrases") else {})
    return params | g.maybe("waitMs", g.values.choice([0, 100, 3000]))


def key(kind, data=True):
    def make(g):
        params = g.again_at("key-" + kind, {"service": g.service(), "account": "key-" + kind})
        return params | ({"data": g.values.choice(["", "release 7"])} if data else {})
    return make


builds("secrets.sign", 3)(key("e"))
builds("secrets.publicKey", 2)(key("e", False))
builds("secrets.hmac", 3)(key("h"))
builds("secrets.encrypt", 3)(key("x"))


@builds("secrets.verifySignature", 3)
def verify_signature(g):
    return key("e")(g) | {"signature": g.minted("signature", base64.b64encode(bytes(64)).decode())}


@builds("secrets.verifyHmac", 3)
def verify_hmac(g):
    return key("h")(g) | {"code": g.minted("code", base64.b64encode(bytes(32)).decode())}


@builds("secrets.decrypt", 3)
def decrypt(g):
    return key("x", False)(g) | {"ciphertext": g.minted("ciphertext", base64.b64encode(bytes(60)).decode())}


@builds("secrets.rewrap", 2)
def rewrap(g):
    return key("x", False)(g) | {"ciphertext": g.minted("ciphertext", base64.b64encode(bytes(60)).decode())}


@builds("secrets.issueToken", 5)
def issue_token(g):
    return name(g) | {"ttlSeconds": g.values.choice([1, 60, 86400])}


@builds("secrets.redeemToken", 5)
def redeem_token(g):
    return {"token": g.minted("secretToken", base64.b64encode(bytes(32)).decode())}


@builds("secrets.audit", 3)
def audit(g):
    return {**g.maybe("service", g.service()), **g.page("secrets.audit", 10)}


@builds("secrets.auditVerify", 2)
def audit_verify(g):
    return {}
