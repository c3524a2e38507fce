#!/usr/bin/env python3
"""Makes Sources/KuraServer/Generated/Parameters.swift of proto-docs/openrpc.json: each method's parameters by name.

usage: parameters.py OPENRPC      prints the Swift
"""

import json
import sys
from collections import defaultdict

KINDS = {"string": "TextParameter", "integer": "NumberParameter", "boolean": "FlagParameter"}
KEYWORDS = {"as", "default", "for", "in", "is", "operator", "protocol", "repeat", "where"}


def type_name(method):
    return "".join(part[0].upper() + part[1:] for part in method.split("."))


def show(name, summary, parameters, index=None):
    """A type with a member a parameter: (name, kind, position); a method's tells its place in the table."""
    print(f"\n/// {summary}\nenum {name} {{")
    if index is not None:
        print(f"    static var methodIndex: Int {{ {index} }}")
    for parameter, kind, position in parameters:
        escaped = f"`{parameter}`" if parameter in KEYWORDS else parameter
        print(f"    static var {escaped}: {kind} {{ {kind}({position}) }}")
    print("}")


def shared(methods):
    """What stands at one place in all methods that have it, and in more than one."""
    places = defaultdict(list)
    for parameters in methods:
        for parameter, kind, position in parameters:
            places[parameter].append((kind, position))
    return [(name, *found[0]) for name, found in places.items() if len(found) > 1 and len(set(found)) == 1]


def main():
    print("// Made by scripts/docs of the method table; changed by hand it is stale.")
    stores = defaultdict(list)
    for index, method in enumerate(json.load(open(sys.argv[1]))["methods"]):
        parameters = [(parameter["name"], KINDS.get(parameter["schema"].get("type"), "JSONParameter"), position)
                      for position, parameter in enumerate(method["params"])]
        if parameters:
            show(type_name(method["name"]), f"`{method['name']}` and its parameters.", parameters, index)
            stores[method["name"].split(".")[0]].append(parameters)
    for store, methods in stores.items():
        if found := shared(methods):
            summary = f"Parameters that stand at the same place in all methods of `{store}` that have them."
            show("In" + type_name(store), summary, found)


main()
