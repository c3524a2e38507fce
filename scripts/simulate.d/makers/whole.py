"""The daemon as a whole: sessions, storage, backups, changes, transactions."""

from makers import BUILDERS, EMPTY, builds
from makers.secrets import PASSPHRASE
from schemas import METHODS


def nothing(g):
    return {}


for _name, _weight in [("rpc.discover", 1), ("storage.ping", 8), ("storage.health", 4), ("storage.status", 6), ("storage.sweep", 2),
                       ("storage.quarantine", 1),
                       ("storage.acknowledge", 1), ("storage.check", 0.5), ("storage.compact", 0.5), ("backups.list", 2),
                       ("fault.list", 1), ("fault.clear", 1)]:
    builds(_name, _weight)(nothing)


@builds("rpc.cancel", 6)
def cancel(g):
    pending = g.pending_ids()
    return {"id": g.values.choice(pending) if pending and g.chance(0.8) else g.values.choice([-1, "none", None])}


@builds("session.hello", 6)
def hello(g):
    params = {"client": g.values.choice(["notes", "d0", "mail"])} | g.maybe("version", "1.2") | g.maybe("launch", True, 0.2) | \
        g.maybe("protocol", 1)
    return params | (g.maybe("enable", ["outOfOrder"], 0.5) if g.is_on("outOfOrder") else {})


@builds("session.can", 4)
def can(g):
    method = g.values.choice(sorted(METHODS))
    if g.chance(0.3) or method in ("session.can", "rpc.cancel"):
        return {"method": method}
    params = BUILDERS[method](g)
    g.forget_descriptors()
    return {"method": method, "params": params}


@builds("storage.stats", 2)
def stats(g):
    return g.maybe("histograms", True)


@builds("storage.diskWrites", 2)
def disk_writes(g):
    return {**g.maybe("window", g.values.choice(["hour", "day", "week", "month"])),
            **g.maybe("by", g.values.choice(["store", "method", "client", "scope", "key"]))}


@builds("storage.resolveReport", 1)
def resolve_report(g):
    return g.maybe("id", 1)


@builds("storage.slow", 2)
def slow(g):
    return g.maybe("limit", 5)


@builds("storage.record", 1)
def record(g):
    g.pass_descriptor(EMPTY)
    return {"fd": True, "seconds": g.values.choice([1, 5])}


@builds("fault.inject", 1)
def inject(g):
    # A daemon that keeps its data has none.
    return {"kind": g.values.choice(["full", "sync", "slow", "conflict", "overloaded", "gone", "powerCut"])}


@builds("storage.backup", 1)
def backup(g):
    params = g.maybe("include", g.values.choice([["settings"], ["documents/c0"], ["secrets"]])) | \
        g.maybe("passphrase", PASSPHRASE, 0.15)
    if g.chance(0.3):
        g.pass_descriptor(EMPTY)
        return params | {"fd": True}
    return params | {"name": g.backup()}


@builds("storage.bundle", 0.7)
def bundle(g):
    params = g.maybe("include", g.values.choice([["settings"], ["documents", "models"]]))
    return params | {"name": g.backup()}


@builds("backups.verify", 2)
def verify(g):
    return {"name": g.backup("backup")}


@builds("backups.compare", 2)
def compare(g):
    return {"name": g.backup("backup")} | g.maybe("examples", g.values.choice([0, 3]))


@builds("backups.prune", 1)
def prune(g):
    return g.values.choice([{"names": [g.backup("backup")]}, {"hourly": 1, "dryRun": True}, {"daily": 0, "hourly": 0}])


OPERATIONS = ["settings.put", "settings.put", "settings.delete", "settings.increment", "settings.putMany", "documents.put",
              "documents.put", "documents.delete",
              "documents.patch", "documents.increment", "documents.putMany", "documents.restore", "secrets.put", "secrets.delete"]


@builds("transaction.apply", 20)
def transaction(g):
    operations = []
    for _ in range(g.values.choice([1, 2, 2, 3, 5])):
        method = g.values.choice([name for name in OPERATIONS if g.is_on(name)] or ["settings.put"])
        operations.append({"method": method, "params": BUILDERS[method](g)})
    if g.chance(0.02):
        operations = []
    return {"operations": operations}


@builds("transaction.undo", 12)
def undo(g):
    return {"rev": g.values.choice(g.all_revs[-3:] or [0]) if g.chance(0.6) else g.any_rev()} | g.maybe("dryRun", True, 0.15)


def wanted(g):
    params = {}
    if g.chance(0.4):
        params["stores"] = g.some(["settings", "documents", "secrets"])
    if g.chance(0.3):
        params["scope"] = g.values.choice([*g.domains, *g.collections])
    return params | g.maybe("prefix", g.values.choice(["k", "i1", ""]), 0.1) | g.maybe("values", True, 0.5) | g.maybe("members", True, 0.5)


@builds("changes.list", 15)
def changes(g):
    return {"afterRev": g.place_in_feed(), **wanted(g), **g.maybe("limit", g.values.choice([1, 2, 10, 10_000])),
            **g.maybe("epoch", g.minted("epoch", "none"), 0.1)}


@builds("changes.watch", 6)
def watch(g):
    if g.chance(0.2):
        return {"stores": g.values.choice([["models"], ["blobs", "models"], ["storage"]])}
    return {**wanted(g), **({"afterRev": g.place_in_feed()} if g.chance(0.4) else {})}


@builds("changes.unwatch", 3)
def unwatch(g):
    return {"subscription": g.minted("subscription", 99)}


@builds("changes.wait", 5)
def wait(g):
    return {"afterRev": g.place_in_feed(), **wanted(g), "timeoutMs": g.values.choice([0, 10, 500, 600_000])}
