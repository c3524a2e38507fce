"""Measures what a desktop stores with; see scripts/bench-desktop."""
import importlib.util
import os
import subprocess
import sys

# The keyring is measured by the script that measures secrets.
PLACE = os.path.join(os.path.dirname(__file__), "..", "bench-secrets.d", "main.py")
SPECIFICATION = importlib.util.spec_from_file_location("bench_secrets", PLACE)
secrets = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(secrets)

SCHEMA = """<schemalist><schema id="org.kura.bench" path="/org/kura/bench/">
<key name="number" type="i"><default>0</default></key></schema></schemalist>"""


def in_turns(count, ours, theirs):
    """Median and 99th percentile of both, in microseconds, call by call in turns: the disk is the same for both."""
    spent = []
    for number in range(count):
        spent.append([secrets.timed(1, lambda _: step(number))[0] for step in (ours, theirs)])
    columns = [sorted(column) for column in zip(*spent)]
    return [(secrets.statistics.median(column), column[int(len(column) * 0.99)]) for column in columns]


def settings(daemon, home, count):
    """Settings: Kura's socket and command, GSettings and dconf's command."""
    with open(os.path.join(home, "org.kura.bench.gschema.xml"), "w") as file:
        file.write(SCHEMA)
    subprocess.run(["glib-compile-schemas", home], check=True)
    from gi.repository import Gio

    stored = Gio.Settings.new("org.kura.bench")
    client = secrets.Client(daemon.path)

    def write(number):
        stored.set_int("number", number + 1)
        Gio.Settings.sync()

    def tool(words):
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def put(number):
        client.call("settings.put", domain="bench", key="number", value=number + 1)

    def get(number):
        assert client.call("settings.get", domain="bench", key="number")["value"] == count

    def read(number):
        assert stored.get_int("number") == count

    rows = [("looped client, durable write", *in_turns(count, put, write))]
    # Else something else than dconf was measured.
    assert tool(["dconf", "read", "/org/kura/bench/number"]) == str(count), "GSettings did not write to dconf"
    rows.append(("looped client, read", *in_turns(count, get, read)))
    few = max(10, count // 10)
    where = ["--socket", daemon.path]
    rows += [
        ("a process a call, write", *in_turns(
            few, lambda n: tool([secrets.KURA, "settings", "put", "tool", "number", str(n), "-q", *where]),
            lambda n: tool(["dconf", "write", "/org/kura/tool/number", str(n)]))),
        ("a process a call, read", *in_turns(
            few, lambda n: tool([secrets.KURA, "settings", "get", "tool", "number", *where]),
            lambda n: tool(["dconf", "read", "/org/kura/tool/number"]))),
    ]
    print(f"| {count} calls, one after the other | Kura p50, p99 µs | dconf p50, p99 µs | ratio of the medians |")
    print("|---|---|---|---|")
    for name, ours, theirs in rows:
        print(f"| {name} | {ours[0]:,.0f}, {ours[1]:,.0f} | {theirs[0]:,.0f}, {theirs[1]:,.0f} | {theirs[0] / ours[0]:.2g} |", flush=True)
    return stored


def growth(daemon, home, stored, sizes, count=50):
    """What a write costs as more is stored: dconf writes its file anew, Kura appends."""
    from gi.repository import Gio, GLib

    client = secrets.Client(daemon.path)
    present = 0
    print("\n| stored beside it, of 100 bytes each | Kura, durable write, p50 µs | dconf, durable write, p50 µs | dconf's file |")
    print("|---|---|---|---|")
    for size in sizes:
        lines = "[/]\n" + "".join(f"k{number}='{'v' * 100}'\n" for number in range(present, size))
        subprocess.run(["dconf", "load", "/org/kura/filler/"], input=lines, text=True, check=True)
        for begin in range(present, size, 500):
            client.call("settings.putMany", domain="filler", values={f"k{n}": "v" * 100 for n in range(begin, min(begin + 500, size))})
        present = size

        def put(number):
            client.call("settings.put", domain="growth", key="number", value=size * count + number)

        def write(number):
            stored.set_int("number", size * count % 1_000_000 + number + 7)
            Gio.Settings.sync()

        ours, theirs = in_turns(count, put, write)
        bytes = os.path.getsize(os.path.join(os.environ["XDG_CONFIG_HOME"], "dconf", "user"))
        print(f"| {size:,} | {ours[0]:,.0f} | {theirs[0]:,.0f} | {bytes / 1024:,.0f} KiB |", flush=True)


def main():
    home, count = sys.argv[1], int(sys.argv[2])
    place = os.path.join(home, "kura")
    os.mkdir(place, 0o700)
    daemon = secrets.Daemon(place)
    try:
        stored = settings(daemon, home, count)
        growth(daemon, home, stored, (1_000, 10_000))
        secrets.keyring(daemon, home, count)
    finally:
        daemon.stop()


if __name__ == "__main__":
    sys.exit(main())
