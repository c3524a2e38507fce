"""A host with systemd as process 1, and the package installed: socket activation, confinement, watchdog, restarts."""

import json
import os
import re
import time

import section_package
from engine import docker, finish, run, said, start, wait_for

HOST = "kura-test-systemd"
SOCKET = "/run/kura/kura.sock"
RESTARTS = 20
CLIENTS = 1000


def there(*words, user=None, check=True):
    """Runs a command on the host under test."""
    identity = ("-u", user) if user else ()
    return run("docker", "exec", *identity, HOST, *words, check=check)


def client(*arguments, user=None):
    return said(there("python3", "/commands.py", *arguments, user=user).stdout)


def begin(*arguments):
    """A client that goes on beside the tests."""
    return start("docker", "exec", HOST, "python3", "/commands.py", *arguments)


def install(package):
    there("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq", f"/package/{package}")


def journal():
    return there("journalctl", "-u", "kura.service", "--no-pager", "-o", "cat").stdout


def show(name, unit="kura.service"):
    return there("systemctl", "show", "--value", "-p", name, unit).stdout.strip()


def is_active(unit):
    return there("systemctl", "is-active", unit, check=False).stdout.strip()


def test(work, tally):
    tally.section("systemd")
    docker("build", "--network", "host", "-f", "scripts/test-docker.d/systemd.Dockerfile", "-t", "kura-systemd:test", "scripts")
    package = section_package.build(work)
    # A control group file system of its own kind, which systemd mounts for itself, whatever the machine has.
    docker("run", "-d", "--name", HOST, "--privileged", "--network", "none", "--cgroupns", "private",
           "--tmpfs", "/run:exec,mode=755", "--tmpfs", "/run/lock", "--tmpfs", "/tmp:exec", "-v", f"{package}:/package:ro",
           "kura-systemd:test")
    try:
        wait_for("systemd", lambda: there(
            "systemctl", "is-system-running", check=False).stdout.strip() in ("running", "degraded"))
        version = there("systemctl", "--version").stdout.split("\n")[0]
        tally.check("process 1", there("cat", "/proc/1/comm").stdout.strip() == "systemd", version)
        install("first.deb")
        there("usermod", "-aG", "kura", "bob")
        for part in (statically, activation, confinement, access, restarts, upgrade, reload, watchdog, killed, of_a_user,
                     socket_activate):
            part(tally)
    except Exception:
        print(there("journalctl", "-u", "kura.service", "-u", "kura.socket", "-n", "40", "--no-pager", check=False).stdout)
        raise
    finally:
        if os.environ.get("KURA_KEEP") != "1":
            docker("rm", "-fv", HOST)


def statically(tally):
    found = there("systemd-analyze", "verify", "--man=no", "kura.service", "kura.socket", check=False)
    tally.check("systemd-analyze verify", found.returncode == 0 and not found.stderr.strip(), found.stderr.strip())
    found = there("systemd-analyze", "security", "--offline=yes", "--threshold=15", "--no-pager",
                  "/lib/systemd/system/kura.service", check=False)
    tally.check("systemd-analyze security --offline=yes, 1.5 or less", found.returncode == 0,
                found.stdout.strip().splitlines()[-1])


def activation(tally):
    there("sh", "-c", "mkdir -p /etc/credstore.encrypted && head -c 32 /dev/urandom |"
          " systemd-creds encrypt --with-key=host --name=kura.key - /etc/credstore.encrypted/kura.key")
    tally.check("before the first client there is a socket and no daemon",
                is_active("kura.socket") == "active" and is_active("kura.service") == "inactive")
    answer = client("call", SOCKET, "session.hello")
    tally.check("the first client starts the daemon",
                is_active("kura.service") == "active" and answer["result"]["role"] == "admin", show("StatusText"))
    slots = client("call", SOCKET, "secrets.slots")["result"]["slots"]
    tally.check("the key came from LoadCredentialEncrypted", [slot["kind"] for slot in slots] == ["credential"])
    client("call", SOCKET, "secrets.put", '{"service":"mail","account":"ada","secret":"s3cret"}')
    directory = there("stat", "-c", "%U %a", "/var/lib/kura").stdout.strip()
    tally.check("StateDirectory", directory == "kura 700", directory)


def confinement(tally):
    pid = show("MainPID")
    status = there("cat", f"/proc/{pid}/status").stdout
    uid = there("id", "-u", "kura").stdout.strip()
    tally.check("the kernel says: its own user, no capability, filtered", all(re.search(pattern, status) for pattern in (
        rf"Uid:\t{uid}\t", r"CapEff:\t0+\n", r"CapBnd:\t0+\n", r"NoNewPrivs:\t1", r"Seccomp:\t2")))
    for what, words in {
        "a backup": ("storage.backup", '{"name":"first"}'), "a key": ("secrets.generate", '{"service":"a","account":"b"}'),
        "a passphrase, hashed with Argon2id": ("secrets.addSlot", '{"kind":"passphrase","newPassphrase":"correct horse"}'),
        "a check of everything": ("storage.check", "{}"),
    }.items():
        answer = client("call", SOCKET, *words)
        tally.check(f"so confined it makes {what}", "result" in answer, answer.get("error", ""))
    sent = client("send", SOCKET, "k", str(3 << 20))
    got = client("receive", SOCKET, "k")
    tally.check("and passes descriptors", got["digest"] == sent["digest"])
    writable = there("nsenter", "-t", pid, "-m", "sh", "-c",
                     "for d in / /etc /usr /home /var/tmp /var/lib; do touch $d/x 2>/dev/null && echo $d && rm $d/x; done; true",
                     check=False).stdout.split()
    tally.check("its file system is read-only but for its own places", not set(writable) - {"/var/tmp"}, " ".join(writable))
    classes = there("sh", "-c", f"for t in /proc/{pid}/task/*; do awk '{{print $41}}' $t/stat; done").stdout.split()
    tally.check("threads behind the loop have their low priority", len(set(classes)) > 1,
                f"scheduling policies {sorted(set(classes))}")


def access(tally):
    outcome = client("call", SOCKET, "storage.ping", user="bob")
    tally.check("a member of the group kura gets in", "result" in outcome)
    outcome = client("call", SOCKET, "storage.ping", user="mallory")
    tally.check("another user does not", outcome.get("gone") == "Permission denied", outcome.get("gone"))


def restarts(tally):
    herd = begin("herd", SOCKET, str(CLIENTS), "/tmp/stop")
    time.sleep(3)
    pids = {show("MainPID")}
    longest = 0.0
    for _ in range(RESTARTS):
        begun = time.monotonic()
        there("systemctl", "restart", "kura.service")
        longest = max(longest, time.monotonic() - begun)
        pids.add(show("MainPID"))
        time.sleep(0.5)
    time.sleep(2)
    there("touch", "/tmp/stop")
    met = finish(herd)
    tally.check(f"{CLIENTS} clients during {RESTARTS} restarts: none refused",
                met["refused"] == 0 and met["errors"] == 0 and len(pids) == RESTARTS + 1,
                f"{met['served']} requests served, {met['refused']} refused, {met['errors']} errors, {len(pids)} daemons; "
                f"a restart took {longest:.2f} s at most, a client waited {met['longestMilliseconds']} ms at most")
    tally.check("each request was done once", met["lostOrTwice"] == 0 and met["served"] > CLIENTS,
                f"{met['closedWhileIdle']} open connections were closed between two requests, {met['cutOff']} new ones before "
                f"their request had come, {met['shuttingDown']} requests told shuttingDown: sent again under the same request key")


def upgrade(tally):
    there("rm", "/tmp/stop")
    pid = show("MainPID")
    herd = begin("herd", SOCKET, "100", "/tmp/stop", "upgrade")
    time.sleep(1)
    install("next.deb")
    time.sleep(1)
    there("touch", "/tmp/stop")
    met = finish(herd)
    tally.check("an upgrade of the package refuses nobody",
                met["refused"] == 0 and met["lostOrTwice"] == 0 and show("MainPID") != pid,
                f"{met['served']} requests of 100 clients meanwhile, another daemon")


def reload(tally):
    pid = show("MainPID")
    there("systemctl", "reload", "kura.service")
    wait_for("the configuration to be read again", lambda: "configuration" in journal())
    tally.check("systemctl reload", is_active("kura.service") == "active" and show("MainPID") == pid)


def watchdog(tally):
    there("sh", "-c", "mkdir -p /run/systemd/system/kura.service.d && "
          "printf '[Service]\\nWatchdogSec=3\\n' >/run/systemd/system/kura.service.d/watchdog.conf && "
          "systemctl daemon-reload && systemctl restart kura.service")
    time.sleep(7)
    pid = show("MainPID")
    tally.check("a loop that goes on is left alone", show("NRestarts") == "0", "7 s with WatchdogSec=3")
    rev = client("call", SOCKET, "settings.put", '{"domain":"w","key":"k","value":1}')["result"]["rev"]
    there("sh", "-c", f"kill -STOP {pid}")
    begun = time.monotonic()
    answer = client("call", SOCKET, "settings.get", '{"domain":"w","key":"k"}')
    if "gone" in answer:
        # It was let in by the one that hung.
        answer = client("call", SOCKET, "settings.get", '{"domain":"w","key":"k"}')
    took = time.monotonic() - begun
    line = next((line for line in journal().splitlines() if "Watchdog timeout" in line), "")
    tally.check("the watchdog trips on a stopped loop", show("MainPID") != pid and show("NRestarts") == "1" and line != "",
                f"{show('NRestarts')} restarts, {line}")
    tally.check("the client that came meanwhile is answered by the next daemon", answer.get("result", {}).get("rev") == rev,
                f"after {took:.1f} s")
    there("sh", "-c", "rm -r /run/systemd/system/kura.service.d && systemctl daemon-reload")


def killed(tally):
    before = int(show("NRestarts"))
    writing = begin("write", SOCKET, "kill", "6", "4")
    for _ in range(2):
        time.sleep(2)
        there("systemctl", "kill", "-s", "KILL", "kura.service")
    told = finish(writing)
    outcome = client("verify", SOCKET, json.dumps(told))
    # A client would start it as well: this is the unit's own restart.
    restarted = int(show("NRestarts")) - before
    tally.check("kill -9, and it is back by itself",
                restarted == 2 and outcome["lost"] == 0 and outcome["twice"] == 0 and outcome["acknowledged"] > 100,
                f"{restarted} restarts, {outcome['acknowledged']} transactions, {outcome['lost']} lost")
    there("systemctl", "stop", "kura.service")
    answer = client("call", SOCKET, "secrets.get", '{"service":"mail","account":"ada"}')
    tally.check("stopped, the next client starts it again, with its data", answer.get("result", {}).get("secret") == "s3cret")


def of_a_user(tally):
    there("loginctl", "enable-linger", "alice")
    path = "/run/user/1000/kura/kura.sock"
    control = lambda *words, check=True: there(
        "env", "XDG_RUNTIME_DIR=/run/user/1000", "systemctl", "--user", *words, user="alice", check=check).stdout.strip()
    wait_for("the user's manager", lambda: control("is-system-running", check=False) in ("running", "degraded"))
    control("start", "kura.socket")
    answer = client("call", path, "settings.increment", '{"domain":"a","key":"b"}', user="alice")
    wait_for("the user's daemon", lambda: control("is-active", "kura.service", check=False) == "active")
    data = there("stat", "-c", "%U %a", "/home/alice/.local/state/kura", check=False).stdout.strip()
    tally.check("a desktop user's own daemon", "result" in answer and data == "alice 700",
                control("show", "--value", "-p", "StatusText", "kura.service"))
    outcome = client("call", path, "storage.ping", user="bob")
    tally.check("which is nobody else's", outcome.get("gone") == "Permission denied", outcome.get("gone"))


def socket_activate(tally):
    activator = start("docker", "exec", HOST, "systemd-socket-activate", "-l", "/tmp/activated.sock", "--fdname=admin",
                      "kurad", "--data-dir", "/tmp/activated")
    wait_for("the socket", lambda: there("test", "-S", "/tmp/activated.sock", check=False).returncode == 0)
    answer = client("call", "/tmp/activated.sock", "storage.status")
    tally.check("systemd-socket-activate", "result" in answer, f"pid {answer.get('result', {}).get('pid')}")
    there("sh", "-c", f"kill {answer['result']['pid']}")
    tally.check("and its end", activator.wait(timeout=30) == 0)
