"""Clients as they are in containers; each command prints one line of JSON.

call SOCKET METHOD PARAMS             one exchange: {"result": …} or {"error": …}, or what became of the connection
write SOCKET NAME SECONDS THREADS     documents and a counter a thread; prints how many of each were acknowledged
verify SOCKET NAME RESULT             whether all that `write` printed is there, and what no client was told of
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
import threading
import time


class Gone(Exception):
    """No answer came: the daemon is away, or has closed the connection."""


class Connection:
    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.received = b""
        try:
            self.socket.connect(path)
        except OSError as error:
            self.socket.close()
            raise Gone(f"connect: {os.strerror(error.errno)}") from error

    def call(self, method, params=None, descriptors=()):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}).encode() + b"\n"
        try:
            if descriptors:
                socket.send_fds(self.socket, [line], descriptors)
            else:
                self.socket.sendall(line)
        except BrokenPipeError:
            pass  # What the daemon said before it closed can still be read.
        except OSError as error:
            raise Gone(f"send: {error}") from error
        return self.reply()

    def reply(self):
        self.descriptors = []
        while b"\n" not in self.received:
            try:
                chunk, passed, _, _ = socket.recv_fds(self.socket, 1 << 20, 4)
            except OSError as error:
                raise Gone(f"receive: {error}") from error
            self.descriptors += passed
            if not chunk:
                raise Gone("closed")
            self.received += chunk
        line, _, self.received = self.received.partition(b"\n")
        return json.loads(line)

    def close(self):
        self.socket.close()


def call(path, method, params="{}"):
    try:
        reply = Connection(path).call(method, json.loads(params))
        return {name: reply[name] for name in ("result", "error") if name in reply}
    except Gone as gone:
        return {"gone": str(gone)}


class Writer(threading.Thread):
    """Sends each change until it is answered, always under the same request key: done once, however often it is sent."""

    def __init__(self, path, name, number, end):
        super().__init__()
        self.path, self.name, self.number, self.end = path, f"{name}-{number}", number, end
        self.acknowledged = 0
        self.sent = 0
        self.reconnections = 0
        self.errors = []

    def run(self):
        connection = None
        while time.monotonic() < self.end:
            key = f"{self.name}-{self.sent}"
            params = {"operations": [
                {"method": "documents.put", "params": {"collection": "acks", "id": key, "value": {"n": self.sent, "pad": "x" * 200}}},
                {"method": "settings.increment", "params": {"domain": "acks", "key": self.name}},
            ], "requestKey": key}
            self.sent += 1
            while time.monotonic() < self.end + 30:
                try:
                    if connection is None:
                        connection = Connection(self.path)
                    reply = connection.call("transaction.apply", params)
                except Gone:
                    connection = None
                    self.reconnections += 1
                    if time.monotonic() >= self.end:
                        return
                    time.sleep(0.02)
                    continue
                if "result" in reply:
                    self.acknowledged = self.sent
                    break
                if not reply["error"]["data"]["retryable"]:
                    self.errors.append(reply["error"])
                    return
                time.sleep(0.02)


def write(path, name, seconds, threads):
    writers = [Writer(path, name, number, time.monotonic() + float(seconds)) for number in range(int(threads))]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return {
        "acknowledged": {writer.name: writer.acknowledged for writer in writers},
        "sent": {writer.name: writer.sent for writer in writers},
        "reconnections": sum(writer.reconnections for writer in writers),
        "errors": [error for writer in writers for error in writer.errors],
    }


def verify(path, name, result):
    """Everything acknowledged is there; of what was not, at most the last change of each writer; no counter is off by one."""
    told = json.loads(result)
    connection = Connection(path)
    lost = twice = unacknowledged = 0
    for writer, acknowledged in told["acknowledged"].items():
        stored = connection.call("settings.get", {"domain": "acks", "key": writer, "default": 0})["result"]["value"]
        unacknowledged += max(0, stored - acknowledged)
        lost += max(0, acknowledged - stored)
        twice += max(0, stored - told["sent"][writer])
        for first in range(0, acknowledged, 500):
            numbers = range(first, min(first + 500, acknowledged))
            items = connection.call(
                "documents.getMany", {"collection": "acks", "ids": [f"{writer}-{n}" for n in numbers]})["result"]["documents"]
            found = {item["id"]: item.get("value") for item in items if item.get("value")}
            lost += sum(1 for n in numbers if found.get(f"{writer}-{n}", {}).get("n") != n)
    return {"acknowledged": sum(told["acknowledged"].values()), "lost": lost, "twice": twice, "unacknowledged": unacknowledged}


def load(path, seconds):
    """What makes buffers, overlay and caches grow: values of 1 MiB, replies of 8 MiB that nobody reads, many connections."""
    end = time.monotonic() + float(seconds)
    counts = {"puts": 0, "refused": 0, "gone": 0, "reads": 0}
    lock = threading.Lock()

    def count(name):
        with lock:
            counts[name] += 1

    def put(number):
        text = "".join(random.choices("abcdefghijklmnop", k=1 << 12)) * 256
        connection = None
        done = 0
        while time.monotonic() < end:
            try:
                connection = connection or Connection(path)
                reply = connection.call(
                    "documents.put", {"collection": "load", "id": f"{number}-{done % 8}", "value": {"n": done, "text": text}})
                done += 1
                count("puts" if "result" in reply else "refused")
            except Gone:
                connection = None
                count("gone")
                time.sleep(0.05)

    def ask(number):
        connection = None
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "documents.getMany", "params": {
            "collection": "load", "ids": [f"{n}-{m}" for n in range(4) for m in range(2)]}}).encode() + b"\n"
        while time.monotonic() < end:
            try:
                connection = connection or Connection(path, timeout=1)
                for _ in range(8):
                    connection.socket.sendall(line)
                count("reads")
                time.sleep(0.5)
                connection.close()
                connection = None
            except (Gone, OSError):
                connection = None
                count("gone")
                time.sleep(0.05)

    threads = [threading.Thread(target=put, args=(n,)) for n in range(8)]
    threads += [threading.Thread(target=ask, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts


def send(path, key, count):
    content = os.urandom(int(count))
    descriptor = os.memfd_create("content")
    os.write(descriptor, content)
    reply = Connection(path).call("blobs.put", {"namespace": "passed", "key": key, "fd": True}, [descriptor])
    return {"digest": hashlib.blake2b(content, digest_size=32).hexdigest(), **reply}


def receive(path, key):
    connection = Connection(path)
    reply = connection.call("blobs.get", {"namespace": "passed", "key": key, "as": "fd"})
    content = b""
    for descriptor in connection.descriptors:
        content += os.pread(descriptor, 1 << 30, 0)
    return {
        "digest": hashlib.blake2b(content, digest_size=32).hexdigest(), "bytes": len(content),
        "descriptors": len(connection.descriptors), **reply}


def peer(what, path):
    if what == "connect":
        for _ in range(500):
            try:
                connection = Connection(path)
                connection.socket.recv(1)
                return {"pid": os.getpid()}
            except Gone:
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
    pid, uid, gid = struct.unpack("3i", credentials)
    connection.send(b"x")
    return {"pid": pid, "uid": uid, "gid": gid}


async def herd(path, count, stop, domain="herd"):
    """Half of the clients connect for each request, as scripts do; the others keep their connection while they can."""
    met = {"served": 0, "refused": 0, "closedWhileIdle": 0, "cutOff": 0, "shuttingDown": 0, "errors": 0, "longestMilliseconds": 0}
    done = {}

    async def client(number):
        name, keeps, done_here, streams = f"c{number}", number % 2 == 1, 0, None
        while not os.path.exists(stop):
            line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "settings.increment", "params": {
                "domain": domain, "key": name, "requestKey": f"{domain}-{name}-{done_here}"}}).encode() + b"\n"
            begun = time.monotonic()
            while True:
                was_open = streams is not None
                try:
                    streams = streams or await asyncio.open_unix_connection(path)
                except OSError:
                    met["refused"] += 1
                    if os.path.exists(stop):
                        return
                    await asyncio.sleep(0.05)
                    continue
                try:
                    streams[1].write(line)
                    reply = await streams[0].readline()
                except OSError:
                    reply = b""
                if b'"shuttingDown"' in reply:
                    met["shuttingDown"] += 1
                    streams[1].close()
                    streams = None
                    continue
                if reply.endswith(b"\n"):
                    break
                # Its connection was ended between two requests, or it was let in and the daemon ended before its request had come.
                met["closedWhileIdle" if was_open else "cutOff"] += 1
                streams[1].close()
                streams = None
            if b'"result"' in reply:
                done_here += 1
                met["served"] += 1
            else:
                met["errors"] += 1
            met["longestMilliseconds"] = max(met["longestMilliseconds"], round((time.monotonic() - begun) * 1000))
            if not keeps:
                streams[1].close()
                streams = None
            await asyncio.sleep(random.uniform(0.2, 0.6))
        done[name] = done_here

    await asyncio.gather(*(client(number) for number in range(int(count))))
    try:
        connection = Connection(path)
    except Gone as gone:
        return {**met, "lostOrTwice": str(gone)}
    stored = {}
    names = sorted(done)
    for first in range(0, len(names), 500):
        reply = connection.call("settings.getMany", {"domain": domain, "keys": names[first:first + 500]})
        stored.update(reply["result"]["values"])
    met["lostOrTwice"] = sum(1 for name, times in done.items() if stored.get(name, 0) != times)
    return met


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    outcome = globals()[command](*arguments)
    if asyncio.iscoroutine(outcome):
        outcome = asyncio.run(outcome)
    print(json.dumps(outcome), flush=True)
