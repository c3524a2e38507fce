"""Checks what Kura is installed with: units, images, manifests, maintainer scripts. A tool that is not there is named and passed
over.
"""

import json
import re
import shutil
import subprocess
import tempfile

from tree import passed_over

# In tenths, as systemd-analyze takes it.
MOST_EXPOSURE = 15
DEBIAN = "docker/packaging/debian"


def configurations(tree):
    """Each configuration is JSON, and grants its roles nothing that would make them `admin`."""
    texts = {name: tree.text(name) for name in ("docker/kura.json", "docker/packaging/kura.json")}
    block = re.search(r"  kura\.json: \|\n((?:    .*\n)+)", tree.text("docker/kubernetes.yaml"))
    texts["docker/kubernetes.yaml"] = block[1] if block else ""
    for name, text in texts.items():
        try:
            roles = json.loads(text).get("roles", {})
        except ValueError as error:
            yield f"{name}: no JSON: {error}"
            continue
        for role, rule in roles.items():
            if any("admin" in grant["allow"] for grant in rule["grants"]):
                yield f"{name}: role {role} may administer"


# What is looked at, with which program, and the files that each command is given, all at once or one by one.
TOOLS = [
    # The service is confined so far that systemd calls it safe.
    ("units", ["systemd-analyze", "security", "--offline=yes", f"--threshold={MOST_EXPOSURE}", "--no-pager"],
     [["docker/packaging/systemd/kura.service"]]),
    ("images", ["hadolint"],
     [["docker/Dockerfile", "docker/clients/Dockerfile", "scripts/test-docker.d/Dockerfile",
       "scripts/test-docker.d/systemd.Dockerfile"]]),
    ("manifests", ["kubernetes-validate", "--strict", "--quiet"], [["docker/kubernetes.yaml"]]),
    ("shell", ["sh", "-n"], [[f"{DEBIAN}/{name}"] for name in ("config", "postinst", "prerm", "postrm")]),
    ("shell", ["bash", "-n"], [["docker/clients/notes.sh"]]),
]


def check(tree):
    faults = [f"configurations: {line}" for line in configurations(tree)]
    left_out = []
    with tempfile.TemporaryDirectory() as copy:
        tree.write(copy, r"(docker|scripts/test-docker\.d)/.*")
        for subject, command, files in TOOLS:
            if not shutil.which(command[0]):
                left_out.append(f"\ninstall: {command[0]} is not there: {subject} not looked at")
                continue
            for some in files:
                done = subprocess.run([*command, *some], capture_output=True, text=True, cwd=copy)
                lines = (done.stdout + done.stderr).strip().splitlines() or [f"{command[0]}: exit {done.returncode}"]
                if done.returncode:
                    # systemd-analyze ends with its verdict.
                    faults += [f"{subject}: {line}" for line in (lines[-1:] if subject == "units" else lines)]
    return faults, "units, images, manifests, scripts and configurations are sound" + "".join(left_out)


# What each check has to find: a file, what is replaced in it, by what, and how the fault begins.
MISTAKES = [
    ("docker/packaging/systemd/kura.service", r"(?m)^Protect.*\n", "", "units: "),
    ("docker/Dockerfile", r"USER 10001:10001", "RUN cd /tmp", "images: "),
    ("docker/kubernetes.yaml", r"readOnlyRootFilesystem", "readOnlyRootFileSystem", "manifests: "),
    ("docker/packaging/debian/postrm", r"(?m)^exit 0", "if", "shell: "),
    ("docker/kubernetes.yaml", r'"use"\]', '"admin"]', "configurations: "),
]


def self_test(tree):
    tools = {subject: command[0] for subject, command, _ in TOOLS}
    mistakes = []
    for name, pattern, other, expected in MISTAKES:
        tool = tools.get(expected[:-2])
        if tool and not shutil.which(tool):
            print(f"install: {tool} is not there: {expected}not tried")
        else:
            text = tree.text(name)
            mistakes.append((name, text, re.sub(pattern, other, text), expected))
    return passed_over(check, tree, mistakes), len(mistakes)
