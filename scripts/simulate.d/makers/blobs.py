"""Blobs: two namespaces, contents that tell whose they are, uploads in pieces."""

import base64
import hashlib

from makers import builds


def content(g):
    return (f"blob {g.unique()} ".encode() * g.values.choice([1, 1, 20, 2500]))[:30_000]


def digest(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def place(g):
    return {"namespace": g.blobs(), "key": g.key()} | g.maybe("variant", "small", 0.1)


def claim(g):
    return {"claim": True} | g.maybe("leaseSeconds", g.values.choice([1, 60])) if g.chance(0.2) else {}


@builds("blobs.get", 25)
def get(g):
    params = place(g) | claim(g) | g.maybe("orParent", True, 0.1) | g.maybe("verify", True, 0.1)
    if g.chance(0.2):
        params["range"] = g.values.choice([{"offset": 0, "length": 3}, {"offset": 5}, {"offset": 100_000}])
    return params | ({"as": g.values.choice(["fd", "inline"])} if g.is_on("descriptors") and g.chance(0.4) else {})


@builds("blobs.put", 25)
def put(g):
    params = place(g) | g.maybe("ttlSeconds", g.values.choice([60, 86400])) | g.maybe("contentType", "text/plain") | \
        g.maybe("ifAbsent", True, 0.1)
    data = content(g)
    if g.chance(0.2):
        params["digest"] = digest(data) if g.chance(0.8) else digest(b"another")
    if "variant" in params and g.chance(0.5):
        params["variantOf"] = g.minted(f"digest/{params['namespace']}/{params['key']}", digest(b"none"))
    if g.chance(0.2):
        params["token"] = g.minted(f"blobs/{params['namespace']}/{params['key']}", "0" * 64)
    if g.is_on("descriptors") and g.chance(0.3):
        g.pass_descriptor(data)
        g.note("content", digest(data))
        return params | {"fd": True}
    return params | {"data": base64.b64encode(data).decode()}


@builds("blobs.renew", 3)
def renew(g):
    params = g.again_at("claimed blobs", place(g))
    params.pop("variant", None)
    return params | {"token": g.minted(f"blobs/{params['namespace']}/{params['key']}", "0" * 64), "leaseSeconds": g.values.choice([1, 60])}


@builds("blobs.stat", 8)
def stat(g):
    return place(g)


@builds("blobs.statMany", 4)
def stat_many(g):
    return {"namespace": g.blobs(), "keys": g.some(g.keys)}


@builds("blobs.touch", 4)
def touch(g):
    return place(g) | g.maybe("ttlSeconds", 3600)


@builds("blobs.delete", 6)
def delete(g):
    return place(g)


@builds("blobs.deleteMany", 3)
def delete_many(g):
    return {"namespace": g.blobs(), "keys": g.some(g.keys)}


@builds("blobs.list", 5)
def listing(g):
    return {"namespace": g.blobs(), **g.page("blobs.list", 5)}


@builds("blobs.findMissing", 4)
def find_missing(g):
    return {"namespace": g.blobs(), "digests": [digest(b"none"), g.minted("digest", digest(b"never"))]}


@builds("blobs.scopes", 3)
def scopes(g):
    return {}


@builds("blobs.describe", 3)
def describe(g):
    return {"namespace": g.blobs()}


@builds("blobs.configure", 2)
def configure(g):
    return {"namespace": g.blobs(), **g.values.choice([{"maxEntries": 2}, {"maxBytes": 20_000}, {"ttlSeconds": 3600}, {"maxEntries": None},
                                                       {"maxBytes": None}])}


@builds("blobs.beginUpload", 6)
def begin_upload(g):
    return place(g) | g.maybe("bytes", g.values.choice([0, 12, 40])) | g.maybe("leaseSeconds", 60) | g.maybe("ifAbsent", True, 0.1)


@builds("blobs.appendUpload", 10)
def append_upload(g):
    data = f"piece {g.unique():05} ".encode()
    return {"upload": g.minted("upload", "0" * 32), "offset": g.values.choice([0, 12, 24, g.minted("received", 0)]),
            "data": base64.b64encode(data).decode()}


@builds("blobs.commitUpload", 6)
def commit_upload(g):
    return {"upload": g.minted("upload", "0" * 32)}


@builds("blobs.abortUpload", 2)
def abort_upload(g):
    return {"upload": g.minted("upload", "0" * 32)}
