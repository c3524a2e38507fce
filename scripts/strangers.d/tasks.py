"""Part tasks: eight at one value, with each client that is here; no increment is lost."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from stranger import PATIENCE, Connection, Daemon, Found, Refused

TASKS = 8
PYTHON = """
import sys, threading, kura
client = kura.connect(sys.argv[1])
each, path = int(sys.argv[2]), sys.argv[1]
faults = []
def work(own):
    try:
        for _ in range(each):
            own.settings["python"].increment("counted")
            own.settings["python"].edit("edited", lambda value: value + 1, default=0)
            own.documents["python"].edit("k", lambda value: value | {"n": value["n"] + 1}, default={"n": 0})
    except Exception as error:
        faults.append(repr(error))
threads = [threading.Thread(target=work, args=(client if at % 2 else kura.connect(path),)) for at in range(8)]
[one.start() for one in threads]
[one.join() for one in threads]
sys.exit("; ".join(faults) or 0)
"""
KURA = """
for _ in 1 2 3 4 5 6; do
    "$KURA" settings increment kura counted -q || exit
    "$KURA" docs increment kura k n -q || exit
done
"""


def raw(path, each):
    """Reads, adds, and writes only where nobody else has written."""
    with Connection(path) as connection:
        for _ in range(each):
            connection.call("settings.increment", domain="raw", key="counted")
            is_written = False
            while not is_written:
                found = connection.call("documents.get", collection="raw", id="k")
                reply = connection.ask("documents.put", collection="raw", id="k", value=(found.get("value") or 0) + 1, ifRev=found["rev"])
                is_written = "result" in reply
                if not is_written and reply["error"]["data"]["kind"] != "conflict":
                    raise Refused(reply["error"])


class Eight:
    """The attempts, one a client; each raises Found when something is lost."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.environment = daemon.environment | {
            "PYTHONPATH": os.path.join(os.getcwd(), "clients/python/src"), "KURA_SOCKET": daemon.socket}

    def ended(self, *command):
        """Starts a program; the function that waits for its end."""
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)

        def wait():
            said = process.communicate(timeout=120)[1]
            if process.returncode:
                raise Found(f"exit {process.returncode}: {said[-600:]}")

        return wait

    def count(self, scope, expected, *keys):
        """Whether the settings, and the document, of a scope have come so far."""
        with self.daemon.connect() as connection:
            found = {key: connection.call("settings.get", domain=scope, key=key).get("value") for key in keys}
            document = connection.call("documents.get", collection=scope, id="k").get("value")
        found["k"] = document["n"] if isinstance(document, dict) else document
        if any(value != expected for value in found.values()):
            raise Found(f"{expected} increments made {found} of {scope}")

    def by_hand(self):
        with ThreadPoolExecutor(TASKS) as pool:
            running = [pool.submit(raw, self.daemon.socket, 60) for _ in range(TASKS)]
        for one in running:
            if one.exception():
                raise Found(str(one.exception()))
        self.count("raw", TASKS * 60, "counted")

    def by_python(self):
        self.ended(sys.executable, "-c", PYTHON, self.daemon.socket, "25")()
        self.count("python", TASKS * 25, "counted", "edited")

    def by_kura(self):
        with self.daemon.connect() as connection:
            connection.call("documents.put", collection="kura", id="k", value={"n": 0})
        for wait in [self.ended("bash", "-c", KURA) for _ in range(TASKS)]:
            wait()
        self.count("kura", TASKS * 6, "counted")

    def by_swift(self, peer, rounds=10):
        names = [f"p{at}" for at in range(TASKS)]
        entry = {"count": 0, "by": {}} | dict.fromkeys(names, 0)
        edited = [f"live-{at}" for at in range(TASKS)]
        with self.daemon.connect() as connection:
            for one in ["count-0", *edited]:
                connection.call("documents.put", collection="shared", id=one, value=entry | {"id": one})
        running = [subprocess.Popen([peer, "hammer", self.daemon.socket, str(at), "1", str(rounds)], env=self.environment, text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE) for at in range(TASKS)]

        def end():
            for one in running:
                one.kill()

        limit = threading.Timer(PATIENCE, end)
        limit.start()
        try:
            # All are ready before the first begins.
            for one in running:
                one.stdout.readline()
            for one in running:
                one.stdin.write(f"go\nfinish {TASKS * rounds}\n")
                one.stdin.flush()
            said = [one.communicate()[0] for one in running]
        finally:
            limit.cancel()
            end()
        with self.daemon.connect() as connection:
            counted, *values = [connection.call("documents.get", collection="shared", id=one)["value"] for one in ["count-0", *edited]]
        if counted["count"] != TASKS * rounds:
            raise Found(f"{TASKS * rounds} increments made {counted['count']}: {said[0][-300:]}")
        for one, value in zip(edited, values):
            if any(value[name] != rounds for name in names):
                raise Found(f"an edit of {one} is lost: {value}")


def tasks(run):
    daemon = Daemon(run.room()).start()
    eight = Eight(daemon)
    clients = {"raw connections": eight.by_hand, "the Python client": eight.by_python, "kura": eight.by_kura}
    left = " (kura-peer is not built: the Swift client is left out)"
    peer = os.path.join(os.path.dirname(os.environ["KURA"]), "kura-peer")
    if os.access(peer, os.X_OK):
        clients["the Swift client"] = lambda: eight.by_swift(peer)
        left = ""
    for name, attempt in clients.items():
        run.guard(attempt, name, run.command())
    daemon.stop()
    return f"{TASKS} tasks each of {', '.join(clients)}{left}"
