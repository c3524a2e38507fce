"""Checks that Swift is formatted as `swift format` does it."""

import subprocess
import tempfile

from programs import needs
from tree import passed_over


def check(tree):
    needs("", "swift")
    with tempfile.TemporaryDirectory() as copy:
        tree.write(copy, r"\.swift-format|Package\.swift|(Sources|Tests)/.*\.swift")
        command = ["swift", "format", "lint", "--strict", "--parallel", "-r", "Package.swift", "Sources", "Tests"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=copy)
    lines = [line.replace(f"{copy}/", "") for line in (done.stdout + done.stderr).splitlines()]
    return (lines or [f"swift format: exit {done.returncode}"]) if done.returncode else [], "all is as swift format has it"


def self_test(tree):
    mistake = ("Sources/kurad/Answer.swift", "", "let   answer = 42\n", "Sources/kurad/Answer.swift:2")
    return passed_over(check, tree, [mistake]), 1
