"""The sidecar with its clients, as docker/compose.yml has them."""

import json
import os
import re
import signal
import time

from engine import docker, finish, inspect, run, said, start, wait_for

PROJECT = "kura-test"
APP = "/run/kura/app/kura.sock"
ADMIN = "/run/kura/admin/kura.sock"
LIMIT = 128 << 20


class Sidecar:
    def __init__(self, work):
        self.key = os.path.join(work, "kura.key")
        with open(self.key, "wb") as file:
            file.write(os.urandom(32))
        os.chmod(self.key, 0o400)
        os.chown(self.key, 10001, 10001)
        self.name = f"{PROJECT}-kura-1"

    def compose(self, *arguments):
        return run(
            "docker", "compose", "--ansi", "never", "-p", PROJECT, "-f", "docker/compose.yml", *arguments,
            environment={"KURA_VERSION": "test", "KURA_KEY": self.key, "KURA_MEMORY": str(LIMIT)})

    def pid(self):
        return int(inspect(self.name, ".State.Pid"))

    def restarts(self):
        return int(inspect(self.name, ".RestartCount"))

    def is_healthy(self):
        return inspect(self.name, ".State.Health.Status") == '"healthy"'

    def admin(self, *words):
        return json.loads(docker("exec", self.name, "kura", "--socket", ADMIN, *words, "--json"))

    def notes(self):
        """How many there are, all of the bash client."""
        return sum(scope["count"] for scope in self.admin("docs", "scopes")["scopes"] if scope["collection"] == "notes")

    @staticmethod
    def seen():
        """How many of them the watcher has told of."""
        return docker("logs", f"{PROJECT}-watcher-1").count('"note ')


def command(user, *arguments, volume="app"):
    return ("docker", "run", "--rm", "--network", "none", "--cap-drop", "ALL", "--user", user,
            "-v", f"{PROJECT}_{volume}:/run/kura/{volume}", "kura-client:test", *arguments)


def client(*arguments, user="20001:10001", volume="app"):
    """A client in a container of its own."""
    return said(run(*command(user, *arguments, volume=volume)).stdout)


def kind(outcome):
    """The kind of an error, or why there was no connection."""
    return outcome.get("gone") or outcome.get("error", {}).get("data", {}).get("kind", str(outcome)[:200])


def most_memory(pid):
    """What the container's group has held at most, as the kernel counted."""
    for line in open(f"/proc/{pid}/cgroup"):
        _, controllers, group = line.strip().split(":", 2)
        for path in (f"/sys/fs/cgroup{group}/memory.peak", f"/sys/fs/cgroup/memory{group}/memory.max_usage_in_bytes"):
            if (not controllers or controllers == "memory") and os.path.exists(path):
                return int(open(path).read())
    return 0


def resident(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) << 10


def test(work, tally):
    tally.section("compose")
    sidecar = Sidecar(work)
    try:
        # What a run with KURA_KEEP has left was sealed with another key.
        sidecar.compose("down", "-v", "--timeout", "5")
        begun = time.monotonic()
        sidecar.compose("up", "-d", "--no-build")
        wait_for("a healthy sidecar", sidecar.is_healthy)
        tally.check("up, and healthy", True, f"{time.monotonic() - begun:.1f} s")
        confinement(sidecar, tally)
        exchanges(sidecar, tally)
        strangers(sidecar, tally)
        descriptors(tally)
        orphans(sidecar, tally)
        killed(sidecar, tally)
        memory(sidecar, tally)
        stopped(sidecar, tally)
    except Exception:
        print(sidecar.compose("logs", "--tail", "12").stdout)
        raise
    finally:
        if os.environ.get("KURA_KEEP") != "1":
            sidecar.compose("down", "-v", "--timeout", "5")


def confinement(sidecar, tally):
    for service in ("kura", "watcher", "notes"):
        host = json.loads(inspect(f"{PROJECT}-{service}-1", ".HostConfig"))
        tally.check(
            f"{service}: no network, no capability, nothing to write to, bounds",
            host["NetworkMode"] == "none" and host["CapDrop"] == ["ALL"] and host["ReadonlyRootfs"] and host["Memory"] > 0
            and host["PidsLimit"] > 0 and any(option.startswith("no-new-privileges") for option in host["SecurityOpt"]),
            f"{host['Memory'] >> 20} MiB, {host['PidsLimit']} processes")
    status = open(f"/proc/{sidecar.pid()}/status").read()
    tally.check("the kernel says so of process 1", all(re.search(pattern, status) for pattern in (
        r"NSpid:.*\t1\n", r"Uid:\t10001\t10001", r"CapEff:\t0+\n", r"CapBnd:\t0+\n", r"NoNewPrivs:\t1", r"Seccomp:\t2")))


def exchanges(sidecar, tally):
    for volume, path in (("app", APP), ("admin", ADMIN)):
        answer = client("call", path, "session.hello", volume=volume)
        tally.check(f"an exchange on the socket {volume}", answer["result"]["role"] == volume, f"role {answer['result']['role']}")
    slots = sidecar.admin("secrets", "slots")["slots"]
    tally.check("the key came from the compose secret", [slot["kind"] for slot in slots] == ["credential"])
    client("call", APP, "secrets.put", '{"service":"mail","account":"ada","secret":"s3cret"}')
    answer = client("call", APP, "secrets.get", '{"service":"mail","account":"ada"}')
    tally.check("a secret goes in and comes out", answer["result"].get("secret") == "s3cret")
    wait_for("notes", lambda: sidecar.notes() >= 3)
    tally.check("the bash client writes", True, f"{sidecar.notes()} notes")
    wait_for("the watcher to see them", lambda: sidecar.seen() >= 2)
    tally.check("the Swift client hears of it", True, f"{sidecar.seen()} changes")


def strangers(sidecar, tally):
    for what, user, method, expected in (
            ("what the role app may not is refused", "20001:10001", "secrets.slots", "forbidden"),
            ("a backup over the app's socket too", "20001:10001", "storage.backup", "forbidden"),
            ("another group does not get in", "20002:20002", "storage.ping", "Permission denied"),
            ("uid 65534 is nobody", "65534:10001", "storage.ping", "forbidden")):
        outcome = client("call", APP, method, *(['{"name":"mine"}'] if method == "storage.backup" else []), user=user)
        tally.check(what, kind(outcome) == expected, kind(outcome))
    watcher = ("docker", "exec", "-e", "KURA_PEER_UID=20001", f"{PROJECT}-watcher-1", "kura", "--socket", APP, "ping")
    refused = run(*watcher, check=False)
    tally.check("a client sends nothing to whom it does not expect",
                refused.returncode == 3 and "user 10001 listens" in refused.stderr,
                refused.stderr.strip().split("\n")[0])
    tally.check("and is served by whom compose.yml names", run(*watcher[:2], *watcher[4:], check=False).returncode == 0)

    listening = start(*command("10001:10001", "peer", "listen", "/run/kura/app/peer"))
    client("peer", "connect", "/run/kura/app/peer")
    seen = finish(listening)
    outcome = client("call", APP, "storage.ping")
    tally.check("a client whose pid shows as 0 is served", seen["pid"] == 0 and "result" in outcome,
                f"the kernel says pid {seen['pid']}, uid {seen['uid']}, gid {seen['gid']}")


def descriptors(tally):
    sent = client("send", APP, "image", str(5 << 20))
    tally.check("a client's descriptor reaches the sidecar", sent.get("result", {}).get("digest") == sent["digest"], "5 MiB")
    got = client("receive", APP, "image", user="20003:10001")
    tally.check("the sidecar's reaches another client", got["descriptors"] == 1 and got["digest"] == sent["digest"],
                f"{got['bytes'] >> 20} MiB, the same digest")


def children(pid):
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = open(f"/proc/{entry}/stat").read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found[int(entry)] = fields[0]
    return found


def orphans(sidecar, tally):
    pid = sidecar.pid()
    docker("exec", "-d", sidecar.name, "/bin/sh", "-c", "sleep 3 & sleep 3 & sleep 3 & exit 0")
    adopted = wait_for("orphans", lambda: len(children(pid)) == 3 and children(pid))
    wait_for("their end", lambda: not children(pid))
    tally.check("process 1 reaps what it inherits", True, f"{len(adopted)} orphans, 0 zombies")


def killed(sidecar, tally):
    before = sidecar.restarts()
    writing = start(*command("20001:10001", "write", APP, "kill", "12", "8"))
    for _ in range(3):
        time.sleep(3)
        pid = sidecar.pid()
        if pid > 1:
            os.kill(pid, signal.SIGKILL)
        wait_for("the next one", lambda: sidecar.pid() not in (0, pid))
    told = finish(writing)
    wait_for("health", sidecar.is_healthy)
    outcome = client("verify", APP, json.dumps(told))
    tally.check("kill -9 loses nothing that was acknowledged",
                outcome["lost"] == 0 and outcome["twice"] == 0 and not told["errors"],
                f"{sidecar.restarts() - before} kills, {outcome['acknowledged']} transactions, {outcome['lost']} lost, "
                f"{outcome['twice']} done twice")
    tally.check("and clients connect again", told["reconnections"] >= 3 and outcome["acknowledged"] > 100,
                f"{told['reconnections']} reconnections")
    notes, seen = sidecar.notes(), sidecar.seen()
    wait_for("notes and watcher", lambda: sidecar.notes() > notes + 1 and sidecar.seen() > seen, 120)
    tally.check("the composed clients too", True)


def memory(sidecar, tally):
    before = sidecar.restarts()
    counts = client("load", APP, "15")
    pid = sidecar.pid()
    state = json.loads(inspect(sidecar.name, ".State"))
    tally.check("the memory limit holds under load",
                counts["puts"] > 100 and not state["OOMKilled"] and sidecar.restarts() == before and state["Running"],
                f"{counts['puts']} MiB put, {counts['reads'] * 8} replies of 8 MiB asked for; limit {LIMIT >> 20} MiB, "
                f"resident at most {resident(pid) >> 20 if pid else '?'} MiB, group with file pages "
                f"{most_memory(pid) >> 20 if pid else '?'} MiB")
    wait_for("health after it", sidecar.is_healthy)


def stopped(sidecar, tally):
    writing = start(*command("20001:10001", "write", APP, "stop", "8", "8"))
    time.sleep(4)
    begun = time.monotonic()
    docker("stop", sidecar.name)
    took = time.monotonic() - begun
    code = inspect(sidecar.name, ".State.ExitCode")
    tally.check("docker stop under load drains within 10 s", took < 10 and code == "0", f"{took:.1f} s, exit {code}")
    docker("start", sidecar.name)
    wait_for("health", sidecar.is_healthy)
    told = finish(writing)
    outcome = client("verify", APP, json.dumps(told))
    tally.check("and keeps what was acknowledged",
                outcome["lost"] == 0 and outcome["twice"] == 0 and outcome["acknowledged"] > 100,
                f"{outcome['acknowledged']} transactions")
