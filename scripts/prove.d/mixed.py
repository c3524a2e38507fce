"""A writer of all stores: settings, documents, secrets, attachments, transactions over three of them, and blobs.

What `Model` says of settings and documents holds of secrets and attachments too. Blobs are a cache: they may be lost, but what is
shown under a key is something that was put there, whole.
"""

import base64
import hashlib

from client import Refused, render
from model import ABSENT, DELETE, INCREMENT, PUT, TOUCH, Item, Model, padding, value

BLOBS = 12


def secret(number):
    return {"n": str(number), "p": padding(number)}


def bytes_of(number):
    """The content of an attachment or a blob: some lie in tables, some in files."""
    length = 100 if number % 3 else 20_000 + number % 7 * 5000
    return (f"{number:08x}".encode() * (length // 8 + 1))[:length]


def number_in(data):
    """The number that a content was made of, or text that says that it is damaged."""
    try:
        number = int(data[:8], 16)
    except ValueError:
        return f"damaged: {data[:16]}"
    return number if data == bytes_of(number) else f"damaged: {len(data)} bytes of {number}"


class MixedModel(Model):
    """The changes of one writer over all stores. Rooms besides `s` and `d`: `x` secrets, `a` attachments of documents."""

    # Attachments and blobs have files of their own, and faults of their own that leave the daemon alive.
    is_strict = False

    def __init__(self, index, seed, depth, keys=60):
        super().__init__(index, seed, depth, keys)
        self.names["x"] = [f"x{at}" for at in range(12)]
        self.names["a"] = [f"h{at}" for at in range(8)]
        self.names["d"] = self.loose + self.names["a"]
        self.counts = {}

    def clear(self):
        super().clear()
        # By key what was put there.
        self.cached = {}

    def next_change(self):
        choose = self.random.random()
        if choose < 0.45:
            return super().next_change()
        self.number += 1
        number, scope, effects = self.number, self.scope, []
        setting, account, holder = (self.random.choice(self.names[room]) for room in "sxa")
        document = self.random.choice(self.loose)
        if choose < 0.60:
            call = "secrets.put", {"service": scope, "account": account, "secret": secret(number)}
            effects = [(("x", account), PUT)]
        elif choose < 0.63:
            call = "secrets.delete", {"service": scope, "account": account}
            effects = [(("x", account), DELETE)]
        elif choose < 0.80:
            operations = [
                {"method": "settings.put", "params": {"domain": scope, "key": setting, "value": value(number)}},
                {"method": "documents.put", "params": {"collection": scope, "id": document, "value": value(number)}},
                {"method": "secrets.put", "params": {"service": scope, "account": account, "secret": secret(number)}},
            ]
            call = "transaction.apply", {"operations": operations}
            effects = [(("s", setting), PUT), (("d", document), PUT), (("x", account), PUT)]
        elif choose < 0.92:
            if self.state.get(("d", holder), ABSENT).content is None:
                call = "documents.put", {"collection": scope, "id": holder, "value": value(number)}
                effects = [(("d", holder), PUT)]
            else:
                data = base64.b64encode(bytes_of(number)).decode()
                call = "documents.attach", {"collection": scope, "id": holder, "name": "n", "data": data}
                effects = [(("a", holder), PUT), (("d", holder), TOUCH)]
        else:
            key = f"b{number % BLOBS}"
            self.cached.setdefault(key, set()).add(number)
            data = base64.b64encode(bytes_of(number)).decode()
            call = "blobs.put", {"namespace": scope, "key": key, "data": data}
        return self.sent(number, effects, render(number, *call))


def observe(connection, model, items, remarks):
    """Adds secrets and attachments to `items`, and looks at the blobs."""
    reply = connection.call("secrets.getMany", service=model.scope, accounts=model.names["x"])
    for found in reply["secrets"]:
        shown = found["secret"]
        number = int(shown["n"]) if isinstance(shown, dict) and shown.get("n", "").isdigit() else None
        whole = number is not None and shown == secret(number)
        items["x", found["account"]] = Item(number if whole else f"damaged: {str(shown)[:60]}", found["rev"])
    for missing in reply["missing"]:
        items["x", missing] = ABSENT
    for name in model.names["a"]:
        try:
            reply = connection.call("documents.attachment", collection=model.scope, id=name, name="n")
        except Refused as error:
            items["a", name] = ABSENT if error.kind == "notFound" else Item(f"damaged: {error}", 0)
            continue
        data = base64.b64decode(reply["data"])
        items["a", name] = Item(number_in(data), 0)
        if hashlib.blake2b(data, digest_size=32).hexdigest() != reply["digest"]:
            remarks.append(f"{model.scope}: the attachment of {name} has another digest")
    for key, numbers in model.cached.items():
        reply = connection.call("blobs.get", namespace=model.scope, key=key)
        if reply["found"] and number_in(base64.b64decode(reply["data"])) not in numbers:
            remarks.append(f"{model.scope}: blob {key} shows what was never put there")
        model.counts["blobs kept" if reply["found"] else "blobs lost"] = (
            model.counts.get("blobs kept" if reply["found"] else "blobs lost", 0) + 1)
