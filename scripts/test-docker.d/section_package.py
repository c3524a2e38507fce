"""The Debian package: what lintian says, and installing, upgrading, removing and purging it in a fresh container."""

import glob
import os

from engine import ROOT, Failed, docker, run

FRESH = "kura-test-package"


def build(work):
    """Both versions of the package: the one that is to be, and one that comes after it. From the image's own programs."""
    directory = os.path.join(work, "package")
    if not os.path.isdir(directory):
        out = os.path.join(work, "programs")
        os.makedirs(out)
        made = docker("create", "kura:test")
        for name in ("kurad", "kura"):
            docker("cp", f"{made}:/usr/bin/{name}", os.path.join(out, name))
        docker("rm", "-v", made)
        run("scripts/package", directory, environment={"KURA_OUT": out})
        first = glob.glob(os.path.join(directory, "*.deb"))[0]
        tree = os.path.join(work, "next")
        run("dpkg-deb", "-R", first, tree)
        control = os.path.join(tree, "DEBIAN/control")
        text = open(control).read().replace("\nVersion: ", "\nVersion: 9:")
        open(control, "w").write(text)
        run("dpkg-deb", "--root-owner-group", "-b", tree, os.path.join(directory, "next.deb"))
        os.rename(first, os.path.join(directory, "first.deb"))
        os.chmod(directory, 0o755)
    return directory


def test(work, tally):
    tally.section("package")
    directory = build(work)
    first = os.path.join(directory, "first.deb")
    version = run("dpkg-deb", "-f", first, "Version").stdout.strip()
    tally.check("made", True, f"kura {version}, {os.path.getsize(first) / 1e6:.1f} MB")
    again = os.path.join(work, "again")
    run("scripts/package", again, environment={"KURA_OUT": os.path.join(work, "programs")})
    tally.check("made again, it is the same file byte for byte",
                open(glob.glob(os.path.join(again, "*.deb"))[0], "rb").read() == open(first, "rb").read())

    docker("run", "-d", "--name", FRESH, "--network", "host", "-v", f"{directory}:/package:ro", "debian:bookworm-slim",
           "sleep", "infinity")
    docker("cp", os.path.join(ROOT, "Tests/Fixtures"), f"{FRESH}:/fixtures")
    try:
        installed(tally)
        formats(tally)
        client_of_python(tally)
        looked_at(tally)
    finally:
        docker("rm", "-fv", FRESH)


def there(script, check=True):
    outcome = run("docker", "exec", "-e", "DEBIAN_FRONTEND=noninteractive", FRESH, "bash", "-euc", script, check=False)
    if check and outcome.returncode != 0:
        raise Failed(f"{script}: exit {outcome.returncode}\n{outcome.stdout[-2000:]}{outcome.stderr[-3000:]}")
    return outcome.stdout.strip()


# Process 1 is no systemd here: the daemon is run by hand, as the user that the package has made.
SERVE = """
runuser -u kura -- kurad --data-dir /var/lib/kura/data --socket /tmp/kura-test.sock 2>/tmp/log & pid=$!
for _ in $(seq 100); do kura --socket /tmp/kura-test.sock ping -q 2>/dev/null && break; sleep 0.1; done
kura() { command kura --socket /tmp/kura-test.sock "$@"; }
"""
# The directory of its data, as the unit would make it.
OWN = "install -d -o kura -g kura -m 700 /var/lib/kura; "
PURGE_ALL = "echo 'kura kura/remove-data boolean true' | debconf-set-selections && apt-get purge -y -qq kura"
INSTALL = "apt-get install -y -qq --no-install-recommends "
END = "\nkill $(pgrep -x kurad); wait $pid || true"


def installed(tally):
    there("apt-get update -qq && " + INSTALL + "/package/first.deb")
    tally.check("apt install in a fresh container", there("command -v kurad kura") != "", there(
        "dpkg-query -W -f '${Package} ${Version} ${Status}' kura"))
    tally.check("a user of its own", there("id kura") != "", there("id kura"))
    there(INSTALL + "procps man-db bash-completion >/dev/null")
    tally.check("man pages", "--without-secrets" in there("zcat /usr/share/man/man8/kurad.8.gz | sed 's/\\\\-/-/g'")
                and there("for page in /usr/share/man/man[18]/kura*; do man --warnings -E UTF-8 -l -Tutf8 -Z $page; done "
                          "2>&1 >/dev/null") == ""
                and "docs find COLLECTION" in there("zcat /usr/share/man/man1/kura-docs.1.gz"),
                there("ls /usr/share/man/man[18]/kura* | wc -l") + " pages")
    tally.check("completions", "kura" in there(
        "cd /usr/share/bash-completion; source bash_completion; source completions/kura; complete -p kura"))
    there(OWN)
    there(SERVE + "kura settings put app theme dark && echo s3cret | kura secrets put mail ada --secret" + END)
    there("echo '{\"logLevel\": \"debug\"}' >/etc/kura/kura.json")
    there("apt-get install -y -qq /package/next.deb")
    kept = there(SERVE + "kura settings get app theme; kura secrets get mail ada" + END).split()
    tally.check("an upgrade keeps the data", "dark" in kept and "s3cret" in " ".join(kept), there(
        "dpkg-query -W -f '${Version}' kura"))
    tally.check("and the configuration", "debug" in there("cat /etc/kura/kura.json"))
    there("apt-get remove -y -qq kura")
    tally.check("removing keeps the data", there("test -d /var/lib/kura/data && ! command -v kurad && echo kept") == "kept")
    there("apt-get purge -y -qq kura")
    tally.check("purging keeps it when nobody answers",
                there("test -d /var/lib/kura/data && ! test -e /etc/kura && echo kept") == "kept")
    there(INSTALL + "/package/first.deb")
    kept = there(SERVE + "kura settings get app theme" + END)
    tally.check("installed again, it goes on with it", "dark" in kept)
    there(PURGE_ALL)
    tally.check("purging removes it when told to", there("test -e /var/lib/kura || echo gone") == "gone")


def formats(tally):
    """Data of earlier releases, and of a later one, under the package's daemon."""
    there(INSTALL + "/package/first.deb")
    for path in sorted(glob.glob(os.path.join(ROOT, "Tests/Fixtures/*.tar.gz"))):
        name = os.path.basename(path)
        there(f"rm -rf /var/lib/kura; {OWN} tar -xzf /fixtures/{name} -C /var/lib/kura; chown -R kura:kura /var/lib/kura")
        kept = there(SERVE + "kura settings get app theme; kura docs get fresh f --json; kura doctor --json || true" + END)
        tally.check(f"data of {name.removesuffix('.tar.gz')}", "light" in kept and '"two"' in kept)
    before = there("cd /var/lib/kura;"
                   " printf '\\0\\0\\0\\11' | dd of=data/durable/kura.sqlite bs=1 seek=60 conv=notrunc status=none;"
                   # The second place that has the number.
                   " echo '{\"format\":1,\"from\":9,\"to\":9,\"check\":-655380}' >data/durable/layout;"
                   " find data -type f | sort | xargs sha256sum")
    outcome = there("timeout 30 runuser -u kura -- kurad --data-dir /var/lib/kura/data --socket /tmp/kura-test.sock 2>&1 "
                    "|| echo status $?")
    tally.check("data of a newer release is refused with its version, exit status 2",
                "kura.sqlite has layout 9" in outcome and outcome.endswith("status 2"), outcome.splitlines()[0][:200])
    tally.check("and not a byte of it is changed",
                there("cd /var/lib/kura && find data -type f | sort | xargs sha256sum") == before)
    there(PURGE_ALL)


def client_of_python(tally):
    there(INSTALL + "/package/first.deb python3-venv >/dev/null")
    there(OWN + "python3 -m venv /tmp/venv && /tmp/venv/bin/pip install -q --no-index /package/*.whl")
    said = there(SERVE + """/tmp/venv/bin/python - <<'CODE'
import kura
client = kura.connect("/tmp/kura-test.sock")
client.settings["app"]["theme"] = "dark"
print(client.settings["app"]["theme"], client.session.hello()["protocol"])
CODE""" + END)
    tally.check("the wheel, installed by pip without a network, speaks with the daemon", said.splitlines()[-1] == "dark 1",
                said[-100:])
    there("apt-get purge -y -qq kura")


def looked_at(tally):
    there(INSTALL + "lintian >/dev/null")
    text = there("lintian --allow-root --tag-display-limit 0 --fail-on none /package/first.deb 2>&1", check=False)
    errors = [line for line in text.splitlines() if line.startswith("E:")]
    warnings = sum(line.startswith("W:") for line in text.splitlines())
    tally.check("lintian without errors", not errors, f"{warnings} warnings")
    for line in text.splitlines():
        tally.note(line)
