"""The clock jumps back a day under a running daemon, and between two runs: what has a time neither comes back nor stays.

libfaketime gives the daemon a wall clock of ours; its monotonic clock stays the kernel's.
"""

import datetime
import glob
import os
import time

from client import Refused

DAY = "-1d"
TTL = 3


def library():
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    return found[0] if found else None


class Clock:
    def __init__(self, daemon):
        self.path = os.path.join(daemon.work, "clock")
        self.offset = 0
        self.set("+0")
        # The library alters its first process's environment, behind which Swift then looks for the arguments in vain.
        daemon.prefix = ["env"]
        daemon.environment = {
            "LD_PRELOAD": library(), "FAKETIME_TIMESTAMP_FILE": self.path, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def set(self, offset):
        with open(self.path + ".new", "w") as file:
            file.write(offset + "\n")
        os.rename(self.path + ".new", self.path)


def stamp(seconds):
    """Now and so many seconds, by the clock that nobody has put back."""
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def put(connection, name, ttl=TTL):
    connection.call("models.put", namespace="m", key=name, value=name, ttlSeconds=ttl, staleSeconds=0)
    connection.call("blobs.put", namespace="b", key=name, data="aGVsbG8=", ttlSeconds=ttl)
    connection.call("blobs.put", namespace="b", key=name + "-large", data="aGVs" * 30_000, ttlSeconds=ttl)
    connection.call("secrets.put", service="s", account=name, secret=name, expiresAt=stamp(ttl))
    connection.call(
        "secrets.put", service="s", account=name + "-survives", secret=name, expiresAt=stamp(ttl),
        accessibility="afterFirstUnlock")


def shown(connection, name, only=None):
    """Which of what `put` has put there is still shown."""
    there = []
    if connection.call("models.get", namespace="m", key=name)["state"] != "miss":
        there.append("model")
    for key in (name, name + "-large"):
        if connection.call("blobs.get", namespace="b", key=key)["found"]:
            there.append("blob" + key[len(name):])
    for account in (name, name + "-survives"):
        try:
            if connection.call("secrets.get", service="s", account=account)["rev"]:
                there.append("secret" + account[len(name):])
        except Refused as error:
            if error.kind != "sealed":
                raise
    return there


ALL = ["model", "blob", "blob-large", "secret", "secret-survives"]


def running(proof, daemon, clock):
    """Jumps while the daemon runs."""
    report = proof.report
    with daemon.connect() as connection:
        put(connection, "young")
        put(connection, "kept", 600)
        first = connection.call("settings.increment", domain="d", key="n", requestKey="once")
        connection.call("settings.configure", domain="loose", durability="relaxed", flushSeconds=1)
        begun = time.monotonic()
        clock.set(DAY)
        before = shown(connection, "young")
        late = connection.call("settings.put", domain="loose", key="k", value=1)
        waited = time.monotonic() - begun
        report.check("what is young stays when the clock jumps back", before == ALL or waited > TTL, str(before))
        time.sleep(max(0, TTL + 1.5 - waited))
        after = shown(connection, "young")
        report.check(f"and goes when its {TTL} s are over", after == [], f"shown: {after}")
        report.check("what has time left is there", shown(connection, "kept") == ALL, str(shown(connection, "kept")))
        again = connection.call("settings.increment", domain="d", key="n", requestKey="once")
        report.check("a request's key is known", first == again, f"{first}, {again}")
        synced = connection.call("storage.status")["rev"]
        report.check(
            "what is relaxed is synced all the same", late["rev"] <= synced and loose_is_durable(daemon), f"rev {synced}")


def loose_is_durable(daemon):
    """The relaxed change outlives a kill -9 (and with it whatever was before it)."""
    daemon.kill()
    daemon.start()
    with daemon.connect() as connection:
        return connection.call("settings.get", domain="loose", key="k").get("value") == 1


def expired(proof, daemon, clock):
    """What has expired does not come back: not at once, not while locked, not after a kill, not after a clean stop."""
    report = proof.report
    clock.set("+0")
    for name, end in (("running", None), ("killed", daemon.kill), ("stopped", daemon.stop)):
        if end:
            daemon.kill()
            clock.set("+0")
            daemon.start()
        with daemon.connect() as connection:
            put(connection, name, 2)
            put(connection, name + "-last", 600)
            if name == "running":
                connection.call("secrets.lock")
            time.sleep(2.5)
            there = shown(connection, name)
            report.check(f"{name}: it expires", there == [], f"shown: {there}")
            if not end:
                clock.set(DAY)
        if end:
            # Its tables are written a moment behind the replies.
            time.sleep(1)
            end()
            clock.set(DAY)
            daemon.start()
        with daemon.connect() as connection:
            there = shown(connection, name)
            if name == "running":
                connection.call("secrets.unlock")
                there += shown(connection, name)
            report.check(f"{name}: it does not come back with the clock", there == [], f"shown: {there}")
    # Between two runs too what is young goes on growing old.
    daemon.kill()
    clock.set("+0")
    daemon.start()
    with daemon.connect() as connection:
        put(connection, "across", 5)
        time.sleep(1)
    daemon.stop()
    clock.set(DAY)
    daemon.start()
    time.sleep(6)
    with daemon.connect() as connection:
        there = shown(connection, "across")
    # What a date was given to ends at that date, as the clock says it when the daemon starts.
    lingering = [what for what in there if not what.startswith("secret")]
    report.check("what was young before a stop goes when its time is over", lingering == [], f"shown: {there}")


def run(proof):
    if library() is None:
        proof.report.note("skipped: no libfaketime (apt-get install faketime)")
        return
    daemon = proof.daemon(proof.directory("data"))
    clock = Clock(daemon)
    daemon.start()
    running(proof, daemon, clock)
    expired(proof, daemon, clock)
    daemon.kill()
