"""Runs the sections of a proof and prints what they found: main.py WORK KIND [quick|full] [SECTION…]"""

import os
import shutil
import sys
import time
import traceback

import access
import bounds
import calls
import clock
import damage
import faults
import full
import kill
import ownfull
import power
from proof import Proof
from sittings import OtherRun, Sittings

POWER = [f"mkfs.{kind}" for kind in power.KINDS]
# What runs each section, and the programs that it needs.
PROOFS = {
    "durability": {
        "powercut": (power.powercut, *POWER),
        "readthenlost": (power.readthenlost, *POWER),
        "relaxed": (power.relaxed, *POWER),
        "kill": (kill.kill,),
        "sync": (kill.sync, "strace"),
        "full": (full.full,),
        "lowstorage": (full.lowstorage, "mkfs.ext4"),
        "ownfull": (ownfull.run, "mkfs.ext4"),
        "bounds": (bounds.bounds,),
        "bill": (bounds.bill, "mkfs.ext4"),
    },
    # What goes wrong around the daemon.
    "faults": {
        "calls": (calls.calls, "cc"),
        "cuts": (power.cuts, "cc", *POWER),
        "disks": (calls.disks, "mkfs.ext4"),
        "clock": (clock.run,),
        "descriptors": (faults.descriptors,),
        "readonly": (faults.readonly, "mkfs.ext4"),
        "start": (kill.start,),
    },
    # What is found changed between two runs.
    "damage": {"damage": (damage.run,)},
}


# What else says how much is done.
CHOICES = ("SERIES", "ACT", "AT", "RUNS", "EACH_UP_TO", "CUTS", "CONTROLS", "KINDS")


def run_section(name, run, work, is_full, sittings):
    """Returns the rows of its checks; those of an earlier sitting that has ended it."""
    print(f"\n== {name}", flush=True)
    if (rows := sittings.load(name)) is not None:
        print(f"   was run in an earlier sitting: {sum(passed for _, _, passed, _ in rows)} of {len(rows)} passed")
        return rows
    begun = time.monotonic()
    os.mkdir(os.path.join(work, name))
    proof = Proof(os.path.join(work, name), is_full, f"{sittings.run['seed']}/{name}", sittings)
    try:
        with proof.open:
            run(proof)
        is_whole = True
    except Exception as error:
        is_whole = False
        proof.check("the section ran to its end", False, f"{type(error).__name__}: {error}")
        traceback.print_exc()
    proof.note(f"{time.monotonic() - begun:.1f} s")
    rows = [(name, *row) for row in proof.rows]
    if is_whole:
        sittings.save(name, rows)
    return rows


def main(work, kind, *words):
    if kind == "access":
        return access.main(work, int(words[0]) if words else 10_000)
    sections = PROOFS[kind]
    # `full` is also a section's name: only as the first word it means how much to do.
    size, *names = words if words and words[0] in ("quick", "full") else ["quick", *words]
    if unknown := [name for name in names if name not in sections]:
        print(f"prove: no section {', '.join(unknown)}; there are {', '.join(sections)}", file=sys.stderr)
        return 2
    names = names or list(sections)
    for program in [program for name in names for program in sections[name][1:]]:
        if not shutil.which(program):
            print(f"prove: {program} is missing; install it with: scripts/bootstrap prove", file=sys.stderr)
            return 2
    seed = os.environ.get("SEED") or str(time.time_ns() % 1_000_000_000)
    try:
        sittings = Sittings(os.environ.get("RESUME"), os.environ["KURAD"], {
            "kind": kind, "size": size, "seed": seed, **{name: os.environ.get(name) for name in CHOICES}})
    except OtherRun as error:
        print(f"prove: {error}", file=sys.stderr)
        return 2
    print(f"{kind}, {size}, seed {sittings.run['seed']}, {os.environ['KURAD']}")
    rows = [row for name in names for row in run_section(name, sections[name][0], work, size == "full", sittings)]
    print("\n" + "-" * 100)
    for section, name, passed, detail in rows:
        print(f"{'ok  ' if passed else 'FAIL'}  {section:<13} {name:<52} {detail}")
    print("-" * 100)
    failed = sum(not passed for _, _, passed, _ in rows)
    print(f"{len(rows) - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
