"""Reads everything that is stored, by a connection of its own, when all is quiet."""

from states import DESTROYED, Readback
from values import ANY, parse, text, whole
from world import Line

ASIDE = "readback"


def read_back(run):
    if ASIDE not in run.clients:
        run.do_connect({"client": ASIDE, "role": "admin"})
    wait_for_leavers(run)
    wait_for_migrations(run)
    found, scopes = {}, set()
    sent_at = run.tick + 1
    listed = ask(run, [("settings.scopes", {}), ("documents.scopes", {}), ("secrets.list", {"limit": 1000}), ("secrets.status", {})])
    if listed is None:
        return None
    domains = {name for store, name in run.history.scopes if store == "settings"} | names(listed[0], "scopes", "domain")
    collections = {name for store, name in run.history.scopes if store == "documents"} | names(listed[1], "scopes", "collection")
    domains, collections = sorted(filter(fits, domains)), sorted(filter(fits, collections))
    pages = ask(run, [("settings.list", {"domain": name, "layers": "app", "limit": 10_000}) for name in domains]) or []
    gets = []
    for domain, page in zip(domains, pages):
        if "result" in page:
            scopes.add(("settings", domain))
            keys = [item[2] for item in run.history.items("settings", domain)]
            keys += [key for key in page["result"]["values"] if key not in keys]
            gets += [(domain, key) for key in keys if 0 < len(key.encode()) <= 512]
    note_newest(run, pages)
    replies = ask(run, [("settings.get", {"domain": domain, "key": key, "explain": True}) for domain, key in gets]) or []
    for (domain, key), reply in zip(gets, replies):
        result = reply.get("result")
        if result and result["rev"] != "0":
            layers = [(result.get("layer"), result.get("value")), *((h["layer"], h["value"]) for h in result.get("hidden", ()))]
            value = next((value for layer, value in layers if layer == "app"), None)
            found["settings", domain, key] = value, whole(result["rev"])
    for collection in collections:
        cursor, complete = None, False
        while not complete:
            page = ask(run, [("documents.list", {"collection": collection, "limit": 1000, **({"cursor": cursor} if cursor else {})})])
            if not page or "result" not in page[0]:
                break
            note_newest(run, page)
            for document in page[0]["result"]["documents"]:
                found["documents", collection, document["id"]] = document["value"], whole(document["rev"])
            cursor = page[0]["result"].get("cursor")
            complete = cursor is None
        if complete:
            scopes.add(("documents", collection))
    if "result" in listed[2] and "cursor" not in listed[2]["result"]:
        read_secrets(run, listed[2]["result"]["items"], found, scopes)
    rev = max((rev for _, rev in found.values()), default=0)
    for item in found:
        run.history.meet(item)
    return Readback(found, scopes, max(rev, run.history.newest), sent_at)


def wait_for_leavers(run):
    """What clients have sent before they left is done: ten seconds at most."""
    until = run.world.now + 10_000_000_000
    while run.world.now < until:
        told = ask(run, [("storage.status", {})])
        if not told or "result" not in told[0] or whole(told[0]["result"]["connections"]["open"]) <= len(run.clients):
            return
        run.take(run.world.advance(20_000_000))


def wait_for_migrations(run):
    """What a migration changes by itself is changed: ten seconds at most."""
    until, left = run.world.now + 10_000_000_000, sorted(filter(fits, run.ledger.migrated))
    while left and run.world.now < until:
        told = ask(run, [("documents.describe", {"collection": name}) for name in left])
        if told is None:
            return
        states = [reply.get("result", {}).get("migration", {}).get("state") for reply in told]
        left = [name for name, state in zip(left, states) if state == "running"]
        if left:
            run.take(run.world.advance(20_000_000))


def note_newest(run, pages):
    """What was done without a word, by whoever was not answered, has a revision that a list goes up to."""
    run.history.newest = max([run.history.newest, *(whole(page["result"]["rev"]) or 0 for page in pages if "result" in page)])


def read_secrets(run, items, found, scopes):
    items = [item for item in items if run.history.is_main(item["account"], item.get("accessGroup"))]
    asked = [("secrets.get", {"service": i["service"], "account": i["account"], **({"accessGroup": i["accessGroup"]} if "accessGroup" in i else {})})
             for i in items]
    replies = ask(run, asked)
    if replies is None or any("error" in reply and kind(reply) in ("sealed", "installationMismatch") for reply in replies):
        return
    unread = set()
    for item, reply in zip(items, replies):
        result = reply.get("result")
        if run.history.is_scrubbed and "error" in reply and kind(reply) == "notFound":
            # The version that it had is destroyed; the secret is there, with its revision.
            found["secrets", item["service"], item["account"]] = DESTROYED, whole(item["rev"])
            continue
        if not result:
            unread.add(("secrets", item["service"]))
            continue
        # A key with an algorithm is there, and is not shown.
        value = result.get("secret", {"base64": result["secretBase64"]} if "secretBase64" in result else ANY)
        found["secrets", item["service"], item["account"]] = value, whole(result["rev"])
    for store, name in run.history.scopes:
        if store == "secrets" and (store, name) not in unread:
            scopes.add((store, name))


def ask(run, requests):
    """Replies to requests, in their order; None when the daemon went away."""
    client = ASIDE
    if not run.is_up or client not in run.clients:
        return None
    run.tick += 1
    ids, data = [], []
    answers = {}
    for method, params in requests:
        run.count += 1
        ids.append(f"r{run.count}")
        data.append(text({"jsonrpc": "2.0", "id": ids[-1], "method": method, "params": params}).encode() + b"\n")
    run.world.send(run.clients[client], b"".join(data))
    begun = run.world.now
    while len(answers) < len(ids):
        if not run.is_up or client not in run.clients:
            return None
        if run.world.now - begun > 10_000_000_000:
            run.fail("liveness", "hang", f"reading back: {len(ids) - len(answers)} requests without an answer, first {requests[len(answers)]}")
            return None
        rest = []
        for event in run.world.advance(10_000_000_000):
            if isinstance(event, Line) and event.connection == run.clients[client]:
                message = parse(event.data)
                if isinstance(message, dict) and message.get("id") in ids:
                    answers[message["id"]] = message
                    continue
            rest.append(event)
        run.take(rest)
    return [answers[identifier] for identifier in ids]


def names(reply, member, name):
    return {scope[name] for scope in reply.get("result", {}).get(member, ())}


def kind(reply):
    return reply["error"].get("data", {}).get("kind")


def fits(name):
    return isinstance(name, str) and 0 < len(name.encode()) <= 128
