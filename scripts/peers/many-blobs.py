"""Many small blobs: how fast they come in, what they take, how long a start and a sweep are.

usage: many-blobs.py KURAD DIRECTORY COUNT

Half of them expire while it runs. Prints a table of Markdown.
"""

import base64
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

LIFETIME = 30
PIECE = 500


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def ask_all(self, requests):
        lines = [json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) for method, params in requests]
        self.socket.sendall(("\n".join(lines) + "\n").encode())
        replies = [json.loads(self.file.readline()) for _ in requests]
        for reply in replies:
            if "error" in reply:
                raise SystemExit(f"many-blobs: {reply['error']}")
        return [reply["result"] for reply in replies]

    def ask(self, method, **params):
        return self.ask_all([(method, params)])[0]


class Daemon:
    def __init__(self, kurad, directory):
        self.kurad, self.directory, self.path = kurad, directory, os.path.join(directory, "many.sock")

    def start(self):
        """Returns seconds until it answers, and until all blobs are known."""
        begun = time.monotonic()
        self.process = subprocess.Popen(
            [self.kurad, "--data-dir", os.path.join(self.directory, "many"), "--socket", self.path],
            stderr=subprocess.DEVNULL)
        while True:
            try:
                client = Client(self.path)
                client.ask("storage.ping")
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() - begun > 60:
                    raise SystemExit("many-blobs: the daemon did not start")
                time.sleep(0.001)
        answered = time.monotonic() - begun
        # One that is not there: the answer waits for the end of the index.
        client.ask("blobs.stat", namespace="many", key="none")
        return answered, time.monotonic() - begun

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(120)

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(row.split()[1]) / 1024 for row in status if row.startswith("VmRSS"))


def put(number, value, seconds):
    return ("blobs.put", {"namespace": "many", "key": f"k{number}", "ttlSeconds": seconds, "data": value})


def load(client, count):
    """Returns seconds, and how many had to be sent again."""
    begun, again = time.monotonic(), 0
    for start in range(0, count, PIECE):
        wanted = [put(n, base64.b64encode(random.randbytes(100)).decode(), 86400) for n in range(start, start + PIECE)]
        while wanted:
            replies = client.ask_all(wanted)
            wanted = [request for request, reply in zip(wanted, replies) if not reply["stored"]]
            if wanted:
                again += len(wanted)
                time.sleep(0.01)
    return time.monotonic() - begun, again


def row(what, value):
    print(f"| {what} | {value} |", flush=True)


def main():
    kurad, directory, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    daemon = Daemon(kurad, directory)
    daemon.start()
    row(f"{count:,} blobs of 100 bytes", "")
    print("|---|---|")
    before = daemon.memory()
    client = Client(daemon.path)
    seconds, again = load(client, count)
    row("put, one connection, 500 under way", f"{count / seconds:,.0f}/s ({again:,} sent again: busy)")
    row("memory", f"{daemon.memory() - before:,.0f} MiB, {(daemon.memory() - before) * 1048576 / count:,.0f} B each")
    daemon.stop()
    files = [os.path.join(place, name) for place, _, names in os.walk(os.path.join(directory, "many")) for name in names]
    row("files", f"{sum(map(os.path.getsize, files)) / count:,.0f} B each")
    answered, known = daemon.start()
    row("start after a clean stop: first answer, all known", f"{answered * 1000:,.0f} ms, {known * 1000:,.0f} ms")
    daemon.stop(signal.SIGKILL)
    answered, known = daemon.start()
    row("start after kill -9: first answer, all known", f"{answered * 1000:,.0f} ms, {known * 1000:,.0f} ms")
    client = Client(daemon.path)
    for start in range(0, count, 2 * PIECE):
        client.ask_all([("blobs.touch", {"namespace": "many", "key": f"k{n}", "ttlSeconds": LIFETIME})
                        for n in range(start, min(start + 2 * PIECE, count), 2)])
    # The daemon sweeps by itself too; what it has not come to is left.
    time.sleep(LIFETIME)
    left = client.ask("blobs.describe", namespace="many")["count"]
    begun = time.monotonic()
    slowest = 0
    other = Client(daemon.path)
    client.socket.sendall(b'{"jsonrpc":"2.0","id":1,"method":"storage.sweep"}\n')
    client.socket.setblocking(False)
    answer = b""
    while not answer.endswith(b"\n"):
        asked = time.monotonic()
        other.ask("storage.ping")
        slowest = max(slowest, time.monotonic() - asked)
        try:
            answer += client.socket.recv(65536)
        except BlockingIOError:
            time.sleep(0.001)
    seconds = time.monotonic() - begun
    client.socket.setblocking(True)
    now = client.ask("blobs.describe", namespace="many")["count"]
    row("sweep", f"{seconds * 1000:,.0f} ms, {left - now:,} of {left:,} removed; slowest ping beside it {slowest * 1000:,.1f} ms")
    daemon.stop()
    if now != count // 2:
        raise SystemExit(f"many-blobs: {now} are left")


main()
