"""The clients, the daemon under them, and what must be as it was when they are gone.

usage: main.py SECONDS [SEED]
"""

import json
import os
import random
import select
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import daemon
from connection import Client, ModelKey, Violation
from judge import Replies

CLIENTS = 32
LIMITS = {"lineBytes": 65536, "batchItems": 50, "outputBytes": 1 << 20, "subscriptions": 8}
ROOT = Path(__file__).resolve().parent.parent.parent


class Daemon(daemon.Daemon):
    def __init__(self, work):
        self.roots = os.path.join(work, "in")
        os.mkdir(self.roots)
        Path(self.roots, "in.ndjson").write_text("".join(f'{{"id":"{at}","value":{at}}}\n' for at in range(100)))
        os.symlink("/etc/passwd", os.path.join(self.roots, "link"))
        config = Path(work, "config.json")
        config.write_text(json.dumps({
            "limits": LIMITS, "importRoots": [self.roots], "profile": "small", "changes": {"retainBytes": 4 << 20}}))
        super().__init__(work, options=["--config", config], environment={
            "ASAN_OPTIONS": f"quarantine_size_mb=16:malloc_context_size=8:log_path={work}/asan", "SWIFT_BACKTRACE": "enable=no",
            "LSAN_OPTIONS": f"suppressions={ROOT}/Tests/Fuzz/leaks.supp:print_suppressions=0"})
        self.segments = os.path.join(os.path.realpath(self.data), "log")

    def open_files(self):
        """Open descriptors by what they lead to; `files` are the names of the files."""
        counts = {"sockets": 0, "pipes and memory": 0, "log": 0, "others": 0, "files": Counter()}
        for entry in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                target = os.readlink(entry)
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

    def reports(self):
        return "\n".join(path.read_text(errors="replace")[:4000] for path in Path(self.work).glob("asan*"))

    def drain(self):
        """Stops it; what it leaves behind must be exit status 0 and no report."""
        code = self.stop(180)
        if self.reports():
            raise Violation(f"AddressSanitizer: {self.reports()}")
        if code != 0:
            raise Violation("the daemon does not drain" if code is None else f"exit {code}: {self.last_words()}")


class Run:
    """The clients that there are, and what all of them share."""

    def __init__(self, daemon, seed):
        self.daemon = daemon
        self.seed = seed
        with daemon.connect() as connection:
            self.description = connection.call("rpc.discover")
        self.limits = LIMITS
        self.out_of_band = {one["name"] for one in self.description["methods"] if one.get("x-outOfBand")}
        self.judge = Replies(self.description)
        self.opened = self.lines = self.replies = self.notices = self.model_checks = 0
        self.models = [ModelKey(f"m{at}") for at in range(16)]
        self.clients = {}
        self.dice = random.Random(seed)

    def open_client(self):
        self.opened += 1
        taken = {one.model for one in self.clients.values()}
        free = [model for model in self.models if model not in taken]
        model = self.dice.choice(free) if free and self.dice.random() < 0.4 else None
        one = Client(self.opened, self, model)
        self.clients[one.socket.fileno()] = one

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
                one.fail(f"no answer for {now - one.moved:.0f} s: {one.shown()}")

    def until(self, moment):
        while time.monotonic() < moment:
            self.step(may_open=True)

    def settle(self):
        """Lets all clients end; then the files and MB that the daemon holds, when that no longer changes."""
        while self.clients:
            for one in self.clients.values():
                one.left = min(one.left, 1)
            self.step(may_open=False)
        last, same, until = None, 0, time.monotonic() + 60
        while same < 8 and time.monotonic() < until:
            time.sleep(0.5)
            # The last to be hung up are let go of in the turn after.
            with self.daemon.connect() as connection:
                connection.call("storage.ping")
            found = self.daemon.open_files()
            same = same + 1 if found == last else 0
            last = found
        return last, self.daemon.resident() / (1 << 20)

    def check_models(self):
        with self.daemon.connect() as connection:
            for model in self.models:
                found = connection.call("settings.get", domain="model", key=model.name).get("value")
                if not model.admits(found):
                    raise Violation(f"{model.name} is {found!r}, acknowledged {model.value!r}")


def shown(held):
    """The counts without the names."""
    return {kind: count for kind, count in held[0].items() if kind != "files"}, f"{held[1]:.0f} MB"


def compare(before, after, daemon):
    """What must not have grown between the two. Of the log as much is open as retention keeps of it: a file twice at most, for
    the loop or the feed and for the sync."""
    (fds, rss), (fds_after, rss_after) = before, after
    for kind in ("sockets", "pipes and memory"):
        if fds_after[kind] > fds[kind]:
            raise Violation(f"descriptors are left: {shown(before)} before, {shown(after)} after")
    segments = len(os.listdir(daemon.segments))
    if fds_after["log"] > 2 * segments:
        raise Violation(f"{fds_after['log']} descriptors of {segments} files of the log are open")
    # A model namespace may have a file of its own, open as long as there is the namespace: the writer's and the reader's.
    more = fds_after["files"] - fds["files"]
    kept = sum(count for name, count in more.items() if "/cache/models-" in name and os.path.exists(daemon.work + name))
    if more.total() - (fds["files"] - fds_after["files"]).total() - kept > 8:
        raise Violation(f"files are left open: {more}")
    if rss_after > rss * 1.15 + 16:
        raise Violation(f"memory has grown: {rss:.0f} MB before, {rss_after:.0f} MB after")


def fuzz(daemon, seconds, seed):
    """Raises Violation."""
    run = Run(daemon, seed)
    begun = time.monotonic()
    before = None

    def settled():
        held = run.settle()
        print(f"after {time.monotonic() - begun:.0f} s: {shown(held)}", flush=True)
        return held

    # A short run is about replies; memory settles in the course of a minute.
    if seconds >= 60:
        run.until(begun + seconds * 0.3)
        before = settled()
    run.until(begun + seconds)
    after = settled()
    run.check_models()
    if before:
        compare(before, after, daemon)
    daemon.drain()
    print(f"{run.opened:,} connections, {run.lines:,} lines, {run.replies:,} output lines, {run.notices:,} "
          f"notifications, {run.model_checks:,} model checks")
    print("replies: " + ", ".join(f"{kind} {count:,}" for kind, count in sorted(run.judge.seen.items())))
    print("nothing found")


def main():
    seed = sys.argv[2] if len(sys.argv) > 2 else str(random.SystemRandom().randrange(10**9))
    print(f"seed {seed}", flush=True)
    work = tempfile.mkdtemp(prefix="kura-fuzz-live.")
    failed = True
    with Daemon(work) as daemon:
        try:
            daemon.start(timeout=60)
            fuzz(daemon, int(sys.argv[1]), seed)
            failed = False
        except Violation as violation:
            print(f"FOUND with seed {seed}: {violation}")
            code = daemon.wait(1)
            if code is not None and "exit" not in str(violation):
                print(f"the daemon is gone: exit {code}: {daemon.last_words()}")
            print(daemon.reports())
        finally:
            if failed:
                print(f"the daemon's log and data: {work}")
    if not failed:
        shutil.rmtree(work)
    sys.exit(1 if failed else 0)


main()
