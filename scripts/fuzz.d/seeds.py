"""Puts a target's first inputs into a directory.

usage: seeds.py TARGET DIRECTORY SUITES

From Tests/Fuzz/seeds, where those are that nothing else gives, from the examples of proto-docs, from the texts of the unit tests,
and from the suites of JSON texts where they are.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


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
        yield from (raw.encode() for raw in re.findall(r'#"(.*?)"#', path.read_text()))


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
        yield from tests_of("KuraJSONTests")
    elif target == "patches":
        for path in sorted((suites / "json-patch").glob("*.json")):
            for case in json.loads(path.read_bytes()):
                if "doc" in case and "patch" in case:
                    yield json.dumps(case["patch"]).encode() + b"\x1e" + json.dumps(case["doc"]).encode()
        for path in sorted((suites / "rfc7396").glob("*.json")):
            for case in json.loads(path.read_bytes()):
                texts = [json.dumps(part).encode() for part in (case.values() if isinstance(case, dict) else case)]
                yield b"\x1e".join(texts[1::-1])
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


def main():
    target, directory, suites = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    committed = ROOT / "Tests" / "Fuzz" / "seeds" / target
    for text in [path.read_bytes() for path in committed.glob("*")] + list(seeds(target, suites)):
        (directory / hashlib.sha1(text).hexdigest()).write_bytes(text)


main()
