"""Blobs beside Redis, memcached and plain files; many small blobs."""

import base64
import os
import random
import shutil
import time

from core import heading, line, size_of
from daemon import Daemon
from programs import run

PIECE = 500
LIFETIME = 30


def shown(microseconds):
    if microseconds == 0:
        return "-"
    if microseconds >= 10_000:
        return f"{microseconds / 1000:.1f} ms"
    return f"{microseconds:.1f} µs" if microseconds < 100 else f"{microseconds:.0f} µs"


def blobs(bench):
    """One client, writes and reads of one size, by turns, beside Redis, memcached and plain files. Every read is checksummed
    whole. ROUNDS (20; half as many for 10 MiB and more). Medians, and how many times faster Kura's descriptors are read.

    KURA_SIZES in bytes ("1024 65536 1048576 10485760 104857600").
    """
    program = bench.compiled("blobs.c")
    files = bench.work / "files"
    files.mkdir()
    daemon = bench.kurad()
    redis = bench.redis(is_durable=False)
    places = {"kura-fd": daemon.socket, "kura-inline": daemon.socket, "redis": redis.socket, "files": files}
    if shutil.which("memcached"):
        places["memcached"] = bench.memcached(4, 1024, "512m").socket
    rounds = int(bench.number(0, 20))
    found = {}
    for size in map(int, os.environ.get("KURA_SIZES", "1024 65536 1048576 10485760 104857600").split()):
        times = rounds if size < 10_000_000 else (rounds + 1) // 2
        rows = run(program, size, times, *(f"{kind}={place}" for kind, place in places.items()))
        found[size] = {kind: (float(write), float(read)) for kind, write, read in map(str.split, rows.splitlines())}
    for column, what in enumerate(("write", "read")):
        caches = {"redis": "Redis / fd", "memcached": "memcached / fd"} if what == "read" else {}
        heading(what, *places, *caches.values())
        for size, kinds in found.items():
            ratios = [kinds[kind][1] / kinds["kura-fd"][1] if kind in kinds else 0 for kind in caches]
            line(f"{size / 1024:g} KiB" if size < 1 << 20 else f"{size / (1 << 20):g} MiB",
                 *(shown(kinds[kind][column]) for kind in places), *(f"{ratio:.1f}" if ratio else "-" for ratio in ratios))
        print()


def put(number):
    data = base64.b64encode(random.randbytes(100)).decode()
    return "blobs.put", {"namespace": "many", "key": f"k{number}", "ttlSeconds": 86_400, "data": data}


def load(connection, count):
    """How many had to be sent again."""
    again = 0
    for start in range(0, count, PIECE):
        wanted = [put(number) for number in range(start, start + PIECE)]
        while wanted:
            replies = connection.call_all(wanted, PIECE)
            wanted = [call for call, reply in zip(wanted, replies) if not reply["stored"]]
            again += len(wanted)
            if wanted:
                time.sleep(0.01)
    return again


def many_blobs(bench):
    """Loads COUNT small blobs (1,000,000): how fast they come in, what they take, how long a start and a sweep are. Half of them
    expire while it runs."""
    count = int(bench.number(0, 1_000_000))
    daemon = Daemon(str(bench.sockets), str(bench.work / "many"))
    bench.stack.enter_context(daemon)

    def start():
        """The milliseconds until it answers, and until all blobs are known."""
        begun = time.monotonic()
        daemon.start(timeout=60)
        with daemon.connect(120) as connection:
            # One that is not there: the answer waits for the end of the index.
            connection.call("blobs.stat", namespace="many", key="none")
        return f"{daemon.starts[-1] * 1000:,.0f} ms, {(time.monotonic() - begun) * 1000:,.0f} ms"

    daemon.start()
    heading(f"{count:,} blobs of 100 bytes", "")
    before = daemon.resident()
    begun = time.monotonic()
    with daemon.connect(120) as connection:
        again = load(connection, count)
    line("put, one connection, 500 under way", f"{count / (time.monotonic() - begun):,.0f}/s ({again:,} sent again: busy)")
    grown = daemon.resident() - before
    line("memory", f"{grown / (1 << 20):,.0f} MiB, {grown / count:,.0f} B each")
    daemon.stop(120)
    line("files", f"{size_of(daemon.data) / count:,.0f} B each")
    line("start after a clean stop: first answer, all known", start())
    daemon.kill()
    line("start after kill -9: first answer, all known", start())
    with daemon.connect(120) as connection, daemon.connect(120) as other:
        touches = [("blobs.touch", {"namespace": "many", "key": f"k{n}", "ttlSeconds": LIFETIME}) for n in range(0, count, 2)]
        connection.call_all(touches, PIECE)
        # The daemon sweeps by itself too; what it has not come to is left.
        time.sleep(LIFETIME)
        left = connection.call("blobs.describe", namespace="many")["count"]
        begun, slowest = time.monotonic(), 0
        connection.send(b'{"jsonrpc":"2.0","id":1,"method":"storage.sweep"}\n')
        connection.socket.settimeout(0.001)
        while True:
            asked = time.monotonic()
            other.call("storage.ping")
            slowest = max(slowest, time.monotonic() - asked)
            try:
                connection.result(1)
                break
            except TimeoutError:
                continue
        seconds = time.monotonic() - begun
        connection.socket.settimeout(120)
        now = connection.call("blobs.describe", namespace="many")["count"]
    line("sweep", f"{seconds * 1000:,.0f} ms, {left - now:,} of {left:,} removed; "
         f"slowest ping beside it {slowest * 1000:,.1f} ms")
    daemon.stop(120)
    assert now == count // 2, f"{now} are left"
