#!/usr/bin/env python3
"""Runs the tests of a built bundle in several processes, one test at a time in each.

Most tests block their thread while a daemon answers. In one process they would starve the pool that all tasks share; here
they wait side by side, and how long each one takes is its own time.

usage: run.py BUNDLE [--jobs N] [--filter REGEX] [--skip REGEX]... [--quick] [--hang SECONDS] [--times FILE] [--log FILE]

  --filter REGEX   only tests whose name (Module.Suite/test) it matches
  --skip REGEX     none of those that it matches; may be given several times
  --quick          without the suites of heavy.json, but for those that call each method once
  --jobs N         processes at a time  [$TEST_JOBS, else three a core]
  --hang SECONDS   a test that takes longer is named with its stack, and after four times as long it is ended  [60]
  --times FILE     seconds that each suite took, for the next run's order and its guess of what is left; before the first
                   run heavy.json tells them
  --log FILE       everything that the tests printed

Exit status: 0 all passed, 1 a test failed or was ended, 2 bad usage.
"""

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

COMMON = ["--testing-library", "swift-testing"]
# Suites of four seconds and more on a machine of two cores.
HEAVY = {f"{module}.{suite}": seconds for module, suites in json.loads(Path(__file__).with_name("heavy.json").read_text()).items()
         for suite, seconds in suites.items()}
QUICK_TOO = {"KuraServerTests.ProtocolScenarioTests"}
# A process takes half a second to begin: suites that take less share one.
LEAST_BATCH = 6.0


@functools.cache
def short(test):
    """`Module.Suite/name` of the identifier that the library gives a test."""
    return re.sub(r"/[^/`]*\.swift:\d+:\d+$", "", test).replace("`", "")


def suite_of(test):
    return short(test).split("/")[0]


def stack(pid):
    if not shutil.which("gdb"):
        return "(no stack: gdb is not installed)"
    command = ["gdb", "-p", str(pid), "-batch", "-ex", "set print frame-arguments none", "-ex", "thread apply all bt 20"]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    except subprocess.TimeoutExpired:
        return "(no stack: gdb did not answer)"
    return "\n".join(line for line in text.splitlines() if line.startswith(("Thread", "#")))


class Batch:
    """Tests of some suites that run one after the other in one process."""

    def __init__(self, tests):
        self.tests = tests
        self.suites = list(dict.fromkeys(map(suite_of, tests)))

    def start(self, options, directory, number):
        # Of some suites only these tests were asked for.
        names = self.tests if options.filter else [f"{suite}/" for suite in self.suites]
        self.output_path, events_path = directory / f"{number}.out", directory / f"{number}.events"
        events_path.touch()
        command = [options.bundle, *COMMON, "--no-parallel", "--filter", f"^({'|'.join(map(re.escape, names))})"]
        command += [word for skip in options.skip for word in ("--skip", skip)]
        command += ["--event-stream-version", "0", "--event-stream-output-path", str(events_path)]
        with open(self.output_path, "wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        self.events = open(events_path, "rb")
        self.rest = b""
        self.current = None
        self.began = self.case_began = time.monotonic()
        self.is_told = self.ended_by_us = False
        self.stack = ""

    def read(self):
        """Events that have come since, as dictionaries."""
        self.rest += self.events.read()
        *lines, self.rest = self.rest.split(b"\n")
        return [json.loads(line)["payload"] for line in lines if line.startswith(b'{"kind":"event"')]


class Run:
    def __init__(self, options):
        self.options = options
        self.seconds = defaultdict(float)
        self.done = {}
        self.issues = defaultdict(list)
        self.skipped = 0
        self.begun = time.monotonic()
        self.told = 0.0
        self.is_terminal = sys.stderr.isatty()
        self.known = dict(HEAVY)
        if options.times and Path(options.times).exists():
            self.known.update(json.loads(Path(options.times).read_text()))

    def say(self, text):
        if self.is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        print(text, flush=True)

    # What there is to run

    def list_tests(self):
        command = [self.options.bundle, *COMMON, "--list-tests"]
        found = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout.splitlines()
        named = [test for test in found if "/" in test and re.search(self.options.filter, short(test))]
        slow = HEAVY.keys() - QUICK_TOO if self.options.quick else ()
        tests = [test for test in named if suite_of(test) not in slow
                 and not any(re.search(skip, short(test)) for skip in self.options.skip)]
        self.skipped = len(named) - len(tests)
        return tests

    def guess(self, suite, count=1):
        return self.known.get(suite, 0.5 * count)

    def batches(self, tests):
        """The longest first, so that none is left over at the end."""
        suites = defaultdict(list)
        for test in tests:
            suites[suite_of(test)].append(test)
        batches, share, total = [], [], 0.0
        for seconds, own in sorted(((self.guess(suite, len(own)), own) for suite, own in suites.items()), key=lambda row: -row[0]):
            share += own
            total += seconds
            if total >= LEAST_BATCH:
                batches.append(Batch(share))
                share, total = [], 0.0
        return batches + [Batch(share)] if share else batches

    # Running

    def run(self):
        tests = self.list_tests()
        if not tests:
            print("no test has such a name", file=sys.stderr)
            return 2
        self.total = len(tests)
        waiting, running, number = self.batches(tests), [], 0
        with tempfile.TemporaryDirectory(prefix="kura-run-") as directory:
            while waiting or running:
                while waiting and len(running) < self.options.jobs:
                    running.append(waiting.pop(0))
                    running[-1].start(self.options, Path(directory), number)
                    number += 1
                time.sleep(0.05)
                for batch in list(running):
                    has_ended = batch.process.poll() is not None
                    for event in batch.read():
                        self.note(batch, event)
                    if has_ended:
                        running.remove(batch)
                        waiting += self.end(batch)
                    else:
                        self.watch(batch)
                self.progress(waiting, running)
        return self.finish()

    def note(self, batch, event):
        kind, test = event["kind"], event.get("testID", "")
        is_test = ".swift:" in test
        if kind == "testStarted" and is_test:
            batch.current, batch.began = test, time.monotonic()
            batch.instant = event["instant"]["absolute"]
        if kind in ("testStarted", "testCaseStarted"):
            batch.case_began, batch.is_told = time.monotonic(), False
        if kind == "issueRecorded" and not event.get("issue", {}).get("isKnown"):
            text = " ".join(message["text"] for message in event["messages"])
            self.issues[short(test) or ", ".join(batch.suites)].append(text)
            self.say(f"✘ {short(test)}: {text[:400]}")
        if kind in ("testEnded", "testSkipped") and is_test:
            taken = event["instant"]["absolute"] - batch.instant if kind == "testEnded" and batch.current == test else 0
            self.done[test] = taken
            self.seconds[suite_of(test)] += taken
            batch.current = None

    def end(self, batch):
        """What of the batch is to be run in another process: the suites behind one in which the process ended."""
        batch.events.close()
        text = batch.output_path.read_bytes()
        if self.options.log:
            with open(self.options.log, "ab") as log:
                log.write(text)
        done = {short(test) for test in self.done}
        missing = [test for test in batch.tests if short(test) not in done]
        status, together = batch.process.returncode, ", ".join(batch.suites)
        if not missing:
            if status != 0 and not any(suite_of(test) in batch.suites for test in self.issues):
                self.fail(together, f"the process ended with {status} after its last test", text)
            return []
        # Disabled tests have no event.
        if batch.current or status != 0:
            culprit = short(batch.current) if batch.current else together
            # The lines of the tests' own files say where it hung.
            own = " < ".join(re.findall(r"[A-Za-z0-9+]+\.swift:\d+", batch.stack)[:4])
            why = f"it was ended ({own})" if batch.ended_by_us else f"the process ended with {status}"
            self.fail(culprit, f"{why}; what is behind it in its suite was not run", text)
        rest = defaultdict(list)
        for test in missing:
            if batch.current and suite_of(test) != suite_of(batch.current):
                rest[suite_of(test)].append(test)
            else:
                self.done[test] = 0
        return list(map(Batch, rest.values()))

    def fail(self, name, why, output):
        self.issues[name].append(why)
        self.say(f"✘ {name}: {why}")
        for line in output.decode(errors="replace").splitlines()[-20:]:
            self.say(f"    {line[:300]}")

    def watch(self, batch):
        if batch.current is None:
            return
        taken = time.monotonic() - batch.case_began
        if taken > self.options.hang and not batch.is_told:
            batch.is_told = True
            batch.stack = stack(batch.process.pid)
            self.say(f"… {short(batch.current)} has been running for {taken:.0f} s:\n{batch.stack}")
        if taken > 4 * self.options.hang:
            batch.ended_by_us = True
            os.killpg(batch.process.pid, 9)
            batch.process.wait()

    def progress(self, waiting, running):
        now = time.monotonic()
        if now - self.told < (0.5 if self.is_terminal else 15):
            return
        self.told = now
        left = sum(max(0, self.guess(suite) - self.seconds[suite]) for batch in waiting + running for suite in batch.suites)
        text = f"{len(self.done)} of {self.total} tests done, {len(self.issues)} failed, about {left / self.options.jobs:.0f} s left"
        oldest = min((batch for batch in running if batch.current), key=lambda batch: batch.began, default=None)
        if oldest:
            text += f"; {short(oldest.current)} ({now - oldest.began:.0f} s)"
        if self.is_terminal:
            line = text[: shutil.get_terminal_size().columns - 1]
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(f"   {now - self.begun:4.0f} s: {text}", flush=True)

    def finish(self):
        taken = time.monotonic() - self.begun
        self.say("the slowest:")
        for test, seconds in sorted(self.done.items(), key=lambda item: -item[1])[:10]:
            self.say(f"  {seconds:6.1f} s  {short(test)}")
        if self.options.times:
            self.known.update({suite: round(seconds, 2) for suite, seconds in self.seconds.items()})
            Path(self.options.times).write_text(json.dumps(self.known, indent=0, sort_keys=True))
        for name, texts in self.issues.items():
            self.say(f"✘ {name}: {texts[0][:400]}")
        outcome = f"failed with {len(self.issues)} of them" if self.issues else "passed"
        skipped = f", {self.skipped} left out" if self.skipped else ""
        self.say(f"Test run with {self.total} tests {outcome} after {taken:.0f} seconds ({self.options.jobs} processes{skipped})")
        return 1 if self.issues else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("bundle")
    parser.add_argument("--filter", default="")
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("TEST_JOBS", 3 * (os.cpu_count() or 1))))
    parser.add_argument("--hang", type=float, default=60)
    parser.add_argument("--times")
    parser.add_argument("--log")
    options = parser.parse_args()
    if options.log:
        Path(options.log).write_bytes(b"")
    sys.exit(Run(options).run())


if __name__ == "__main__":
    main()
