"""Programs that a script needs: installed ones, as in common.sh, and built ones."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# A target that imports what it does not depend on is refused, and not built by chance.
SWIFT_BUILD = ["swift", "build", "--explicit-target-dependency-import-check", "error"]


def _common(*words):
    name = os.path.basename(sys.argv[0])
    done = subprocess.run(["bash", "-c", f'. "{ROOT}/scripts/lib/common.sh"; "$@"', name, *words])
    if done.returncode:
        sys.exit(done.returncode)


def needs(words, *things):
    """Ends with the words of `scripts/bootstrap` that help unless all these programs, headers or files are there."""
    _common("needs", words, *things)


def needs_to_build():
    """The same for all that a build needs."""
    _common("needs_to_build")


def built(name, variable, folders=(".build/release", ".build/debug")):
    """The path of a built program: $`variable`, else that of the first of the folders which has it; ends when there is none."""
    places = [ROOT / folder / name for folder in folders]
    for path in [Path(os.environ[variable])] if os.environ.get(variable) else places:
        if os.access(path, os.X_OK):
            return path.resolve()
    print(f"{os.path.basename(sys.argv[0])}: {path} is not there; build it with: swift build --product {name}", file=sys.stderr)
    sys.exit(2)
