#!/usr/bin/env python3
"""Makes Sources/KuraServer/Generated/Handlers.swift of proto-docs/openrpc.json: which function answers which method. That of
`settings.get` is `SettingsHandlers.get`.

usage: handlers.py OPENRPC      prints the Swift
"""

import json
import sys


def type_name(store):
    return f"{store[0].upper()}{store[1:]}Handlers"


def main():
    methods = [method["name"] for method in json.load(open(sys.argv[1]))["methods"]]
    print("// Made by scripts/docs of the method table; changed by hand it is stale.")
    for store in dict.fromkeys(method.split(".")[0] for method in methods):
        print(f"\n/// Answers `{store}.*`: each method is answered by the function of its name.\nenum {type_name(store)} {{}}")
    print("\n/// The handlers in the order of the method table.")
    print("let allHandlers: [MethodHandler] = [")
    for method in methods:
        store, verb = method.split(".")
        print(f'    MethodHandler("{method}", {type_name(store)}.{verb}),')
    print("]")


main()
