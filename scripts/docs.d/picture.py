#!/usr/bin/env python3
"""Makes proto-docs/architecture.svg of architecture.txt, which tells how it is written.

usage: picture.py SOURCE      prints the SVG

It has its own background and both sets of colours, so it is readable wherever it is shown, light or dark. Text contrasts with
what is behind it by 7:1 and more, lines by 3:1: the script refuses colours that do not.
"""

import re
import sys
from xml.sax.saxutils import escape

LIGHT = {
    "page": "#ffffff", "group": "#f3f4f6", "text": "#111827", "quiet": "#374151", "line": "#4b5563", "strong": "#9a3412",
    "client": "#dbeafe", "thread": "#e0e7ff", "durable": "#ffedd5", "cache": "#f0fdf4", "edge": "#6b7280",
}
DARK = {
    "page": "#0d1117", "group": "#161b22", "text": "#f0f6fc", "quiet": "#c9d1d9", "line": "#9ca3af", "strong": "#fdba74",
    "client": "#172f4d", "thread": "#262b52", "durable": "#4a2a12", "cache": "#12351f", "edge": "#8b949e",
}


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def check_contrast(colours):
    """Of WCAG 2: text 7:1, lines 3:1."""
    surfaces = ["page", "group", "client", "thread", "durable", "cache"]
    for name, least, behind in (
        ("text", 7, surfaces), ("quiet", 7, surfaces), ("line", 3, surfaces[:2]), ("strong", 3, surfaces[:2]), ("edge", 3, surfaces[:2])
    ):
        for surface in behind:
            high, low = sorted((luminance(colours[name]), luminance(colours[surface])), reverse=True)
            if (high + 0.05) / (low + 0.05) < least:
                sys.exit(f"picture: {name} {colours[name]} on {surface} {colours[surface]} has less than {least}:1")


def style():
    def rules(colours):
        return " ".join(f"--{name}: {colour};" for name, colour in colours.items())

    kinds = "".join(f".{kind} {{ fill: var(--{kind}); }} " for kind in ("client", "thread", "durable", "cache"))
    return f"""<style>
svg {{ {rules(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ svg {{ {rules(DARK)} }} }}
text {{ font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 13px; fill: var(--quiet); }}
.title {{ font-size: 15px; font-weight: 600; fill: var(--text); }}
.page {{ fill: var(--page); }} .group {{ fill: var(--group); }} .box {{ stroke: var(--edge); stroke-width: 1; }} {kinds}
.arrow {{ fill: none; stroke: var(--line); stroke-width: 1.5; }} .head {{ fill: var(--line); }}
.strong {{ stroke: var(--strong); stroke-width: 3; }} .head.strong {{ fill: var(--strong); stroke: none; }}
</style>"""


def place_of(boxes, text):
    """The point that `NAME.SIDE+OFFSET` names, and the way out of the box there."""
    name, side, offset = re.fullmatch(r"(\w+)\.(left|right|top|bottom)([+-]\d+)?", text).groups()
    x, y, width, height = boxes[name]
    along = int(offset or 0)
    return {
        "left": (x, y + height / 2 + along, -1, 0), "right": (x + width, y + height / 2 + along, 1, 0),
        "top": (x + width / 2 + along, y, 0, -1), "bottom": (x + width / 2 + along, y + height, 0, 1),
    }[side]


def head(x, y, dx, dy, kind):
    """A point of an arrow at (x, y), into a box which is left by (dx, dy)."""
    size = 11 if kind == "strong" else 8
    points = [(x, y), (x + dx * size - dy * size / 2, y + dy * size - dx * size / 2), (x + dx * size + dy * size / 2, y + dy * size + dx * size / 2)]
    return '<path class="head%s" d="M%s Z"/>' % (" strong" if kind == "strong" else "", " L".join(f"{px:g},{py:g}" for px, py in points))


def arrow(boxes, kind, begin, end):
    x1, y1, dx1, dy1 = place_of(boxes, begin)
    x2, y2, dx2, dy2 = place_of(boxes, end)
    # The line ends within the point, and leaves both boxes at right angles.
    begins = (x1 + dx1 * 6, y1 + dy1 * 6) if kind == "both" else (x1, y1)
    ends = (x2 + dx2 * 6, y2 + dy2 * 6)
    reach = 36 if (dx1 + dx2 == 0 and dy1 + dy2 == 0) else 28
    curve = f"M{begins[0]:g},{begins[1]:g} C{x1 + dx1 * reach:g},{y1 + dy1 * reach:g} {x2 + dx2 * reach:g},{y2 + dy2 * reach:g} {ends[0]:g},{ends[1]:g}"
    parts = [f'<path class="arrow{" strong" if kind == "strong" else ""}" d="{curve}"/>', head(x2, y2, dx2, dy2, kind)]
    if kind == "both":
        parts.append(head(x1, y1, dx1, dy1, kind))
    return parts


def render(source):
    boxes, parts, title, description, size = {}, [], "", "", (0, 0)
    for number, line in enumerate(source.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            if words[0] == "size":
                size = int(words[1]), int(words[2])
            elif words[0] == "title":
                title = line.split(None, 1)[1]
            elif words[0] == "describe":
                description = line.split(None, 1)[1]
            elif words[0] == "group":
                x, y, width, height = map(int, words[1:5])
                parts.append(f'<rect class="group" x="{x}" y="{y}" width="{width}" height="{height}" rx="10"/>')
                parts.append(f'<text class="title" x="{x + width / 2:g}" y="{y + 27}" text-anchor="middle">{escape(line.split(None, 5)[5])}</text>')
            elif words[0] == "box":
                x, y, width, height = map(int, words[3:7])
                boxes[words[2]] = x, y, width, height
                parts.append(f'<rect class="box {words[1]}" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>')
                texts = [text.strip() for text in line.split(None, 7)[7].split("|")]
                top = y + (height - 20 * len(texts)) / 2
                for row, text in enumerate(texts):
                    kind = ' class="title"' if row == 0 else ""
                    parts.append(f'<text{kind} x="{x + width / 2:g}" y="{top + 15 + 20 * row:g}" text-anchor="middle">{escape(text)}</text>')
            elif words[0] == "arrow":
                parts += arrow(boxes, *words[1:4])
            elif words[0] == "label":
                parts.append(f'<text x="{words[1]}" y="{words[2]}" text-anchor="{words[3]}">{escape(line.split(None, 4)[4])}</text>')
            else:
                raise ValueError
        except (ValueError, IndexError, KeyError, AttributeError, TypeError):
            sys.exit(f"picture: line {number} is not understood: {line}")
    width, height = size
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="t d">',
        f'<title id="t">{escape(title)}</title>', f'<desc id="d">{escape(description)}</desc>', style(),
        f'<rect class="page" width="{width}" height="{height}" rx="12"/>', *parts, "</svg>", "",
    ])


if __name__ == "__main__":
    check_contrast(LIGHT)
    check_contrast(DARK)
    with open(sys.argv[1], encoding="utf-8") as text:
        print(render(text.read()), end="")
