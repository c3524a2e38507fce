"""Runs the scenarios and prints the table."""

import json
import os
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import guests

BUDGET = 256 << 20
KEYS = 2000

# name, what it is; rate: the client's rate must stay at 40 %, too.
SCENARIOS = {
    "connections": guests.connections, "connects": guests.connects, "overflow": guests.overflow,
    "never-reads": guests.never_reads, "one-byte": guests.one_byte, "no-newline": guests.no_newline,
    "nested": guests.nested, "members": guests.members, "half-closed": guests.half_closed,
    "mid-request": guests.mid_request, "subscriptions": guests.subscriptions, "descriptors": guests.descriptors,
    "hoard": guests.hoard, "half-lines": guests.trickle_lines, "pipelining": guests.pipelining, "batches": guests.batches,
    "large-reads": guests.large_reads, "large-values": guests.large_values, "many-keys": guests.many_keys,
    "lists": guests.lists, "long-replies": guests.long_replies, "large-lines": guests.large_lines,
    "bulk-writes": guests.bulk_writes,
}


class Daemon:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="kura-crowds-", dir=os.environ.get("TMPDIR", "/var/tmp"))
        self.socket = os.path.join(self.directory, "s")
        config = os.path.join(self.directory, "config.json")
        with open(config, "w") as file:
            json.dump({"limits": {"connections": 12_000, "subscriptions": 65_536, "stallSeconds": 5}}, file)
        self.log = os.path.join(self.directory, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [os.environ["KURAD"], "--data-dir", os.path.join(self.directory, "data"), "--socket", self.socket]
                + ([] if os.environ.get("PLAIN") else ["--config", config]), stdout=log, stderr=log)
        for _ in range(1000):
            try:
                guests.connect(self.socket).close()
                break
            except OSError:
                time.sleep(0.01)

    def call(self, method, params="{}"):
        with guests.connect(self.socket) as client:
            client.sendall(guests.line(method, params))
            return json.loads(guests.read_line(client))["result"]

    def fill(self):
        values = {f"k{n}": "v" * 100 for n in range(1000)}
        self.call("settings.putMany", json.dumps({"domain": "crowd", "values": values}))
        self.call("documents.putMany", json.dumps(
            {"collection": "crowd", "documents": [{"id": key, "value": value} for key, value in values.items()]}))
        with open(os.path.join(self.directory, "export"), "wb") as file, guests.connect(self.socket) as one:
            # What the daemon opens once and keeps.
            socket.send_fds(one, [guests.line("documents.export", '{"collection":"crowd","fd":true}')], [file.fileno()])
            guests.read_line(one)
        self.call("settings.put", json.dumps({"domain": "crowd", "key": "large", "value": "v" * ((1 << 20) - 2)}))

    def resident(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(row.split()[1]) << 10 for row in status if row.startswith("VmRSS"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "killed"
        shutil.rmtree(self.directory, ignore_errors=True)
        return status


def client(daemon, seconds, preload=False):
    """What a well-behaved client gets: settings.get of random keys, one after the other."""
    command = [os.environ["KURA_BENCH"], "--target", f"kura:{daemon.socket}", "--mix", "read", "--keys", str(KEYS),
               "--seconds", str(seconds), "--json"] + (["--preload"] if preload else [])
    result = subprocess.run(command, capture_output=True, text=True)
    # 3: somebody else wrote, which this client does not mind.
    if result.returncode not in (0, 3):
        raise SystemExit(f"crowds: kura-bench failed: {result.stderr}")
    return json.loads(result.stdout)


class Guest:
    """One scenario's attacker in a process of its own."""

    def __init__(self, name, daemon):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--guest", name, daemon.socket], stdout=subprocess.PIPE, stdin=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"crowds: {name}: {self.process.stderr.read()}")

    def end(self):
        try:
            text, errors = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "left hanging", "", 0
        if self.process.returncode:
            return "failed: " + errors.strip().splitlines()[-1], "", 0
        return tuple(json.loads(text.strip().splitlines()[-1]))


def run_guest(name, path):
    stopped = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stopped.set()), daemon=True).start()
    begun = 0

    def ready():
        nonlocal begun
        begun = time.process_time(), time.monotonic()
        print("ready", flush=True)
    guest = guests.burn if name == "burn" else SCENARIOS[name]
    told, figure = guest(path, ready, stopped.is_set)
    spent, passed = time.process_time() - begun[0], time.monotonic() - begun[1]
    print(json.dumps([told, figure, spent / passed]), flush=True)
    # The kernel closes ten thousand sockets faster than Python does.
    os._exit(0)


def run_scenario(name, daemon, seconds, rounds):
    rows = {"alone": [], "control": [], "crowd": []}
    told = figure = ""
    resident = daemon.resident()
    before = daemon.descriptors()
    peak = cpu = 0
    for _ in range(rounds):
        rows["alone"].append(client(daemon, seconds))
        burn = Guest("burn", daemon)
        rows["control"].append(client(daemon, seconds))
        burn.end()
        guest = Guest(name, daemon)
        rows["crowd"].append(client(daemon, seconds))
        peak = max(peak, daemon.resident())
        told, figure, cpu = guest.end()
        time.sleep(0.3)
    for _ in range(40):
        if daemon.descriptors() <= before and daemon.resident() < resident + (8 << 20):
            break
        time.sleep(0.1)
    after, left = daemon.resident(), daemon.descriptors()

    def median(kind, field):
        return statistics.median(row[field] for row in rows[kind])
    alone, control, crowd = (median(kind, "p99Us") for kind in rows)
    share = median("crowd", "opsPerSecond") / median("alone", "opsPerSecond")
    short = []
    if crowd > 2 * max(alone, control):
        short.append("p99")
    if share < 0.4 and name == "pipelining":
        short.append("rate")
    if peak - resident > BUDGET * 1.25:
        short.append("memory")
    if left > before + 4:
        short.append("descriptors")
    if not told or told.startswith(("left hanging", "failed")) or " 0 left" not in figure and "left hanging" in figure:
        short.append("told")
    return {
        "name": name, "alone": alone, "control": control, "crowd": crowd, "worst": median("crowd", "maxUs"),
        "share": share, "resident": resident >> 20,
        "peak": peak >> 20, "after": after >> 20, "before": before, "left": left, "told": told, "figure": figure,
        "cpu": cpu, "short": short,
    }


def table(rows, buffers, command, seconds, rounds):
    """The rows as Markdown, with what they were measured by."""
    lines = [
        f"`{command}` on {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, medians of {rounds} × {seconds} s each.", "",
        "| guests | told | p99 alone, control, crowd (µs) | of the greater | worst (ms) | memory before, at most, after (MiB) | |",
        "|---|---|---|---|---|---|---|"]
    for row in rows:
        what = " ".join(SCENARIOS[row["name"]].__doc__.split()).rstrip(".")
        figure = f" ({row['figure']})" if row["figure"] else ""
        share = f", rate {row['share']:.0%} of alone" if row["name"] == "pipelining" else ""
        verdict = "**short: " + ", ".join(row["short"]) + "**" if row["short"] else "within"
        lines.append(
            f"| `{row['name']}`: {what}{figure} | {row['told']} | {row['alone']:.0f}, {row['control']:.0f}, "
            f"{row['crowd']:.0f} | {row['crowd'] / max(row['alone'], row['control']):.1f} × | {row['worst'] / 1000:.1f} "
            f"| {row['resident']}, {row['peak']}, {row['after']} | {verdict}{share} |")
    if buffers:
        lines += ["", f"All buffers together held {buffers['peakBytes']:,} bytes at most, of {buffers['limit']:,}; "
                  f"{buffers['overloaded']:,} requests and lines were refused, {buffers['turnedAway']:,} connections turned "
                  f"away, {buffers['closed']} closed, {buffers['descriptorsLost']:,} descriptors given up."]
    return "\n".join(lines) + "\n"


def write_table(text):
    """Puts the table into the document, between its marks."""
    path = os.path.join(os.path.dirname(__file__), "../../proto-docs/reliability.md")
    begin, end = "<!-- crowds: written by scripts/crowds -->\n", "<!-- crowds end -->\n"
    with open(path) as file:
        document = file.read()
    head, rest = document.split(begin)
    with open(path, "w") as file:
        file.write(head + begin + text + end + rest.split(end)[1])


def main():
    if sys.argv[1:2] == ["--guest"]:
        return run_guest(sys.argv[2], sys.argv[3])
    words = [word for word in sys.argv[1:] if word != "--write"]
    mode = words.pop(0) if words and words[0] in ("quick", "full", "list") else "quick"
    unknown = [word for word in words if word not in SCENARIOS]
    if mode == "list" or unknown:
        for name, guest in SCENARIOS.items():
            print(f"{name:<14}{guest.__doc__}")
        return 2 if unknown else 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 13_000:
        raise SystemExit("crowds: needs an open-files limit of 13,000")
    seconds, rounds = (1, 3) if mode == "quick" else (3, 5)
    daemon = Daemon()
    failed = 0
    rows, buffers = [], None
    try:
        daemon.fill()
        client(daemon, seconds, preload=True)
        print(f"p99 of settings.get, µs, medians of {rounds} × {seconds} s; the worst one in the crowd, ms; "
              "daemon's memory in MiB\n")
        print(f"{'scenario':<14}{'alone':>7}{'control':>9}{'crowd':>9}{'ratio':>7}{'of ctrl':>8}{'rate':>6}"
              f"{'worst':>8}{'RSS':>6}{'peak':>6}{'after':>6}{'fds':>6}{'after':>6}  {'guest':<30} told")
        for name in words or SCENARIOS:
            row = run_scenario(name, daemon, seconds, rounds)
            rows.append(row)
            verdict = "SHORT " + ",".join(row["short"]) if row["short"] else "within"
            failed += bool(row["short"])
            print(f"{name:<14}{row['alone']:>7.0f}{row['control']:>9.0f}{row['crowd']:>9.0f}"
                  f"{row['crowd'] / row['alone']:>7.2f}{row['crowd'] / row['control']:>8.2f}{row['share']:>6.0%}"
                  f"{row['worst'] / 1000:>8.1f}{row['resident']:>6}{row['peak']:>6}{row['after']:>6}{row['before']:>6}{row['left']:>6}"
                  f"  {row['figure'] + ', ' if row['figure'] else ''}{row['cpu']:.0%} CPU: {row['told']}: {verdict}",
                  flush=True)
        try:
            buffers = daemon.call("storage.status")["buffers"]
            print("\nbuffers:", json.dumps(buffers))
            if buffers["peakBytes"] > buffers["limit"]:
                print("SHORT: the buffers went over their bound")
                failed += 1
        except KeyError:
            pass
        if os.environ.get("SHOW_LOG"):
            print(open(daemon.log).read())
    finally:
        status = daemon.end()
    if status != 0:
        print(f"SHORT: the daemon ended with {status}")
        failed += 1
    print(f"{len(words or SCENARIOS) - failed} within, {failed} short")
    if "--write" in sys.argv:
        write_table(table(rows, buffers, "scripts/crowds " + " ".join([mode] + words), seconds, rounds))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
