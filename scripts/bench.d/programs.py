"""Running the programs that measure, serve and build."""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(__file__).parent / "peers"


class Failed(Exception):
    """Nothing was measured, or what was does not stand. Of a program: its status, and what it printed."""

    def __init__(self, message, status=None, output=""):
        super().__init__(message)
        self.status, self.output = status, output


def run(*words, **options):
    """What a program printed, or Failed with its last words."""
    words = [str(word) for word in words]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode:
        last = " ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-3:])
        raise Failed(f"{' '.join(words)[:200]}: exit {done.returncode}: {last}", done.returncode, done.stdout)
    return done.stdout


def run_json(*words):
    """The JSON object that a program printed."""
    return json.loads(run(*words))


def kura_bench(*words):
    """The JSON object of a run of the load generator; Failed when it is void, too."""
    return run_json(os.environ["KURA_BENCH"], *words, "--json")


def postgres_programs():
    """Where the newest PostgreSQL's are: Debian leaves them out of PATH."""
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
