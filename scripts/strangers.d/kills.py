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
        self.sent = self.acknowledged = 0
        self.fault = None

    def value(self):
        if self.kind == "secret":
            return {"secret": str(self.sent)}
        if self.kind == "blob":
            return {"data": f"{self.sent:08d}"}
        return {"value": self.sent}

    def read(self, connection):
        _, name, method = KINDS[self.kind]
        try:
            result = connection.call(method, **name)
        except Refused as error:
            if error.kind == "notFound":
                return 0
            raise
        found = result.get("secret", result.get("data", result.get("value")))
        return 0 if found is None else int(found)

    def run(self, path):
        method, name, _ = KINDS[self.kind]
        try:
            with Connection(path) as connection:
                while True:
                    self.sent += 1
                    params = name | self.value()
                    if self.kind == "transaction":
                        params = {"operations": [{"method": "settings.put", "params": params}, {
                            "method": "documents.put", "params": {"collection": "both", "id": "k", "value": self.sent}}]}
                    connection.call(method, **params)
                    self.acknowledged = self.sent
        except Ended:
            pass
        except (Refused, Found) as error:
            self.fault = error


def kills(run):
    work = run.room("kills")
    daemon = Daemon(work).start()
    with daemon.connect() as connection:
        connection.call("settings.configure", domain="loose", durability="relaxed", flushSeconds=3600)
        connection.call("documents.configure", collection="loose", durability="relaxed", flushSeconds=3600)
    writers = [Writer(kind) for kind in KINDS]
    rounds = lost = 0
    while not run.is_late() and rounds < 60:
        rounds += 1
        threads = [threading.Thread(target=writer.run, args=(daemon.socket,)) for writer in writers]
        for thread in threads:
            thread.start()
        time.sleep(run.dice.choice([0.02, 0.1, 0.4, 1.2]))
        daemon.kill()
        for thread in threads:
            thread.join()

        def look():
            nonlocal lost
            daemon.start()
            with daemon.connect() as connection:
                for writer in writers:
                    if writer.fault:
                        raise Found(f"{writer.kind}: {writer.fault}")
                    found = writer.read(connection)
                    is_cache = writer.kind in ("model", "blob")
                    if found > writer.sent or found < writer.acknowledged and not is_cache:
                        raise Found(f"{writer.kind}: {found} after kill -9; {writer.acknowledged} was acknowledged, {writer.sent} sent")
                    lost += is_cache and found < writer.acknowledged
                both = connection.call("documents.get", collection="both", id="k").get("value")
                pair = writers[list(KINDS).index("transaction")].read(connection)
                if int(both or 0) != pair:
                    raise Found(f"half of a transaction: {pair} and {both}")
            daemon.alive()

        if not run.guard(look, "kill -9", f"SEED={run.seed} scripts/strangers {run.seconds} kills"):
            break
    daemon.kill()
    total = sum(writer.acknowledged for writer in writers)
    return f"{rounds} kills, {total:,} acknowledged writes of {len(KINDS)} kinds, {lost} times a cache had forgotten its last"
