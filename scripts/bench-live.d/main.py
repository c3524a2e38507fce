"""Live queries beside writes and point reads: one process each, so that none waits for another's interpreter."""

import json
import multiprocessing
import os
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

DOCUMENTS = 10_000
FILLER = "x" * 400


class Connection:
    """Lines over a Unix socket, one request at a time."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.rest = b""

    def line(self):
        while b"\n" not in self.rest:
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def call(self, method, **params):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        reply = json.loads(self.line())
        if "result" not in reply:
            raise RuntimeError(reply)
        return reply["result"]


def document(number, stamp):
    return {"shard": number % 100, "n": number * 7919 % 10_007, "at": stamp, "text": FILLER}


def write(path, rate, seconds, start, results):
    """At a fixed rate: what is late is sent at once, and its latency counts from when it was due."""
    connection = Connection(path)
    taken = []
    for turn in range(int(rate * seconds)):
        due = start + turn / rate
        wait = due - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        number = turn * 7 % DOCUMENTS
        connection.call("documents.put", collection="c", id=f"d{number}", value=document(number, time.monotonic()))
        taken.append(time.monotonic() - due)
    results.put(("write", taken))


def read(path, seconds, start, results):
    """One point read after the other, a thousand a second."""
    connection = Connection(path)
    request = b'{"jsonrpc":"2.0","id":1,"method":"documents.get","params":{"collection":"r","id":"r%d"}}\n'
    taken = []
    turn = 0
    while time.monotonic() < start + seconds:
        due = start + turn / 1000
        wait = due - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        began = time.monotonic()
        connection.socket.sendall(request % (turn % 1000))
        connection.line()
        taken.append(time.monotonic() - began)
        turn += 1
    results.put(("read", taken))


def watch(path, queries, seconds, start, ready, results):
    """All live queries in one process, each on a connection of its own; looks for the newest stamp in what comes."""
    selector = selectors.DefaultSelector()
    for query in queries:
        connection = Connection(path)
        connection.call("documents.watch", collection="c", **query)
        while b'"hasMore":false' not in connection.line():
            pass
        connection.socket.setblocking(False)
        selector.register(connection.socket, selectors.EVENT_READ)
    ready.set()
    taken = []
    events = 0
    count = 0
    while time.monotonic() < start.value + seconds + 0.5:
        for key, _ in selector.select(0.1):
            try:
                data = key.fileobj.recv(1 << 20)
            except BlockingIOError:
                continue
            events += data.count(b"\n")
            count += data.count(b'"change":')
            place = data.rfind(b'"at":')
            if place >= 0:
                stamp = data[place + 5 : place + 30].split(b",")[0]
                try:
                    taken.append(time.monotonic() - float(stamp))
                except ValueError:
                    pass
    results.put(("watch", (events, count, taken)))


def threads(pid):
    """Processor seconds of each of the daemon's threads."""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat") as file:
            name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        fields = rest.split()
        found[name] = found.get(name, 0) + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def quantile(values, fraction):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * fraction))] * 1e6 if values else float("nan")


def run(kurad, queries, rate, seconds):
    directory = tempfile.mkdtemp(prefix="kura-live-")
    path = directory + "/s"
    daemon = subprocess.Popen(
        [kurad, "--data-dir", directory + "/data", "--socket", path], stderr=subprocess.DEVNULL)
    try:
        for _ in range(1000):
            if os.path.exists(path):
                break
            time.sleep(0.01)
        connection = Connection(path)
        for first in range(0, DOCUMENTS, 1000):
            batch = [{"id": f"d{n}", "value": document(n, 0)} for n in range(first, first + 1000)]
            connection.call("documents.putMany", collection="c", documents=batch)
        connection.call(
            "documents.putMany", collection="r", documents=[{"id": f"r{n}", "value": n} for n in range(1000)])
        while connection.call("storage.status")["overlay"]["items"] > 0:
            time.sleep(0.05)
        results = multiprocessing.Queue()
        ready = multiprocessing.Event()
        start = multiprocessing.Value("d", float("inf"))
        watcher = multiprocessing.Process(target=watch, args=(path, queries, seconds, start, ready, results))
        watcher.start()
        ready.wait(60)
        start.value = time.monotonic() + 0.3
        others = [
            multiprocessing.Process(target=write, args=(path, rate, seconds, start.value, results)),
            multiprocessing.Process(target=read, args=(path, seconds, start.value, results)),
        ]
        for process in others:
            process.start()
        time.sleep(0.3)
        before = threads(daemon.pid)
        time.sleep(seconds)
        after = threads(daemon.pid)
        found = dict(results.get() for _ in range(3))
        for process in others + [watcher]:
            process.join()
        used = {name: (after[name] - before.get(name, 0)) / seconds * 100 for name in after}
        events, changes, taken = found["watch"]
        return {
            "loop": used.get("kurad", 0), "live": used.get("kura-live", 0), "all": sum(used.values()),
            "read50": quantile(found["read"], 0.5), "read99": quantile(found["read"], 0.99),
            "write50": quantile(found["write"], 0.5), "write99": quantile(found["write"], 0.99),
            "events": events / seconds, "changes": changes / seconds,
            "told50": quantile(taken, 0.5), "told99": quantile(taken, 0.99),
        }
    finally:
        daemon.kill()
        daemon.wait()
        shutil.rmtree(directory, ignore_errors=True)


def main():
    kurad, seconds, count, rate = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    mixes = {
        "none": [],
        f"{count}, one condition each, sort, limit 20": [
            {"where": {"shard": n % 100, "n": {"$gte": 0}}, "sort": ["n"], "limit": 20} for n in range(count)],
        f"{count}, one condition each, no limit": [{"where": {"shard": n % 100, "n": {"$gte": 0}}} for n in range(count)],
        f"{count}, all the same, sort, limit 20": [
            {"where": {"n": {"$gte": 0}}, "sort": [{"n": "desc"}], "limit": 20} for _ in range(count)],
    }
    rounds = {name: [] for name in mixes}
    for _ in range(3):
        for name, queries in mixes.items():
            rounds[name].append(run(kurad, queries, rate, seconds))
    print(f"{rate} writes/s of {len(json.dumps(document(1, 0.0)))} bytes, 1,000 point reads/s beside them\n")
    print(
        "| live queries | loop | kura-live | all threads | get p50 | p99 | put p50 | p99 | notifications/s | changes/s "
        "| told after, p50 | p99 |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name, found in rounds.items():
        middle = {key: statistics.median(run[key] for run in found) for key in found[0]}
        micro = lambda key: "-" if middle[key] != middle[key] else f"{middle[key]:.0f} µs"
        print(
            f"| {name} | {middle['loop']:.1f} % | {middle['live']:.1f} % | {middle['all']:.1f} % | {micro('read50')} "
            f"| {micro('read99')} | {micro('write50')} | {micro('write99')} | {middle['events']:.0f} "
            f"| {middle['changes']:.0f} | {micro('told50')} | {micro('told99')} |")


main()
