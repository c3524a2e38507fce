"""Prints what part of the files that read hostile bytes an llvm-cov summary says was reached.

usage: coverage.py SUMMARY
"""

import json
import sys
from pathlib import Path

FILES = [
    "KuraProtocol/JSONReader.swift", "KuraProtocol/JSONText.swift", "KuraProtocol/JSONWalk.swift",
    "KuraProtocol/JSONNumber.swift", "KuraProtocol/NameStack.swift", "KuraProtocol/LineFramer.swift",
    "KuraProtocol/RequestReader.swift", "KuraProtocol/RequestReader+Binding.swift", "KuraProtocol/MethodTable.swift",
    "KuraProtocol/RPCError.swift", "KuraServer/Configuration.swift", "KuraServer/Settings/SettingsLocks.swift",
    "KuraServer/Settings/LayerTable.swift", "KuraServer/Transfers/RecordSplitter.swift",
    "KuraServer/Transfers/RecordReader.swift", "KuraServer/Access/AccessRules+reading.swift", "KuraServer/Access/ScopePattern.swift",
    "KuraStorage/Log/LogRecord.swift", "KuraJSON/", "JSONSchema/",
]


def main():
    files = json.loads(Path(sys.argv[1]).read_text())["data"][0]["files"]
    rows = [(entry["filename"].partition("/Sources/")[2], entry["summary"]) for entry in files]
    rows = [row for wanted in FILES for row in sorted(rows, key=lambda row: row[0]) if row[0].startswith(wanted)]
    together = {kind: {part: sum(summary[kind][part] for _, summary in rows) for part in ("covered", "count")}
                for kind in ("lines", "regions")}
    print(f"{'file':45} {'lines':>12} {'regions':>12}")
    for name, summary in [*rows, ("together", together)]:
        shares = [f"{one['covered']}/{one['count']} {100 * one['covered'] // max(one['count'], 1):>3}%"
                  for one in (summary["lines"], summary["regions"])]
        print(f"{name:45} {shares[0]:>12} {shares[1]:>12}")


main()
