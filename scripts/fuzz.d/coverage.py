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
    print(f"{'file':45} {'lines':>12} {'regions':>12}")
    totals = {"lines": [0, 0], "regions": [0, 0]}
    for wanted in FILES:
        for entry in sorted(files, key=lambda entry: entry["filename"]):
            name = entry["filename"].partition("/Sources/")[2]
            if not name.startswith(wanted):
                continue
            shown = []
            for kind, total in totals.items():
                covered, count = entry["summary"][kind]["covered"], entry["summary"][kind]["count"]
                total[0] += covered
                total[1] += count
                shown.append(f"{covered}/{count} {100 * covered // max(count, 1):>3}%")
            print(f"{name:45} {shown[0]:>12} {shown[1]:>12}")
    shown = [f"{covered}/{count} {100 * covered // max(count, 1):>3}%" for covered, count in totals.values()]
    print(f"{'together':45} {shown[0]:>12} {shown[1]:>12}")


main()
