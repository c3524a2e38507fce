"""Runs the sections of a proof and prints what they found."""

import os
import sys
import time
import traceback

import section_bill
import section_bounds
import section_calls
import section_clock
import section_cuts
import section_damage
import section_descriptors
import section_disks
import section_full
import section_kill
import section_lowstorage
import section_ownfull
import section_powercut
import section_readonly
import section_readthenlost
import section_relaxed
import section_start
import section_sync
from proof import Proof
from report import Report

SECTIONS = {
    "powercut": section_powercut.run,
    "readthenlost": section_readthenlost.run,
    "relaxed": section_relaxed.run,
    "kill": section_kill.run,
    "sync": section_sync.run,
    "full": section_full.run,
    "lowstorage": section_lowstorage.run,
    "ownfull": section_ownfull.run,
    "bounds": section_bounds.run,
    "bill": section_bill.run,
}


# What goes wrong around the daemon.
FAULTS = {
    "calls": section_calls.run,
    "cuts": section_cuts.run,
    "disks": section_disks.run,
    "clock": section_clock.run,
    "descriptors": section_descriptors.run,
    "readonly": section_readonly.run,
    "start": section_start.run,
}
# What is found changed between two runs.
DAMAGE = {"damage": section_damage.run}
KINDS = {"durability": SECTIONS, "faults": FAULTS, "damage": DAMAGE}


def main(work, kind, arguments):
    sections = KINDS[kind]
    # `full` is also a section's name: only as the first word it means how much to do.
    size = "quick"
    if arguments and arguments[0] in ("quick", "full"):
        size = arguments.pop(0)
    unknown = [name for name in arguments if name not in sections]
    if unknown:
        print(f"prove: no section {', '.join(unknown)}; there are {', '.join(sections)}", file=sys.stderr)
        return 2
    seed = os.environ.get("SEED") or str(time.time_ns() % 1_000_000_000)
    report = Report()
    print(f"{kind}, {size}, seed {seed}, {os.environ['KURAD']}")
    for name in arguments or sections:
        place = os.path.join(work, name)
        os.mkdir(place)
        proof = Proof(place, report, size == "full", f"{seed}/{name}")
        report.begin(name)
        try:
            sections[name](proof)
        except Exception:
            proof.kill_all()
            report.check("the section ran to its end", False, traceback.format_exc().splitlines()[-1])
            traceback.print_exc()
        finally:
            proof.kill_all()
        report.end()
    report.print_summary()
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
