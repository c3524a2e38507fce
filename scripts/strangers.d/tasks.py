"""Part tasks: eight at one value, with each client that is here; no increment is lost."""

import os
import subprocess
import sys
import threading

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


def raw(path, each):
    """Reads, adds, and writes only where nobody else has written."""
    with Connection(path) as connection:
        for _ in range(each):
            connection.call("settings.increment", domain="raw", key="counted")
            while True:
                found = connection.call("documents.get", collection="raw", id="k")
                try:
                    connection.call("documents.put", collection="raw", id="k", value=int(found.get("value") or 0) + 1, ifRev=found["rev"])
                    break
                except Refused as error:
                    if error.kind != "conflict":
                        raise


def tasks(run):
    work = run.room("tasks")
    daemon = Daemon(work).start()
    environment = daemon.environment | {"PYTHONPATH": os.path.join(os.getcwd(), "clients/python/src"), "KURA_SOCKET": daemon.socket}

    def count(method, params, expected):
        with daemon.connect() as connection:
            found = connection.call(method, **params).get("value")
        found = found["n"] if isinstance(found, dict) else found
        if found is None or int(found) != expected:
            raise Found(f"{expected} increments made {found} of {params}")

    def by_hand():
        faults = []

        def one():
            try:
                raw(daemon.socket, 60)
            except (Found, Refused) as error:
                faults.append(error)

        threads = [threading.Thread(target=one) for _ in range(TASKS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if faults:
            raise Found(str(faults[0]))
        count("settings.get", {"domain": "raw", "key": "counted"}, TASKS * 60)
        count("documents.get", {"collection": "raw", "id": "k"}, TASKS * 60)

    def by_python():
        ended = subprocess.run([sys.executable, "-c", PYTHON, daemon.socket, "25"], env=environment, capture_output=True, text=True, timeout=120,
                               check=False)
        if ended.returncode:
            raise Found(f"exit {ended.returncode}: {ended.stderr[-600:]}")
        count("settings.get", {"domain": "python", "key": "counted"}, TASKS * 25)
        count("settings.get", {"domain": "python", "key": "edited"}, TASKS * 25)
        count("documents.get", {"collection": "python", "id": "k"}, TASKS * 25)

    def by_kura():
        with daemon.connect() as connection:
            connection.call("documents.put", collection="kura", id="k", value={"n": 0})
        script = ('for _ in 1 2 3 4 5 6; do "$KURA" settings increment kura counted -q || exit; '
                  '"$KURA" docs increment kura k n -q || exit; done')
        running = [subprocess.Popen(["bash", "-c", script], env=environment, stderr=subprocess.PIPE, text=True) for _ in range(TASKS)]
        for one in running:
            _, said = one.communicate(timeout=120)
            if one.returncode:
                raise Found(f"exit {one.returncode}: {said[-300:]}")
        count("settings.get", {"domain": "kura", "key": "counted"}, TASKS * 6)
        count("documents.get", {"collection": "kura", "id": "k"}, TASKS * 6)

    peer = os.path.join(os.path.dirname(os.environ["KURA"]), "kura-peer")

    def by_swift():
        rounds = 10
        names = [f"p{at}" for at in range(8)]
        entry = {"count": 0, "by": {}} | dict.fromkeys(names, 0)
        with daemon.connect() as connection:
            for one in ["count-0"] + [f"live-{at}" for at in range(8)]:
                connection.call("documents.put", collection="shared", id=one, value=entry | {"id": one})
        running = [subprocess.Popen([peer, "hammer", daemon.socket, str(at), "1", str(rounds)], env=environment, text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE) for at in range(TASKS)]
        threads = [threading.Timer(PATIENCE, one.kill) for one in running]
        try:
            for thread in threads:
                thread.start()
            said = [one.stdout.readline() for one in running]
            for one in running:
                one.stdin.write(f"go\nfinish {TASKS * rounds}\n")
                one.stdin.flush()
            said = [one.communicate()[0] for one in running]
        finally:
            for thread, one in zip(threads, running):
                thread.cancel()
                one.kill()
                one.wait()
        with daemon.connect() as connection:
            counted = connection.call("documents.get", collection="shared", id="count-0")["value"]["count"]
            if int(counted) != TASKS * rounds:
                raise Found(f"{TASKS * rounds} increments made {counted}: {said[0][-300:]}")
            for at in range(8):
                value = connection.call("documents.get", collection="shared", id=f"live-{at}")["value"]
                if any(int(value[name]) != rounds for name in names):
                    raise Found(f"an edit of live-{at} is lost: {value}")

    clients = {"raw connections": by_hand, "the Python client": by_python, "kura": by_kura}
    if os.access(peer, os.X_OK):
        clients["the Swift client"] = by_swift
    for name, attempt in clients.items():
        run.guard(attempt, name, f"scripts/strangers {run.seconds:g} tasks")
    daemon.stop()
    left = "" if "the Swift client" in clients else " (kura-peer is not built: the Swift client is left out)"
    return f"{TASKS} tasks each of {', '.join(clients)}{left}"
