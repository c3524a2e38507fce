"""Measures index builds, purges and drops; see scripts/indexes."""
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def send(self, method, params):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, separators=(",", ":"))
        self.socket.sendall(line.encode() + b"\n")

    def reply(self):
        answer = json.loads(self.file.readline())
        if "error" in answer:
            raise SystemExit(f"refused: {answer['error']}")
        return answer["result"]

    def call(self, method, params):
        self.send(method, params)
        return self.reply()


def document(number):
    """About 500 bytes, as an application's record is."""
    generator = random.Random(number)
    return {
        "name": f"{generator.choice(WORDS)} {generator.choice(WORDS)}", "number": number,
        "group": generator.randrange(5000), "score": generator.random() * 1000,
        "mail": f"user{number}@example.org", "tags": [generator.choice(WORDS) for _ in range(4)],
        "address": {"city": generator.choice(WORDS), "code": str(generator.randrange(100000))},
        "text": " ".join(generator.choice(WORDS) for _ in range(40)),
    }


WORDS = ("amber birch cedar delta ember fjord grove heron islet jetty kelpe larch maple north ocean pearl quartz ridge "
         "stone tidal umber vivid water xenon yield zephyr").split()


def fill(path, count):
    client = Client(path)
    under_way = 0
    for start in range(0, count, 500):
        documents = [{"id": f"d{n}", "value": document(n)} for n in range(start, min(start + 500, count))]
        client.send("documents.putMany", {"collection": "c", "documents": documents})
        under_way += 1
        if under_way > 4:
            client.reply()
            under_way -= 1
    for _ in range(under_way):
        client.reply()
    client.call("documents.put", {"collection": "other", "id": "x", "value": document(0)})


def read(path, collection, ids, stop, results):
    """Gets one document after the other, and keeps the latencies."""
    client = Client(path)
    generator = random.Random(7)
    times = []
    while not stop.is_set():
        name = f"d{generator.randrange(ids)}" if ids else "x"
        start = time.perf_counter_ns()
        client.call("documents.get", {"collection": collection, "id": name})
        times.append(time.perf_counter_ns() - start)
    results.put(times)


def beside(path, work, collection="c", ids=0):
    """Runs `work` while somebody reads. Returns its seconds and the reader's latencies."""
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    reader = multiprocessing.Process(target=read, args=(path, collection, ids, stop, results))
    reader.start()
    time.sleep(0.3)
    start = time.monotonic()
    work()
    seconds = time.monotonic() - start
    stop.set()
    times = sorted(results.get())
    reader.join()
    return seconds, times


def row(what, seconds, times, alone=None):
    p50, p99 = times[len(times) // 2] / 1000, times[len(times) * 99 // 100] / 1000
    worst = times[-1] / 1000
    ratio = f"{p99 / alone:5.2f}" if alone else "    -"
    print(f"{what:34} {seconds:8.2f} s   get p50 {p50:7.1f} µs  p99 {p99:8.1f} µs  worst {worst:9.1f} µs  p99 ratio {ratio}",
          flush=True)
    return p99


def main():
    count = {"quick": 100_000, "full": 1_000_000}[sys.argv[1] if len(sys.argv) > 1 else "quick"]
    with tempfile.TemporaryDirectory(prefix="kura-indexes-", dir=os.environ.get("KURA_MEASURE_DIR")) as root:
        path, log = root + "/kura.sock", open(root + "/log", "w+")
        daemon = subprocess.Popen([os.environ["KURAD"], "--data-dir", root + "/data", "--socket", path], stderr=log)
        try:
            while not os.path.exists(path):
                time.sleep(0.01)
            return measure(path, count, log)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


def measure(path, count, log):
    start = time.monotonic()
    fill(path, count)
    print(f"{count:,} documents stored in {time.monotonic() - start:.1f} s", flush=True)
    client = Client(path)
    while client.call("storage.status", {})["foldedRev"] < client.call("storage.status", {})["rev"]:
        time.sleep(0.2)
    time.sleep(2)

    def configure(*indexes):
        client.call("documents.configure", {"collection": "c", "indexes": list(indexes)})
        state = client.call("documents.describe", {"collection": "c", "waitMs": 600_000})["indexes"]
        assert all(index["state"] == "ready" for index in state), state

    _, times = beside(path, lambda: time.sleep(4), ids=count)
    alone = row("nothing", 4, times)
    by_score = {"name": "byScore", "fields": ["score"]}
    compound = {"name": "byGroup", "fields": ["group", "number"]}
    unique = {"name": "byMail", "fields": ["mail"], "unique": True}
    partial = {"name": "few", "fields": ["number"], "where": {"group": {"$lt": 100}}}
    row("index of numbers", *beside(path, lambda: configure(by_score), ids=count), alone)
    row("compound index", *beside(path, lambda: configure(by_score, compound), ids=count), alone)
    row("unique index", *beside(path, lambda: configure(by_score, compound, unique), ids=count), alone)
    row("partial index", *beside(path, lambda: configure(by_score, compound, unique, partial), ids=count), alone)

    gone = count // 10
    for first in range(0, gone, 1000):
        client.call("transaction.apply", {"operations": [
            {"method": "documents.delete", "params": {"collection": "c", "id": f"d{n}"}}
            for n in range(first, first + 1000)]})

    def purge():
        assert client.call("documents.purge", {"collection": "c"})["purged"] == gone

    row(f"purge of {gone:,}", *beside(path, purge, ids=count), alone)

    def drop():
        assert client.call("documents.drop", {"collection": "c"})["dropped"]

    started = time.monotonic()
    row("drop, until it is answered", *beside(path, drop, "other"))
    _, times = beside(path, lambda: time.sleep(5), "other")
    row("the 5 s after it", time.monotonic() - started, times)
    log.seek(0)
    lines = [line.strip() for line in log if "pieces" in line]
    print("\n".join(lines))
    longest = max(int(re.search(r"at most (\d+) ms", line).group(1)) for line in lines)
    return 1 if longest > 50 else 0


if __name__ == "__main__":
    sys.exit(main())
