#!/usr/bin/env python3
"""Checks the links of all pages: that files are there, that anchors are headings, that README.md leads to each page of proto-docs.

usage: links.py ROOT [--self-test]

Looks at relative links and pictures of Markdown, outside of code. Anchors are made of headings as GitHub makes them. Addresses
elsewhere are not asked for.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()\s]*\))?)\)|(?:src|srcset|href)=\"([^\"]+)\"")
FENCE = re.compile(r"^\s*(```|~~~)")


def lines_of(text):
    """The lines with their numbers, those of code left out."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code and not line.startswith("    "):
            yield number, line


def anchors(text):
    """What headings are called in links: GitHub's rule."""
    found = set()
    for _, line in lines_of(text):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "").lower()
            name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            number, first = 0, name
            while name in found:
                number += 1
                name = f"{first}-{number}"
            found.add(name)
    return found


def targets(text):
    for number, line in lines_of(text):
        for match in LINK.finditer(re.sub(r"(`+)(.+?)\1", lambda code: "`" * len(code[0]), line)):
            # `[text](#x)` around code: the code is gone, the link is not.
            target = match[1] or match[2]
            if not re.match(r"[a-z][a-z0-9+.-]*:", target):
                yield number, target


def pages_of(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.split("\n") if name and (Path(root) / name).is_file()]
    return [str(path.relative_to(root)) for path in Path(root).rglob("*.md") if ".build" not in path.parts]


def check(root):
    root = Path(root).resolve()
    texts = {name: (root / name).read_text("utf-8") for name in pages_of(str(root))}
    known = {}
    problems, count, reached = [], 0, {}
    for page, text in sorted(texts.items()):
        for number, target in targets(text):
            count += 1
            path, _, anchor = target.partition("#")
            name = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            reached.setdefault(page, set()).add(name)
            if name.startswith("..") or not (root / name).exists():
                problems.append(f"{page}:{number}: there is no {name}")
            elif anchor and name.endswith(".md"):
                if name not in known:
                    known[name] = anchors((root / name).read_text("utf-8"))
                if anchor not in known[name]:
                    problems.append(f"{page}:{number}: {name} has no heading #{anchor}")
    for page in sorted(texts):
        if page.startswith("proto-docs/") and page not in reached.get("README.md", set()):
            problems.append(f"README.md does not lead to {page}")
    return problems, count, len(texts)


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "proto-docs").mkdir()
        (root / "README.md").write_text(
            "# A `b.c` and *d*\n## A\n## A\n[1](proto-docs/a.md) [2](#a-bc-and-d) [3](#a-1) [`4`](proto-docs/a.md#its-own)\n"
            "[5](gone.md) [6](#a-2) [7](proto-docs/a.md#its) <img src=\"no.svg\"> [8](../out) [9](https://example.org/x)\n"
            "`[10](code.md)`\n```\n[11](code.md)\n```\n")
        (root / "proto-docs/a.md").write_text("## It's own\n[1](../README.md#a)\n")
        (root / "proto-docs/b.md").write_text("nobody comes here\n")
        problems, count, _ = check(folder)
        # Five links lead nowhere, and one page is not led to.
        if len(problems) != 6 or count != 10:
            print("\n".join(problems))
            sys.exit(f"links: self-test: 6 problems of 10 links were expected, not {len(problems)} of {count}")
    print("self-test: links finds files, anchors and pages that are not there")


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
    else:
        found, links, pages = check(sys.argv[1])
        print("\n".join([*found, f"links: {links} in {pages} pages, {len(found)} lead nowhere"]))
        sys.exit(1 if found else 0)
