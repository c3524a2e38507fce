"""Checks what Kura is installed with: units, images, manifests, maintainer scripts. A tool that is not there is named and passed over.

usage: install.py ROOT [--self-test]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# In tenths, as systemd-analyze takes it.
MOST_EXPOSURE = 15


def outcome(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip()


def units(root):
    """The service is confined so far that systemd calls it safe."""
    code, text = outcome(
        "systemd-analyze", "security", "--offline=yes", f"--threshold={MOST_EXPOSURE}", "--no-pager",
        os.path.join(root, "docker/packaging/systemd/kura.service"))
    return [] if code == 0 else [text.splitlines()[-1] if text else f"systemd-analyze: exit {code}"]


def images(root):
    files = ["docker/Dockerfile", "docker/clients/Dockerfile", "scripts/test-docker.d/Dockerfile",
             "scripts/test-docker.d/systemd.Dockerfile"]
    code, text = outcome("hadolint", *(os.path.join(root, file) for file in files))
    return [] if code == 0 else text.splitlines()


def manifests(root):
    code, text = outcome("kubernetes-validate", "--strict", "--quiet", os.path.join(root, "docker/kubernetes.yaml"))
    return [] if code == 0 else text.splitlines() or [f"kubernetes-validate: exit {code}"]


def shell(root):
    found = []
    for name in ("config", "postinst", "prerm", "postrm"):
        path = os.path.join(root, "docker/packaging/debian", name)
        code, text = outcome("sh", "-n", path)
        found += [] if code == 0 else [text]
    code, text = outcome("bash", "-n", os.path.join(root, "docker/clients/notes.sh"))
    return found + ([] if code == 0 else [text])


def configurations(root):
    """Each configuration is JSON, and grants its roles nothing that would make them `admin`."""
    texts = {name: open(os.path.join(root, name)).read() for name in ("docker/kura.json", "docker/packaging/kura.json")}
    manifest = open(os.path.join(root, "docker/kubernetes.yaml")).read()
    block = re.search(r"  kura\.json: \|\n((?:    .*\n)+)", manifest)
    texts["docker/kubernetes.yaml"] = block[1] if block else ""
    found = []
    for name, text in texts.items():
        try:
            roles = json.loads(text).get("roles", {})
        except ValueError as error:
            found.append(f"{name}: no JSON: {error}")
            continue
        for role, rule in roles.items():
            if any("admin" in grant["allow"] for grant in rule["grants"]):
                found.append(f"{name}: role {role} may administer")
    return found


CHECKS = {
    units: "systemd-analyze", images: "hadolint", manifests: "kubernetes-validate", shell: "bash", configurations: None,
}

# What each check has to find: a file, what is replaced in it, and by what.
MISTAKES = {
    units: ("docker/packaging/systemd/kura.service", r"(?m)^Protect.*\n", ""),
    images: ("docker/Dockerfile", r"USER 10001:10001", "RUN cd /tmp"),
    manifests: ("docker/kubernetes.yaml", r"readOnlyRootFilesystem", "readOnlyRootFileSystem"),
    shell: ("docker/packaging/debian/postrm", r"(?m)^exit 0", "if"),
    configurations: ("docker/kubernetes.yaml", r'"use"\]', '"admin"]'),
}


def main():
    root = sys.argv[1]
    failed = passed_over = 0
    for check, tool in CHECKS.items():
        if tool and not shutil.which(tool):
            passed_over += 1
            print(f"install: {tool} is not there: {check.__name__} not looked at")
            continue
        if "--self-test" in sys.argv:
            with tempfile.TemporaryDirectory() as copy:
                shutil.copytree(os.path.join(root, "docker"), os.path.join(copy, "docker"))
                os.makedirs(os.path.join(copy, "scripts"))
                shutil.copytree(os.path.join(root, "scripts/test-docker.d"), os.path.join(copy, "scripts/test-docker.d"))
                name, pattern, other = MISTAKES[check]
                path = os.path.join(copy, name)
                text = open(path).read()
                broken = re.sub(pattern, other, text)
                open(path, "w").write(broken)
                if broken == text or not check(copy):
                    failed += 1
                    print(f"self-test: install passed over a mistake for {check.__name__}")
        for line in check(root):
            failed += 1
            print(f"install: {check.__name__}: {line}")
    if "--self-test" in sys.argv and not failed:
        print(f"self-test: install finds {len(CHECKS) - passed_over} mistakes; {passed_over} not tried for want of their tools")
    sys.exit(1 if failed else 0)


main()
