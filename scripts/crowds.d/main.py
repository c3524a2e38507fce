"""Runs the scenarios and prints the table."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from daemon import Daemon
from guests import SCENARIOS, Visit, burn

BUDGET = 256 << 20
# What the daemon is configured with.
LIMITS = {"connections": 12_000, "subscriptions": 65_536, "stallSeconds": 5}
DOCUMENT = os.path.join(os.path.dirname(__file__), "../../proto-docs/reliability.md")
# Words before the daemon and the client, so that the kernel runs them before all others.
AHEAD = ["chrt", "--fifo", "1"] if "--ahead" in sys.argv else []


def fill(daemon):
    """What the guests ask for."""
    values = {f"k{n}": "v" * 100 for n in range(1000)}
    documents = [{"id": key, "value": value} for key, value in values.items()]
    with daemon.connect() as connection, tempfile.TemporaryFile() as file:
        connection.call("settings.putMany", domain="crowd", values=values)
        connection.call("settings.put", domain="crowd", key="large", value="v" * ((1 << 20) - 2))
        connection.call("documents.putMany", collection="crowd", documents=documents)
        # What the daemon opens once and keeps.
        connection.call("documents.export", [file.fileno()], collection="crowd", fd=True)


def client(daemon, seconds, *options):
    """What a well-behaved client gets: settings.get of random keys, one after the other."""
    command = [*AHEAD, os.environ["KURA_BENCH"], "--target", f"kura:{daemon.socket}", "--mix", "read", "--keys", "2000", "--seconds",
               str(seconds), "--json", *options]
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
        """What it was told, a figure of its own, and the part of a core that it took."""
        try:
            text, errors = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "left hanging", "", 0
        if self.process.returncode:
            return "failed: " + errors.strip().splitlines()[-1], "", 0
        return tuple(json.loads(text.strip().splitlines()[-1]))


def be_guest(name, path):
    visit = Visit(path)
    threading.Thread(target=lambda: (sys.stdin.read(), visit.stopped.set()), daemon=True).start()
    figure = SCENARIOS.get(name, burn)(visit)
    print(json.dumps(["; ".join(visit.told), figure, visit.load()]), flush=True)
    # The kernel closes ten thousand sockets faster than Python does.
    os._exit(0)


def run_scenario(name, daemon, seconds, rounds):
    """The row of the table, by column."""
    rounds_of = {"alone": [], "control": [], "crowd": []}
    resident, before = daemon.resident(), daemon.descriptors()
    peak = 0
    for _ in range(rounds):
        rounds_of["alone"].append(client(daemon, seconds))
        control = Guest("burn", daemon)
        rounds_of["control"].append(client(daemon, seconds))
        control.end()
        guest = Guest(name, daemon)
        rounds_of["crowd"].append(client(daemon, seconds))
        peak = max(peak, daemon.resident())
        told, figure, cpu = guest.end()
        time.sleep(0.3)
    for _ in range(40):
        if daemon.descriptors() <= before and daemon.resident() < resident + (8 << 20):
            break
        time.sleep(0.1)

    def median(kind, field):
        return statistics.median(one[field] for one in rounds_of[kind])
    row = {kind: median(kind, "p99Us") for kind in rounds_of} | {
        "name": name, "told": told, "figure": figure, "cpu": cpu, "worst": median("crowd", "maxUs") / 1000,
        "share": median("crowd", "opsPerSecond") / median("alone", "opsPerSecond"), "resident": resident >> 20,
        "peak": peak >> 20, "after": daemon.resident() >> 20, "before": before, "left": daemon.descriptors()}
    fails = {
        "p99": row["crowd"] > 2 * max(row["alone"], row["control"]),
        # The client's rate must stay at 40 %, too.
        "rate": name == "pipelining" and row["share"] < 0.4,
        "memory": peak - resident > BUDGET * 1.25,
        "descriptors": row["left"] > before + 4,
        "told": not told or told.startswith(("left hanging", "failed")) or "left hanging" in figure and " 0 left" not in figure,
    }
    return row | {"short": [what for what, is_short in fails.items() if is_short]}


def printed(row):
    verdict = "SHORT " + ",".join(row["short"]) if row["short"] else "within"
    figure = row["figure"] + ", " if row["figure"] else ""
    return (f"{row['name']:<14}{row['alone']:>7.0f}{row['control']:>9.0f}{row['crowd']:>9.0f}{row['crowd'] / row['alone']:>7.2f}"
            f"{row['crowd'] / row['control']:>8.2f}{row['share']:>6.0%}{row['worst']:>8.1f}{row['resident']:>6}{row['peak']:>6}"
            f"{row['after']:>6}{row['before']:>6}{row['left']:>6}  {figure}{row['cpu']:.0%} CPU: {row['told']}: {verdict}")


def written(row):
    """A row in Markdown."""
    what = SCENARIOS[row["name"]].__doc__.rstrip(".")
    figure = f" ({row['figure']})" if row["figure"] else ""
    share = f", rate {row['share']:.0%} of alone" if row["name"] == "pipelining" else ""
    verdict = "**short: " + ", ".join(row["short"]) + "**" if row["short"] else "within"
    return (f"| `{row['name']}`: {what}{figure} | {row['told']} "
            f"| {row['alone']:.0f}, {row['control']:.0f}, {row['crowd']:.0f} | {row['crowd'] / max(row['alone'], row['control']):.1f} × "
            f"| {row['worst']:.1f} | {row['resident']}, {row['peak']}, {row['after']} | {verdict}{share} |")


def write_table(rows, buffers, command, seconds, rounds):
    """Puts the rows into the document, between its marks, with what they were measured by."""
    lines = [
        f"`{command}` on {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, medians of {rounds} × {seconds} s each.", "",
        "| guests | told | p99 alone, control, crowd (µs) | of the greater | worst (ms) | memory before, at most, after (MiB) | |",
        "|---|---|---|---|---|---|---|", *map(written, rows), "",
        f"All buffers together held {buffers['peakBytes']:,} bytes at most, of {buffers['limit']:,}; {buffers['overloaded']:,} "
        f"requests and lines were refused, {buffers['turnedAway']:,} connections turned away, {buffers['closed']} closed, "
        f"{buffers['descriptorsLost']:,} descriptors given up."]
    begin, end = "<!-- crowds: written by scripts/crowds -->\n", "<!-- crowds end -->\n"
    with open(DOCUMENT) as file:
        head, rest = file.read().split(begin)
    with open(DOCUMENT, "w") as file:
        file.write(head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1])


def main():
    if sys.argv[1:2] == ["--guest"]:
        return be_guest(sys.argv[2], sys.argv[3])
    words = [word for word in sys.argv[1:] if word not in ("--write", "--ahead")]
    mode = words.pop(0) if words and words[0] in ("quick", "full", "list") else "quick"
    unknown = [word for word in words if word not in SCENARIOS]
    if mode == "list" or unknown:
        for name, scenario in SCENARIOS.items():
            print(f"{name:<14}{scenario.__doc__}")
        return 2 if unknown else 0
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 13_000:
        raise SystemExit("crowds: needs an open-files limit of 13,000")
    seconds, rounds = (1, 3) if mode == "quick" else (3, 5)
    rows, failed = [], 0
    with tempfile.TemporaryDirectory(prefix="kura-crowds-", dir=os.environ.get("TMPDIR", "/var/tmp")) as work:
        config = os.path.join(work, "config.json")
        with open(config, "w") as file:
            json.dump({"limits": LIMITS}, file)
        with Daemon(work, options=["--config", config], prefix=AHEAD).start() as daemon:
            fill(daemon)
            client(daemon, seconds, "--preload")
            print(f"p99 of settings.get, µs, medians of {rounds} × {seconds} s; the worst one in the crowd, ms; "
                  "daemon's memory in MiB\n")
            print(f"{'scenario':<14}{'alone':>7}{'control':>9}{'crowd':>9}{'ratio':>7}{'of ctrl':>8}{'rate':>6}"
                  f"{'worst':>8}{'RSS':>6}{'peak':>6}{'after':>6}{'fds':>6}{'after':>6}  {'guest':<30} told")
            for name in words or SCENARIOS:
                rows.append(run_scenario(name, daemon, seconds, rounds))
                print(printed(rows[-1]), flush=True)
            with daemon.connect() as connection:
                buffers = connection.call("storage.status")["buffers"]
            print("\nbuffers:", json.dumps(buffers))
            if buffers["peakBytes"] > buffers["limit"]:
                print("SHORT: the buffers went over their bound")
                failed += 1
            status = daemon.stop(20)
    if status != 0:
        print(f"SHORT: the daemon ended with {'killed' if status is None else status}")
        failed += 1
    within = sum(not row["short"] for row in rows)
    failed += len(rows) - within
    print(f"{within} within, {failed} short")
    if "--write" in sys.argv:
        write_table(rows, buffers, "scripts/crowds " + " ".join([mode] + words), seconds, rounds)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
