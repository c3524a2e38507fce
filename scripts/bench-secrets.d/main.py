"""Measures secrets; see scripts/bench-secrets."""
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

KURAD, KURA, BENCH = (os.environ[name] for name in ("KURAD", "KURA", "KURA_BENCH"))
PASSPHRASE = "correct horse battery staple"


class Client:
    """Asks one thing after the other over a Unix socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def call(self, method, **params):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, separators=(",", ":"))
        self.socket.sendall(line.encode() + b"\n")
        answer = json.loads(self.file.readline())
        if "error" in answer:
            raise SystemExit(f"bench-secrets: {method}: {answer['error']}")
        return answer["result"]


class Daemon:
    def __init__(self, directory):
        self.directory, self.path = directory, os.path.join(directory, "s")
        self.start()

    def start(self):
        """Starts it and waits until it answers; returns the seconds that took."""
        begun = time.monotonic()
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [KURAD, "--data-dir", os.path.join(self.directory, "data"), "--socket", self.path], stderr=log)
        while True:
            try:
                Client(self.path).call("storage.ping")
                return time.monotonic() - begun
            except OSError:
                if self.process.poll() is not None or time.monotonic() - begun > 60:
                    raise SystemExit("bench-secrets: the daemon did not start")
                time.sleep(0.001)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(row.split()[1]) / 1024 for row in status if row.startswith("VmRSS"))


def redis(directory):
    path = os.path.join(directory, "redis.sock")
    process = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", path, "--dir", directory, "--appendonly", "yes",
         "--appendfsync", "always", "--save", ""], stdout=subprocess.DEVNULL)
    while not os.path.exists(path):
        time.sleep(0.01)
    return process, path


def load(target, room, mix, connections, seconds, keys, preload=False):
    words = [BENCH, "--target", target, "--mix", mix, "--connections", str(connections), "--seconds", str(seconds),
             "--keys", str(keys), "--json"] + (["--room", room] if room else []) + (["--preload"] if preload else [])
    result = subprocess.run(words, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"bench-secrets: kura-bench: {result.stderr}{result.stdout}")
    return json.loads(result.stdout)


def rates(daemon, redis_path, seconds, rounds, keys):
    kura, peer = f"kura:{daemon.path}", f"redis:{redis_path}"
    columns = {"secrets": (kura, "secrets"), "settings": (kura, "settings"), "Redis": (peer, None)}
    for target, room in columns.values():
        load(target, room, "read", 1, 0.1, keys, preload=True)
    print("| | connections | secrets /s (p50, p99 µs) | settings /s | Redis /s | of settings | of Redis |")
    print("|---|---|---|---|---|---|---|")
    for mix in ("read", "write"):
        for connections in (1, 8, 64):
            found = {name: [] for name in columns}
            for _ in range(rounds):
                for name, (target, room) in columns.items():
                    found[name].append(load(target, room, mix, connections, seconds, keys))

            def median(name, field):
                return statistics.median(row[field] for row in found[name])
            rate = {name: median(name, "opsPerSecond") for name in columns}
            print(f"| {mix} | {connections} | {rate['secrets']:,.0f} ({median('secrets', 'p50Us'):.0f}, "
                  f"{median('secrets', 'p99Us'):.0f}) | {rate['settings']:,.0f} | {rate['Redis']:,.0f} | "
                  f"{rate['secrets'] / rate['settings']:.2f} | {rate['secrets'] / rate['Redis']:.2f} |", flush=True)


def timed(count, step):
    """Median and 99th percentile of `count` calls, in microseconds."""
    spent = []
    for number in range(count):
        begun = time.perf_counter()
        step(number)
        spent.append((time.perf_counter() - begun) * 1e6)
    spent.sort()
    return statistics.median(spent), spent[int(len(spent) * 0.99)]


def keyring(daemon, directory, count):
    """Looped clients: Kura's socket, and gnome-keyring over D-Bus."""
    import secretstorage
    environment = {**os.environ, "HOME": directory, "XDG_DATA_HOME": directory}
    process = subprocess.Popen(
        ["gnome-keyring-daemon", "--foreground", "--components=secrets", "--unlock", "--control-directory", directory],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    process.stdin.write(b"login")
    process.stdin.close()
    try:
        for _ in range(200):
            time.sleep(0.05)
            try:
                bus = secretstorage.dbus_init()
                collection = secretstorage.get_default_collection(bus)
                if not collection.is_locked():
                    break
            except Exception:  # Not up yet: every error is.
                continue
        else:
            print("gnome-keyring did not come up: not measured")
            return
        client = Client(daemon.path)
        value = "v" * 100

        def put(number):
            client.call("secrets.put", service="loop", account=f"a{number}", secret=value)

        def get(number):
            assert client.call("secrets.get", service="loop", account=f"a{number}")["secret"] == value

        def ring_put(number):
            collection.create_item(f"a{number}", {"service": "loop", "account": f"a{number}"}, value.encode(), True)

        def ring_get(number):
            item = next(collection.search_items({"service": "loop", "account": f"a{number}"}))
            assert item.get_secret() == value.encode()

        def tool(words, text=None):
            done = subprocess.run(words, input=text, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return done.stdout
        socket_words = ["--socket", daemon.path]
        rows = [
            ("looped client, put", timed(count, put), timed(count, ring_put)),
            ("looped client, get", timed(count, get), timed(count, ring_get)),
            ("a process a call, put",
             timed(30, lambda n: tool([KURA, "secrets", "put", "tool", f"a{n}", "-q"] + socket_words, value)),
             timed(30, lambda n: tool(["secret-tool", "store", "--label", "x", "service", "tool", "account", f"a{n}"], value))),
            ("a process a call, get",
             timed(30, lambda n: tool([KURA, "secrets", "get", "tool", f"a{n}"] + socket_words)),
             timed(30, lambda n: tool(["secret-tool", "lookup", "service", "tool", "account", f"a{n}"]))),
        ]
        print(f"\n| {count} secrets, one after the other | Kura p50, p99 µs | gnome-keyring p50, p99 µs | ratio of the medians |")
        print("|---|---|---|---|")
        for name, ours, theirs in rows:
            print(f"| {name} | {ours[0]:,.0f}, {ours[1]:,.0f} | {theirs[0]:,.0f}, {theirs[1]:,.0f} | "
                  f"{theirs[0] / ours[0]:.1f} |", flush=True)
    finally:
        process.kill()
        process.wait()


def many(directory, count):
    """Many secrets in a store of their own: load, start, unlock, memory, list."""
    os.mkdir(directory, 0o700)
    daemon = Daemon(directory)
    client = Client(daemon.path)
    empty = daemon.memory()
    begun = time.monotonic()
    for start in range(0, count, 500):
        client.call("transaction.apply", operations=[
            {"method": "secrets.put", "params": {"service": f"s{number % 100}", "account": f"account {number}", "secret": "v" * 100}}
            for number in range(start, min(start + 500, count))])
    loaded = time.monotonic() - begun
    memory = daemon.memory()
    slot = client.call("secrets.addSlot", kind="passphrase", newPassphrase=PASSPHRASE)["slot"]

    def until_read(begun):
        client = Client(daemon.path)
        while True:
            try:
                client.call("secrets.get", service="s1", account="account 1")
                return time.monotonic() - begun
            except SystemExit:
                time.sleep(0.001)
    daemon.stop()
    begun = time.monotonic()
    started = daemon.start()
    readable = until_read(begun)
    client = Client(daemon.path)
    begun = time.monotonic()
    listed, cursor = 0, {}
    while True:
        page = client.call("secrets.list", limit=1000, **cursor)
        listed += len(page["items"])
        if "cursor" not in page:
            break
        cursor = {"cursor": page["cursor"]}
    listing = time.monotonic() - begun
    client.call("secrets.lock")
    begun = time.monotonic()
    client.call("secrets.unlock")
    with_file = until_read(begun)
    client.call("secrets.lock")
    begun = time.monotonic()
    client.call("secrets.unlock", passphrase=PASSPHRASE)
    with_passphrase = until_read(begun)
    restarted = daemon.memory()
    daemon.stop()
    assert listed == count and slot
    print(f"\n| {count:,} secrets of 100 bytes in 100 services | |\n|---|---|")
    for name, figure in [
            ("stored, 500 a transaction", f"{count / loaded:,.0f}/s"),
            ("memory: empty, when loaded, after a start", f"{empty:.1f}, {memory:.1f}, {restarted:.1f} MiB"),
            ("start, until it answers", f"{started * 1000:.0f} ms"),
            ("start, until a secret can be read", f"{readable * 1000:.0f} ms"),
            ("unlock by the key file, until a secret can be read", f"{with_file * 1000:.0f} ms"),
            ("unlock by a passphrase (Argon2id), until a secret can be read", f"{with_passphrase * 1000:.0f} ms"),
            ("list all, 1,000 a page", f"{listing * 1000:.0f} ms"),
    ]:
        print(f"| {name} | {figure} |")


def main():
    seconds, rounds, keys, count = (1, 3, 10_000, 10_000) if sys.argv[1] == "quick" else (3, 5, 100_000, 100_000)
    directory = tempfile.mkdtemp(prefix="kura-secrets-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    server = None
    try:
        os.mkdir(os.path.join(directory, "one"), 0o700)
        daemon = Daemon(os.path.join(directory, "one"))
        server, redis_path = redis(directory)
        rates(daemon, redis_path, seconds, rounds, keys)
        keyring(daemon, directory, 300)
        daemon.stop()
        many(os.path.join(directory, "many"), count)
    finally:
        if server:
            server.kill()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
