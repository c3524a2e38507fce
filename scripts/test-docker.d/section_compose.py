"""The sidecar with its clients, as docker/compose.yml has them."""

import json
import os
import re
import signal
import time
from pathlib import Path

from engine import KEEPS, check, docker, finish, inspect, is_healthy, run, said, start, wait_for

PROJECT = "kura-test"
KURA, WATCHER = f"{PROJECT}-kura-1", f"{PROJECT}-watcher-1"
APP = "/run/kura/app/kura.sock"
ADMIN = "/run/kura/admin/kura.sock"
LIMIT = 128 << 20


def compose(key, *arguments):
    return run("docker", "compose", "--ansi", "never", "-p", PROJECT, "-f", "docker/compose.yml", *arguments,
               KURA_VERSION="test", KURA_KEY=str(key), KURA_MEMORY=str(LIMIT))


def pid():
    return inspect(KURA, ".State.Pid")


def restarts():
    return inspect(KURA, ".RestartCount")


def admin(*words):
    return json.loads(docker("exec", KURA, "kura", "--socket", ADMIN, *words, "--json"))


def notes():
    """How many there are, all of the bash client."""
    return sum(scope["count"] for scope in admin("docs", "scopes")["scopes"] if scope["collection"] == "notes")


def seen():
    """How many of them the watcher has told of."""
    return docker("logs", WATCHER).count('"note ')


def command(*arguments, user="20001:10001", volume="app"):
    return ("docker", "run", "--rm", "--network", "none", "--cap-drop", "ALL", "--user", user,
            "-v", f"{PROJECT}_{volume}:/run/kura/{volume}", "kura-client:test", *arguments)


def client(*arguments, **options):
    """A client in a container of its own."""
    return said(run(*command(*arguments, **options)).stdout)


def test(work):
    key = work / "kura.key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o400)
    os.chown(key, 10001, 10001)
    try:
        # What a run with KURA_KEEP has left was sealed with another key.
        compose(key, "down", "-v", "--timeout", "5")
        begun = time.monotonic()
        compose(key, "up", "-d", "--no-build")
        wait_for("a healthy sidecar", lambda: is_healthy(KURA))
        check("up, and healthy", True, f"{time.monotonic() - begun:.1f} s")
        for part in (confinement, exchanges, strangers, descriptors, orphans, killed, memory, stopped):
            part()
    except Exception:
        print(compose(key, "logs", "--tail", "12").stdout)
        raise
    finally:
        if not KEEPS:
            compose(key, "down", "-v", "--timeout", "5")


def confinement():
    for service in ("kura", "watcher", "notes"):
        host = inspect(f"{PROJECT}-{service}-1", ".HostConfig")
        check(f"{service}: no network, no capability, nothing to write to, bounds",
              host["NetworkMode"] == "none" and host["CapDrop"] == ["ALL"] and host["ReadonlyRootfs"] and host["Memory"] > 0
              and host["PidsLimit"] > 0 and any(option.startswith("no-new-privileges") for option in host["SecurityOpt"]),
              f"{host['Memory'] >> 20} MiB, {host['PidsLimit']} processes")
    status = Path(f"/proc/{pid()}/status").read_text()
    check("the kernel says so of process 1", all(re.search(pattern, status) for pattern in (
        r"NSpid:.*\t1\n", r"Uid:\t10001\t10001", r"CapEff:\t0+\n", r"CapBnd:\t0+\n", r"NoNewPrivs:\t1", r"Seccomp:\t2")))


def exchanges():
    for volume, path in (("app", APP), ("admin", ADMIN)):
        role = client("call", path, "session.hello", volume=volume)["result"]["role"]
        check(f"an exchange on the socket {volume}", role == volume, f"role {role}")
    check("the key came from the compose secret", [slot["kind"] for slot in admin("secrets", "slots")["slots"]] == ["credential"])
    client("call", APP, "secrets.put", '{"service":"mail","account":"ada","secret":"s3cret"}')
    answer = client("call", APP, "secrets.get", '{"service":"mail","account":"ada"}')
    check("a secret goes in and comes out", answer["result"].get("secret") == "s3cret")
    wait_for("notes", lambda: notes() >= 3)
    check("the bash client writes", True, f"{notes()} notes")
    wait_for("the watcher to see them", lambda: seen() >= 2)
    check("the Swift client hears of it", True, f"{seen()} changes")


def strangers():
    for what, user, asked, expected in (
            ("what the role app may not is refused", "20001:10001", ["secrets.slots"], "forbidden"),
            ("a backup over the app's socket too", "20001:10001", ["storage.backup", '{"name":"mine"}'], "forbidden"),
            ("another group does not get in", "20002:20002", ["storage.ping"], "Permission denied"),
            ("uid 65534 is nobody", "65534:10001", ["storage.ping"], "forbidden")):
        outcome = client("call", APP, *asked, user=user)
        # The kind of the error, or why there was no connection.
        kind = outcome.get("gone") or outcome.get("error", {}).get("data", {}).get("kind", str(outcome)[:200])
        check(what, kind == expected, kind)
    ping = (WATCHER, "kura", "--socket", APP, "ping")
    refused = run("docker", "exec", "-e", "KURA_PEER_UID=20001", *ping, check=False)
    check("a client sends nothing to whom it does not expect",
          refused.returncode == 3 and "user 10001 listens" in refused.stderr, refused.stderr.strip().split("\n")[0])
    check("and is served by whom compose.yml names", run("docker", "exec", *ping, check=False).returncode == 0)

    listening = start(*command("peer", "listen", "/run/kura/app/peer", user="10001:10001"))
    client("peer", "connect", "/run/kura/app/peer")
    peer = finish(listening)
    outcome = client("call", APP, "storage.ping")
    check("a client whose pid shows as 0 is served", peer["pid"] == 0 and "result" in outcome,
          f"the kernel says pid {peer['pid']}, uid {peer['uid']}, gid {peer['gid']}")


def descriptors():
    sent = client("send", APP, "image", str(5 << 20))
    check("a client's descriptor reaches the sidecar", sent.get("result", {}).get("digest") == sent["digest"], "5 MiB")
    got = client("receive", APP, "image", user="20003:10001")
    check("the sidecar's reaches another client", got["descriptors"] == 1 and got["digest"] == sent["digest"],
          f"{got['bytes'] >> 20} MiB, the same digest")


def orphans():
    threads = Path(f"/proc/{pid()}/task")
    children = lambda: "".join(path.read_text() for path in threads.glob("*/children")).split()
    docker("exec", "-d", KURA, "/bin/sh", "-c", "sleep 3 & sleep 3 & sleep 3 & exit 0")
    adopted = wait_for("orphans", lambda: len(children()) == 3 and children())
    wait_for("their end", lambda: not children())
    check("process 1 reaps what it inherits", True, f"{len(adopted)} orphans, 0 zombies")


def killed():
    before = restarts()
    writing = start(*command("write", APP, "kill", "12", "8"))
    for _ in range(3):
        time.sleep(3)
        if (old := pid()) > 1:
            os.kill(old, signal.SIGKILL)
        wait_for("the next one", lambda: pid() not in (0, old))
    told = finish(writing)
    wait_for("health", lambda: is_healthy(KURA))
    outcome = client("verify", APP, json.dumps(told))
    check("kill -9 loses nothing that was acknowledged",
          outcome["lost"] == 0 and outcome["twice"] == 0 and not told["errors"],
          f"{restarts() - before} kills, {outcome['acknowledged']} transactions, {outcome['lost']} lost, "
          f"{outcome['twice']} done twice")
    check("and clients connect again", told["reconnections"] >= 3 and outcome["acknowledged"] > 100,
          f"{told['reconnections']} reconnections")
    noted, told = notes(), seen()
    wait_for("notes and watcher", lambda: notes() > noted + 1 and seen() > told, 120)
    check("the composed clients too", True)


def most_memory(process):
    """What it has held at most, and what its group has, with file pages, as the kernel counted, in MiB."""
    resident = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())[1]) >> 10
    for row in Path(f"/proc/{process}/cgroup").read_text().splitlines():
        _, controllers, group = row.split(":", 2)
        for path in (f"/sys/fs/cgroup{group}/memory.peak", f"/sys/fs/cgroup/memory{group}/memory.max_usage_in_bytes"):
            if controllers in ("", "memory") and os.path.exists(path):
                return resident, int(Path(path).read_text()) >> 20
    return resident, 0


def memory():
    before = restarts()
    counts = client("load", APP, "15")
    state = inspect(KURA, ".State")
    resident, group = most_memory(state["Pid"]) if state["Pid"] else ("?", "?")
    check("the memory limit holds under load",
          counts["puts"] > 100 and not state["OOMKilled"] and restarts() == before and state["Running"],
          f"{counts['puts']} MiB put, {counts['reads'] * 8} replies of 8 MiB asked for; limit {LIMIT >> 20} MiB, "
          f"resident at most {resident} MiB, group with file pages {group} MiB")
    wait_for("health after it", lambda: is_healthy(KURA))


def stopped():
    writing = start(*command("write", APP, "stop", "8", "8"))
    time.sleep(4)
    begun = time.monotonic()
    docker("stop", KURA)
    took = time.monotonic() - begun
    code = inspect(KURA, ".State.ExitCode")
    check("docker stop under load drains within 10 s", took < 10 and code == 0, f"{took:.1f} s, exit {code}")
    docker("start", KURA)
    wait_for("health", lambda: is_healthy(KURA))
    outcome = client("verify", APP, json.dumps(finish(writing)))
    check("and keeps what was acknowledged",
          outcome["lost"] == 0 and outcome["twice"] == 0 and outcome["acknowledged"] > 100,
          f"{outcome['acknowledged']} transactions")
