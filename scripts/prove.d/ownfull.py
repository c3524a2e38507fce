"""A volume that is full of our own data: filled three times in a row, each time the daemon comes back by deletions alone."""

import time
from concurrent.futures import ThreadPoolExecutor

import contents
import rooms
from client import Refused
from proof import has_room, told, until

# Megabytes of an ext4 for each profile.
SIZES = {"small": 40, "default": 150, "large": 600}
FILLINGS = 3
# Bytes of the two writers' documents.
WRITERS = {"large": 40_000, "short": 2_000}
PATIENCE = 60.0


def fill(daemon, name, stored, filling):
    """Writes documents until there is no room, their lengths by id to `stored`; returns failures."""
    with daemon.connect(PATIENCE) as connection:
        # One refusal may be a moment's: what counts is that there is no room for a second.
        since = None
        while since is None or time.monotonic() - since < 1.0:
            key = f"{filling}-{len(stored)}"
            value = key + "x" * WRITERS[name]
            try:
                connection.call("documents.put", collection=name, id=key, value=value)
                stored[key], since = len(value), None
            except Refused as error:
                if error.kind != "noSpace":
                    return [str(error)]
                since = since or time.monotonic()
                time.sleep(0.02)
    return []


def lost(daemon, stored):
    """How many of the documents that were acknowledged are not there as they were written."""
    missing = 0
    with daemon.connect(PATIENCE) as connection:
        for name, lengths in stored.items():
            found = contents.pages(connection, "documents.list", "documents", collection=name)
            there = {document["id"]: len(document["value"]) for document in found}
            missing += sum(there.get(key) != length for key, length in lengths.items())
    return missing


def remove(daemon, stored, filling):
    """Makes room as an operator would, another way each time; returns what was refused of that."""
    kept = [("s", "kept", "a"), ("x", "kept", "a"), ("b", "kept", "gone"), ("m", "kept", "gone")]
    large, refused = list(stored["large"]), []
    half = large[: len(large) // 2]
    parts = [half[at : at + 200] for at in range(0, len(half), 200)]
    # Methods, params, and the documents that are gone then.
    ways = [
        [(*rooms.delete(("d", "large", key))[:2], [key]) for key in large[::2]],
        [("documents.deleteMany", {"collection": "large", "ids": part}, part) for part in parts] + [("storage.compact", {}, [])],
        [("documents.drop", {"collection": "short"}, list(stored["short"]))],
    ]
    with daemon.connect(PATIENCE) as connection:
        for method, params, gone in [(*rooms.delete(item)[:2], []) for item in kept] + ways[filling]:
            try:
                connection.call(method, **params)
                for key in gone:
                    del stored[params["collection"]][key]
            except Refused as error:
                refused.append(f"{method} {error}")
    return refused


def restart_while_full(daemon):
    """Three starts on the full volume; returns what they gave up of the caches' files, which a start has no reason to."""
    def has_blob():
        return daemon.call("blobs.stat", namespace="kept", key="a")["found"]

    was_there, given_up = has_blob(), []
    for number in range(3):
        daemon.kill() if number % 2 else daemon.stop()
        daemon.start()
        if was_there and until(has_blob, 10) is None:
            given_up.append("the blob is not there")
        given_up += [line for line in daemon.lines() if "begin anew" in line or "are forgotten" in line]
    return given_up


def fill_and_remove(proof, daemon, disk, stored, filling, tag):
    """Returns whether the volume takes changes again."""
    begun = time.monotonic()
    with ThreadPoolExecutor() as pool:
        failures = sum(pool.map(lambda name: fill(daemon, name, stored[name], filling), WRITERS), [])
    took = time.monotonic() - begun
    status = daemon.call("storage.status")
    folded = f"folded {status['foldedRev']} of {status['rev']}, {disk.free >> 10} KiB free"
    acknowledged = sum(map(len, stored.values()))
    if proof.is_full or filling == 1:
        given_up = restart_while_full(daemon)
        proof.check(f"{tag}: three starts on the full volume, and caches keep their files", not given_up, f"{given_up[:1]}")
    refused = remove(daemon, stored, filling)
    seconds = until(lambda: has_room(daemon, WRITERS["large"]), PATIENCE)
    missing = lost(daemon, stored)
    proof.check(
        f"{tag}: back by deletions alone", not failures and not refused and seconds is not None and missing == 0,
        f"acknowledged {acknowledged}, lost {missing}, writable again {told(seconds)}; full after {took:.1f} s, {folded}; "
        f"{len(refused)} removals refused {(failures + refused)[:1]}")
    if seconds is None:
        proof.note(daemon.last_words(8))
        proof.note(f"{disk.free} bytes free, {daemon.call('storage.status')}")
    return seconds is not None


def run(proof):
    for profile, megabytes in SIZES.items():
        with proof.disk("ext4", megabytes) as disk:
            one_profile(proof, profile, f"{profile}, {megabytes} MB", disk)


def one_profile(proof, profile, tag, disk):
    daemon = proof.daemon(disk.data, profile, environment={"KURA_MIN_FREE_BYTES": "0"}).start()
    for key in ("a", "b"):
        daemon.call("settings.put", domain="kept", key=key, value=1)
        daemon.call("secrets.put", service="kept", account=key, secret="s")
    for key in ("a", "gone"):
        daemon.call("blobs.put", namespace="kept", key=key, data="eHh4eA==")
        daemon.call("models.put", namespace="kept", key=key, value=1)
    stored = {name: {} for name in WRITERS}
    for filling in proof.rounds(FILLINGS, f"{profile}, filling"):
        if not fill_and_remove(proof, daemon, disk, stored, filling, f"{tag}, filling {filling + 1}"):
            break
    daemon.kill()
    daemon.start()
    missing = lost(daemon, stored)
    proof.check(f"{tag}: all of it after a kill", missing == 0, f"lost {missing}")
    daemon.stop()
