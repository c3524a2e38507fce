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
    return json.loads((ROOT / "proto-docs/openrpc.json").read_text())["methods"]


def found(pattern, files):
    """What a regular expression finds in files below the root, as bytes."""
    for path in sorted(ROOT.glob(files)):
        yield from (text.encode() for text in re.findall(pattern, path.read_text(), re.MULTILINE | re.DOTALL))


def examples():
    """Request lines that the documents show."""
    return found(r"""(?:^|['"> ])([{\[]"?[^\n]*"jsonrpc"[^\n]*[}\]])""", "proto-docs/*.md")


def tests_of(target):
    """Texts that the unit tests hold, between the quotes of Swift."""
    return found(r'#"([^\n]*?)"#', f"Tests/{target}/*.swift")


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
    for params in [values, list(values.values()), *({name: value} for name, value in values.items())]:
        yield json.dumps(params).encode()


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
        requests += [b'{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}' % (method["name"].encode(), params)
                     for method in methods() for params in parameter_sets(method)]
        yield from requests
        yield from (b"[" + b", ".join(requests[at : at + 3]) + b"]" for at in range(0, len(requests) - 3, 3))
    elif target == "parameters":
        for index, method in enumerate(methods()):
            for params in parameter_sets(method):
                yield bytes([index]) + params
    elif target == "configuration":
        # What the documents show of it comes first.
        for text in [*found(r"```json\n(.*?)```", "proto-docs/*.md"), *texts]:
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
        yield from (text + b"\x1e" + document for text in tests_of("KuraJSONTests"))
        yield from (b"{}\x1e" + text for text in texts)
    elif target == "records":
        yield from (bytes([first]) + text for text in texts for first in (0, 1, 255))


def main():
    target, directory, suites = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    committed = [path.read_bytes() for path in (ROOT / "Tests/Fuzz/seeds" / target).glob("*")]
    for text in [*committed, *seeds(target, suites)]:
        (directory / hashlib.sha1(text).hexdigest()).write_bytes(text)


main()
