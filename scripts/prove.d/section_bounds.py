"""The fastest writing there is does not make memory, log or WAL grow beyond their bounds."""

import mmap
import os
import random
import time

from client import Connection, Gone
from crew import processes

CONNECTIONS = 8
DEPTH = 32
# Of each connection. 100,000 keys in all make the tables grow; few hot ones make the log grow, while the fold writes
# next to nothing and has no reason of its own to checkpoint.
KEYS = {"wide": 12_480, "hot": 32}
MIB = 1 << 20
# Megabytes that the files may take, by profile: all segments, and the WAL of kura.sqlite.
LOG_LIMIT = {"small": 64, "default": 512}
WAL_LIMIT = {"small": 64, "default": 192}
# Beyond the overlay's and the cache's limits: code, stacks, buffers, SQLite's page caches.
RSS_SLACK = 192 * MIB


def batches(index, keys):
    """Lines of DEPTH puts each, four values for every key in turn, so that each put changes something."""
    order = random.Random(index).sample(range(keys), keys)
    made = []
    for variant in "abcd":
        lines = [
            b'{"jsonrpc":"2.0","id":1,"method":"documents.put","params":{"collection":"b%d","id":"k%d","value":"%s"}}\n'
            % (index, key, (variant * 98).encode())
            for key in order
        ]
        made += [b"".join(lines[at : at + DEPTH]) for at in range(0, keys, DEPTH)]
    return made


def write(path, index, keys, flags, pipe):
    """Sends batch after batch; sends back (acknowledged, error lines)."""
    made, done, errors, at = batches(index, keys), 0, [], 0
    flags[1 + index] = 1
    while flags[0] == 0:
        time.sleep(0.001)
    try:
        with Connection(path) as connection:
            socket = connection.socket
            while flags[0] == 1:
                socket.sendall(made[at])
                at = (at + 1) % len(made)
                left = DEPTH
                while left:
                    data = socket.recv(1 << 16)
                    if not data:
                        raise Gone("end of stream")
                    left -= data.count(b"\n")
                    if b'"error"' in data:
                        errors.append(data[:300].decode(errors="replace"))
                done += DEPTH
    except (Gone, ConnectionError, TimeoutError) as error:
        errors.append(f"{type(error).__name__} {error}")
    pipe.send((done, errors))


class Samples:
    """The largest value seen of each quantity."""

    def __init__(self):
        self.largest = {}
        self.count = 0

    def add(self, values):
        self.count += 1
        for name, value in values.items():
            self.largest[name] = max(self.largest.get(name, 0), value)


def sizes(directory):
    """Bytes of the files directly in `directory` by name; files may vanish meanwhile."""
    found = {}
    try:
        for entry in os.scandir(directory):
            try:
                found[entry.name] = entry.stat().st_size
            except FileNotFoundError:
                pass
    except FileNotFoundError:
        pass
    return found


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def sample(connection, daemon):
    begun = time.monotonic()
    status = connection.call("storage.status")
    took = time.monotonic() - begun
    log, durable = sizes(os.path.join(daemon.data, "log")), sizes(os.path.join(daemon.data, "durable"))
    return status, {
        "overlay": status["overlay"]["bytes"],
        "rss": resident(daemon.process.pid),
        "log": sum(log.values()),
        "segments": sum(name.endswith(".sqlite") for name in log),
        "tables": durable.get("kura.sqlite", 0),
        "wal": durable.get("kura.sqlite-wal", 0),
        "lag": status["rev"] - status["foldedRev"],
        "status": took * 1000,
    }


def measure(proof, profile, keys, seconds):
    """Writes for `seconds`; returns (samples, first status, last one, acknowledged, errors, seconds, exit status)."""
    daemon = proof.daemon(proof.directory(f"{profile}-{keys}"), profile)
    daemon.start()
    flags = mmap.mmap(-1, 1 + CONNECTIONS)
    writers = []
    for index in range(CONNECTIONS):
        mine, theirs = processes.Pipe(duplex=False)
        child = processes.Process(target=write, args=(daemon.socket, index, KEYS[keys], flags, theirs), daemon=True)
        child.start()
        theirs.close()
        writers.append((child, mine))
    while sum(flags[1:]) < CONNECTIONS:
        time.sleep(0.01)
    samples = Samples()
    with daemon.connect() as connection:
        before, _ = sample(connection, daemon)
        begun = time.monotonic()
        flags[0] = 1
        while time.monotonic() - begun < seconds:
            samples.add(sample(connection, daemon)[1])
            time.sleep(0.1)
        flags[0] = 2
        results = [pipe.recv() for _, pipe in writers]
        elapsed = time.monotonic() - begun
        for child, _ in writers:
            child.join()
        after, _ = sample(connection, daemon)
    stopped = daemon.stop()
    done, errors = sum(done for done, _ in results), [error for _, errors in results for error in errors]
    return samples, before, after, done, errors, elapsed, stopped


def run(proof):
    for profile in ["small", "default"]:
        for keys in KEYS:
            bounds(proof, profile, keys, 60 if proof.is_full else 10)


def bounds(proof, profile, keys, seconds):
    report, name = proof.report, f"{profile}, {keys} keys"
    samples, before, after, done, errors, elapsed, stopped = measure(proof, profile, keys, seconds)
    most = samples.largest
    for error in errors[:3]:
        report.note(error)
    report.note(
        f"{name}: {done / elapsed:,.0f} acknowledged/s for {elapsed:.0f} s, {samples.count} samples; at most: "
        + ", ".join(f"{what} {most[what] / MIB:.1f} MiB" for what in ["overlay", "rss", "log", "wal", "tables"])
        + f", {most['segments']} segments, {most['lag']} changes unfolded, status {most['status']:.0f} ms")
    limit = after["overlay"]["limit"]
    report.check(
        f"{name}: the overlay keeps its bound", most["overlay"] <= limit * 1.1 + MIB,
        f"{most['overlay'] / MIB:.1f} MiB at most, limit {limit / MIB:.0f} MiB")
    memory = limit + after["cache"]["limit"] + RSS_SLACK
    report.check(
        f"{name}: memory is bounded", most["rss"] <= memory, f"{most['rss'] / MIB:.0f} of {memory / MIB:.0f} MiB")
    report.check(
        f"{name}: the log is bounded", most["log"] <= LOG_LIMIT[profile] * MIB,
        f"{most['log'] / MIB:.1f} of {LOG_LIMIT[profile]} MiB, {most['segments']} segments")
    report.check(
        f"{name}: the WAL of the tables is bounded", most["wal"] <= WAL_LIMIT[profile] * MIB,
        f"{most['wal'] / MIB:.1f} of {WAL_LIMIT[profile]} MiB")
    risen = after["rev"] - before["rev"]
    report.check(
        f"{name}: the revision rose once a write", not errors and risen == done and done > 0 and stopped == 0,
        f"{risen} for {done}, {len(errors)} errors, exit {stopped}")
