"""Puts a target's first inputs into a directory.

usage: seeds.py TARGET DIRECTORY SUITES

From Tests/Fuzz/seeds, from the examples that proto-docs gives, and from the suites of JSON texts where they are.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


# Sockets and roles, right and wrong.
ACCESS = [
    {"sockets": [{"path": "/run/kura/a", "owner": "root", "group": 0, "mode": "0660", "role": "admin"},
                 {"path": "/run/kura/b", "name": "apps", "roles": [{"uid": 1000, "role": "app"}, {"gid": 5, "role": "app"},
                                                                    {"user": "root", "role": "admin"},
                                                                    {"group": "root", "role": "app"}]}],
     "roles": {"app": {"grants": [{"store": "*", "scope": "app-{uid}-*", "allow": ["read", "list", "write"]},
                                  {"store": "storage", "scope": "*", "allow": ["read"]}],
                       "quotas": {"bytes": 1, "items": 2, "scopes": 3, "perUid": {"bytes": 1, "items": 2, "scopes": 3}}}}},
    {"roles": {"admin": {}}}, {"roles": {"a": {"grants": []}, "b": {"quotas": {"items": 1}}}},
    {"roles": {"a": {"grants": [{"store": "settings", "scope": "{uid}", "allow": ["create", "update", "delete", "use"]}]}}},
    {"sockets": [{"path": "relative", "role": "admin"}]}, {"sockets": [{"name": "a", "role": "nobody"}]},
    {"sockets": [{"path": "/a", "roles": [{"uid": 65534, "role": "admin"}]}]}, {"sockets": []},
    {"sockets": [{"path": "/a", "mode": "999", "role": "admin"}]}, {"socket": "/s", "sockets": [{"name": "a", "role": "admin"}]},
]
# Patterns of scopes with what they are held against.
PATTERNS = [
    (b"*", b"anything"), (b"a*b*c", b"axxbyyc"), (b"*ab*ab*", b"aba"), (b"u-{uid}-*", b"u-1000-notes"),
    (b"u-{uid}", b"u-99999999999999999999999999"), (b"u-{uid}", b"u-4294967295"), (b"u-{uid}", b"u-007"), (b"{uid}x*y", b"1x2y"),
]


def json_texts(suites):
    """Small texts, good and bad, as bytes."""
    for path in sorted((suites / "json-test-suite" / "test_parsing").glob("*.json")):
        yield path.read_bytes()
    data = suites / "nativejson" / "data"
    for path in sorted((data / "roundtrip").glob("*.json")):
        yield path.read_bytes()
    if (data / "twitter.json").exists():
        for status in json.loads((data / "twitter.json").read_bytes())["statuses"][:20]:
            yield json.dumps(status, ensure_ascii=len(status["text"]) % 2 == 0, indent=len(status["text"]) % 3).encode()
    if (data / "citm_catalog.json").exists():
        events = json.loads((data / "citm_catalog.json").read_bytes())["events"]
        yield json.dumps(dict(list(events.items())[:10])).encode()
    if (data / "canada.json").exists():
        yield (data / "canada.json").read_bytes()[:2000] + b"]]]}}]}"


def methods():
    return json.loads((ROOT / "proto-docs" / "openrpc.json").read_text())["methods"]


def examples():
    """Request lines that the documents show."""
    for path in sorted((ROOT / "proto-docs").glob("*.md")):
        for line in re.findall(r"""(?:^|['"> ])([{\[]"?.*"jsonrpc".*[}\]])""", path.read_text(), re.MULTILINE):
            yield line.encode()


def sample(schema):
    """A value that fits a parameter's schema, as far as types go."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "integer":
        return schema.get("minimum", 0)
    if kind == "array":
        return [sample(schema.get("items", {}))]
    if kind == "object":
        return {name: sample(inner) for name, inner in schema.get("properties", {}).items()}
    return {"string": "a", "boolean": True}.get(kind, {"a": [1, 2.5e1, "\u00e9", None]})


def parameter_sets(method):
    values = {parameter["name"]: sample(parameter["schema"]) for parameter in method["params"]}
    yield json.dumps(values).encode()
    yield json.dumps(list(values.values())).encode()
    for name in values:
        yield json.dumps({name: values[name]}).encode()


def tests_of(target):
    """Texts that the unit tests hold, between the quotes of Swift."""
    for path in sorted((ROOT / "Tests" / target).glob("*.swift")):
        text = path.read_text()
        for raw in re.findall(r'#"(.*?)"#', text):
            yield raw.encode()


def seeds(target, suites):
    texts = list(json_texts(suites))
    if target == "reader":
        yield from texts
    elif target == "framer":
        lines = list(examples())[:30] + texts[:30]
        for limit in (0, 10, 39):
            yield bytes([limit]) + b"\n".join(lines)[:4000]
            yield bytes([limit]) + b"\r\n \r\n\n".join(line[:limit] for line in lines)[:2000]
    elif target == "request":
        yield from texts
        requests = list(examples())
        for method in methods():
            for params in parameter_sets(method):
                requests.append(b'{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}' % (method["name"].encode(), params))
        yield from requests
        for at in range(0, len(requests) - 3, 3):
            yield b"[" + b", ".join(requests[at : at + 3]) + b"]"
    elif target == "parameters":
        for index, method in enumerate(methods()):
            for params in parameter_sets(method):
                yield bytes([index]) + params
    elif target == "configuration":
        yield b"\0" + json.dumps({
            "dataDir": "/d", "socket": "/s", "profile": "small", "logLevel": "debug", "importRoots": ["/a", "/b"],
            "settingsLocks": "/l", "changes": {"retainBytes": 1, "retainSeconds": 2, "progressSeconds": 3},
            "limits": {"lineBytes": 1024, "batchItems": 1, "connections": 1, "outputBytes": 4096, "inputBytes": 4096,
                       "requestsPerTurn": 1, "subscriptions": 0, "totalSubscriptions": 0}}).encode()
        yield b"\1" + json.dumps({"a": {"k": {"value": {"x": [1]}, "reason": "why"}, "l": {"value": 1, "reason": "w"}}}).encode()
        for access in ACCESS:
            yield b"\0" + json.dumps(access).encode()
        for pattern, scope in PATTERNS:
            yield b"\2" + pattern + b"\x1e" + scope
        # What the documents show of it.
        for path in sorted((ROOT / "proto-docs").glob("*.md")):
            for block in re.findall(r"```json\n(.*?)```", path.read_text(), re.DOTALL):
                yield b"\0" + block.encode()
                yield b"\1" + block.encode()
        for text in texts:
            yield b"\0" + text
            yield b"\1" + text
    elif target in ("schema", "pattern"):
        for text in tests_of("JSONSchemaTests"):
            yield text
            yield text + b"\x1e" + (b'{"a": 1, "b": ["x", 2, null]}' if target == "schema" else b"abc ABC 123 \xc3\xa9")
    elif target == "stored":
        yield from texts
        # Numbers side by side, since each is held against each.
        yield (b"[0,-0,0.0,1,1.0,10e-1,0.1e1,-1,1e15,1e-15,123.456,123456e-3,1e99999999999999999999,-1e-99999999999999999999,"
               b"0.30000000000000000000000000000000000000000001,9007199254740993,9.007199254740993e15,7,49,2.5,0.5]")
        yield rb'{"a":{"b\"":[1,"]}",{"d":"\\"}]},"\u0065":"x","":null,"f":[],"long name with more than eight bytes":"and \" more"}'
        for text in tests_of("KuraJSONTests"):
            yield text
    elif target == "patches":
        for path in sorted((suites / "json-patch").glob("*.json")):
            for case in json.loads(path.read_bytes()):
                if "doc" in case and "patch" in case:
                    yield json.dumps(case["patch"]).encode() + b"\x1e" + json.dumps(case["doc"]).encode()
        for path in sorted((suites / "rfc7396").glob("*.json")):
            for case in json.loads(path.read_bytes()):
                texts = [json.dumps(part).encode() for part in (case.values() if isinstance(case, dict) else case)]
                yield b"\x1e".join(texts[1::-1])
        for op in ("add", "remove", "replace", "move", "copy", "test"):
            patch = [{"op": op, "path": "/a/1", "from": "/b", "value": {"x": 1}}, {"op": op, "path": "", "from": 3, "value": 1.0}]
            yield json.dumps(patch).encode() + b'\x1e{"a":[1,2,3],"b":{"c":"d"},"1":1e0}'
    elif target == "selector":
        document = ('{"n":5,"s":"ab","z":null,"t":true,"a":[1,"b",[2]],"o":{"p":1,"q":"y"},"e":{},"em":[],"m":-5,"f":1.5,"$d":1,'
                    '"d.t":2,"l":[{"k":1,"v":"a"},{"k":2,"v":"b"}],"q":"\\"\\\\A","big":1e29,"\u00e9":3}').encode()
        for text in tests_of("KuraJSONTests"):
            yield text + b"\x1e" + document
        for text in texts:
            yield b"{}\x1e" + text
    elif target == "records":
        for text in texts:
            for first in (0, 1, 255):
                yield bytes([first]) + text
        lines = b"\n".join(json.dumps({"id": str(i), "value": {"n": i}}).encode() for i in range(10))
        yield b"\0" + lines
        yield b"\0\xef\xbb\xbf" + lines.replace(b"\n", b"\r\n\n")
        yield b"\0[" + lines.replace(b"\n", b" ,\n") + b"]\n"
    elif target == "logrecord":
        def record(store, flag, parts, rev):
            body = bytes([store, flag]) + b"".join(len(part).to_bytes(2, "little") for part in parts[:3])
            body += len(parts[3]).to_bytes(4, "little") + rev.to_bytes(8, "little") + b"".join(parts)
            return len(body).to_bytes(4, "little") + body
        for store in range(8):
            yield record(store, store & 1, [b"scope", b"key", b"writer", b'{"a":1}'], 77)
        yield record(1, 0, [b"s", b"", b"", b"1"], 1) + record(2, 1, [b"s", b"k", b"", b""], 2)


def main():
    target, directory, suites = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    committed = ROOT / "Tests" / "Fuzz" / "seeds" / target
    kept = [path.read_bytes() for path in sorted(committed.glob("*"))] if committed.exists() else []
    for text in kept + list(seeds(target, suites)):
        (directory / hashlib.sha1(text).hexdigest()).write_bytes(text)


main()
