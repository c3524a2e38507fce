"""The rows of the design's table, "Figures to hold", but for those of documents."""

import os
import time
from functools import partial

from core import in_turns, median, size_of, spread, thousands
from herd import herd
from programs import Failed, kura_bench

ALL, SETTINGS = ("settings", "documents"), ("settings",)
# What, the least ratio, connections, requests under way on each, rooms.
READS = [
    ("point read, 1 connection", 1.0, 1, 1, SETTINGS),
    ("point read, 8 connections", 1.0, 8, 1, SETTINGS),
    ("point read, 64 connections", 1.3, 64, 1, ALL),
    ("pipelined point read, 8 × 32", 1.5, 8, 32, ALL),
]
WRITES = [
    ("durable write, 1 connection", 1.2, 1, 1, SETTINGS),
    ("durable write, 8 connections", 1.2, 8, 1, SETTINGS),
    ("durable write, 64 connections", 1.2, 64, 1, ALL),
    ("durable write, 8 × 32 pipelined, {seconds} s burst", 1.3, 8, 32, ALL),
]
# The mix, what is told of it, connections, requests under way on each.
CACHED = [
    ("read", "1 connection", 1, 1), ("read", "8 connections", 8, 1), ("read", "64 connections", 64, 1),
    ("read", "8 × 32 pipelined", 8, 32),
    ("write", "8 connections", 8, 1), ("write", "64 connections", 64, 1), ("write", "8 × 32 pipelined", 8, 32),
]


def preload(*servers, room="settings", keys=100_000):
    """Puts every key once into each."""
    for server in servers:
        kura_bench("--target", server.target, "--room", room, "--keys", keys, "--preload", "--requests", 1)
    time.sleep(1)


def writes_of(server, *options):
    """Acknowledged writes a second; Failed when the run is void."""
    return kura_bench("--target", server.target, "--mix", "write", *options)["opsPerSecond"]


def against_redis(bench, rows, mix, settle, is_durable):
    daemon, redis = bench.kurad(), bench.redis(is_durable)
    for room in ALL:
        preload(daemon, redis, room=room)
    for room in ALL:
        for what, at_least, connections, depth, rooms in rows:
            if room in rooms:
                bench.compare(
                    f"{what.format(seconds=bench.seconds)}, {room}", daemon, redis, at_least, "--rounds", bench.rounds,
                    "--seconds", bench.seconds, "--mix", mix, "--settle", settle, "--room", room,
                    "--connections", connections, "--depth", depth)


def reads(bench):
    """Point reads, one at a time and pipelined; Redis without persistence."""
    against_redis(bench, READS, "read", 0.2, is_durable=False)


def writes(bench):
    """Durable writes; Redis with appendfsync always."""
    against_redis(bench, WRITES, "write", 1, is_durable=True)


def sustained(bench):
    """Pipelined durable writes without a rest."""
    daemon, redis = bench.kurad(), bench.redis(is_durable=True)
    preload(daemon, redis)
    bench.compare(
        f"durable write, 8 × 32 pipelined, {bench.long} s sustained, settings", daemon, redis, 1.0, "--rounds", 1,
        "--seconds", bench.long, "--mix", "write", "--settle", 3, "--connections", 8, "--depth", 32)


def against_other(bench, what, peer, at_least, *rates):
    """A row of two functions that measure a rate, in turn."""
    ours, theirs = in_turns(bench.rounds, *rates, rest=0.5)
    bench.against(what, median(ours), peer, median(theirs), median(ours) / median(theirs), at_least,
                  f" ({spread([a / b for a, b in zip(ours, theirs)])})")


def builds(bench):
    """Reads and writes of settings, documents and models, beside another build of the daemon in turn.

    KURAD_BEFORE names its program. The number is the least ratio that is not SHORT (0.97).
    """
    if not (before := os.environ.get("KURAD_BEFORE")):
        raise Failed("KURAD_BEFORE names the build that this one is measured beside")
    daemon, other = bench.kurad(), bench.kurad(program=before)
    other.title = "before"
    for room in (*ALL, "models"):
        preload(daemon, other, room=room)
        for mix, settle in (("read", 0.2), ("write", 1)):
            for connections, depth in ((1, 1), (8, 1), (64, 1), (8, 32)):
                bench.compare(
                    f"{mix}, {connections} × {depth}, {room}", daemon, other, bench.number(0, 0.97),
                    "--rounds", bench.rounds, "--seconds", bench.seconds, "--mix", mix, "--settle", settle, "--room", room,
                    "--connections", connections, "--depth", depth)


def processes(bench):
    """Many processes that write, beside as many that share an SQLite file (WAL, synchronous=FULL)."""
    daemon, sqlite = bench.kurad(), bench.sqlite()
    preload(daemon)
    for count, at_least in ((8, 2.5), (64, 8)):
        against_other(
            bench, f"durable write, {count} processes, settings", "SQLite direct", at_least,
            lambda: writes_of(daemon, "--processes", count, "--seconds", bench.seconds),
            lambda: sqlite("processes", count, bench.seconds)["perSecond"])


# The key's and the counter's digits are random; the rest fills the value up to 100 bytes.
UPSERT = r"""\set key random(0, 99999)
\set count random(0, 999999999999)
INSERT INTO kv(key, value) VALUES ('key:' || lpad((:key)::text, 12, '0'), lpad((:count)::text, 12, '0') || repeat('x', 88))
    ON CONFLICT (key) DO UPDATE SET value = excluded.value;
"""


def postgres(bench):
    """Durable writes beside PostgreSQL (synchronous_commit=on), by pgbench."""
    daemon, server = bench.kurad(), bench.postgres()
    script = bench.work / "upsert.sql"
    script.write_text(UPSERT)
    preload(daemon)
    against_other(
        bench, "durable write, 64 connections, settings", "PostgreSQL", 3,
        lambda: writes_of(daemon, "--connections", 64, "--seconds", bench.seconds),
        lambda: server.bench(64, bench.seconds, [script]))


def bytes_written(bench):
    """What a durable write costs in bytes, to the disk and to write calls, beside SQLite."""
    # Loaded and folded by one daemon, measured on the next, so that the loading is not counted.
    daemon = bench.kurad()
    preload(daemon)
    daemon.stop()
    daemon.start()
    found = kura_bench("--target", daemon.target, "--mix", "write", "--connections", 64, "--seconds", bench.long)
    daemon.stop()
    # A durable server that wrote nothing was not measured.
    if not daemon.wrote:
        raise AssertionError("no write_bytes of kurad")
    sqlite = bench.sqlite()("processes", 8, bench.long / 3)
    for what, ours, theirs, at_most in [
            (f"bytes to disk a durable write, 64 connections, {bench.long} s and the drain (write_bytes)",
             daemon.wrote, sqlite["writeBytesPerWrite"], 0.15),
            ("the same, bytes handed to write calls (wchar; replies too where they leave by write)",
             daemon.passed, sqlite["wcharPerWrite"], None)]:
        each = ours / found["acknowledgedWrites"]
        ratio = each / theirs
        bench.record(what, f"{each:.0f} B", f"SQLite direct {theirs:.0f} B", f"{ratio:.3f}", ratio, at_most=at_most)


def stolen():
    """Ticks of processor time that a hypervisor took from this machine so far (0 on bare metal)."""
    with open("/proc/stat") as stat:
        return int(stat.readline().split()[8])


def tail(bench):
    """p99.9 of a durable write at half of saturation, in turn with Redis: what the machine does to anyone shows in its windows
    too.
    """
    servers = bench.kurad(), bench.redis(is_durable=True)
    preload(*servers)
    saturation = [median([writes_of(server, "--connections", 64, "--seconds", bench.seconds) for _ in range(3)]) for server in servers]

    def window(server, rate):
        before = stolen()
        found = kura_bench(
            "latency", "--target", server.target, "--mix", "write", "--connections", 64, "--seconds", bench.long,
            "--rate", int(rate / 2))
        return {**found, "ratio": found["p999Us"] / found["p50Us"], "stolen": (stolen() - before) / bench.long}

    windows = in_turns(3, *(partial(window, *pair) for pair in zip(servers, saturation)), rest=2)
    shown = [
        f"p99.9 {thousands(median(found, 'p999Us'))} µs over a median of {thousands(median(found, 'p50Us'))} µs at "
        f"{thousands(rate)}/s ÷ 2: {median(found, 'ratio'):.2f} × ({spread([one['ratio'] for one in found])}); "
        "stolen " + " ".join(f"{one['stolen']:.1f}" for one in found) + " ticks/s"
        for rate, found in zip(saturation, windows)]
    ratio = median(windows[0], "ratio")
    bench.record(
        f"p99.9 of a durable write at half of saturation over its median, 3 windows of {bench.long} s", shown[0],
        f"Redis {shown[1]}", f"{ratio:.2f}", ratio, at_most=20)


def memory(bench):
    """What a fresh daemon takes."""
    daemon = bench.kurad()
    time.sleep(1)
    size = daemon.resident() / (1 << 20)
    bench.record("idle memory of a fresh daemon (VmRSS)", f"{size:.1f} MiB", figure=size, at_most=16, unit=" MiB")


def start(bench):
    """The first reply after a start with 1,000,000 documents, after a clean stop and after kill -9."""
    daemon = bench.kurad()
    many = ("--target", daemon.target, "--room", "documents", "--keys", 1_000_000)
    kura_bench(*many, "--preload", "--requests", 1)
    daemon.stop()

    def first_reply():
        milliseconds = daemon.start("documents").first_reply
        daemon.stop()
        return milliseconds

    def killed():
        """64 MiB of values go into the log; the kill comes with the last reply, before folding can catch up."""
        daemon.start("documents")
        kura_bench(*many, "--mix", "write", "--value-size", 1024, "--requests", 65_536, "--connections", 8, "--depth", 32)
        daemon.kill()
        return size_of(os.path.join(daemon.data, "log")) >> 20, first_reply()

    clean = median([first_reply() for _ in range(3)])
    bench.record("start to first reply, 1,000,000 documents, after a clean stop", f"{clean:.2f} ms", figure=clean, at_most=50, unit=" ms")
    logs, times = zip(*(killed() for _ in range(3)))
    bench.record(f"the same, after kill -9 with 64 MiB written to the log just before ({logs[-1]} MiB in log/)",
                 f"{median(times):.2f} ms", figure=median(times), at_most=1000, unit=" ms")


def connections(bench):
    """The memory of 10,000 idle connections."""
    daemon = bench.kurad()
    found = kura_bench("connections", "--target", daemon.target, "--pid", daemon.pid, "--count", 10_000)
    size = max(found["rssOpenKiB"], found["rssPingedKiB"]) / 1024
    bench.record(
        f"10,000 idle connections (VmRSS; ping on each p99 {found['pingP99Us']} µs)", f"{size:.1f} MiB",
        f"{found['rssBeforeKiB'] / 1024:.1f} MiB before", figure=size, at_most=100, unit=" MiB")


def caches(bench):
    """The model cache beside Redis and memcached (one worker thread, as the others have one loop), and a herd on one key."""
    daemon, redis, memcached = bench.kurad(), bench.redis(is_durable=False), bench.memcached(1, 256, "8m")
    preload(daemon, redis, memcached, room="models")
    for peer in (redis, memcached):
        for mix, what, count, depth in CACHED:
            bench.compare(
                f"cached model {mix}, {what}", daemon, peer, 1.0, "--room", "models", "--rounds", bench.rounds, "--seconds", bench.seconds,
                "--settle", 0.2, "--mix", mix, "--connections", count, "--depth", depth)
    redis.stop()
    ours, theirs = herd(daemon.socket, memcached.socket, 64, 100)
    bench.record(
        "64 processes on one expired key, an origin of 100 ms: its calls", ours.calls,
        f"memcached, get and set {theirs.calls}", figure=ours.calls, at_most=1)
    bench.record(
        "the same: slowest client", f"{ours.slowest:.0f} ms", f"memcached {theirs.slowest:.0f} ms", figure=ours.slowest,
        at_most=200, unit=" ms")
    # What the disk gets for each byte that is cached: values of 1 KiB among 100,000 keys, written out and closed.
    daemon.stop()
    daemon = bench.kurad()
    found = kura_bench(
        "--target", daemon.target, "--room", "models", "--mix", "write", "--connections", 8, "--rate", 5000,
        "--seconds", bench.long, "--value-size", 1024)
    time.sleep(1)
    daemon.stop()
    bench.record(
        "bytes written per byte of a cached value, 5,000 × 1 KiB a second",
        f"{daemon.wrote / (found['acknowledgedWrites'] * 1024):.2f}", verdict="ok")
