"""A herd: many processes want one key that has just expired, and its origin takes a while."""

import multiprocessing
import socket
import time
from dataclasses import dataclass

from client import Connection
from core import Process


@dataclass
class Outcome:
    """How often the origin was asked, and the milliseconds of the slowest process."""

    calls: int
    slowest: float


def through_kura(path, origin, start):
    """With win tokens: one is told to make the value, the others wait for it."""
    with Connection(path) as connection:
        start.wait()
        begun = time.monotonic()
        found = {}
        while found.get("state") != "fresh":
            found = connection.call("models.get", namespace="herd", key="k", claim=True, waitMs=10_000)
            if "token" in found:
                found = {"state": "fresh", "value": origin(), "token": found["token"]}
                connection.call("models.put", namespace="herd", key="k", value=found["value"], ttlSeconds=60, token=found["token"])
        assert found["value"] == "fresh"
        return time.monotonic() - begun


def through_memcached(path, origin, start):
    """With get and set."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        lines = connection.makefile("rb")
        start.wait()
        begun = time.monotonic()
        connection.sendall(b"get k\r\n")
        if lines.readline() == b"END\r\n":
            value = origin().encode()
            connection.sendall(b"set k 0 60 %d\r\n%s\r\n" % (len(value), value))
            assert lines.readline() == b"STORED\r\n"
        return time.monotonic() - begun


def run(client, path, count, milliseconds):
    calls, start = multiprocessing.Value("i", 0), multiprocessing.Barrier(count)

    def origin():
        with calls.get_lock():
            calls.value += 1
        time.sleep(milliseconds / 1000)
        return "fresh"

    crew = [Process(lambda _: client(path, origin, start)) for _ in range(count)]
    slowest = max(one.end() for one in crew)
    return Outcome(calls.value, slowest * 1000)


def herd(kura, memcached, count, milliseconds):
    """Both outcomes, of `count` processes and an origin that takes so many milliseconds."""
    with Connection(kura) as connection:
        # It has been there, and has expired.
        connection.call("models.put", namespace="herd", key="k", value="old", ttlSeconds=0, staleSeconds=0)
    return run(through_kura, kura, count, milliseconds), run(through_memcached, memcached, count, milliseconds)
