"""How long a start takes after kill -9 with 64 MiB in the log that are not folded."""

import json
import os
import shutil
import statistics
import time

from client import render

BYTES = 64 << 20
VALUE = 1700


def fill(connection, budget):
    """Writes documents until the log has taken so many bytes; returns how many."""
    count = size = 0
    while size < budget:
        lines = [
            render(at, "documents.put", {"collection": "c", "id": f"{count + at}", "value": {"n": count + at, "p": "x" * VALUE}})
            for at in range(200)]
        connection.send(b"".join(lines))
        left = len(lines)
        while left:
            for line in connection.receive():
                reply = json.loads(line)
                if "error" in reply:
                    return count
                left -= 1
        count += len(lines)
        size += sum(map(len, lines))
    return count


def run(proof):
    report = proof.report
    daemon = proof.daemon(proof.directory("data"), "default")
    # Nothing is folded: the fold waits for ever before its first slice.
    daemon.start("fold.slice:sleep=3600000:1+")
    with daemon.connect(timeout=60) as connection:
        written = fill(connection, BYTES * 7 // 8)
        status = connection.call("storage.status")
    daemon.kill()
    template = proof.directory("template")
    shutil.copytree(daemon.data, template)
    seconds, found = [], []
    for _ in range(8 if proof.is_full else 3):
        shutil.rmtree(daemon.data)
        shutil.copytree(template, daemon.data)
        os.sync()
        daemon.start(timeout=60)
        seconds.append(daemon.starts[-1])
        with daemon.connect() as connection:
            found.append(connection.call("documents.count", collection="c")["count"])
        daemon.kill()
    shutil.rmtree(template)
    report.check(
        "start after kill -9 with a long log", set(found) == {written} and written > 10_000,
        f"{written} changes, {status['overlay']['bytes'] / (1 << 20):.1f} MiB not folded, log "
        f"{status['log']['bytes'] / (1 << 20):.1f} MiB: first reply after {statistics.median(seconds) * 1000:.0f} ms (median of "
        f"{len(seconds)}, {min(seconds) * 1000:.0f} to {max(seconds) * 1000:.0f})")
