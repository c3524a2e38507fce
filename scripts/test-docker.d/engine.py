"""A Docker engine, and the tally of what was tried with it."""

import json
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []

    def section(self, name):
        print(f"\n== {name}", flush=True)

    def check(self, what, holds, detail=""):
        """Notes one promise, and goes on."""
        print(f"  {'ok  ' if holds else 'FAIL'} {what}{f': {detail}' if detail != '' else ''}", flush=True)
        if holds:
            self.passed += 1
        else:
            self.failed.append(what)
        return holds

    def note(self, text):
        print(f"       {text}", flush=True)


class Failed(Exception):
    """A command that everything after it needs."""


def run(*command, timeout=600, check=True, environment=None, stdin=""):
    outcome = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, cwd=ROOT, input=stdin,
        env={**os.environ, **(environment or {})})
    if check and outcome.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit {outcome.returncode}\n{outcome.stdout[-2000:]}{outcome.stderr[-4000:]}")
    return outcome


def docker(*arguments, **options):
    return run("docker", *arguments, **options).stdout.strip()


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
    return docker("inspect", "-f", "{{json " + template + "}}", container)


def wait_for(what, condition, seconds=60):
    """Asks until it is so; a `Failed` when it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise Failed(f"not within {seconds} s: {what}")


