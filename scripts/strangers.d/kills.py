"""Part kills: writers of every durability, kill -9 in the midst, a start; what was acknowledged is there."""

import threading
import time

from stranger import Connection, Daemon, Ended, Found, Refused

# How each kind writes, and reads what it has written: (method, parameters without the value, method that reads).
KINDS = {
    "durable setting": ("settings.put", {"domain": "strict", "key": "k"}, "settings.get"),
    "relaxed setting": ("settings.put", {"domain": "loose", "key": "k"}, "settings.get"),
    "durable document": ("documents.put", {"collection": "strict", "id": "k"}, "documents.get"),
    "relaxed document": ("documents.put", {"collection": "loose", "id": "k"}, "documents.get"),
    "secret": ("secrets.put", {"service": "s", "account": "k"}, "secrets.get"),
    "transaction": ("transaction.apply", {"domain": "both", "key": "k"}, "settings.get"),
    "model": ("models.put", {"namespace": "m", "key": "k"}, "models.get"),
    "blob": ("blobs.put", {"namespace": "b", "key": "k"}, "blobs.get"),
}


class Writer:
    """Counts upwards in one place, and remembers how far that was acknowledged."""

    def __init__(self, kind):
        self.kind = kind
        self.writes, self.name, self.reads = KINDS[kind]
        self.is_cache = kind in ("model", "blob")
        self.sent = self.acknowledged = 0
        self.fault = None

    def params(self):
        if self.kind == "secret":
            return self.name | {"secret": str(self.sent)}
        if self.kind == "blob":
            return self.name | {"data": f"{self.sent:08d}"}
        params = self.name | {"value": self.sent}
        if self.kind != "transaction":
            return params
        return {"operations": [{"method": "settings.put", "params": params}, {
            "method": "documents.put", "params": {"collection": "both", "id": "k", "value": self.sent}}]}

    def read(self, connection):
        try:
            result = connection.call(self.reads, **self.name)
        except Refused as error:
            if error.kind != "notFound":
                raise
            return 0
        return int(result.get("secret", result.get("data", result.get("value"))) or 0)

    def run(self, path):
        try:
            with Connection(path) as connection:
                while True:
                    self.sent += 1
                    connection.call(self.writes, **self.params())
                    self.acknowledged = self.sent
        except Ended:
            pass
        except (Refused, Found) as error:
            self.fault = error


def kills(run):
    daemon = Daemon(run.room()).start()
    with daemon.connect() as connection:
        connection.call("settings.configure", domain="loose", durability="relaxed", flushSeconds=3600)
        connection.call("documents.configure", collection="loose", durability="relaxed", flushSeconds=3600)
    writers = {kind: Writer(kind) for kind in KINDS}

    def look():
        """How many caches have forgotten their last."""
        lost = 0
        daemon.start()
        with daemon.connect() as connection:
            for kind, writer in writers.items():
                if writer.fault:
                    raise Found(f"{kind}: {writer.fault}")
                found = writer.read(connection)
                is_less = found < writer.acknowledged
                if found > writer.sent or is_less and not writer.is_cache:
                    raise Found(f"{kind}: {found} after kill -9; {writer.acknowledged} was acknowledged, {writer.sent} sent")
                lost += is_less
            both = connection.call("documents.get", collection="both", id="k").get("value")
            pair = writers["transaction"].read(connection)
            if (both or 0) != pair:
                raise Found(f"half of a transaction: {pair} and {both}")
        daemon.alive()
        return lost

    rounds = lost = 0
    while not run.is_late() and rounds < 60:
        rounds += 1
        threads = [threading.Thread(target=writer.run, args=(daemon.socket,)) for writer in writers.values()]
        for thread in threads:
            thread.start()
        time.sleep(run.dice.choice([0.02, 0.1, 0.4, 1.2]))
        daemon.kill()
        for thread in threads:
            thread.join()
        forgotten = run.guard(look, "kill -9", run.command())
        if forgotten is None:
            break
        lost += forgotten
    daemon.kill()
    total = sum(writer.acknowledged for writer in writers.values())
    return f"{rounds} kills, {total:,} acknowledged writes of {len(KINDS)} kinds, {lost} times a cache had forgotten its last"
