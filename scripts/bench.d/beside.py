"""What a reader gets beside other work: live queries and writes, index builds, purges and drops. Each client is a process of its
own, so that none waits for another's interpreter.
"""

import json
import math
import multiprocessing
import os
import random
import re
import selectors
import time
from collections import Counter
from functools import partial
from pathlib import Path

from client import request
from core import Process, heading, in_turns, line, median, quantile, seconds_of

WORDS = ("amber birch cedar delta ember fjord grove heron islet jetty kelpe larch maple north ocean pearl quartz ridge "
         "stone tidal umber vivid water xenon yield zephyr").split()
# Live queries' documents.
DOCUMENTS = 10_000
FILLER = "x" * 400


def turns(is_over, rate):
    """Yields (turn, when it is due) at a rate, or one after the other without one. What is late is not waited for."""
    start, turn = time.monotonic(), 0
    while not is_over.is_set():
        due = start + turn / rate if rate else time.monotonic()
        if (left := due - time.monotonic()) > 0:
            time.sleep(left)
        yield turn, due
        turn += 1


def reader(daemon, request_of, rate=None):
    """Gets one document after the other: the seconds that each took."""

    def work(is_over):
        taken = []
        with daemon.connect() as connection:
            for turn, _ in turns(is_over, rate):
                data = request_of(turn)
                begun = time.perf_counter()
                connection.send(data)
                reply = connection.line()
                taken.append(time.perf_counter() - begun)
                assert b'"result"' in reply, reply
        return taken

    return Process(work)


# MARK: Live queries


def live_document(number, stamp):
    return {"shard": number % 100, "n": number * 7919 % 10_007, "at": stamp, "text": FILLER}


def writer(daemon, rate):
    """Puts documents at a rate: the seconds from when each was due."""

    def work(is_over):
        taken = []
        with daemon.connect() as connection:
            for turn, due in turns(is_over, rate):
                number = turn * 7 % DOCUMENTS
                connection.call("documents.put", collection="c", id=f"d{number}", value=live_document(number, time.monotonic()))
                taken.append(time.monotonic() - due)
        return taken

    return Process(work)


def watcher(daemon, queries, is_ready):
    """All live queries in one process, each on a connection of its own: notifications, changes, and seconds since the newest
    stamp in what comes.
    """

    def work(is_over):
        selector, connections = selectors.DefaultSelector(), []
        for query in queries:
            connection = daemon.connect()
            connection.call("documents.watch", collection="c", **query)
            while b'"hasMore":false' not in connection.line():
                pass
            connection.socket.setblocking(False)
            selector.register(connection.socket, selectors.EVENT_READ)
            connections.append(connection)
        is_ready.set()
        events, changes, taken = 0, 0, []
        while not is_over.is_set():
            for key, _ in selector.select(0.1):
                data = key.fileobj.recv(1 << 20)
                events += data.count(b"\n")
                changes += data.count(b'"change":')
                stamp = re.match(rb"[0-9.]+(?=,)", data[data.rfind(b'"at":') + 5 :]) if b'"at":' in data else None
                if stamp:
                    taken.append(time.monotonic() - float(stamp[0]))
        return events, changes, taken

    return Process(work)


def threads(daemon):
    """Processor seconds of each of the daemon's threads, by name."""
    found = Counter()
    for stat in Path(f"/proc/{daemon.pid}/task").glob("*/stat"):
        name, fields = stat.read_text().split("(", 1)[1].rsplit(")", 1)
        found[name] += sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")
    return found


def run_live(bench, queries, rate, seconds):
    """One run on a daemon of its own: figures by the names of the table's columns."""
    daemon = bench.kurad()
    with daemon.connect() as connection:
        for first in range(0, DOCUMENTS, 1000):
            batch = [{"id": f"d{n}", "value": live_document(n, 0)} for n in range(first, first + 1000)]
            connection.call("documents.putMany", collection="c", documents=batch)
        connection.call("documents.putMany", collection="r", documents=[{"id": f"r{n}", "value": n} for n in range(1000)])
        while connection.call("storage.status")["overlay"]["items"] > 0:
            time.sleep(0.05)
    is_ready = multiprocessing.Event()
    watching = watcher(daemon, queries, is_ready)
    if not is_ready.wait(60):
        raise AssertionError("the live queries did not begin")
    writing = writer(daemon, rate)
    reading = reader(daemon, lambda turn: request(1, "documents.get", {"collection": "r", "id": f"r{turn % 1000}"}), 1000)
    before = threads(daemon)
    time.sleep(seconds)
    used = Counter({name: (spent - before[name]) / seconds * 100 for name, spent in threads(daemon).items()})
    written, read = writing.end(), reading.end()
    # What is on its way still counts.
    time.sleep(0.5)
    events, changes, told = watching.end()
    daemon.kill()
    found = {"loop": used["kurad"], "kura-live": used["kura-live"], "all threads": sum(used.values())}
    for name, times in (("get", read), ("put", written), ("told", told)):
        found[f"{name} p50"], found[f"{name} p99"] = (quantile(times, fraction) * 1e6 for fraction in (0.5, 0.99))
    return {**found, "events": events / seconds, "changes": changes / seconds}


def live(bench):
    """Live queries beside writes, and what point reads of others take meanwhile: the daemon's processor time by thread, reads and
    writes, how long until a live query's client knows of a write. SECONDS a run (5), three runs each in turn, medians.

    KURA_QUERIES is the number of live queries (100), KURA_RATE that of writes a second (1000).
    """
    seconds = bench.number(0, 5.0)
    count, rate = int(os.environ.get("KURA_QUERIES", 100)), int(os.environ.get("KURA_RATE", 1000))
    any_n = {"n": {"$gte": 0}}
    mixes = {
        "none": [],
        f"{count}, one condition each, sort, limit 20": [
            {"where": {"shard": n % 100, **any_n}, "sort": ["n"], "limit": 20} for n in range(count)],
        f"{count}, one condition each, no limit": [{"where": {"shard": n % 100, **any_n}} for n in range(count)],
        f"{count}, all the same, sort, limit 20": [{"where": any_n, "sort": [{"n": "desc"}], "limit": 20}] * count,
    }
    runs = in_turns(3, *(partial(run_live, bench, queries, rate, seconds) for queries in mixes.values()))
    print(f"{rate} writes/s of {len(json.dumps(live_document(1, 0.0)))} bytes, 1,000 point reads/s beside them\n")
    heading("live queries", "loop", "kura-live", "all threads", "get p50", "p99", "put p50", "p99", "notifications/s",
            "changes/s", "told after, p50", "p99")
    for name, found in zip(mixes, runs):
        middle = {key: median(found, key) for key in found[0]}
        times = ["-" if math.isnan(middle[key]) else f"{middle[key]:.0f} µs" for key in middle if key[-4:] in (" p50", " p99")]
        line(name, *(f"{middle[key]:.1f} %" for key in ("loop", "kura-live", "all threads")), *times[:4],
             f"{middle['events']:.0f}", f"{middle['changes']:.0f}", *times[4:])


# MARK: Indexes


def document(number):
    """About 500 bytes, as an application's record is."""
    dice = random.Random(number)
    return {
        "name": f"{dice.choice(WORDS)} {dice.choice(WORDS)}", "number": number,
        "group": dice.randrange(5000), "score": dice.random() * 1000,
        "mail": f"user{number}@example.org", "tags": [dice.choice(WORDS) for _ in range(4)],
        "address": {"city": dice.choice(WORDS), "code": str(dice.randrange(100_000))},
        "text": " ".join(dice.choice(WORDS) for _ in range(40)),
    }


def indexes(bench):
    """Builds indexes over 100,000 documents (full: 1,000,000), purges and drops, and what one who reads beside it gets: the time
    of each piece of work, and latencies of gets over one connection, alone and meanwhile. SHORT when a piece held the fold thread
    over 50 ms.
    """
    count = bench.documents
    daemon = bench.kurad()
    connection = daemon.connect(600)

    def load():
        for start in range(0, count, 500):
            connection.call("documents.putMany", collection="c", documents=[
                {"id": f"d{n}", "value": document(n)} for n in range(start, min(start + 500, count))])

    print(f"{count:,} documents stored in {seconds_of(load):.1f} s", flush=True)
    connection.call("documents.put", collection="other", id="x", value=document(0))
    while (status := connection.call("storage.status"))["foldedRev"] < status["rev"]:
        time.sleep(0.2)
    time.sleep(2)
    alone = None

    def beside(what, work, collection="c"):
        """Prints a row of `work` while somebody reads."""
        nonlocal alone
        dice = random.Random(7)
        reading = reader(daemon, lambda _: request(1, "documents.get", {
            "collection": collection, "id": f"d{dice.randrange(count)}" if collection == "c" else "x"}))
        time.sleep(0.3)
        seconds = seconds_of(work)
        times = reading.end()
        p50, p99, worst = (quantile(times, fraction) * 1e6 for fraction in (0.5, 0.99, 1))
        ratio = f"{p99 / alone:5.2f}" if alone and collection == "c" else "    -"
        print(f"{what:34} {seconds:8.2f} s   get p50 {p50:7.1f} µs  p99 {p99:8.1f} µs  worst {worst:9.1f} µs  p99 ratio {ratio}",
              flush=True)
        alone = alone or p99

    def configure(*wanted):
        connection.call("documents.configure", collection="c", indexes=wanted)
        state = connection.call("documents.describe", collection="c", waitMs=600_000)["indexes"]
        assert all(index["state"] == "ready" for index in state), state

    def purge():
        assert connection.call("documents.purge", collection="c")["purged"] == gone

    def drop():
        assert connection.call("documents.drop", collection="c")["dropped"]

    beside("nothing", lambda: time.sleep(4))
    built = []
    for what, index in [
            ("index of numbers", {"name": "byScore", "fields": ["score"]}),
            ("compound index", {"name": "byGroup", "fields": ["group", "number"]}),
            ("unique index", {"name": "byMail", "fields": ["mail"], "unique": True}),
            ("partial index", {"name": "few", "fields": ["number"], "where": {"group": {"$lt": 100}}})]:
        built.append(index)
        beside(what, lambda: configure(*built))
    gone = count // 10
    for first in range(0, gone, 1000):
        connection.call("transaction.apply", operations=[
            {"method": "documents.delete", "params": {"collection": "c", "id": f"d{n}"}} for n in range(first, first + 1000)])
    beside(f"purge of {gone:,}", purge)
    beside("drop, until it is answered", drop, "other")
    beside("the 5 s after it", lambda: time.sleep(5), "other")
    pieces = [row.strip() for row in daemon.lines() if "pieces" in row]
    print("\n".join(pieces))
    return max(int(re.search(r"at most (\d+) ms", row)[1]) for row in pieces) > 50
