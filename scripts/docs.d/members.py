#!/usr/bin/env python3
"""Makes Sources/KuraServer/Generated/Members.swift of proto-docs/openrpc.json: the members of all results by name, each with the
kind of its value.

usage: members.py OPENRPC      prints the Swift
"""

import json
import sys
from collections import defaultdict

KINDS = {"string": "TextMember", "integer": "NumberMember", "boolean": "FlagMember", "array": "ListMember", "object": "ObjectMember"}
KEYWORDS = {"as", "default", "for", "in", "is", "operator", "protocol", "repeat", "self", "where"}


def kind(schema):
    if schema.get("format") == "date-time":
        return "MomentMember"
    return KINDS.get(schema.get("type"), "AnyMember")


def members(schema, found):
    """Adds the members of a schema, and of what lies in it, to `found`: names by kind."""
    for name, value in schema.get("properties", {}).items():
        found[kind(value)].add(name)
        members(value, found)
    for within in ("items", "additionalProperties", "oneOf", "anyOf"):
        parts = schema.get(within, [])
        for part in parts if isinstance(parts, list) else [parts]:
            if isinstance(part, dict):
                members(part, found)


def main():
    print("// Made by scripts/docs of the method table; changed by hand it is stale.")
    found = defaultdict(set)
    for method in json.load(open(sys.argv[1]))["methods"]:
        members(method["result"]["schema"], found)
    for kind, names in sorted(found.items()):
        print(f"\nextension {kind} {{")
        for name in sorted(names):
            escaped = f"`{name}`" if name in KEYWORDS else name
            print(f'    static var {escaped}: Self {{ Self(",\\"{name}\\":") }}')
        print("}")


main()
