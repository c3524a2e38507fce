"""The clients, the daemon under them, and what must be as it was when they are gone.

usage: main.py SECONDS [SEED]
"""

import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import client as plain
from connection import Client, ModelKey, Violation
from judge import Replies

CLIENTS = 32
LIMITS = {"lineBytes": 65536, "batchItems": 50, "outputBytes": 1 << 20, "subscriptions": 8}


class World:
    """What all clients share."""

    def __init__(self, path, roots):
        self.path = path
        self.roots = roots
        with plain.Connection(path) as connection:
            self.description = connection.call("rpc.discover")
        self.limits = LIMITS
        self.out_of_band = {one["name"] for one in self.description["methods"] if one.get("x-outOfBand")}
        self.judge = Replies(self.description)
        self.lines = self.replies = self.notices = self.model_checks = 0
        self.serial = 0
        self.models = [ModelKey(f"m{at}") for at in range(16)]


class Daemon:
    def __init__(self, work):
        self.work = work
        self.socket = os.path.join(work, "s")
        self.segments = os.path.join(os.path.realpath(work), "data", "log")
        self.log = Path(work, "log")
        self.roots = os.path.join(work, "in")
        os.mkdir(self.roots)
        Path(self.roots, "in.ndjson").write_text("".join(f'{{"id":"{at}","value":{at}}}\n' for at in range(100)))
        os.symlink("/etc/passwd", os.path.join(self.roots, "link"))
        config = Path(work, "config.json")
        config.write_text(json.dumps({
            "limits": LIMITS, "importRoots": [self.roots], "profile": "small", "changes": {"retainBytes": 4 << 20}}))
        suppressions = Path(__file__).resolve().parent.parent.parent / "Tests" / "Fuzz" / "leaks.supp"
        environment = os.environ | {
            "ASAN_OPTIONS": f"quarantine_size_mb=16:malloc_context_size=8:log_path={work}/asan",
            "LSAN_OPTIONS": f"suppressions={suppressions}:print_suppressions=0", "SWIFT_BACKTRACE": "enable=no"}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [os.environ["KURAD"], "--data-dir", os.path.join(work, "data"), "--socket", self.socket, "--config", config],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until = time.monotonic() + 60
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"fuzz-live: the daemon does not start: {self.last_words()}")
            time.sleep(0.01)

    def last_words(self):
        return self.log.read_text(errors="replace")[-2000:]

    def descriptors(self):
        """Open descriptors by what they lead to; `files` are the names of the files."""
        counts = {"sockets": 0, "pipes and memory": 0, "log": 0, "others": 0, "files": Counter()}
        directory = f"/proc/{self.process.pid}/fd"
        for entry in os.listdir(directory):
            try:
                target = os.readlink(f"{directory}/{entry}")
            except FileNotFoundError:
                continue
            kind = "sockets" if target.startswith("socket:") else "others"
            if target.startswith(("pipe:", "/memfd:")):
                kind = "pipes and memory"
            elif target.startswith(self.segments + "/"):
                kind = "log"
            elif kind == "others":
                counts["files"][target.removeprefix(self.work)] += 1
            counts[kind] += 1
        return counts

    def megabytes(self):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0


class Run:
    def __init__(self, daemon, seed):
        self.daemon = daemon
        self.seed = seed
        self.world = World(daemon.socket, daemon.roots)
        self.clients = {}
        self.dice = random.Random(seed)
        self.opened = 0

    def open_client(self):
        world = self.world
        world.serial += 1
        taken = {one.model for one in self.clients.values()}
        free = [model for model in world.models if model not in taken]
        model = self.dice.choice(free) if free and self.dice.random() < 0.4 else None
        one = Client(world.serial, self.seed, world, model)
        self.clients[one.socket.fileno()] = one
        self.opened += 1

    def step(self, may_open):
        """One look at all clients."""
        if self.daemon.process.poll() is not None:
            raise Violation(f"the daemon is gone: exit {self.daemon.process.returncode}: {self.daemon.last_words()}")
        while may_open and len(self.clients) < CLIENTS:
            self.open_client()
        now = time.monotonic()
        reading = [number for number, one in self.clients.items() if now >= one.reads_from]
        readable, _, _ = select.select(reading, [], [], 0.005)
        for number in readable:
            self.clients[number].receive()
        for number, one in list(self.clients.items()):
            if not one.is_over:
                one.send_more()
            if not one.is_over and one.is_half_closed and not one.open_replies() and now - one.moved > 2:
                # Only waits are left, which may take their time.
                one.end()
            if one.is_over:
                del self.clients[number]
            elif now - one.moved > 180 and one.open_replies() and now >= one.reads_from:
                raise Violation(f"client {one.serial}: no answer for {now - one.moved:.0f} s: {one.shown()}")

    def until(self, moment):
        while time.monotonic() < moment:
            self.step(may_open=True)

    def settle(self):
        """Lets all clients end; then what the daemon holds, when it no longer changes."""
        while self.clients:
            for one in self.clients.values():
                one.left = min(one.left, 1)
            self.step(may_open=False)
        last, same, until = None, 0, time.monotonic() + 60
        while same < 8 and time.monotonic() < until:
            time.sleep(0.5)
            # The last to be hung up are let go of in the turn after.
            with plain.Connection(self.daemon.socket) as connection:
                connection.call("storage.ping")
            found = self.daemon.descriptors()
            same = same + 1 if found == last else 0
            last = found
        return last, self.daemon.megabytes()

    def check_models(self):
        with plain.Connection(self.daemon.socket) as connection:
            for model in self.world.models:
                found = connection.call("settings.get", domain="model", key=model.name).get("value")
                if not model.admits(found):
                    raise Violation(f"{model.name} is {found!r}, acknowledged {model.value!r}")


def stop(daemon):
    """Drains the daemon; what it leaves behind must be exit code 0 and no report."""
    daemon.process.send_signal(signal.SIGTERM)
    try:
        code = daemon.process.wait(180)
    except subprocess.TimeoutExpired:
        raise Violation("the daemon does not drain")
    reports = [path.read_text(errors="replace")[:4000] for path in Path(daemon.work).glob("asan*")]
    if reports:
        raise Violation("AddressSanitizer: " + "\n".join(reports))
    if code != 0:
        raise Violation(f"exit {code}: {daemon.last_words()}")


def shown(held):
    """The counts without the names."""
    return {kind: count for kind, count in held[0].items() if kind != "files"}, f"{held[1]:.0f} MB"


def compare(before, after, segments, work):
    """What must not have grown between the two. Of the log as much is open as retention keeps of it: a file twice at most, for
    the loop or the feed and for the sync."""
    (fds, rss), (fds_after, rss_after) = before, after
    for kind in ("sockets", "pipes and memory"):
        if fds_after[kind] > fds[kind]:
            raise Violation(f"descriptors are left: {shown(before)} before, {shown(after)} after")
    if fds_after["log"] > 2 * segments:
        raise Violation(f"{fds_after['log']} descriptors of {segments} files of the log are open")
    # A model namespace may have a file of its own, which is open as long as there is the namespace: the writer's and the reader's connection.
    more = fds_after["files"] - fds["files"]
    kept = sum(count for name, count in more.items() if "/cache/models-" in name and os.path.exists(work + name))
    if more.total() - (fds["files"] - fds_after["files"]).total() - kept > 8:
        raise Violation(f"files are left open: {more}")
    if rss_after > rss * 1.15 + 16:
        raise Violation(f"memory has grown: {rss:.0f} MB before, {rss_after:.0f} MB after")


def main():
    seconds = int(sys.argv[1])
    seed = sys.argv[2] if len(sys.argv) > 2 else str(random.SystemRandom().randrange(10**9))
    print(f"seed {seed}", flush=True)
    work = tempfile.mkdtemp(prefix="kura-fuzz-live.")
    daemon = Daemon(work)
    failed = True
    try:
        run = Run(daemon, seed)
        begun = time.monotonic()
        # A short run is about replies; memory settles in the course of a minute.
        before = None
        if seconds >= 60:
            run.until(begun + seconds * 0.3)
            before = run.settle()
            print(f"after {time.monotonic() - begun:.0f} s: {shown(before)}", flush=True)
        run.until(begun + seconds)
        after = run.settle()
        print(f"after {time.monotonic() - begun:.0f} s: {shown(after)}", flush=True)
        run.check_models()
        if before:
            compare(before, after, len(os.listdir(daemon.segments)), work)
        stop(daemon)
        failed = False
        world = run.world
        print(f"{run.opened:,} connections, {world.lines:,} lines, {world.replies:,} output lines, {world.notices:,} "
              f"notifications, {world.model_checks:,} model checks")
        print("replies: " + ", ".join(f"{kind} {count:,}" for kind, count in sorted(world.judge.seen.items())))
        print("nothing found")
    except Violation as violation:
        print(f"FOUND with seed {seed}: {violation}")
        time.sleep(1)
        if daemon.process.poll() is not None and "exit" not in str(violation):
            print(f"the daemon is gone: exit {daemon.process.returncode}: {daemon.last_words()}")
        for report in Path(work).glob("asan*"):
            print(report.read_text(errors="replace")[:3000])
    finally:
        if daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.wait()
        if failed:
            print(f"the daemon's log and data: {work}")
        else:
            shutil.rmtree(work)
    sys.exit(1 if failed else 0)


main()
