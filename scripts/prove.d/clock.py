"""The clock jumps back a day under a running daemon, and between two runs: what has a time neither comes back nor stays.

libfaketime gives the daemon a wall clock of ours; its monotonic clock stays the kernel's.
"""

import datetime
import glob
import time
from pathlib import Path

import rooms
from client import Refused
from daemon import Daemon

NOW, DAY = "+0", "-1d"
TTL = 3


class Clocked(Daemon):
    """A daemon whose clock can be put back and forth."""

    def __init__(self, work, library):
        # The library alters its first process's environment, behind which Swift then looks for the arguments in vain.
        super().__init__(work, options=["--profile", "small"], prefix=["env"])
        self.clock = Path(work, "clock")
        self.environment = {
            "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": self.clock, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        self.jump(NOW)

    def jump(self, offset):
        new = self.clock.with_suffix(".new")
        new.write_text(offset + "\n")
        new.rename(self.clock)

    def restart(self, end, offset):
        """Ends, and starts at another time."""
        end()
        self.jump(offset)
        self.start()


def timed(name, ttl=TTL):
    """What has a time: by what it is called here the item and how long it lives, by the clock that nobody has put back."""
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=ttl)
    expires = moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return {
        "model": (("m", "m", name), {"ttlSeconds": ttl, "staleSeconds": 0}),
        "blob": (("b", "b", name), {"ttlSeconds": ttl}),
        "blob-large": (("b", "b", name + "-large"), {"ttlSeconds": ttl}),
        "secret": (("x", "s", name), {"expiresAt": expires}),
        "secret-survives": (("x", "s", name + "-survives"), {"expiresAt": expires, "accessibility": "afterFirstUnlock"}),
    }


ALL = list(timed(""))


def put(caller, name, ttl=TTL):
    """Puts one of each, by a connection or a daemon."""
    for what, (item, life) in timed(name, ttl).items():
        method, params, _ = rooms.put(item, "aGVs" * 30_000 if what == "blob-large" else "aGVsbG8=", **life)
        caller.call(method, **params)


def shown(caller, name):
    """Which of what `put` has put there is still shown."""
    there = []
    for what, (item, _) in timed(name).items():
        try:
            reply = rooms.fetch(caller, item)
        except Refused as error:
            if error.kind != "sealed":
                raise
            continue
        if reply["state"] != "miss" if what == "model" else reply.get("found") or reply.get("rev"):
            there.append(what)
    return there


def running(proof, daemon):
    """Jumps while the daemon runs."""
    with daemon.connect() as connection:
        put(connection, "young")
        put(connection, "kept", 600)
        first = connection.call("settings.increment", domain="d", key="n", requestKey="once")
        connection.call("settings.configure", domain="loose", durability="relaxed", flushSeconds=1)
        begun = time.monotonic()
        daemon.jump(DAY)
        before = shown(connection, "young")
        late = connection.call("settings.put", domain="loose", key="k", value=1)
        waited = time.monotonic() - begun
        proof.check("what is young stays when the clock jumps back", before == ALL or waited > TTL, str(before))
        time.sleep(max(0, TTL + 1.5 - waited))
        after = shown(connection, "young")
        proof.check(f"and goes when its {TTL} s are over", after == [], f"shown: {after}")
        kept = shown(connection, "kept")
        proof.check("what has time left is there", kept == ALL, str(kept))
        again = connection.call("settings.increment", domain="d", key="n", requestKey="once")
        proof.check("a request's key is known", first == again, f"{first}, {again}")
        synced = connection.call("storage.status")["rev"]
    # The relaxed change outlives a kill -9 (and with it whatever was before it).
    daemon.kill()
    found = daemon.start().call("settings.get", domain="loose", key="k").get("value")
    proof.check("what is relaxed is synced all the same", late["rev"] <= synced and found == 1, f"rev {synced}")


def expired(proof, daemon):
    """What has expired does not come back: not at once, not while locked, not after a kill, not after a clean stop."""
    for name, end in (("running", None), ("killed", daemon.kill), ("stopped", daemon.stop)):
        if end:
            daemon.restart(daemon.kill, NOW)
        daemon.jump(NOW)
        put(daemon, name, 2)
        put(daemon, name + "-last", 600)
        if not end:
            daemon.call("secrets.lock")
        time.sleep(2.5)
        there = shown(daemon, name)
        proof.check(f"{name}: it expires", there == [], f"shown: {there}")
        if end:
            # Its tables are written a moment behind the replies.
            time.sleep(1)
            daemon.restart(end, DAY)
        daemon.jump(DAY)
        there = shown(daemon, name)
        if not end:
            daemon.call("secrets.unlock")
            there += shown(daemon, name)
        proof.check(f"{name}: it does not come back with the clock", there == [], f"shown: {there}")
    # Between two runs too what is young goes on growing old.
    daemon.restart(daemon.kill, NOW)
    put(daemon, "across", 5)
    time.sleep(1)
    daemon.restart(daemon.stop, DAY)
    time.sleep(6)
    there = shown(daemon, "across")
    # What a date was given to ends at that date, as the clock says it when the daemon starts.
    lingering = [what for what in there if not what.startswith("secret")]
    proof.check("what was young before a stop goes when its time is over", lingering == [], f"shown: {there}")


def run(proof):
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    if not found:
        proof.note("skipped: no libfaketime (scripts/bootstrap prove)")
        return
    with Clocked(proof.work, found[0]).start() as daemon:
        running(proof, daemon)
        expired(proof, daemon)
