"""Calls a second of one Python client, and its own processor time a call: Kura's, and redis-py's, in turns."""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from typing import Callable, Dict, List, Tuple

import redis
import redis.asyncio

import kura

KEYS = 10_000
BATCH = 100
TASKS = 64
THREADS = 8
FILLER = "x" * 90

Row = Callable[[float], int]


def value() -> str:
    """100 characters, others each time."""
    return f"{random.getrandbits(32):010}{FILLER}"


def key() -> str:
    return f"key{random.randrange(KEYS):07}"


def repeat(seconds: float, step: Callable[[], int]) -> int:
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        count += step()
    return count


def in_threads(seconds: float, step: Callable[[], int]) -> int:
    counts: List[int] = []
    threads = [threading.Thread(target=lambda: counts.append(repeat(seconds, step))) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


class Kura:
    name = "kura"

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self.client = kura.connect(socket, wait=30)

    def fill(self) -> None:
        self.client.settings["bench"].put_many({f"key{number:07}": value() for number in range(KEYS)})

    def get(self) -> int:
        self.client.settings.get("bench", key())
        return 1

    def put(self) -> int:
        self.client.settings.put("bench", key(), value())
        return 1

    def get_pipelined(self) -> int:
        with self.client.pipeline() as calls:
            for _ in range(BATCH):
                calls.settings.get("bench", key())
        return BATCH

    def put_pipelined(self) -> int:
        with self.client.pipeline() as calls:
            for _ in range(BATCH):
                calls.settings.put("bench", key(), value())
        return BATCH

    def in_tasks(self, is_put: bool) -> Row:
        async def work(seconds: float) -> int:
            async with kura.aio.AsyncKura(self.socket) as client:
                end = time.monotonic() + seconds

                async def one() -> int:
                    count = 0
                    while time.monotonic() < end:
                        if is_put:
                            await client.settings.put("bench", key(), value())
                        else:
                            await client.settings.get("bench", key())
                        count += 1
                    return count

                return sum(await asyncio.gather(*(one() for _ in range(TASKS))))

        return lambda seconds: asyncio.run(work(seconds))


class Redis:
    name = "redis"

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self.client = redis.Redis(unix_socket_path=socket)
        while True:
            try:
                self.client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.05)

    def fill(self) -> None:
        self.client.mset({f"key{number:07}": value() for number in range(KEYS)})

    def get(self) -> int:
        self.client.get(key())
        return 1

    def put(self) -> int:
        self.client.set(key(), value())
        return 1

    def get_pipelined(self) -> int:
        calls = self.client.pipeline(transaction=False)
        for _ in range(BATCH):
            calls.get(key())
        calls.execute()
        return BATCH

    def put_pipelined(self) -> int:
        calls = self.client.pipeline(transaction=False)
        for _ in range(BATCH):
            calls.set(key(), value())
        calls.execute()
        return BATCH

    def in_tasks(self, is_put: bool) -> Row:
        async def work(seconds: float) -> int:
            client = redis.asyncio.Redis(unix_socket_path=self.socket)
            end = time.monotonic() + seconds

            async def one() -> int:
                count = 0
                while time.monotonic() < end:
                    if is_put:
                        await client.set(key(), value())
                    else:
                        await client.get(key())
                    count += 1
                return count

            count = sum(await asyncio.gather(*(one() for _ in range(TASKS))))
            await client.aclose()
            return count

        return lambda seconds: asyncio.run(work(seconds))


def main(kind: str, work: str) -> None:
    rounds, seconds = (3, 1.0) if kind == "quick" else (7, 3.0)
    redis_folder = f"{work}/redis"
    os.mkdir(redis_folder)
    daemons = [
        subprocess.Popen([os.environ["KURAD"], "--data-dir", f"{work}/kura", "--socket", f"{work}/k.sock", "--log-level", "error"]),
        subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", f"{work}/r.sock", "--dir", redis_folder, "--appendonly", "yes",
             "--appendfsync", "always", "--save", ""], stdout=subprocess.DEVNULL),
    ]  # fmt: skip
    try:
        sides = [Kura(f"{work}/k.sock"), Redis(f"{work}/r.sock")]
        for side in sides:
            side.fill()
        rows: List[Tuple[str, Callable[[object], Row]]] = [
            ("get, one after the other", lambda s: lambda t: repeat(t, s.get)),
            ("put, one after the other", lambda s: lambda t: repeat(t, s.put)),
            (f"get, pipelined, {BATCH} at once", lambda s: lambda t: repeat(t, s.get_pipelined)),
            (f"put, pipelined, {BATCH} at once", lambda s: lambda t: repeat(t, s.put_pipelined)),
            (f"get, {THREADS} threads", lambda s: lambda t: in_threads(t, s.get)),
            (f"put, {THREADS} threads", lambda s: lambda t: in_threads(t, s.put)),
            (f"get, asyncio, {TASKS} tasks", lambda s: s.in_tasks(False)),
            (f"put, asyncio, {TASKS} tasks", lambda s: s.in_tasks(True)),
        ]
        print(f"Python {sys.version.split()[0]}, redis-py {redis.__version__}, {rounds} rounds of {seconds:g} s, medians, load {os.getloadavg()[0]:.1f}\n")
        print("| | kura /s | redis-py /s | ratio | kura µs of processor | redis-py µs |\n|---|---|---|---|---|---|")
        for name, row in rows:
            rates: Dict[str, List[float]] = {side.name: [] for side in sides}
            costs: Dict[str, List[float]] = {side.name: [] for side in sides}
            for turn in range(rounds):
                for side in sides if turn % 2 == 0 else reversed(sides):
                    rev = sides[0].client.storage.status()["rev"]
                    begun, spent = time.monotonic(), time.process_time()
                    count = row(side)(seconds)
                    rates[side.name].append(count / (time.monotonic() - begun))
                    costs[side.name].append((time.process_time() - spent) / count * 1e6)
                    if side is sides[0] and name.startswith("put"):
                        # Every acknowledged write is one of its own.
                        assert sides[0].client.storage.status()["rev"] - rev == count, "void: not every write was one"
            ours, theirs = (statistics.median(rates[side.name]) for side in sides)
            cost, cost_of_theirs = (statistics.median(costs[side.name]) for side in sides)
            print(f"| {name} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} | {cost:.1f} | {cost_of_theirs:.1f} |", flush=True)
    finally:
        for daemon in daemons:
            daemon.terminate()
            daemon.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
