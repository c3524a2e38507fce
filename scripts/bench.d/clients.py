"""The clients in Swift and Python, and the change feed."""

import asyncio
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from core import heading, in_turns, line, median
from daemon import StartFailed
from programs import PEERS, ROOT, kura_bench, run, run_json, Failed

KEYS = 10_000
BATCH = 100
TASKS = 64
THREADS = 8


# MARK: Swift


def swift_client(bench):
    """The Swift client: one client, 64 tasks that read settings, beside kura-bench, once over one connection with 64 requests
    under way, as the client has it, and once over 64 connections; what a call allocates; what a read of a mirrored setting takes.
    All read the same daemon in turns (5 rounds of 1 s; full: 11 of 3 s), medians.
    """
    build = ROOT / ".build" / "bench-client"
    package = PEERS / "swift-client"
    run("swift", "build", "-c", "release", "--static-swift-stdlib", "--package-path", package, "--scratch-path", build)
    counter = bench.work / "malloc-count.so"
    run("cc", "-shared", "-fPIC", "-O2", "-o", counter, package / "malloc-count.c")
    daemon = bench.kurad()

    def client(*words, **environment):
        return run(build / "release" / "bench-client", daemon.socket, *words, env={**os.environ, **environment}).split()

    def peer(*options):
        return kura_bench("--target", daemon.target, *options, "--seconds", bench.seconds, "--keys", 1000)["opsPerSecond"]

    peer("--preload")
    ours, *theirs = map(median, in_turns(
        bench.rounds, lambda: int(client(64, bench.seconds)[0]), partial(peer, "--depth", 64),
        partial(peer, "--connections", 64)))
    mirror = median([int(client("mirror")[0]) for _ in range(bench.rounds)])
    strings, alone, numbers, numbers_alone = (
        float(client(tasks, bench.seconds, *kind, LD_PRELOAD=str(counter))[1]) for kind in ([], ["numbers"]) for tasks in (64, 1))
    heading("settings.get of 100 bytes, 64 under way", "a second", "of kura-bench")
    line("one client, 64 tasks", f"{ours:,.0f}", "")
    for what, rate in zip(("1 connection, 64 requests under way", "64 connections"), theirs):
        line(f"kura-bench, {what}", f"{rate:,.0f}", f"{ours / rate:.0%}")
    print(f"\nallocations a call: {strings:.2f} with 64 tasks, {alone:.2f} with one; "
          f"of integers {numbers:.2f} and {numbers_alone:.2f}")
    print(f"a mirrored setting is read in {mirror:.0f} ns")


# MARK: Python


def value():
    """100 characters, others each time."""
    return f"{random.getrandbits(32):010}{'x' * 90}"


def key():
    return f"key{random.randrange(KEYS):07}"


class Side:
    """A client that is measured. `calls` are what get and put do, with a client, a pipeline or a client of asyncio alike."""

    def __init__(self, client, pipeline, open_async, **calls):
        self.client, self.pipeline, self.open_async, self.calls = client, pipeline, open_async, calls

    def one(self, kind):
        self.calls[kind](self.client)
        return 1

    def batch(self, kind):
        with self.pipeline() as calls:
            for _ in range(BATCH):
                self.calls[kind](calls)
        return BATCH

    def in_tasks(self, kind, seconds):
        call = self.calls[kind]

        async def one(client, end):
            count = 0
            while time.monotonic() < end:
                await call(client)
                count += 1
            return count

        async def all_of_them():
            async with self.open_async() as client:
                return sum(await asyncio.gather(*(one(client, time.monotonic() + seconds) for _ in range(TASKS))))

        return asyncio.run(all_of_them())


def repeat(step, seconds):
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        count += step()
    return count


def in_threads(step, seconds):
    with ThreadPoolExecutor(THREADS) as threads:
        return sum(threads.map(lambda _: repeat(step, seconds), range(THREADS)))


# How calls are made: from a side, get or put and seconds to how many were made.
MANNERS = {
    "one after the other": lambda side, kind, seconds: repeat(partial(side.one, kind), seconds),
    f"pipelined, {BATCH} at once": lambda side, kind, seconds: repeat(partial(side.batch, kind), seconds),
    f"{THREADS} threads": lambda side, kind, seconds: in_threads(partial(side.one, kind), seconds),
    f"asyncio, {TASKS} tasks": lambda side, kind, seconds: side.in_tasks(kind, seconds),
}


@contextmanager
def executed(pipeline):
    """redis-py's pipeline, executed at the end."""
    yield pipeline
    pipeline.execute()


def python_client(bench):
    """The Python client beside redis-py: one process, one client, over a Unix socket each. 3 rounds of 1 s a row (full: 7 of 3
    s). Redis runs with appendfsync always, so that what both acknowledge is on the disk; both sides are pure Python (redis-py
    without hiredis). redis-py comes from PyPI (Debian's has no asyncio), into an environment of its own.
    """
    run(sys.executable, "-m", "venv", bench.work / "python")
    run(bench.work / "python" / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "redis")
    sys.path += [str(ROOT / "clients" / "python" / "src"), *map(str, (bench.work / "python" / "lib").glob("*/site-packages"))]
    import redis
    import redis.asyncio

    import kura

    daemon, server = bench.kurad(), bench.redis(is_durable=True)
    client, peer = kura.connect(daemon.socket, wait=30), redis.Redis(unix_socket_path=server.socket)
    ours = Side(client, client.pipeline, lambda: kura.aio.AsyncKura(daemon.socket),
                get=lambda calls: calls.settings.get("bench", key()), put=lambda calls: calls.settings.put("bench", key(), value()))
    theirs = Side(peer, lambda: executed(peer.pipeline(transaction=False)),
                  lambda: redis.asyncio.Redis(unix_socket_path=server.socket),
                  get=lambda calls: calls.get(key()), put=lambda calls: calls.set(key(), value()))
    values = {f"key{number:07}": value() for number in range(KEYS)}
    client.settings["bench"].put_many(values)
    peer.mset(values)
    print(f"Python {sys.version.split()[0]}, redis-py {redis.__version__}, {bench.rounds} rounds of {bench.seconds:g} s, "
          f"medians, load {os.getloadavg()[0]:.1f}\n")
    heading("", "kura /s", "redis-py /s", "ratio", "kura µs of processor", "redis-py µs")

    def measure(side, manner, kind):
        """Calls a second, and the microseconds of processor that each took."""
        rev = client.storage.status()["rev"]
        begun, spent = time.monotonic(), time.process_time()
        count = MANNERS[manner](side, kind, bench.seconds)
        found = count / (time.monotonic() - begun), (time.process_time() - spent) / count * 1e6
        # Every acknowledged write is one of its own.
        if side is ours and kind == "put" and client.storage.status()["rev"] - rev != count:
            raise Failed("VOID: not every write was one")
        return found

    for manner in MANNERS:
        for kind in ("get", "put"):
            found = in_turns(bench.rounds, *(partial(measure, side, manner, kind) for side in (ours, theirs)))
            (rate, other), costs = zip(*(map(median, zip(*results)) for results in found))
            line(f"{kind}, {manner}", f"{rate:,.0f}", f"{other:,.0f}", f"{rate / other:.2f}", *(f"{cost:.1f}" for cost in costs))


# MARK: Changes


def shown(microseconds):
    if microseconds >= 100_000:
        return f"{microseconds / 1000:.0f} ms"
    return f"{microseconds / 1000:.1f} ms" if microseconds >= 1000 else f"{microseconds:.0f} µs"


def changes(bench):
    """The change feed beside Redis keyspace notifications and PostgreSQL LISTEN/NOTIFY: how long until subscribers know of a
    write, and what they cost the writers. All three acknowledge a write when it is on the disk. SECONDS a run (5).

    KURA_RATE is the number of writes a second (5000), KURA_SUBSCRIBERS how many for each run ("0 1 100 1000").
    """
    libraries = run("pg_config", "--includedir").strip()
    program = bench.compiled("pg-notify.c", f"-I{libraries}", "-I/usr/include/postgresql", "-lpq", "-lpthread")
    seconds, rate = int(bench.number(0, 5)), os.environ.get("KURA_RATE", "5000")

    def measure(name, subscribers):
        if name == "PostgreSQL":
            # Every listener is a process of its own.
            with bench.postgres("-c max_connections=1100") as server:
                return run_json(program, f"host={server.socket} user=postgres dbname=postgres", subscribers, rate, seconds)
        with bench.kurad() if name == "Kura" else bench.redis(is_durable=True) as server:
            return kura_bench("changes", "--target", server.target, "--subscribers", subscribers, "--rate", rate, "--seconds", seconds)

    heading("server", "subscribers", "writes", "write p50", "p99", "delivery p50", "p99", "delivered")
    for subscribers in os.environ.get("KURA_SUBSCRIBERS", "0 1 100 1000").split():
        for name in ("Kura", "Redis", "PostgreSQL"):
            try:
                found = measure(name, subscribers)
            except (Failed, StartFailed) as failure:
                # With 1,000 backends PostgreSQL may not come up, or not stay.
                if name != "PostgreSQL":
                    raise
                line(name, subscribers, f"failed: {str(failure)[-100:]}", *[""] * 5)
                continue
            delivery = ("-", "-", "-") if subscribers == "0" else (
                shown(found["deliveryP50Us"]), shown(found["deliveryP99Us"]), f"{found['deliveredShare'] * 100:.3g} %")
            line(name, subscribers, f"{found['writesPerSecond']:.0f}/s", shown(found["writeP50Us"]), shown(found["writeP99Us"]),
                 *delivery)
