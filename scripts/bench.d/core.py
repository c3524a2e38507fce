"""What every name of scripts/bench measures with: directories, programs, servers, rounds, and rows that have a verdict."""

import contextlib
import itertools
import json
import multiprocessing
import os
import shutil
import signal
import statistics
import tempfile
import time
from pathlib import Path

from programs import PEERS, ROOT, Failed, kura_bench, run, run_json
from servers import Kurad, Peer, Postgres


def in_turns(count, *steps, rest=0.0):
    """What each step returned, `count` times each, after a rest in seconds: the machine is the same for all."""
    found = [[] for _ in steps]
    for _ in range(count):
        for step, results in zip(steps, found):
            time.sleep(rest)
            results.append(step())
    return found


def seconds_of(step, *arguments):
    begun = time.perf_counter()
    step(*arguments)
    return time.perf_counter() - begun


def timed(step):
    """A step that hands on how often it was called before, and returns the microseconds that the call took."""
    turns = itertools.count()
    return lambda: seconds_of(step, next(turns)) * 1e6


class Process:
    """Runs `work(is_over)` on its own; `end` tells it that it is over, and returns what it returned."""

    def __init__(self, work):
        self.is_over, self.results = multiprocessing.Event(), multiprocessing.Queue()
        self.process = multiprocessing.Process(target=lambda: self.results.put(work(self.is_over)))
        self.process.start()

    def end(self):
        self.is_over.set()
        found = self.results.get(timeout=120)
        self.process.join()
        return found


def median(values, member=None):
    """The median; of one member, when the values are objects."""
    return statistics.median(value[member] for value in values) if member else statistics.median(values)


def quantile(values, fraction):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))] if ordered else float("nan")


def p50_p99(microseconds):
    return f"{median(microseconds):,.0f}, {quantile(microseconds, 0.99):,.0f}"


def spread(values):
    return f"{min(values):.2f}–{max(values):.2f}"


def thousands(figure):
    if figure >= 1_000_000:
        return f"{figure / 1e6:.2f}M"
    return f"{figure / 1e3:.0f}k" if figure >= 10_000 else f"{figure / 1e3:.1f}k" if figure >= 1000 else f"{figure:.0f}"


def size_of(place):
    """The bytes of a file, or of all files in a directory."""
    return sum(path.stat().st_size for path in (Path(place), *Path(place).rglob("*")) if path.is_file())


def line(*cells):
    """A line of a table of Markdown."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def heading(*cells):
    """The head of a table of Markdown."""
    line(*cells)
    print("|" + "---|" * len(cells), flush=True)


def data_place():
    """Where data goes: a directory on the disk that is measured."""
    place = os.environ.get("KURA_BENCH_DIR") or ROOT / ".build" / "bench"
    os.makedirs(place, exist_ok=True)
    return place


class Bench:
    """What one name has while it runs. At the end all servers are stopped, and nothing is left of its directories.

    `rounds` of `seconds` each, `long` seconds for a row that is no round, `numbers` as given behind the name.
    """

    def __init__(self, rounds, seconds, is_full, numbers, results):
        self.rounds, self.seconds, self.is_full, self.numbers, self.results = rounds, seconds, is_full, numbers, results
        self.long = 60 if is_full else 6
        self.documents = 1_000_000 if is_full else 100_000

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        # Paths of Unix sockets are short.
        places = (data_place(), "kura."), ("/tmp", "kura-bench.")
        self.work, self.sockets = (Path(tempfile.mkdtemp(prefix=prefix, dir=place)) for place, prefix in places)
        for directory in (self.work, self.sockets):
            # PostgreSQL's user walks through both.
            directory.chmod(0o711)
            self.stack.callback(shutil.rmtree, directory, ignore_errors=True)
        return self

    def __exit__(self, *_):
        # Nothing is left halfway.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        self.stack.close()

    def number(self, position, default):
        """A number behind the name, where one is."""
        return self.numbers[position] if position < len(self.numbers) else default

    def fresh(self, name):
        """A directory for data."""
        return Path(tempfile.mkdtemp(prefix=f"{name}.", dir=self.work))

    def kurad(self, *options, room=None, program=None):
        """A daemon that answers; `room` is where its first reply is waited for. Stopped at the end, or before by its `stop`.

        `program`: another build of it, which may serve beside it.
        """
        place = self.sockets / "other" if program else self.sockets
        place.mkdir(exist_ok=True)
        daemon = Kurad(str(place), str(self.fresh("kura")), options, program)
        self.stack.callback(daemon.kill)
        return daemon.start(room)

    def redis(self, is_durable):
        """Without persistence, or with every write synced before its reply."""
        place, path = self.fresh("redis"), self.sockets / "r.sock"
        return self.stack.enter_context(Peer(
            "redis", path, place, "redis-server", "--port", "0", "--unixsocket", path, "--dir", place, "--save", "",
            "--appendonly", "yes" if is_durable else "no", "--appendfsync", "always"))

    def memcached(self, threads, mebibytes, item):
        path, user = self.sockets / "m.sock", "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")
        return self.stack.enter_context(Peer(
            "memcached", path, self.fresh("memcached"),
            "memcached", "-s", path, "-t", threads, "-m", mebibytes, "-I", item, "-u", user))

    def postgres(self, *options):
        return self.stack.enter_context(Postgres(self.fresh("postgres"), self.sockets / "postgres", options))

    def sqlite(self):
        """The peer that opens one SQLite file itself: a function of its words, which returns a JSON object."""
        program = self.compiled("sqlite.c", "-lsqlite3")
        return lambda *words: run_json(program, self.work / "direct.db", *words)

    def compiled(self, source, *options):
        """A peer's program, built of its source in C."""
        program = self.work / Path(source).stem
        run("gcc", "-O2", "-o", program, PEERS / source, *options)
        return program

    def record(self, what, ours, theirs="-", ratio="-", figure=None, at_least=None, at_most=None, unit="", verdict=None):
        """A row: SHORT when its `figure` is beyond its bound, else ok; `verdict` overrides it (VOID, FAILED)."""
        if at_least is not None:
            target, is_held = f"≥ {at_least}{unit}", figure is not None and figure >= at_least
        elif at_most is not None:
            target, is_held = f"≤ {at_most}{unit}", figure <= at_most
        else:
            target, is_held = "-", None
        verdict = verdict or {None: "-", True: "ok", False: "SHORT"}[is_held]
        with open(self.results, "a") as results:
            results.write(json.dumps([what, ours, theirs, ratio, target, verdict]) + "\n")
        print(f"{verdict:7} {what}: {ours} | {theirs} | ratio {ratio} | {target}", flush=True)

    def against(self, what, ours, peer, theirs, ratio, at_least=None, spread="", verdict=None):
        """A row of two rates."""
        self.record(what, f"{thousands(ours)}/s", f"{peer} {thousands(theirs)}/s", f"{ratio:.2f}{spread}", ratio, at_least,
                    verdict=verdict)

    def compare(self, what, daemon, peer, at_least, *options):
        """A row of Kura and a peer in turn, by the load generator."""
        try:
            found, verdict = kura_bench("compare", "--a", daemon.target, "--b", peer.target, *options), None
        except Failed as failure:
            if failure.status != 3:
                self.record(what, "-", peer.title, at_least=at_least, verdict="FAILED")
                return
            found, verdict = json.loads(failure.output), "VOID"
        self.against(what, found["a"]["opsPerSecond"], peer.title, found["b"]["opsPerSecond"], found["ratio"], at_least,
                     f" ({found['ratioMin']:.2f}–{found['ratioMax']:.2f})", verdict)
