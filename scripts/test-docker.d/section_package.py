"""The Debian package: what lintian says, and installing, upgrading, removing and purging it in a fresh container."""

from engine import ROOT, check, container, docker, inside, note, run

FRESH = "kura-test-package"


def build(work):
    """Both versions of the package: the one that is to be, and one that comes after it. From the image's own programs."""
    directory, out, tree = work / "package", work / "programs", work / "next"
    if not directory.is_dir():
        out.mkdir()
        made = docker("create", "kura:test")
        for name in ("kurad", "kura"):
            docker("cp", f"{made}:/usr/bin/{name}", out / name)
        docker("rm", "-v", made)
        run("scripts/package", directory, KURA_OUT=str(out))
        [first] = directory.glob("*.deb")
        run("dpkg-deb", "-R", first, tree)
        control = tree / "DEBIAN/control"
        control.write_text(control.read_text().replace("\nVersion: ", "\nVersion: 9:"))
        run("dpkg-deb", "--root-owner-group", "-b", tree, directory / "next.deb")
        first.rename(directory / "first.deb")
        directory.chmod(0o755)
    return directory


def test(work):
    directory = build(work)
    first = directory / "first.deb"
    version = run("dpkg-deb", "-f", first, "Version").stdout.strip()
    check("made", True, f"kura {version}, {first.stat().st_size / 1e6:.1f} MB")
    run("scripts/package", work / "again", KURA_OUT=str(work / "programs"))
    [again] = (work / "again").glob("*.deb")
    check("made again, it is the same file byte for byte", again.read_bytes() == first.read_bytes())

    with container(FRESH, "--network", "host", "-v", f"{directory}:/package:ro", "debian:bookworm-slim", "sleep", "infinity"):
        docker("cp", ROOT / "Tests/Fixtures", f"{FRESH}:/fixtures")
        for part in (installed, formats, client_of_python, looked_at):
            part()


def there(script):
    """What a script says in the fresh container."""
    return inside(FRESH, script).stdout.strip()


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


def installed():
    there("apt-get update -qq && " + INSTALL + "/package/first.deb")
    check("apt install in a fresh container", there("command -v kurad kura") != "",
          there("dpkg-query -W -f '${Package} ${Version} ${Status}' kura"))
    check("a user of its own", there("id kura") != "", there("id kura"))
    there(INSTALL + "procps man-db bash-completion >/dev/null")
    check("man pages", "--without-secrets" in there("zcat /usr/share/man/man8/kurad.8.gz | sed 's/\\\\-/-/g'")
          and there("for page in /usr/share/man/man[18]/kura*; do man --warnings -E UTF-8 -l -Tutf8 -Z $page; done "
                    "2>&1 >/dev/null") == ""
          and "docs find COLLECTION" in there("zcat /usr/share/man/man1/kura-docs.1.gz"),
          there("ls /usr/share/man/man[18]/kura* | wc -l") + " pages")
    check("completions", "kura" in there(
        "cd /usr/share/bash-completion; source bash_completion; source completions/kura; complete -p kura"))
    there(OWN)
    there(SERVE + "kura settings put app theme dark && echo s3cret | kura secrets put mail ada --secret" + END)
    there("echo '{\"logLevel\": \"debug\"}' >/etc/kura/kura.json")
    there("apt-get install -y -qq /package/next.deb")
    kept = there(SERVE + "kura settings get app theme; kura secrets get mail ada" + END)
    check("an upgrade keeps the data", "dark" in kept and "s3cret" in kept, there("dpkg-query -W -f '${Version}' kura"))
    check("and the configuration", "debug" in there("cat /etc/kura/kura.json"))
    there("apt-get remove -y -qq kura")
    check("removing keeps the data", there("test -d /var/lib/kura/data && ! command -v kurad && echo kept") == "kept")
    there("apt-get purge -y -qq kura")
    check("purging keeps it when nobody answers", there("test -d /var/lib/kura/data && ! test -e /etc/kura && echo kept") == "kept")
    there(INSTALL + "/package/first.deb")
    check("installed again, it goes on with it", "dark" in there(SERVE + "kura settings get app theme" + END))
    there(PURGE_ALL)
    check("purging removes it when told to", there("test -e /var/lib/kura || echo gone") == "gone")


def formats():
    """Data of earlier releases, and of a later one, under the package's daemon."""
    there(INSTALL + "/package/first.deb")
    for path in sorted((ROOT / "Tests/Fixtures").glob("*.tar.gz")):
        there(f"rm -rf /var/lib/kura; {OWN} tar -xzf /fixtures/{path.name} -C /var/lib/kura; chown -R kura:kura /var/lib/kura")
        kept = there(SERVE + "kura settings get app theme; kura docs get fresh f --json; kura doctor --json || true" + END)
        check(f"data of {path.name.removesuffix('.tar.gz')}", "light" in kept and '"two"' in kept)
    sums = "cd /var/lib/kura; find data -type f | sort | xargs sha256sum"
    there(r"cd /var/lib/kura; printf '\0\0\0\11' | dd of=data/durable/kura.sqlite bs=1 seek=60 conv=notrunc status=none")
    # The second place that has the number.
    there("""echo '{"format":1,"from":9,"to":9,"check":-655380}' >/var/lib/kura/data/durable/layout""")
    before = there(sums)
    outcome = there("timeout 30 runuser -u kura -- kurad --data-dir /var/lib/kura/data --socket /tmp/kura-test.sock 2>&1 "
                    "|| echo status $?")
    check("data of a newer release is refused with its version, exit status 2",
          "kura.sqlite has layout 9" in outcome and outcome.endswith("status 2"), outcome.splitlines()[0][:200])
    check("and not a byte of it is changed", there(sums) == before)
    there(PURGE_ALL)


def client_of_python():
    there(INSTALL + "/package/first.deb python3-venv >/dev/null")
    there(OWN + "python3 -m venv /tmp/venv && /tmp/venv/bin/pip install -q --no-index /package/*.whl")
    said = there(SERVE + """/tmp/venv/bin/python - <<'CODE'
import kura
client = kura.connect("/tmp/kura-test.sock")
client.settings["app"]["theme"] = "dark"
print(client.settings["app"]["theme"], client.session.hello()["protocol"])
CODE""" + END)
    check("the wheel, installed by pip without a network, speaks with the daemon", said.splitlines()[-1] == "dark 1", said[-100:])
    there("apt-get purge -y -qq kura")


def looked_at():
    there(INSTALL + "lintian >/dev/null")
    text = inside(FRESH, "lintian --allow-root --tag-display-limit 0 --fail-on none /package/first.deb 2>&1", check=False).stdout
    found = text.strip().splitlines()
    warnings = sum(line.startswith("W:") for line in found)
    check("lintian without errors", not any(line.startswith("E:") for line in found), f"{warnings} warnings")
    for line in found:
        note(line)
