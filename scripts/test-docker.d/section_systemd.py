"""A host with systemd as process 1, and the package installed: socket activation, confinement, watchdog, restarts."""

import json
import re
import shlex
import time

import section_package
from engine import check, container, docker, finish, inside, said, start, wait_for

HOST = "kura-test-systemd"
SOCKET = "/run/kura/kura.sock"
RESTARTS = 20
CLIENTS = 1000


def there(script, user="root", check=True):
    """What a script says on the host under test."""
    return inside(HOST, script, user, check).stdout.strip()


def client(*arguments, user="root"):
    return said(there(shlex.join(["python3", "/commands.py", *arguments]), user))


def begin(*arguments):
    """A client that goes on beside the tests."""
    return start("docker", "exec", HOST, "python3", "/commands.py", *arguments)


def install(package):
    there(f"apt-get install -y -qq /package/{package}")


def journal():
    return there("journalctl -u kura.service --no-pager -o cat")


def show(name):
    return there(f"systemctl show --value -p {name} kura.service")


def is_active(unit):
    return there(f"systemctl is-active {unit}", check=False) == "active"


def test(work):
    docker("build", "--network", "host", "-f", "scripts/test-docker.d/systemd.Dockerfile", "-t", "kura-systemd:test", "scripts")
    package = section_package.build(work)
    # A control group file system of its own kind, which systemd mounts for itself, whatever the machine has.
    with container(HOST, "--privileged", "--network", "none", "--cgroupns", "private", "--tmpfs", "/run:exec,mode=755",
                   "--tmpfs", "/run/lock", "--tmpfs", "/tmp:exec", "-v", f"{package}:/package:ro", "kura-systemd:test"):
        try:
            wait_for("systemd", lambda: there("systemctl is-system-running", check=False) in ("running", "degraded"))
            check("process 1", there("cat /proc/1/comm") == "systemd", there("systemctl --version").split("\n")[0])
            install("first.deb")
            there("usermod -aG kura bob")
            for part in (statically, activation, confinement, access, restarts, upgrade, reload, watchdog, killed, of_a_user,
                         socket_activate):
                part()
        except Exception:
            print(there("journalctl -u kura.service -u kura.socket -n 40 --no-pager", check=False))
            raise


def statically():
    found = inside(HOST, "systemd-analyze verify --man=no kura.service kura.socket", check=False)
    check("systemd-analyze verify", found.returncode == 0 and not found.stderr.strip(), found.stderr.strip())
    found = inside(HOST, "systemd-analyze security --offline=yes --threshold=15 --no-pager /lib/systemd/system/kura.service", check=False)
    check("systemd-analyze security --offline=yes, 1.5 or less", found.returncode == 0, found.stdout.strip().splitlines()[-1])


def activation():
    there("mkdir -p /etc/credstore.encrypted && head -c 32 /dev/urandom |"
          " systemd-creds encrypt --with-key=host --name=kura.key - /etc/credstore.encrypted/kura.key")
    check("before the first client there is a socket and no daemon",
          is_active("kura.socket") and there("systemctl is-active kura.service", check=False) == "inactive")
    answer = client("call", SOCKET, "session.hello")
    check("the first client starts the daemon", is_active("kura.service") and answer["result"]["role"] == "admin", show("StatusText"))
    slots = client("call", SOCKET, "secrets.slots")["result"]["slots"]
    check("the key came from LoadCredentialEncrypted", [slot["kind"] for slot in slots] == ["credential"])
    client("call", SOCKET, "secrets.put", '{"service":"mail","account":"ada","secret":"s3cret"}')
    directory = there("stat -c '%U %a' /var/lib/kura")
    check("StateDirectory", directory == "kura 700", directory)


def confinement():
    pid = show("MainPID")
    status = there(f"cat /proc/{pid}/status")
    uid = there("id -u kura")
    check("the kernel says: its own user, no capability, filtered", all(re.search(pattern, status) for pattern in (
        rf"Uid:\t{uid}\t", r"CapEff:\t0+\n", r"CapBnd:\t0+\n", r"NoNewPrivs:\t1", r"Seccomp:\t2")))
    for what, *words in [
            ("a backup", "storage.backup", '{"name":"first"}'), ("a key", "secrets.generate", '{"service":"a","account":"b"}'),
            ("a passphrase, hashed with Argon2id", "secrets.addSlot", '{"kind":"passphrase","newPassphrase":"correct horse"}'),
            ("a check of everything", "storage.check", "{}")]:
        answer = client("call", SOCKET, *words)
        check(f"so confined it makes {what}", "result" in answer, answer.get("error", ""))
    sent = client("send", SOCKET, "k", str(3 << 20))
    check("and passes descriptors", client("receive", SOCKET, "k")["digest"] == sent["digest"])
    writable = there(
        f"nsenter -t {pid} -m sh -c 'for d in / /etc /usr /home /var/tmp /var/lib; do "
        "touch $d/x 2>/dev/null && echo $d && rm $d/x; done; true'", check=False).split()
    check("its file system is read-only but for its own places", not set(writable) - {"/var/tmp"}, " ".join(writable))
    classes = set(there(f"for t in /proc/{pid}/task/*; do awk '{{print $41}}' $t/stat; done").split())
    check("threads behind the loop have their low priority", len(classes) > 1, f"scheduling policies {sorted(classes)}")


def access():
    check("a member of the group kura gets in", "result" in client("call", SOCKET, "storage.ping", user="bob"))
    outcome = client("call", SOCKET, "storage.ping", user="mallory")
    check("another user does not", outcome.get("gone") == "Permission denied", outcome.get("gone"))


def restarts():
    herd = begin("herd", SOCKET, str(CLIENTS), "/tmp/stop")
    time.sleep(3)
    pids = {show("MainPID")}
    longest = 0.0
    for _ in range(RESTARTS):
        begun = time.monotonic()
        there("systemctl restart kura.service")
        longest = max(longest, time.monotonic() - begun)
        pids.add(show("MainPID"))
        time.sleep(0.5)
    time.sleep(2)
    there("touch /tmp/stop")
    met = finish(herd)
    check(f"{CLIENTS} clients during {RESTARTS} restarts: none refused",
          met["refused"] == 0 and met["errors"] == 0 and len(pids) == RESTARTS + 1,
          f"{met['served']} requests served, {met['refused']} refused, {met['errors']} errors, {len(pids)} daemons; "
          f"a restart took {longest:.2f} s at most, a client waited {met['longestMilliseconds']} ms at most")
    check("each request was done once", met["lostOrTwice"] == 0 and met["served"] > CLIENTS,
          f"{met['closedWhileIdle']} open connections were closed between two requests, {met['cutOff']} new ones before "
          f"their request had come, {met['shuttingDown']} requests told shuttingDown: sent again under the same request key")


def upgrade():
    there("rm /tmp/stop")
    pid = show("MainPID")
    herd = begin("herd", SOCKET, "100", "/tmp/stop", "upgrade")
    time.sleep(1)
    install("next.deb")
    time.sleep(1)
    there("touch /tmp/stop")
    met = finish(herd)
    check("an upgrade of the package refuses nobody",
          met["refused"] == 0 and met["lostOrTwice"] == 0 and show("MainPID") != pid,
          f"{met['served']} requests of 100 clients meanwhile, another daemon")


def reload():
    pid = show("MainPID")
    there("systemctl reload kura.service")
    wait_for("the configuration to be read again", lambda: "configuration" in journal())
    check("systemctl reload", is_active("kura.service") and show("MainPID") == pid)


def watchdog():
    there("mkdir -p /run/systemd/system/kura.service.d && "
          r"printf '[Service]\nWatchdogSec=3\n' >/run/systemd/system/kura.service.d/watchdog.conf && "
          "systemctl daemon-reload && systemctl restart kura.service")
    time.sleep(7)
    pid = show("MainPID")
    check("a loop that goes on is left alone", show("NRestarts") == "0", "7 s with WatchdogSec=3")
    rev = client("call", SOCKET, "settings.put", '{"domain":"w","key":"k","value":1}')["result"]["rev"]
    there(f"kill -STOP {pid}")
    begun = time.monotonic()
    get = ("call", SOCKET, "settings.get", '{"domain":"w","key":"k"}')
    answer = client(*get)
    if "gone" in answer:
        # It was let in by the one that hung.
        answer = client(*get)
    took = time.monotonic() - begun
    line = next((line for line in journal().splitlines() if "Watchdog timeout" in line), "")
    check("the watchdog trips on a stopped loop", show("MainPID") != pid and show("NRestarts") == "1" and line != "",
          f"{show('NRestarts')} restarts, {line}")
    check("the client that came meanwhile is answered by the next daemon", answer.get("result", {}).get("rev") == rev,
          f"after {took:.1f} s")
    there("rm -r /run/systemd/system/kura.service.d && systemctl daemon-reload")


def killed():
    before = int(show("NRestarts"))
    writing = begin("write", SOCKET, "kill", "6", "4")
    for _ in range(2):
        time.sleep(2)
        there("systemctl kill -s KILL kura.service")
    outcome = client("verify", SOCKET, json.dumps(finish(writing)))
    # A client would start it as well: this is the unit's own restart.
    restarted = int(show("NRestarts")) - before
    check("kill -9, and it is back by itself",
          restarted == 2 and outcome["lost"] == 0 and outcome["twice"] == 0 and outcome["acknowledged"] > 100,
          f"{restarted} restarts, {outcome['acknowledged']} transactions, {outcome['lost']} lost")
    there("systemctl stop kura.service")
    answer = client("call", SOCKET, "secrets.get", '{"service":"mail","account":"ada"}')
    check("stopped, the next client starts it again, with its data", answer.get("result", {}).get("secret") == "s3cret")


def of_a_user():
    there("loginctl enable-linger alice")
    path = "/run/user/1000/kura/kura.sock"
    control = lambda words, check=True: there(f"XDG_RUNTIME_DIR=/run/user/1000 systemctl --user {words}", "alice", check)
    wait_for("the user's manager", lambda: control("is-system-running", check=False) in ("running", "degraded"))
    control("start kura.socket")
    answer = client("call", path, "settings.increment", '{"domain":"a","key":"b"}', user="alice")
    wait_for("the user's daemon", lambda: control("is-active kura.service", check=False) == "active")
    data = there("stat -c '%U %a' /home/alice/.local/state/kura", check=False)
    check("a desktop user's own daemon", "result" in answer and data == "alice 700", control("show --value -p StatusText kura.service"))
    outcome = client("call", path, "storage.ping", user="bob")
    check("which is nobody else's", outcome.get("gone") == "Permission denied", outcome.get("gone"))


def socket_activate():
    activator = start("docker", "exec", HOST, "systemd-socket-activate", "-l", "/tmp/activated.sock", "--fdname=admin",
                      "kurad", "--data-dir", "/tmp/activated")
    wait_for("the socket", lambda: there("test -S /tmp/activated.sock && echo there", check=False))
    answer = client("call", "/tmp/activated.sock", "storage.status")
    check("systemd-socket-activate", "result" in answer, f"pid {answer.get('result', {}).get('pid')}")
    there(f"kill {answer['result']['pid']}")
    check("and its end", activator.wait(timeout=30) == 0)
