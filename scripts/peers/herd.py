"""A herd: many processes want one key that has just expired, and its origin takes a while.

usage: herd.py KURA-SOCKET MEMCACHED-SOCKET PROCESSES ORIGIN-MS

Prints how often the origin was asked and how long the slowest process waited: with Kura's win tokens, and with memcached's get and set.
"""

import json
import multiprocessing
import socket
import sys
import time


class Line:
    """A socket that is written to and read a line at a time."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def send(self, text):
        self.socket.sendall(text)

    def ask(self, method, **params):
        self.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        return json.loads(self.file.readline())["result"]


def origin(calls, milliseconds):
    with calls.get_lock():
        calls.value += 1
    time.sleep(milliseconds / 1000)
    return "fresh"


def kura(path, calls, milliseconds, start, times):
    line = Line(path)
    start.wait()
    begun = time.monotonic()
    found = line.ask("models.get", namespace="herd", key="k", claim=True, waitMs=10_000)
    while found["state"] != "fresh":
        if "token" in found:
            value = origin(calls, milliseconds)
            line.ask("models.put", namespace="herd", key="k", value=value, ttlSeconds=60, token=found["token"])
            found = {"state": "fresh", "value": value}
        else:
            found = line.ask("models.get", namespace="herd", key="k", claim=True, waitMs=10_000)
    assert found["value"] == "fresh"
    times.put(time.monotonic() - begun)


def memcached(path, calls, milliseconds, start, times):
    line = Line(path)
    start.wait()
    begun = time.monotonic()
    line.send(b"get k\r\n")
    if line.file.readline() == b"END\r\n":
        value = origin(calls, milliseconds).encode()
        line.send(b"set k 0 60 %d\r\n%s\r\n" % (len(value), value))
        assert line.file.readline() == b"STORED\r\n"
    times.put(time.monotonic() - begun)


def run(client, path, count, milliseconds):
    calls = multiprocessing.Value("i", 0)
    start = multiprocessing.Barrier(count)
    times = multiprocessing.Queue()
    crew = [
        multiprocessing.Process(target=client, args=(path, calls, milliseconds, start, times)) for _ in range(count)]
    for one in crew:
        one.start()
    waits = sorted(times.get(timeout=60) for _ in crew)
    for one in crew:
        one.join()
    return {"calls": calls.value, "slowestMs": round(waits[-1] * 1000), "medianMs": round(waits[count // 2] * 1000)}


def main(kura_path, memcached_path, count, milliseconds):
    # It has been there, and has expired.
    Line(kura_path).ask("models.put", namespace="herd", key="k", value="old", ttlSeconds=0, staleSeconds=0)
    print(json.dumps({
        "kura": run(kura, kura_path, int(count), int(milliseconds)),
        "memcached": run(memcached, memcached_path, int(count), int(milliseconds)),
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
