"""A volume that is full of our own data: filled three times in a row, each time the daemon comes back by deletions alone."""

import os
import sqlite3
import threading
import time

from client import Refused
from disks import Image

# Megabytes of an ext4 for each profile.
SIZES = {"small": 40, "default": 150, "large": 600}
FILLINGS = 3
# Bytes of the two writers' documents.
WRITERS = {"large": 40_000, "short": 2_000}
PATIENCE = float(os.environ.get("PATIENCE", 60))


class Volume(Image):
    def __init__(self, work, megabytes):
        self.SIZES = {"ext4": megabytes << 20}
        super().__init__(work, "ext4")
        self.format()

    @property
    def free(self):
        facts = os.statvfs(self.mount_point)
        return facts.f_bavail * facts.f_frsize


class Filler:
    """Writes documents until there is no room, and keeps what was acknowledged."""

    def __init__(self, daemon, name, filling):
        self.daemon, self.name, self.filling = daemon, name, filling
        self.stored, self.failures = {}, []
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        number, refusals = 0, 0
        with self.daemon.connect(timeout=PATIENCE) as connection:
            # One refusal may be a moment's: what counts is that there is no room for a second.
            since = None
            while since is None or time.monotonic() - since < 1.0:
                key = f"{self.filling}-{number}"
                value = key + "x" * WRITERS[self.name]
                try:
                    connection.call("documents.put", collection=self.name, id=key, value=value)
                    self.stored[key] = len(value)
                    since = None
                    number += 1
                except Refused as error:
                    if error.kind != "noSpace":
                        self.failures.append(str(error))
                        return
                    since = since or time.monotonic()
                    time.sleep(0.02)


def lost(daemon, stored):
    """How many of the documents that were acknowledged are not there as they were written."""
    missing = 0
    with daemon.connect(timeout=PATIENCE) as connection:
        for name, keys in stored.items():
            names = list(keys)
            for start in range(0, len(names), 100):
                some = names[start:start + 100]
                found = connection.call("documents.getMany", collection=name, ids=some)["documents"]
                there = {document["id"]: len(document["value"]) for document in found if "value" in document}
                missing += sum(there.get(key) != keys[key] for key in some)
    return missing


def can_write(connection):
    try:
        connection.call("documents.put", collection="probe", id="p", value={"at": time.monotonic_ns(), "x": "x" * 40_000})
        connection.call("settings.put", domain="probe", key="p", value=time.monotonic_ns())
        return True
    except Refused as error:
        if error.kind != "noSpace":
            raise
        return False


def remove(daemon, stored, filling):
    """Makes room as an operator would, another way each time; returns what was refused of that."""
    refused = []
    with daemon.connect(timeout=PATIENCE) as connection:
        def call(method, **params):
            try:
                return connection.call(method, **params)
            except Refused as error:
                refused.append(f"{method} {error}")
                return None

        call("settings.delete", domain="kept", key="a")
        call("secrets.delete", service="kept", account="a")
        call("blobs.delete", namespace="kept", key="gone")
        call("models.delete", namespace="kept", key="gone")
        if filling == 0:
            names = [key for key in stored["large"]][::2]
            for key in names:
                if call("documents.delete", collection="large", id=key) is not None:
                    del stored["large"][key]
        elif filling == 1:
            names = [key for key in stored["large"]][: len(stored["large"]) // 2]
            for start in range(0, len(names), 200):
                some = names[start:start + 200]
                if call("documents.deleteMany", collection="large", ids=some) is not None:
                    for key in some:
                        del stored["large"][key]
            call("storage.compact")
        else:
            if call("documents.drop", collection="short") is not None:
                stored["short"].clear()
    return refused


def until_writable(daemon):
    begun = time.monotonic()
    with daemon.connect(timeout=PATIENCE) as connection:
        while time.monotonic() - begun < PATIENCE:
            if can_write(connection):
                return time.monotonic() - begun
            time.sleep(0.02)
    return None


def has_blob(daemon):
    with daemon.connect(timeout=PATIENCE) as connection:
        return connection.call("blobs.stat", namespace="kept", key="a")["found"]


def restart_while_full(daemon):
    """Three starts on the full volume; returns what they gave up of the caches' files, which a start has no reason to."""
    was_there, begun = has_blob(daemon), os.path.getsize(daemon.log)
    for number in range(3):
        daemon.kill() if number % 2 else daemon.stop()
        daemon.start()
        deadline = time.monotonic() + 10
        while was_there and not has_blob(daemon) and time.monotonic() < deadline:
            time.sleep(0.02)
    with open(daemon.log, "rb") as log:
        log.seek(begun)
        lines = log.read().decode(errors="replace").splitlines()
    given_up = [line for line in lines if "begin anew" in line or "are forgotten" in line]
    if was_there and not has_blob(daemon):
        given_up.append("the blob is not there")
    return given_up


def what_takes_the_room(daemon, volume):
    with daemon.connect(timeout=PATIENCE) as connection:
        status = connection.call("storage.status")
    sizes = {}
    for folder, _, names in os.walk(volume.data):
        for name in names:
            path = os.path.join(folder, name)
            sizes[os.path.relpath(path, volume.data)] = os.stat(path).st_blocks * 512
    tables = sqlite3.connect(f"file:{volume.data}/durable/kura.sqlite?mode=ro", uri=True)
    pages = [tables.execute(f"PRAGMA {name}_count").fetchone()[0] for name in ("page", "freelist")]
    tables.close()
    largest = sorted(sizes.items(), key=lambda size: -size[1])[:12]
    told = {key: status.get(key) for key in ("rev", "foldedRev", "space", "overlay", "log")}
    return f"{volume.free} bytes free, {pages[1]} of {pages[0]} pages free in the tables, {told}, {largest}"


def one_profile(proof, profile, megabytes):
    report = proof.report
    volume = Volume(proof.work, megabytes)
    daemon = proof.daemon(volume.data, profile)
    daemon.environment["KURA_MIN_FREE_BYTES"] = "0"
    try:
        daemon.start()
        with daemon.connect() as connection:
            for key in ("a", "b"):
                connection.call("settings.put", domain="kept", key=key, value=1)
                connection.call("secrets.put", service="kept", account=key, secret="s")
            for key in ("a", "gone"):
                connection.call("blobs.put", namespace="kept", key=key, data="eHh4eA==")
                connection.call("models.put", namespace="kept", key=key, value=1)
        stored = {name: {} for name in WRITERS}
        for filling in range(FILLINGS):
            tag = f"{profile}, {megabytes} MB, filling {filling + 1}"
            report.progress(tag)
            begun = time.monotonic()
            fillers = [Filler(daemon, name, filling) for name in WRITERS]
            for filler in fillers:
                filler.thread.join()
                stored[filler.name].update(filler.stored)
            took = time.monotonic() - begun
            failures = [failure for filler in fillers for failure in filler.failures]
            with daemon.connect(timeout=PATIENCE) as connection:
                status = connection.call("storage.status")
            folded = f"folded {status['foldedRev']} of {status['rev']}, {volume.free >> 10} KiB free"
            acknowledged = sum(map(len, stored.values()))
            if proof.is_full or filling == 1:
                given_up = restart_while_full(daemon)
                report.check(
                    f"{tag}: three starts on the full volume, and caches keep their files", not given_up, f"{given_up[:1]}")
            refused = remove(daemon, stored, filling)
            seconds = until_writable(daemon)
            missing = lost(daemon, stored)
            report.check(
                f"{tag}: back by deletions alone", not failures and not refused and seconds is not None and missing == 0,
                f"acknowledged {acknowledged}, lost {missing}, writable again after "
                + (f"{seconds:.2f} s" if seconds is not None else "never")
                + f"; full after {took:.1f} s, {folded}; {len(refused)} removals refused {(failures + refused)[:1]}")
            if seconds is None:
                report.note(daemon.last_words(8))
                report.note(what_takes_the_room(daemon, volume))
                break
        daemon.kill()
        daemon.start()
        missing = lost(daemon, stored)
        report.check(f"{profile}, {megabytes} MB: all of it after a kill", missing == 0, f"lost {missing}")
        daemon.stop()
    finally:
        proof.kill_all()
        volume.destroy()


def run(proof):
    for profile, megabytes in SIZES.items():
        if profile in os.environ.get("PROFILES", "small default large").split():
            one_profile(proof, profile, megabytes)
