"""Runs the sections of a proof and prints what they found: main.py WORK KIND [quick|full] [SECTION…]"""

import collections
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

# What runs it, and the programs that it needs.
Section = collections.namedtuple("Section", "run programs", defaults=([],))
EXT4 = ["mkfs.ext4"]
POWER = [f"mkfs.{kind}" for kind in power.KINDS]
PROOFS = {
    "durability": {
        "powercut": Section(power.powercut, POWER),
        "readthenlost": Section(power.readthenlost, POWER),
        "relaxed": Section(power.relaxed, POWER),
        "kill": Section(kill.kill),
        "sync": Section(kill.sync, ["strace"]),
        "full": Section(full.full),
        "lowstorage": Section(full.lowstorage, EXT4),
        "ownfull": Section(ownfull.run, EXT4),
        "bounds": Section(bounds.bounds),
        "bill": Section(bounds.bill, EXT4),
    },
    # What goes wrong around the daemon.
    "faults": {
        "calls": Section(calls.calls, ["cc"]),
        "cuts": Section(power.cuts, ["cc", *POWER]),
        "disks": Section(calls.disks, EXT4),
        "clock": Section(clock.run),
        "descriptors": Section(faults.descriptors),
        "readonly": Section(faults.readonly, EXT4),
        "start": Section(kill.start),
    },
    # What is found changed between two runs.
    "damage": {"damage": Section(damage.run)},
    "access": {},
}


def run_section(name, section, work, is_full, seed):
    """Returns the rows of its checks."""
    print(f"\n== {name}", flush=True)
    begun = time.monotonic()
    os.mkdir(os.path.join(work, name))
    proof = Proof(os.path.join(work, name), is_full, f"{seed}/{name}")
    try:
        section.run(proof)
    except Exception as error:
        proof.check("the section ran to its end", False, f"{type(error).__name__}: {error}")
        traceback.print_exc()
    finally:
        proof.close()
    proof.note(f"{time.monotonic() - begun:.1f} s")
    return proof.rows


def main(work, kind, *words):
    if kind not in PROOFS:
        print(f"prove: there is no {kind}; there are {', '.join(PROOFS)}", file=sys.stderr)
        return 2
    if kind == "access":
        return access.main(work, int(words[0]) if words else 10_000)
    sections = PROOFS[kind]
    # `full` is also a section's name: only as the first word it means how much to do.
    size, *names = words if words and words[0] in ("quick", "full") else ["quick", *words]
    if unknown := [name for name in names if name not in sections]:
        print(f"prove: no section {', '.join(unknown)}; there are {', '.join(sections)}", file=sys.stderr)
        return 2
    names = names or list(sections)
    for program in [program for name in names for program in sections[name].programs]:
        if not shutil.which(program):
            print(f"prove: {program} is missing; install it with: scripts/bootstrap prove", file=sys.stderr)
            return 2
    seed = os.environ.get("SEED") or str(time.time_ns() % 1_000_000_000)
    print(f"{kind}, {size}, seed {seed}, {os.environ['KURAD']}")
    rows = [(name, *row) for name in names for row in run_section(name, sections[name], work, size == "full", seed)]
    print("\n" + "-" * 100)
    for section, name, passed, detail in rows:
        print(f"{'ok  ' if passed else 'FAIL'}  {section:<13} {name:<52} {detail}")
    print("-" * 100)
    failed = sum(not passed for _, _, passed, _ in rows)
    print(f"{len(rows) - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
