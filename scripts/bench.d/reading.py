"""Reading JSON: Kura's reader beside simdjson, python3's json and Foundation's."""

import os
from functools import partial
from pathlib import Path

from core import in_turns, median
from programs import PEERS, ROOT, run

INTO = ROOT / ".build" / "bench-json"
REQUEST = ('{"jsonrpc":"2.0","id":12345,"method":"documents.put","params":{"collection":"people","id":"user-00012345",'
           '"value":{"name":"Ada Lovelace","age":36,"tags":["math","engines"],"isActive":true%s}}}')


def build():
    (INTO / "CSyscalls").mkdir(parents=True, exist_ok=True)
    sources = ROOT / "Sources"
    # SwiftPM makes this one for itself.
    (INTO / "CSyscalls" / "module.modulemap").write_text(
        f'module CSyscalls {{ umbrella header "{sources}/CSyscalls/include/CSyscalls.h" export * }}\n')
    objects = []
    for source in sorted((sources / "CSyscalls").glob("*.c")):
        objects.append(INTO / f"{source.stem}.o")
        run("clang", "-O2", "-I", sources / "CSyscalls" / "include", "-c", "-o", objects[-1], source)
    # As scripts/build does it.
    release = ["swiftc", "-O", "-wmo", "-swift-version", "6", "-enforce-exclusivity=unchecked", "-I", INTO, "-I", INTO / "CSyscalls"]
    upcoming = [word for name in ("ExistentialAny", "MemberImportVisibility", "InternalImportsByDefault")
                for word in ("-enable-upcoming-feature", name)]
    for module in ("KuraBytes", "KuraProtocol"):
        objects.append(INTO / f"{module}.o")
        run(*release, *upcoming, "-cross-module-optimization", "-parse-as-library", "-module-name", module, "-emit-module",
            "-emit-module-path", INTO / f"{module}.swiftmodule", "-c", "-o", objects[-1],
            *sorted((sources / module).rglob("*.swift")))
    peers = PEERS / "json"
    run(*release, "-o", INTO / "kura", peers / "kura.swift", *objects)
    run("swiftc", "-O", "-o", INTO / "foundation", peers / "foundation.swift")
    run("g++", "-O3", "-std=c++17", "-o", INTO / "simdjson", peers / "simdjson.cpp", "-lsimdjson")


def compare(title, programs, arguments, rounds, seconds, base, decimals):
    """Prints the median of each name that the programs print, and its ratio to that of `base`; returns the medians by name."""
    found = {}
    for outputs in in_turns(rounds, *(partial(run, *program, *arguments, seconds) for program in programs)):
        for name, figure in (row.split("\t") for output in outputs for row in output.splitlines()):
            found.setdefault(name, []).append(float(figure))
    medians = {name: median(figures) for name, figures in found.items()}
    print(title)
    for name, figure in medians.items():
        print(f"  {name:24} {figure:8.0f}  {figure / medians[base]:5.{decimals}f}")
    return medians


def reading_json(bench):
    """A request line of 200 bytes (read, checked and bound; simdjson: parsed and looked up), and the texts twitter, canada and
    citm_catalog of the nativejson suite (KURA_SUITES, default ../shared/suites). Medians of ROUNDS (5) of SECONDS (0.3), the
    programs in turn. SHORT when a request takes more than 3 times simdjson's, or a text less than 5 times as fast as
    Foundation's.
    """
    rounds, seconds = int(bench.number(0, 5)), bench.number(1, 0.3)
    build()
    request = bench.work / "request.json"
    request.write_text(REQUEST % (',"note":"%s"' % ("x" * (200 - len(REQUEST % "") - 10))))
    assert request.stat().st_size == 200
    kura, simdjson = [INTO / "kura"], [INTO / "simdjson"]
    found = compare(
        "a request line of 200 bytes, nanoseconds", [kura, simdjson], ["request", request], rounds, seconds,
        "simdjson (on demand)", 2)
    is_short = found["kura"] > 3 * found["simdjson (on demand)"]

    data = Path(os.environ.get("KURA_SUITES", ROOT / ".." / "shared" / "suites")) / "nativejson" / "data"
    programs = [kura, simdjson, [INTO / "foundation"], ["python3", PEERS / "json" / "python.py"]]
    for text in ("twitter", "canada", "citm_catalog"):
        if not (data / f"{text}.json").exists():
            print(f"{text}: not there")
            continue
        found = compare(
            f"{text}, MB/s, and how many times Foundation's", programs, ["text", data / f"{text}.json"], rounds, seconds,
            "Foundation", 1)
        is_short |= found["kura (wire)"] < 5 * found["Foundation"]
    print("SHORT" if is_short else "as fast as asked for")
    return is_short
