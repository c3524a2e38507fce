#!/usr/bin/env python3
"""Makes Sources/KuraClient/Generated/WatchedStores.swift of proto-docs/openrpc.json: the stores whose changes can be watched.

usage: stores.py OPENRPC      prints the Swift
"""

import json
import sys


def stores(method):
    """The words that its parameter `stores` takes."""
    return next(parameter["schema"]["items"]["enum"] for parameter in method["params"] if parameter["name"] == "stores")


def main():
    methods = {method["name"]: method for method in json.load(open(sys.argv[1]))["methods"]}
    durable = stores(methods["changes.list"])
    caches = [store for store in stores(methods["changes.watch"]) if store not in (*durable, "storage")]
    print(f"""\
// Made by scripts/docs of the method table; changed by hand it is stale.

extension ChangeFilter {{
    public enum Store: String, Sendable, Hashable, Codable, CaseIterable {{
        case {", ".join(durable)}
        /// Caches, which are watched apart from the durable stores: their revisions are others, and end with the daemon.
        case {", ".join(caches)}
        /// Whether there is room on the disk, and what else concerns everybody.
        case storage
    }}
}}""")


if __name__ == "__main__":
    main()
