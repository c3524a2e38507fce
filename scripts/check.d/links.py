"""Checks the links of all pages: files are there, anchors are headings, README.md leads to each page of proto-docs.

Looks at relative links and pictures of Markdown, outside of code. Anchors are made of headings as GitHub makes them. Addresses
elsewhere are not asked for.
"""

import itertools
import os
import re

from tree import Tree

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
            name = first = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            number = itertools.count(1)
            while name in found:
                name = f"{first}-{next(number)}"
            found.add(name)
    return found


def targets(text):
    for number, line in lines_of(text):
        for match in LINK.finditer(re.sub(r"(`+)(.+?)\1", lambda code: "`" * len(code[0]), line)):
            # `[text](#x)` around code: the code is gone, the link is not.
            target = match[1] or match[2]
            if not re.match(r"[a-z][a-z0-9+.-]*:", target):
                yield number, target


def check(tree):
    pages = {name: tree.text(name) for name in tree.names(r".*\.md")}
    faults, count, led_to = [], 0, set()
    for page, text in pages.items():
        for number, target in targets(text):
            count += 1
            path, _, anchor = target.partition("#")
            name = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if page == "README.md":
                led_to.add(name)
            if name not in tree:
                faults.append(f"{page}:{number}: there is no {name}")
            elif anchor and name in pages and anchor not in anchors(pages[name]):
                faults.append(f"{page}:{number}: {name} has no heading #{anchor}")
    faults += [f"README.md does not lead to {page}" for page in tree.names(r"proto-docs/.*\.md") if page not in led_to]
    return faults, f"{count} in {len(pages)} pages, {len(faults)} lead nowhere"


README = """# A `b.c` and *d*
## A
## A
[1](proto-docs/a.md) [2](#a-bc-and-d) [3](#a-1) [`4`](proto-docs/a.md#its-own)
[5](gone.md) [6](#a-2) [7](proto-docs/a.md#its) <img src="no.svg"> [8](../out) [9](https://example.org/x)
`[10](code.md)`
```
[11](code.md)
```
"""


def self_test(_):
    # Five links lead nowhere, and one page is not led to.
    faults, words = check(Tree({
        "README.md": README, "proto-docs/a.md": "## It's own\n[1](../README.md#a)\n", "proto-docs/b.md": "nobody comes here\n"}))
    is_right = len(faults) == 6 and words.startswith("10 in")
    return [] if is_right else [f"6 faults of 10 links were expected, not {len(faults)}: {words}", *faults], 6
