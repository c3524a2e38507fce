"""Clients as they are in containers, beside scripts/lib/client.py; each command prints one line of JSON.

call SOCKET METHOD PARAMS             one exchange: {"result": …} or {"error": …}, or what became of the connection
write SOCKET NAME SECONDS THREADS     documents and a counter a thread; prints how many of each were acknowledged
verify SOCKET RESULT                  whether all that `write` printed is there, once
load SOCKET SECONDS                   large values, large replies and clients that do not read
send SOCKET KEY BYTES                 a blob by descriptor
receive SOCKET KEY                    the same, by descriptor; prints its digest
peer listen|connect PATH              what the kernel says of a client in another container
herd SOCKET CLIENTS STOP [DOMAIN]     so many clients until the file STOP is there; prints what they met
"""

import asyncio
import hashlib
import json
import os
import random
import socket
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from client import Connection, Gone, request


def exchange(connection, method, params, descriptors=()):
    """The whole reply, whatever its id."""
    try:
        connection.send(request(1, method, params), descriptors)
    except Gone:
        pass  # What the daemon said before it closed can still be read.
    return connection.reply()


def call(path, method, params="{}"):
    try:
        with Connection(path, 60) as connection:
            reply = exchange(connection, method, json.loads(params))
        return {name: reply[name] for name in ("result", "error") if name in reply}
    except (Gone, OSError) as error:
        return {"gone": getattr(error.__cause__ or error, "strerror", None) or str(error)}


def at_once(function, numbers):
    """The results of a function for each of the numbers, all in threads of their own."""
    with ThreadPoolExecutor(len(numbers)) as pool:
        return list(pool.map(function, numbers))


class Kept:
    """A connection that is made again when it was lost; `gone` counts the losses."""

    def __init__(self, path, timeout=60):
        self.path = path
        self.timeout = timeout
        self.connection = None
        self.gone = 0

    def exchange(self, method, params):
        """The reply, or None when there was none."""
        try:
            self.connection = self.connection or Connection(self.path, self.timeout)
            return exchange(self.connection, method, params)
        except (Gone, OSError):
            self.connection = None
            self.gone += 1
            time.sleep(0.02)
            return None


def write_one(path, name, end):
    """Sends each change until it is answered, always under the same request key: done once, however often it is sent."""
    kept = Kept(path)
    told = {"acknowledged": 0, "sent": 0, "reconnections": 0, "errors": []}
    while time.monotonic() < end and not told["errors"]:
        key = f"{name}-{told['sent']}"
        value = {"n": told["sent"], "pad": "x" * 200}
        params = {"requestKey": key, "operations": [
            {"method": "documents.put", "params": {"collection": "acks", "id": key, "value": value}},
            {"method": "settings.increment", "params": {"domain": "acks", "key": name}}]}
        told["sent"] += 1
        while time.monotonic() < end + 30:
            reply = kept.exchange("transaction.apply", params)
            if reply is None:
                if time.monotonic() >= end:
                    break
            elif "result" in reply:
                told["acknowledged"] = told["sent"]
                break
            elif reply["error"]["data"]["retryable"]:
                time.sleep(0.02)
            else:
                told["errors"].append(reply["error"])
                break
    return told | {"reconnections": kept.gone}


def write(path, name, seconds, threads):
    end = time.monotonic() + float(seconds)
    names = [f"{name}-{number}" for number in range(int(threads))]
    told = at_once(lambda one: write_one(path, one, end), names)
    return {part: {name: one[part] for name, one in zip(names, told)} for part in ("acknowledged", "sent")} | {
        "reconnections": sum(one["reconnections"] for one in told),
        "errors": [error for one in told for error in one["errors"]]}


def verify(path, result):
    """Everything acknowledged is there; of what was not, at most the last change of each writer; no counter is off by one."""
    told = json.loads(result)
    lost = twice = 0
    with Connection(path, 60) as connection:
        for writer, acknowledged in told["acknowledged"].items():
            stored = connection.call("settings.get", domain="acks", key=writer, default=0)["value"]
            lost += max(0, acknowledged - stored)
            twice += max(0, stored - told["sent"][writer])
            for first in range(0, acknowledged, 500):
                numbers = range(first, min(first + 500, acknowledged))
                result = connection.call("documents.getMany", collection="acks", ids=[f"{writer}-{n}" for n in numbers])
                found = {item["id"]: item["value"] for item in result["documents"] if item.get("value")}
                lost += sum(found.get(f"{writer}-{n}", {}).get("n") != n for n in numbers)
    return {"acknowledged": sum(told["acknowledged"].values()), "lost": lost, "twice": twice}


def load(path, seconds):
    """What makes buffers, overlay and caches grow: values of 1 MiB, replies of 8 MiB that nobody reads, many connections."""
    end = time.monotonic() + float(seconds)
    asked = request(1, "documents.getMany", {"collection": "load", "ids": [f"{n}-{m}" for n in range(4) for m in range(2)]})

    def put(number):
        kept = Kept(path)
        text = "".join(random.choices("abcdefghijklmnop", k=1 << 12)) * 256
        puts = 0
        while time.monotonic() < end:
            value = {"n": puts, "text": text}
            reply = kept.exchange("documents.put", {"collection": "load", "id": f"{number}-{puts % 8}", "value": value})
            puts += reply is not None and "result" in reply
        return puts

    def ask(_):
        reads = 0
        while time.monotonic() < end:
            try:
                with Connection(path, timeout=1) as connection:
                    connection.send(asked * 8)
                    reads += 1
                    time.sleep(0.5)
            except (Gone, OSError):
                time.sleep(0.05)
        return reads

    counts = at_once(lambda number: put(number) if number < 8 else ask(number), range(32))
    return {"puts": sum(counts[:8]), "reads": sum(counts[8:])}


def send(path, key, count):
    content = os.urandom(int(count))
    descriptor = os.memfd_create("content")
    os.write(descriptor, content)
    with Connection(path, 60) as connection:
        reply = connection.ask("blobs.put", [descriptor], namespace="passed", key=key, fd=True)
    return {"digest": hashlib.blake2b(content, digest_size=32).hexdigest(), **reply}


def receive(path, key):
    with Connection(path, 60) as connection:
        # `as` is a word of Python's.
        reply = connection.ask("blobs.get", namespace="passed", key=key, **{"as": "fd"})
        content = b"".join(os.pread(descriptor, 1 << 30, 0) for descriptor in connection.descriptors)
    return {
        "digest": hashlib.blake2b(content, digest_size=32).hexdigest(), "bytes": len(content),
        "descriptors": len(connection.descriptors), **reply}


def peer(what, path):
    if what == "connect":
        for _ in range(500):
            try:
                with Connection(path) as connection:
                    connection.socket.recv(1)
                    return {"pid": os.getpid()}
            except (Gone, OSError):
                time.sleep(0.02)
        return {"gone": path}
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o777)
    listener.listen(1)
    listener.settimeout(30)
    connection, _ = listener.accept()
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    os.unlink(path)
    connection.send(b"x")
    return dict(zip(("pid", "uid", "gid"), struct.unpack("3i", credentials)))


async def herd(path, count, stop, domain="herd"):
    """Half of the clients connect for each request, as scripts do; the others keep their connection while they can."""
    met = dict.fromkeys(("served", "refused", "closedWhileIdle", "cutOff", "shuttingDown", "errors", "longestMilliseconds"), 0)
    # How many changes of each client were acknowledged.
    done = {}

    async def client(name, keeps):
        streams = None

        def hang_up():
            nonlocal streams
            streams[1].close()
            streams = None

        async def reply(line):
            """The reply, however often the daemon goes meanwhile; None when it is time to end."""
            nonlocal streams
            while True:
                was_open = streams is not None
                try:
                    streams = streams or await asyncio.open_unix_connection(path)
                except OSError:
                    met["refused"] += 1
                    if os.path.exists(stop):
                        return None
                    await asyncio.sleep(0.05)
                    continue
                try:
                    streams[1].write(line)
                    text = await streams[0].readline()
                except OSError:
                    text = b""
                if b'"shuttingDown"' in text:
                    met["shuttingDown"] += 1
                elif text.endswith(b"\n"):
                    return text
                else:
                    # Its connection was ended between two requests, or it was let in and the daemon ended before its request
                    # had come.
                    met["closedWhileIdle" if was_open else "cutOff"] += 1
                hang_up()

        count = 0
        while not os.path.exists(stop):
            begun = time.monotonic()
            text = await reply(request(1, "settings.increment", {
                "domain": domain, "key": name, "requestKey": f"{domain}-{name}-{count}"}))
            if text is None:
                return
            is_served = b'"result"' in text
            count += is_served
            met["served" if is_served else "errors"] += 1
            met["longestMilliseconds"] = max(met["longestMilliseconds"], round((time.monotonic() - begun) * 1000))
            if not keeps:
                hang_up()
            await asyncio.sleep(random.uniform(0.2, 0.6))
        done[name] = count

    await asyncio.gather(*(client(f"c{number}", keeps=number % 2 == 1) for number in range(int(count))))
    names = sorted(done)
    stored = {}
    try:
        with Connection(path, 60) as connection:
            for first in range(0, len(names), 500):
                stored |= connection.call("settings.getMany", domain=domain, keys=names[first : first + 500])["values"]
    except Gone as gone:
        return met | {"lostOrTwice": str(gone)}
    return met | {"lostOrTwice": sum(stored.get(name, 0) != times for name, times in done.items())}


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    outcome = globals()[command](*arguments)
    if asyncio.iscoroutine(outcome):
        outcome = asyncio.run(outcome)
    print(json.dumps(outcome), flush=True)
