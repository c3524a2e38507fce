"""A disk that others fill: what must last is refused or kept, caches make room, and freed room is used without a restart."""

import collections
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import rooms
from client import Gone
from crew import Child
from daemon import StartFailed
from proof import Tally, has_room, told, until


def read(daemon, models, stopping):
    """Reads random settings and documents until it is told to stop; returns latencies in seconds, and errors."""
    latencies, errors, choose = [], [], random.Random(0)
    try:
        with daemon.connect() as connection:
            while not stopping.wait(0.0005):
                room = choose.choice("sd")
                item = room, choose.choice(models).scope, f"{room}{choose.randrange(250)}"
                method, params = rooms.get(item)
                begun = time.monotonic()
                reply = connection.ask(method, **params)
                latencies.append(time.monotonic() - begun)
                if "error" in reply:
                    errors.append(str(reply["error"]))
    except (Gone, TimeoutError) as error:
        errors.append(f"{type(error).__name__} {error}")
    return latencies, errors


def full(proof):
    """noSpace to exactly those not stored, reads go on, freed space is used without a restart."""
    disk = proof.open.enter_context(proof.disk("tmpfs", 24))
    daemon, crew, tally = proof.daemon(disk.data).start(), proof.crew("full"), Tally(proof)
    latencies, read_errors, failed_starts, recovered = [], [], [], []
    found, errors, count = collections.Counter(), collections.Counter(), proof.size(5, 2)

    def filled():
        disk.fill(leave=0)
        return not has_room(daemon)

    for number in proof.rounds(count, "event"):
        with crew.writing(daemon, pause=0.01):
            time.sleep(0.2)
            stopping = threading.Event()
            with ThreadPoolExecutor() as pool:
                reader = pool.submit(read, daemon, crew.models, stopping)
                try:
                    disk.fill(leave=proof.random.randrange(2 << 20))
                    # The writers report at their end only, so a write of our own tells.
                    found["refused"] += until(filled, 20) is not None
                    time.sleep(2)
                finally:
                    stopping.set()
        latencies += reader.result()[0]
        read_errors += reader.result()[1]
        errors += crew.errors()
        # The disk is still full: what was refused must not be there, what was acknowledged must.
        tally.verify(daemon, crew, starts=False)
        # kill -9 and start with not a byte free: reads must be possible again.
        daemon.kill()
        disk.fill(leave=0)
        try:
            daemon.start()
        except StartFailed as error:
            failed_starts.append(str(error).splitlines()[-1])
            disk.release()
            daemon.start()
        tally.verify(daemon, crew, starts=False)
        disk.fill(leave=0)
        with crew.writing(daemon, pause=0.05, busy=0):
            time.sleep(0.3)
            released = time.monotonic()
            disk.release()
            recovered.append(until(lambda: has_room(daemon), 10))
            time.sleep(0.5)
        # Every writer must have been served again, not only the probe.
        found["not served"] += sum(model.last_ok < released for model in crew.models)
        tally.verify(daemon, crew, starts=False)
        # And what was there at the end is there after a restart, one in two an unclean one.
        if number % 2:
            daemon.kill()
        elif daemon.stop() != 0:
            proof.note("SIGTERM did not end in exit 0")
        if not tally.verify(daemon, crew):
            # Said and counted; the next event needs a daemon that runs.
            disk.clear()
            crew.clear()
            daemon.start()
    tally.check("full disk: stored = acknowledged, refused = absent")
    proof.check(
        "full disk: noSpace, and no other error", found["refused"] == count and set(errors) <= {"noSpace"},
        f"{dict(errors)} in {found['refused']} of {count} events")
    latencies = sorted(latencies) or [0]
    proof.check(
        "full disk: reads go on", not read_errors and len(latencies) > 100,
        f"{len(latencies)} reads, {len(read_errors)} errors, p99 {latencies[len(latencies) * 99 // 100] * 1000:.1f} ms, "
        f"longest {latencies[-1] * 1000:.1f} ms", read_errors)
    proof.check(
        "full disk: kill -9, then it starts and reads", not failed_starts,
        f"{len(failed_starts)} of {count} starts failed", failed_starts)
    proof.check(
        "space freed: writes succeed within 10 s, no restart", None not in recovered and not found["not served"],
        f"{', '.join(map(told, recovered))}, {found['not served']} writers not served")


# MARK: Low storage

VALUE = "v" * 4000


def lowstorage(proof):
    """Another process fills the disk; caches stop storing, are purged, and come back; what must last goes on."""
    for kind in ("tmpfs", "ext4"):
        with proof.disk(kind, 96) as disk:
            one_disk(proof, disk)


def one_disk(proof, disk):
    daemon = proof.daemon(disk.data).start()

    def check(text, passed, detail=""):
        proof.check(f"{disk.kind}: {text}", passed, detail)

    def check_until(text, holds):
        seconds = until(holds, 8)
        check(text, seconds is not None, told(seconds))

    with daemon.connect() as connection:
        def status():
            return connection.call("storage.status")

        def put(number):
            return connection.call("models.put", namespace="feed", key=f"k{number}", value=f"{number}{VALUE}")

        def low():
            return status()["space"]["low"]

        connection.call("models.configure", namespace="memory", persist=False)
        stored = sum(put(number)["stored"] for number in range(2000))
        check("entries are stored while there is room", stored == 2000, f"{stored} of 2000")
        Child(disk.fill, status()["space"]["minFree"] // 2).result()
        # What wakes the daemon is the next request; nobody has to wait for its own look.
        check_until("another process fills the disk, and it is noticed", low)
        result = put(9999)
        check("nothing is stored then", result == {"stored": False, "reason": "lowStorage"}, str(result))
        memory = connection.call("models.put", namespace="memory", key="k", value=1)
        check("what is in memory only goes on", memory["stored"], str(memory))
        changes = [rooms.put(("s", "d", f"k{number}"), number) for number in range(200)]
        changes += [rooms.put(("d", "c", f"d{number}"), {"n": number}) for number in range(200)]
        refused = sum("error" in connection.ask(method, **params) for method, params, _ in changes)
        check("settings and documents go on", refused == 0, f"{refused} of 400 refused")
        purged = until(lambda: not low() or status()["models"]["count"] == 0, 8)
        space = status()["space"]
        check(
            "caches give up what they have until there is room", purged is not None,
            f"{status()['models']['count']} entries left, {space['free']} bytes free, {space['purgedBytes']} given up")

        def is_full():
            # Whatever the caches have given up meanwhile, the other process takes as well.
            Child(disk.fill, 0).result()
            return low() and not put(9998)["stored"]

        check_until("with not a byte left nothing is stored", is_full)
        disk.release()
        check_until("back to normal by itself", lambda: not low())
        result = put(10000)
        check("and caches store again", result["stored"], str(result))
    time.sleep(0.5)
    daemon.kill()
    daemon.start()
    found = daemon.call("models.get", namespace="feed", key="k10000")["state"]
    check("what was stored then is there after a kill", found != "miss", found)
    count = daemon.call("settings.count", domain="d")["count"]
    check("and so is all that must last", count == 200, f"{count} of 200")
    daemon.stop()
