"""A Docker engine, and the tally of what was tried with it."""

import json
import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEEPS = os.environ.get("KURA_KEEP") == "1"
# What was promised: kept, and not.
passed, failed = [], []


class Failed(Exception):
    """A command that everything after it needs."""


def check(what, holds, detail=""):
    """Notes one promise, and goes on."""
    (passed if holds else failed).append(what)
    print(f"  {'ok  ' if holds else 'FAIL'} {what}{f': {detail}' if detail != '' else ''}", flush=True)


def note(text):
    print(f"       {text}", flush=True)


def run(*command, timeout=600, check=True, **environment):
    outcome = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, cwd=ROOT, input="", env={**os.environ, **environment})
    if check and outcome.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit {outcome.returncode}\n{outcome.stdout[-2000:]}{outcome.stderr[-4000:]}")
    return outcome


def docker(*arguments, **options):
    return run("docker", *arguments, **options).stdout.strip()


def inside(container, script, user="root", check=True):
    """A script of bash in a container."""
    return run("docker", "exec", "-u", user, "-e", "DEBIAN_FRONTEND=noninteractive", container, "bash", "-euc", script, check=check)


@contextmanager
def container(name, *words):
    """A container that goes on until it is removed at the end; its log is shown when something fails."""
    docker("run", "-d", "--name", name, *words)
    try:
        yield
    except Exception:
        print(run("docker", "logs", name, check=False).stderr[-2000:])
        raise
    finally:
        if not KEEPS:
            docker("rm", "-fv", name)


def start(*command):
    """A command that goes on beside the tests."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def finish(process, timeout=120):
    """What one of the commands.py that was started has said."""
    output, errors = process.communicate(timeout=timeout)
    if process.returncode != 0:
        raise Failed(f"{' '.join(process.args)}: exit {process.returncode}\n{output[-2000:]}{errors[-4000:]}")
    return said(output)


def said(output):
    """The line of JSON of one of the commands.py."""
    return json.loads(output.strip().splitlines()[-1])


def inspect(container, template):
    """A part of what the engine knows of a container."""
    return json.loads(docker("inspect", "-f", "{{json " + template + "}}", container))


def is_healthy(container):
    return inspect(container, ".State.Health.Status") == "healthy"


def wait_for(what, condition, seconds=60):
    """Asks until it is so; a `Failed` when it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise Failed(f"not within {seconds} s: {what}")
