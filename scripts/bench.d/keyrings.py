"""Kura beside what a desktop stores with: dconf for settings, gnome-keyring for secrets."""

import os
import subprocess
import time
from functools import partial

from contents import pages
from core import heading, in_turns, line, median, p50_p99, seconds_of, timed
from daemon import Daemon
from programs import kura_bench, run

SCHEMA = """<schemalist><schema id="org.kura.bench" path="/org/kura/bench/">
<key name="number" type="i"><default>0</default></key></schema></schemalist>"""
PASSPHRASE = "correct horse battery staple"
VALUE = "v" * 100


def open_session(bench):
    """A D-Bus session and a home of its own, for this process and whatever starts in it: the services that the bus starts write
    there.
    """
    home = bench.work / "home"
    for place in (home, home / "run"):
        place.mkdir(0o700)
    os.environ.update({f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "DATA", "CACHE")})
    os.environ.update(HOME=str(home), XDG_RUNTIME_DIR=str(home / "run"), GSETTINGS_SCHEMA_DIR=str(home), GSETTINGS_BACKEND="dconf")
    bus = bench.stack.enter_context(subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, process_group=0))
    bench.stack.callback(bus.terminate)
    os.environ["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()


def kura(daemon, *words, text=None):
    return run(os.environ["KURA"], *words, "--socket", daemon.socket, input=text).strip()


def compare(count, what, peer, rows):
    """A table of pairs of steps, each pair so many times in turns: the disk is the same for both. A row is asked for when the one
    before is measured.
    """
    heading(f"{count} {what}, one after the other", "Kura p50, p99 µs", f"{peer} p50, p99 µs", "ratio of the medians")
    for name, times, ours, theirs in rows:
        mine, other = in_turns(times, timed(ours), timed(theirs))
        line(name, p50_p99(mine), p50_p99(other), f"{median(other) / median(mine):.3g}")


def settings(daemon, count):
    """Settings: Kura's socket and command, GSettings and dconf's command. Returns GSettings' object."""
    home = os.environ["HOME"]
    with open(os.path.join(home, "org.kura.bench.gschema.xml"), "w") as file:
        file.write(SCHEMA)
    run("glib-compile-schemas", home)
    from gi.repository import Gio

    stored = Gio.Settings.new("org.kura.bench")
    connection = daemon.connect()

    def write(number):
        stored.set_int("number", number + 1)
        Gio.Settings.sync()

    def get(_):
        assert connection.call("settings.get", domain="bench", key="number")["value"] == count

    def read(_):
        assert stored.get_int("number") == count

    def rows():
        yield ("looped client, durable write", count,
               lambda number: connection.call("settings.put", domain="bench", key="number", value=number + 1), write)
        # Else something else than dconf was measured.
        assert run("dconf", "read", "/org/kura/bench/number").strip() == str(count), "GSettings did not write to dconf"
        yield "looped client, read", count, get, read
        few = max(10, count // 10)
        yield ("a process a call, write", few, lambda number: kura(daemon, "settings", "put", "tool", "number", number, "-q"),
               lambda number: run("dconf", "write", "/org/kura/tool/number", number))
        yield ("a process a call, read", few, lambda _: kura(daemon, "settings", "get", "tool", "number"),
               lambda _: run("dconf", "read", "/org/kura/tool/number"))

    compare(count, "calls", "dconf", rows())
    return stored


def growth(daemon, stored, sizes, count=50):
    """What a write costs as more is stored: dconf writes its file anew, Kura appends."""
    from gi.repository import Gio

    connection = daemon.connect()
    print()
    heading("stored beside it, of 100 bytes each", "Kura, durable write, p50 µs", "dconf, durable write, p50 µs", "dconf's file")
    present = 0
    for size in sizes:
        filler = {f"k{number}": VALUE for number in range(present, size)}
        run("dconf", "load", "/org/kura/filler/", input="[/]\n" + "".join(f"{key}='{value}'\n" for key, value in filler.items()))
        for start in range(present, size, 500):
            part = {f"k{number}": VALUE for number in range(start, start + 500)}
            connection.call("settings.putMany", domain="filler", values=part)
        present = size

        def put(number):
            connection.call("settings.put", domain="growth", key="number", value=size * count + number)

        def write(number):
            stored.set_int("number", size * count % 1_000_000 + number + 7)
            Gio.Settings.sync()

        ours, theirs = in_turns(count, timed(put), timed(write))
        file = os.path.getsize(os.path.join(os.environ["XDG_CONFIG_HOME"], "dconf", "user"))
        line(f"{size:,}", f"{median(ours):,.0f}", f"{median(theirs):,.0f}", f"{file / 1024:,.0f} KiB")


def open_keyring(bench):
    """gnome-keyring's default collection; None when it does not come up."""
    import secretstorage

    process = bench.stack.enter_context(subprocess.Popen(
        ["gnome-keyring-daemon", "--foreground", "--components=secrets", "--unlock", "--control-directory", os.environ["HOME"]],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    bench.stack.callback(process.kill)
    process.stdin.write(b"login")
    process.stdin.close()
    for _ in range(600):
        time.sleep(0.05)
        # Who asks before it is up has the bus start another one.
        if not os.path.exists(os.path.join(os.environ["HOME"], "control")):
            continue
        try:
            collection = secretstorage.get_default_collection(secretstorage.dbus_init())
            if not collection.is_locked():
                return collection
        except Exception:  # Not up yet: every error is.
            continue
    return None


def keyring(bench, daemon, count):
    """Looped clients of Kura's socket and of gnome-keyring over D-Bus, and a process a call."""
    collection = open_keyring(bench)
    if not collection:
        print("gnome-keyring did not come up: not measured")
        return
    connection = daemon.connect()

    def attributes(number):
        return {"service": "loop", "account": f"a{number}"}

    def get(number):
        assert connection.call("secrets.get", **attributes(number))["secret"] == VALUE

    def ring_get(number):
        assert next(collection.search_items(attributes(number))).get_secret() == VALUE.encode()

    print()
    compare(count, "secrets", "gnome-keyring", [
        ("looped client, put", count, lambda number: connection.call("secrets.put", **attributes(number), secret=VALUE),
         lambda number: collection.create_item(f"a{number}", attributes(number), VALUE.encode(), True)),
        ("looped client, get", count, get, ring_get),
        ("a process a call, put", 30, lambda number: kura(daemon, "secrets", "put", "tool", f"a{number}", "-q", text=VALUE),
         lambda number: run("secret-tool", "store", "--label", "x", "service", "tool", "account", f"a{number}", input=VALUE)),
        ("a process a call, get", 30, lambda number: kura(daemon, "secrets", "get", "tool", f"a{number}"),
         lambda number: run("secret-tool", "lookup", "service", "tool", "account", f"a{number}"))])


def desktop(bench):
    """Settings beside dconf (by GSettings and by its command), secrets beside gnome-keyring (by the Secret Service's D-Bus
    interface and by secret-tool). COUNT calls one after the other (300). Every write is on the disk when the call is over:
    GSettings is synced after each.
    """
    count = int(bench.number(0, 300))
    open_session(bench)
    daemon = bench.kurad()
    growth(daemon, settings(daemon, count), (1_000, 10_000))
    keyring(bench, daemon, count)


def rates(bench, daemon, keys):
    """Reads and writes of kura-bench: secrets, settings, and Redis."""
    columns = {"secrets": daemon.target, "settings": daemon.target, "Redis": bench.redis(is_durable=True).target}

    def load(name, *options):
        room = ["--room", name] if name != "Redis" else []
        return kura_bench("--target", columns[name], *room, "--keys", keys, *options)

    for name in columns:
        load(name, "--preload", "--seconds", 0.1)
    heading("", "connections", "secrets /s (p50, p99 µs)", "settings /s", "Redis /s", "of settings", "of Redis")
    for mix in ("read", "write"):
        for connections in (1, 8, 64):
            options = ("--mix", mix, "--connections", connections, "--seconds", bench.seconds)
            found = in_turns(bench.rounds, *(partial(load, name, *options) for name in columns))
            secrets, settings, redis = (median(rows, "opsPerSecond") for rows in found)
            line(mix, connections, f"{secrets:,.0f} ({median(found[0], 'p50Us'):.0f}, {median(found[0], 'p99Us'):.0f})",
                 f"{settings:,.0f}", f"{redis:,.0f}", f"{secrets / settings:.2f}", f"{secrets / redis:.2f}")


def many_secrets(bench, count):
    """Many secrets in a store of their own: load, start, unlock, memory, list."""
    place = bench.sockets / "many"
    place.mkdir(0o700)
    daemon = bench.stack.enter_context(Daemon(str(place), str(bench.work / "many")))
    connection = daemon.start().connect(60)
    memory = [daemon.resident()]

    def load():
        for start in range(0, count, 500):
            connection.call("transaction.apply", operations=[
                {"method": "secrets.put", "params": {"service": f"s{n % 100}", "account": f"account {n}", "secret": VALUE}}
                for n in range(start, min(start + 500, count))])

    loading = seconds_of(load)
    memory.append(daemon.resident())
    assert connection.call("secrets.addSlot", kind="passphrase", newPassphrase=PASSPHRASE)["slot"]

    def until_read(step, **params):
        """The time from the step until a secret can be read."""
        begun = time.monotonic()
        step(**params)
        with daemon.connect() as connection:
            while "error" in connection.ask("secrets.get", service="s1", account="account 1"):
                time.sleep(0.001)
        return f"{(time.monotonic() - begun) * 1000:.0f} ms"

    daemon.stop(60)
    readable = until_read(daemon.start, timeout=60)
    connection = daemon.connect(60)
    begun = time.monotonic()
    assert len(pages(connection, "secrets.list", "items", limit=1000)) == count
    listing = time.monotonic() - begun
    unlocked = []
    for passphrase in ({}, {"passphrase": PASSPHRASE}):
        connection.call("secrets.lock")
        unlocked.append(until_read(partial(connection.call, "secrets.unlock"), **passphrase))
    memory.append(daemon.resident())
    daemon.stop(60)
    print()
    heading(f"{count:,} secrets of 100 bytes in 100 services", "")
    line("stored, 500 a transaction", f"{count / loading:,.0f}/s")
    line("memory: empty, when loaded, after a start", ", ".join(f"{size / (1 << 20):.1f}" for size in memory) + " MiB")
    line("start, until it answers", f"{daemon.starts[-1] * 1000:.0f} ms")
    line("start, until a secret can be read", readable)
    line("unlock by the key file, until a secret can be read", unlocked[0])
    line("unlock by a passphrase (Argon2id), until a secret can be read", unlocked[1])
    line("list all, 1,000 a page", f"{listing * 1000:.0f} ms")


def secrets(bench):
    """Secrets beside settings (what sealing costs), Redis (appendfsync always), and gnome-keyring behind libsecret's D-Bus
    interface and secret-tool. Then 10,000 secrets (full: 100,000): load, start, unlock, memory, list.
    """
    count = 100_000 if bench.is_full else 10_000
    open_session(bench)
    daemon = bench.kurad()
    rates(bench, daemon, count)
    keyring(bench, daemon, 300)
    daemon.stop()
    many_secrets(bench, count)
