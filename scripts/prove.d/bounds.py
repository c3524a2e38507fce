"""What writing takes: memory, log and WAL under the fastest there is, and the bill against the disk's own count."""

import base64
import collections
import contextlib
import mmap
import os
import random
import time
from pathlib import Path

from client import Connection, Gone, request
from crew import Child
from disks import run
from proof import until

CONNECTIONS = 8
DEPTH = 32
# Of each connection. 100,000 keys in all make the tables grow; few hot ones make the log grow, while the fold writes
# next to nothing and has no reason of its own to checkpoint.
KEYS = {"wide": 12_480, "hot": 32}
MIB = 1 << 20
# Bytes that the files may take, by profile: all segments, and the WAL of kura.sqlite.
LOG_LIMIT = {"small": 64 * MIB, "default": 512 * MIB}
WAL_LIMIT = {"small": 64 * MIB, "default": 192 * MIB}
# Beyond the overlay's and the cache's limits: code, stacks, buffers, SQLite's page caches.
MEMORY_SLACK = 192 * MIB


def bounds(proof):
    """The fastest writing there is does not make memory, log or WAL grow beyond their bounds."""
    for profile in ("small", "default"):
        for keys in KEYS:
            measure(proof, profile, keys, proof.size(60, 10))


def batches(index, keys):
    """Lines of DEPTH puts each, four values for every key in turn, so that each put changes something."""
    order = random.Random(index).sample(range(keys), keys)
    lines = [
        request(1, "documents.put", {"collection": f"b{index}", "id": f"k{key}", "value": variant * 98})
        for variant in "abcd" for key in order]
    return [b"".join(lines[at : at + DEPTH]) for at in range(0, len(lines), DEPTH)]


def write(path, index, keys, flags):
    """Sends batch after batch while `flags[0]` is 1; returns (acknowledged, error lines)."""
    made, done, errors = batches(index, keys), 0, []
    flags[1 + index] = 1
    until(lambda: flags[0], 60, 0.001)
    try:
        with Connection(path) as connection:
            while flags[0] == 1:
                connection.send(made[done // DEPTH % len(made)])
                left = DEPTH
                # Nothing is parsed: that would be slower than the daemon.
                while left:
                    data = connection.socket.recv(1 << 16)
                    if not data:
                        raise Gone("end of stream")
                    left -= data.count(b"\n")
                    if b'"error"' in data:
                        errors.append(data[:300].decode(errors="replace"))
                done += DEPTH
    except (Gone, ConnectionError, TimeoutError) as error:
        errors.append(f"{type(error).__name__} {error}")
    return done, errors


def sizes(directory):
    """Bytes of the files directly in `directory`, by name; files may vanish meanwhile."""
    found = collections.Counter()
    for path in Path(directory).glob("*"):
        with contextlib.suppress(FileNotFoundError):
            found[path.name] = path.stat().st_size
    return found


def sample(connection, daemon):
    """How much there is of each quantity."""
    begun = time.monotonic()
    status = connection.call("storage.status")
    milliseconds = (time.monotonic() - begun) * 1000
    log, durable = (sizes(os.path.join(daemon.data, name)) for name in ("log", "durable"))
    return collections.Counter({
        "overlay": status["overlay"]["bytes"], "memory": daemon.resident(), "log": log.total(),
        "WAL": durable["kura.sqlite-wal"], "tables": durable["kura.sqlite"],
        "segments": sum(name.endswith(".log") for name in log), "changes unfolded": status["rev"] - status["foldedRev"],
        "ms for the status": round(milliseconds)})


def measure(proof, profile, keys, seconds):
    daemon = proof.daemon(proof.path(f"{profile}-{keys}"), profile).start()
    flags = mmap.mmap(-1, 1 + CONNECTIONS)
    writers = [Child(write, daemon.socket, index, KEYS[keys], flags) for index in range(CONNECTIONS)]
    until(lambda: sum(flags[1:]) == CONNECTIONS, 60)
    most, samples = collections.Counter(), 0
    with daemon.connect() as connection:
        before = connection.call("storage.status")
        begun = time.monotonic()
        flags[0] = 1
        while time.monotonic() - begun < seconds:
            most |= sample(connection, daemon)
            samples += 1
            time.sleep(0.1)
        flags[0] = 2
        results = [writer.result() for writer in writers]
        elapsed = time.monotonic() - begun
        after = connection.call("storage.status")
    stopped, name = daemon.stop(), f"{profile}, {keys} keys"
    done, errors = sum(done for done, _ in results), [error for _, errors in results for error in errors]
    shown = [f"{most[what] / MIB:.1f} MiB of {what}" for what in ("overlay", "memory", "log", "WAL", "tables")]
    shown += [f"{most[what]} {what}" for what in ("segments", "changes unfolded", "ms for the status")]
    proof.note(f"{name}: {done / elapsed:,.0f} acknowledged/s for {elapsed:.0f} s, {samples} samples; at most {', '.join(shown)}")
    overlay = after["overlay"]["limit"]
    for text, what, limit in (
        ("the overlay keeps its bound", "overlay", overlay * 1.1 + MIB),
        ("memory is bounded", "memory", overlay + after["cache"]["limit"] + MEMORY_SLACK),
        ("the log is bounded", "log", LOG_LIMIT[profile]),
        ("the WAL of the tables is bounded", "WAL", WAL_LIMIT[profile]),
    ):
        proof.check(f"{name}: {text}", most[what] <= limit, f"{most[what] / MIB:.1f} of {limit / MIB:.0f} MiB")
    risen = after["rev"] - before["rev"]
    proof.check(
        f"{name}: the revision rose once a write", not errors and risen == done and done > 0 and stopped == 0,
        f"{risen} for {done}, {len(errors)} errors, exit {stopped}", errors)


# MARK: The bill

# How far the bill and the device may be apart.
PART = 0.05
SECTOR = 512
# What is written, one request after the other. Large commits have the log, the fold's WAL and checkpoints; blobs are files; a
# commit of one change is less than a page, and each of them a sync.
WRITES = {
    "documents in large commits": lambda dice: (
        ("documents.putMany", {
            "collection": "c", "documents": [{"id": str(at), "value": dice.randbytes(1000).hex()} for at in range(1000)]})
        for _ in range(12)),
    "blobs of a mebibyte": lambda dice: (
        ("blobs.put", {"namespace": "n", "key": str(at), "data": base64.b64encode(dice.randbytes(1 << 20)).decode()})
        for at in range(24)),
    "settings one by one": lambda dice: (
        ("settings.put", {"domain": "d", "key": f"k{at % 50}", "value": dice.randbytes(30).hex()}) for at in range(2000)),
}


def bill(proof):
    """The write bill against the disk's own count: what the daemon says that it has written, and what the loop device under its
    file system was given."""
    # It has everything of its own written before it is used; `lazy` tables would be counted as somebody's.
    with proof.disk("ext4", 1024, make=["-E", "lazy_itable_init=0,lazy_journal_init=0"]) as disk:
        daemon = proof.daemon(disk.data, "default").start()
        with daemon.connect(timeout=120) as connection:
            for name, make in WRITES.items():
                time.sleep(2)
                before = *billed(connection), written(disk)
                for method, params in make(random.Random(proof.seed)):
                    connection.call(method, **params)
                bytes_, blocks, device = (now - then for now, then in zip((*billed(connection), written(disk)), before))
                # Whole blocks: one in which a sync ends and the next commit begins is given twice.
                whole = bytes_ + blocks
                proof.check(
                    f"the bill is the device's count within 5 %, {name}", abs(whole - device) <= PART * device,
                    f"told {bytes_:,} and {blocks:,} for whole blocks, device {device:,} bytes: {bytes_ / device:.3f}, "
                    f"{whole / device:.3f}")
        proof.check("the daemon stops in order", daemon.stop() == 0)


def billed(connection):
    """Bytes on the bill, and those for whole blocks, once everything is folded."""
    def is_folded():
        status = connection.call("storage.status")
        return status["foldedRev"] == status["rev"] and not status["overlay"]["items"] and not status["disk"]["unwritten"]

    until(is_folded, 600)
    totals = connection.call("storage.diskWrites", window="month")["totals"]
    return totals["bytes"], totals["blockBytes"]


def written(disk):
    """Bytes that the device was given since it is there, once the kernel has nothing left to write."""
    run("sync", "-f", disk.mount_point)
    return int(Path(f"/sys/block/{disk.device}/stat").read_text().split()[6]) * SECTOR
