"""What a request does to the durable stores, as the pages say; with its reply, at which revisions."""

import json

from states import Part
from patches import Impossible, added, integer_sum, merge, patched
from matching import Unknown, matches
from values import ABSENT, ANY, Number, same, text, whole

WRITES = {
    "settings.put", "settings.delete", "settings.putMany", "settings.increment", "settings.import",
    "documents.put", "documents.putMany", "documents.delete", "documents.deleteMany", "documents.patch", "documents.increment",
    "documents.restore", "documents.attach", "documents.detach", "documents.drop", "documents.configure", "documents.import",
    "documents.purge", "secrets.put", "secrets.delete", "secrets.restoreVersion", "secrets.destroyVersion", "secrets.generate",
    "secrets.rename", "secrets.setAttributes", "secrets.clear", "secrets.repair", "transaction.apply", "transaction.undo",
}


OF_SEVERAL = {"settings.putMany", "settings.import", "documents.putMany", "documents.deleteMany", "documents.import", "documents.drop", "documents.configure",
              "secrets.clear", "secrets.repair", "transaction.apply", "transaction.undo"}


def put(value):
    return lambda old, ghost: value


def remove(old, ghost):
    return ABSENT


def comes(value):
    """A document under an id that nobody knows yet."""
    return lambda old, ghost: value if old is ABSENT else old


def keep(old, ghost):
    if old is ABSENT:
        raise Impossible("nothing there")
    return old


def anything(old, ghost):
    return ANY


def increment(by, initial):
    def act(old, ghost):
        if old is ANY:
            return ANY
        return integer_sum(Number(initial) if old is ABSENT else old, by)
    return act


def patch(params):
    def act(old, ghost):
        if old is ABSENT:
            raise Impossible("nothing there")
        if old is ANY:
            return ANY
        if "mergePatch" in params:
            return merge(old, params["mergePatch"])
        return patched(old, params["jsonPatch"])
    return act


def document_increment(path, by):
    def act(old, ghost):
        if old is ABSENT:
            raise Impossible("nothing there")
        return ANY if old is ANY else added(old, path, by)[0]
    return act


def restore(old, ghost):
    if old is ANY:
        return ANY
    if old is not ABSENT:
        return old
    if ghost is ABSENT:
        raise Impossible("no tombstone")
    return ghost


def remove_where(selector, item):
    def act(old, ghost):
        if old is ABSENT:
            return ABSENT
        if old is ANY:
            return ANY
        try:
            return ABSENT if matches(selector, old, item) else old
        except Unknown:
            return ANY
    return act


def taints(scope, store="documents"):
    return Part((store, scope, None), anything, touches=True)


def setting_default_known(params):
    return "initial" in params


def settings_parts(method, params, result, context):
    domain = params.get("domain")
    if method == "settings.put":
        return [Part(("settings", domain, params["key"]), put(params["value"]), whole(params.get("ifRev")), plain=params["value"])]
    if method == "settings.delete":
        return [Part(("settings", domain, params["key"]), remove, whole(params.get("ifRev")))]
    if method == "settings.putMany":
        parts = [Part(("settings", domain, key), put(value), plain=value) for key, value in params["values"].items()]
        return parts + [Part(("settings", domain, key), remove) for key in params.get("delete") or ()]
    if method == "settings.increment":
        by, initial = whole(params.get("by", Number("1"))), params.get("initial")
        if result:
            act = known_sum(result["value"], by, initial, context.has_defaults(domain))
        elif initial is None and context.has_defaults(domain):
            act = lambda old, ghost: ANY if old is ABSENT else increment(by, 0)(old, ghost)
        else:
            act = increment(by, initial or Number("0"))
        return [Part(("settings", domain, params["key"]), act)]
    if params.get("dryRun") is True:
        return []
    parts = [Part(("settings", name, key), put(value), plain=value)
             for name, values in params["values"].items() for key, value in values.items()]
    if params.get("mode") == "replace":
        # Keys that nobody has told of yet go as well.
        parts = [Part(("settings", name, None), remove) for name in params["values"]] + parts
    return parts


def known_sum(value, by, initial, has_defaults):
    """The reply tells the sum; it must be right for what was there."""
    def act(old, ghost):
        if old is ANY or old is ABSENT and initial is None and has_defaults:
            return value
        if integer_sum(old if old is not ABSENT else initial or Number("0"), by) != value:
            raise Impossible("another sum")
        return value
    return act


def documents_parts(method, params, result, context):
    collection = params["collection"]
    name = params.get("id")
    item = ("documents", collection, name)
    if_rev = whole(params.get("ifRev"))
    if method == "documents.put":
        if name is None:
            if not result:
                return [Part(("documents", collection, None), comes(params["value"]), plain=params["value"])]
            item = ("documents", collection, result["id"])
        return [Part(item, put(params["value"]), if_rev, plain=params["value"])]
    if method == "documents.putMany":
        parts = []
        for at, document in enumerate(params["documents"]):
            key = document.get("id") or (result["ids"][at] if result else None)
            act = put(document["value"]) if key else comes(document["value"])
            parts.append(Part(("documents", collection, key), act, whole(document.get("ifRev")), plain=document["value"]))
        return parts
    if method == "documents.delete":
        return [Part(item, remove, if_rev)]
    if method == "documents.deleteMany":
        if params.get("dryRun") is True:
            return []
        if "ids" in params:
            return [Part(("documents", collection, key), remove) for key in params["ids"]]
        if result is None:
            # Nobody knows which documents there are by the time that it is done.
            act = remove if '"_id"' in text(params["where"]) else remove_where(params["where"], None)
            return [Part(("documents", collection, None), act, may_spare=True)]
        return [Part(each, remove_where(params["where"], each[2]), may_spare=True) for each in context.history.items("documents", collection)]
    if method == "documents.patch":
        return [Part(item, patch(params), if_rev)]
    if method == "documents.increment":
        return [Part(item, document_increment(params["path"], params.get("by", Number("1"))))]
    if method == "documents.restore":
        return [Part(item, restore)]
    if method in ("documents.attach", "documents.detach"):
        return [Part(item, keep, if_rev, touches=True)]
    if method == "documents.drop":
        return [Part(("documents", collection, None), remove)]
    if method == "documents.configure":
        # A migration changes documents by itself.
        if params.get("migrations") or params.get("retainDays") or params.get("version"):
            return [] if params.get("dryRun") is True else [taints(collection)]
        return []
    if method == "documents.import":
        return [Part(("documents", collection, key), put(value), plain=value) for key, value in context.imported]
    return []


def content(params):
    if "secret" in params:
        return params["secret"]
    if "secretBase64" in params:
        return {"base64": params["secretBase64"]}
    return ANY


def secrets_parts(method, params, result, context):
    service, account = params.get("service"), params.get("account")
    item = ("secrets", service, account)
    if_rev = whole(params.get("ifRev"))
    if account is not None:
        context.history.meet_group(account, params.get("accessGroup"))
        if not context.history.is_main(account, params.get("accessGroup")):
            # Reads and the feed tell it under the same name.
            return [Part(item, anything, touches=True)]
    if method == "secrets.put":
        value = content(params)
        return [Part(item, put(value) if "expiresAt" not in params else anything, if_rev, touches=True, plain=value)]
    if method == "secrets.generate":
        value = ANY
        if result and "secret" in result:
            value = result["secret"]
        elif result and "secretBase64" in result:
            value = {"base64": result["secretBase64"]}
        return [Part(item, put(value), if_rev, touches=True)]
    if method == "secrets.delete":
        return [Part(item, remove, if_rev)]
    if method == "secrets.setAttributes":
        return [Part(item, keep if "expiresAt" not in params else anything, if_rev, touches=True)]
    if method == "secrets.rename":
        return [Part(item, anything, if_rev), Part(("secrets", service, params["newAccount"]), anything)]
    if method in ("secrets.clear", "secrets.repair"):
        return [Part(each, anything) for each in context.history.items("secrets", service)] if service else []
    return [Part(item, anything, if_rev)]


def undone(history, item, rev, done):
    """As it was before a revision, when it is as that left it. `done`: what the reply tells of it; None without one."""
    def act(old, ghost):
        if rev <= history.base:
            return ANY    # what was before that is told by nobody
        if not history.has(item, rev) or {item, (*item[:2], None)} & history.ancient:
            # It was not changed then, or by a write that nobody was told of.
            if done is None and not history.loose_parts(item):
                raise Impossible("another revision")
            return ANY
        if history.loose_parts(item):
            # One of them may have been done in between.
            return ANY
        left, before = history.at(item, rev), history.at(item, rev - 1)
        if old is not ANY and not any(state.value is ANY or same(state.value, old) for state in left):
            raise Impossible("changed since")
        if len(before) != 1 or before[0].value is ANY:
            return ANY
        if done is not None and (done == "deleted") != (before[0].value is ABSENT):
            raise Impossible("done otherwise")
        return before[0].value
    return act


def undo_parts(params, result, context):
    if params.get("dryRun") is True:
        return []
    history, rev = context.history, whole(params["rev"])
    if result:
        told = {(item["store"], item["scope"], item["key"]): item["done"] for item in result["items"]}
    else:
        told = {item: None for item in history.known_items if item[0] != "secrets"}
    return [Part(item, undone(history, item, rev, done)) for item, done in told.items()]


def parts_of(method, params, result, context):
    store = method.split(".")[0]
    if method == "transaction.undo":
        return undo_parts(params, result, context)
    if method == "transaction.apply":
        parts = []
        for at, operation in enumerate(params["operations"]):
            inner = result["results"][at] if result else None
            inner_params = operation.get("params") or {}
            for part in parts_of(operation["method"], inner_params, inner, context):
                parts.append(part)
        return parts
    if method not in WRITES:
        return []
    table = {"settings": settings_parts, "documents": documents_parts, "secrets": secrets_parts}
    parts = table[store](method, params, result, context)
    # Those of several items tell the revision of the domain's last change.
    if result and len(parts) == 1 and "rev" in result and method not in OF_SEVERAL:
        parts[0].rev = whole(result["rev"]) or None
    # What follows from a deletion by references is not modelled: all documents may be others.
    if result and (result.get("cascaded") or result.get("nullified")):
        parts += [taints(scope) for store_, scope in context.history.scopes if store_ == "documents"]
    return parts


def write_of(asked, result, context):
    """The parts of a request, or None when the model cannot read it: then nothing of it is judged."""
    try:
        parts = parts_of(asked.method, asked.params, result, context)
        named = all(isinstance(name, str) for part in parts for name in part.item[:2])
        return parts if named and all(part.item[2] is None or isinstance(part.item[2], str) for part in parts) else None
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, json.JSONDecodeError):
        return None
