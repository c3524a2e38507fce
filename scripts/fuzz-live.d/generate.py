"""Requests, valid and broken, from the daemon's own description of its methods. All choices follow from one seed."""

import json
import re

TEXTS = ["", "a", "key", "é", "日本", "a/b~c", "x" * 128, "x" * 129, "y" * 513, "\u007f", "\n", "a\u0000b", '"\\', "😀"]
NUMBERS = [0, 1, -1, 2, 5, 1000, 1001, 2**31, 2**53 - 1, 2**53, 2**63 - 1, 2**63, -2**63 - 1, 1.0, 0.5, 1e3, 1e300]
SCOPES = ["alpha", "beta", "gamma"]
KEYS = [f"k{at}" for at in range(30)]
# What parameters of these names are given, besides those that name a scope by what a method needs.
NAMED = {
    "scope": SCOPES, "key": KEYS, "id": KEYS, "prefix": KEYS, "offset": [0, 0, 3, 10**6],
    "limit": [1, 2, 50], "timeoutMs": [0, 1, 20, 200], "waitMs": [0, 1, 20, 200]}
# How often a method is called; transfers and what changes a whole room are rarer.
WEIGHTS = {
    "rpc.discover": 0.05, "documents.import": 0.3, "documents.export": 0.2, "settings.configure": 0.2, "settings.export": 0.2,
    "settings.import": 0.3, "changes.list": 0.5, "settings.put": 3, "settings.get": 3, "documents.put": 3, "documents.get": 3,
    "transaction.apply": 2, "changes.wait": 0.3}


def compact(value, dice=None):
    separators = (",", ":") if dice is None or dice.random() < 0.7 else (" , ", " :\t")
    return json.dumps(value, separators=separators, ensure_ascii=dice is not None and dice.random() < 0.3).encode()


class Generator:
    def __init__(self, dice, description, fuzzed_roots):
        self.dice = dice
        self.methods = description["methods"]
        self.roots = fuzzed_roots
        self.count = 0
        self.named = NAMED | {
            name: SCOPES for method in self.methods for name in re.findall("on `(\\w+)`", method.get("x-needs", ""))}
        self.weights = [WEIGHTS.get(method["name"], 1) for method in self.methods]

    # MARK: Values

    def value(self, depth=0):
        dice = self.dice
        kind = dice.randrange(9 if depth < 4 else 6)
        if kind < 2:
            return dice.choice(NUMBERS)
        if kind < 4:
            return dice.choice(TEXTS)
        if kind < 6:
            return dice.choice([None, True, False])
        if kind < 7:
            return [self.value(depth + 1) for _ in range(dice.randrange(5))]
        return {dice.choice(TEXTS[:6]) + str(at): self.value(depth + 1) for at in range(dice.randrange(4))}

    def json_schema(self):
        dice = self.dice
        return dice.choice([
            True, {}, {"type": "object"}, {"type": ["number", "string", "object", "array", "boolean", "null"]},
            {"properties": {"a": {"type": "integer", "minimum": 0}}, "required": ["a"]},
            {"pattern": "^[a-z]*$"}, {"patternProperties": {"(a*)*b": False}}, {"$ref": "#/definitions/x"},
            {"additionalProperties": {"enum": [1, "a", None]}}, {"type": "nothing"}, None,
            {"definitions": {"x": {"items": {"$ref": "#/definitions/x"}}}, "$ref": "#/definitions/x"}, self.value()])

    def fitting(self, name, schema):
        """A value that fits a parameter, mostly."""
        dice = self.dice
        if name in self.named:
            return dice.choice(self.named[name])
        if name in ("keys", "ids", "delete"):
            return dice.sample(KEYS, dice.randrange(1, 5))
        if name == "requestKey":
            return f"r{dice.randrange(100)}"
        if name in ("schema", "defaults") and dice.random() < 0.8:
            return self.json_schema() if name == "schema" else {dice.choice(KEYS): self.value()}
        if name == "ifRev":
            return dice.choice([0, dice.randrange(1000)])
        if name == "operations":
            return [self.operation() for _ in range(dice.randrange(1, 6))]
        if name == "path":
            return dice.choice([self.roots + "/in.ndjson", self.roots + "/out.ndjson", "/etc/passwd", "relative",
                                self.roots + "/../x", self.roots + "/link"])
        if name == "enable":
            return dice.choice([[], ["outOfOrder"], ["unknown"]])
        if "enum" in schema:
            return dice.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "integer":
            return dice.choice([schema.get("minimum", 0), schema.get("minimum", 0) + dice.randrange(50)])
        if kind == "boolean":
            return dice.choice([True, False])
        if kind == "array":
            return [self.fitting("", schema.get("items", {})) for _ in range(dice.randrange(4))]
        if kind == "object":
            properties = schema.get("properties")
            if properties is None:
                return {dice.choice(KEYS): self.value() for _ in range(dice.randrange(4))}
            required = schema.get("required", [])
            return {inner: self.fitting(inner, properties[inner]) for inner in properties
                    if inner in required or dice.random() < 0.5}
        return dice.choice(TEXTS[1:6]) if kind == "string" else self.value()

    def parameters(self, method):
        dice = self.dice
        chosen = {}
        for parameter in method["params"]:
            if parameter.get("required") or dice.random() < 0.4:
                chosen[parameter["name"]] = self.fitting(parameter["name"], parameter["schema"])
        # Without it a recording is answered when somebody cancels it.
        if method["name"] == "storage.record":
            chosen["seconds"] = 1
        if method["name"] in ("documents.import", "documents.export") and dice.random() < 0.8:
            chosen.pop("path", None)
            chosen["fd"] = True
        spoil = dice.random()
        if spoil < 0.12 and chosen:
            chosen[dice.choice(list(chosen))] = self.value()
        elif spoil < 0.16 and chosen:
            del chosen[dice.choice(list(chosen))]
        elif spoil < 0.19:
            chosen[dice.choice(TEXTS)] = self.value()
        elif spoil < 0.27:
            self.spoil_inside(chosen)
        if dice.random() < 0.15 and spoil > 0.27:
            # By position, up to the last that is given.
            names = [parameter["name"] for parameter in method["params"]]
            given = [at for at, name in enumerate(names) if name in chosen]
            return [chosen.get(name, None) for name in names[: given[-1] + 1]] if given else []
        return chosen

    def spoil_inside(self, value):
        """Puts something else in the place of one part, however deep."""
        places, todo = [], [value]
        while todo:
            item = todo.pop()
            for key, inner in list(item.items() if isinstance(item, dict) else enumerate(item)):
                places.append((item, key))
                if isinstance(inner, (dict, list)):
                    todo.append(inner)
        if places:
            container, key = self.dice.choice(places)
            container[key] = self.value()

    def operation(self):
        method = self.dice.choice([one for one in self.methods if one["x-access"] == "write"])
        parameters = self.parameters(method)
        if self.dice.random() < 0.9 and isinstance(parameters, dict):
            parameters.pop("requestKey", None)
        return {"method": method["name"], "params": parameters}

    # MARK: Lines

    def identifier(self):
        self.count += 1
        form = self.dice.randrange(6)
        if form == 0:
            return 10**9 + self.count
        if form == 1:
            return self.dice.choice(["é", "\\", "\u0000", '"']) + f"-{self.count}"
        return f"i-{self.count:x}-{self.dice.randrange(1 << 32):08x}"

    def request(self):
        """A request as a tree, and its method's name."""
        dice = self.dice
        method = dice.choices(self.methods, self.weights)[0]
        request = {"jsonrpc": "2.0", "id": self.identifier(), "method": method["name"], "params": self.parameters(method)}
        spoil = dice.random()
        if spoil < 0.06:
            del request["id"]
        elif spoil < 0.07:
            request["id"] = dice.choice([None, [], {}, True, 1.5, 1e3])
        elif spoil < 0.09:
            request[dice.choice(["jsonrpc", "method", "params"])] = self.value()
        elif spoil < 0.10:
            request[dice.choice(TEXTS)] = self.value()
        elif spoil < 0.11:
            request["method"] += dice.choice([".x", " ", "\u0000", "é"])
        items = list(request.items())
        if dice.random() < 0.3:
            dice.shuffle(items)
        return dict(items)

    def broken(self, line):
        """The line with some of its bytes changed; no line end among them."""
        dice = self.dice
        data = bytearray(line)
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(data))
            form = dice.randrange(5)
            if form == 0:
                data[at] = dice.randrange(256)
            elif form == 1:
                del data[at : at + dice.randrange(1, 9)]
            elif form == 2:
                data[at:at] = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 4)))
            elif form == 3:
                data[at:at] = dice.choice([b"\\ud800", b"\xed\xa0\x80", b"\xff", b'"', b"\\", b"{", b"]", b"\0", b"e5", b"NaN"])
            else:
                data = data[:at] or bytearray(b"{")
            if not data:
                data = bytearray(b"x")
        return bytes(data).replace(b"\n", b" ").replace(b"\r", b" ")

    def line(self, limit):
        """One line without its end."""
        dice = self.dice
        form = dice.random()
        if form < 0.70:
            return compact(self.request(), dice)
        if form < 0.80:
            return self.broken(compact(self.request(), dice))
        if form < 0.92:
            count = dice.choice([0, 1, 2, 3, 8, 60]) if dice.random() < 0.4 else dice.randrange(1, 6)
            batch = [self.request() if dice.random() < 0.95 else self.value() for _ in range(count)]
            return self.broken(compact(batch, dice)) if dice.random() < 0.1 else compact(batch, dice)
        if form < 0.94:
            return dice.choice([b"", b" ", b"\t\t", b"null", b"1", b'"text"', b"[[]]", b"{}", b"[" * 200 + b"]" * 200])
        if form < 0.96:
            size = limit + dice.choice([-1, 0, 1, 2, 1000, 200_000])
            head = b'{"jsonrpc":"2.0","id":"i-%x","method":"storage.ping","params":{"x":"' % self.count
            return head + b"z" * max(size - len(head) - 3, 0) + b'"}}'
        return compact(self.request(), dice) + b"\r"

    def records(self):
        """An import's input."""
        dice = self.dice
        records = [compact({"id": dice.choice(KEYS), "value": self.value()}) for _ in range(dice.randrange(30))]
        text = b"[" + b",".join(records) + b"]" if dice.random() < 0.4 else b"\n".join(records)
        return self.broken(text) if dice.random() < 0.3 and text else text
