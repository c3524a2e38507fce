"""Checks that what the code is being rid of becomes no more: scripts/ratchet.json has how much of it there is, and each figure may
only fall.

A fall is written down with `scripts/check ratchet --write`, so that it is not undone; so is a rise that somebody has decided on.
Lines of a module may lie below their figure, which is written down with whatever else has fallen.
"""

import json
import re
from collections import Counter
from pathlib import Path

from tree import block, code

FIGURES = "scripts/ratchet.json"
# What is counted: the files, the pattern, and whether it is looked for in texts, too.
COUNTED = {
    # A parameter that is read by its number in the method's declaration.
    "positions by number": (r"Sources/KuraServer/.*\.swift", r"\breader\.\w+\(\d", False),
    # A member of an answer that is written as a piece of JSON.
    "literal members": (r"Sources/KuraServer/(?!Generated/|Results/Members).*\.swift", r'\\"\w+\\":', True),
    # A handler that runs again from its beginning and looks for what has come meanwhile.
    "requests begun again": (r"Sources/KuraServer/.*/.*\.swift", r"\bcall\.answer\b", False),
}
MOST_PROPERTIES = 15
TYPE = re.compile(r"\b(?:class|struct|actor|enum) (\w+)[^{};\n]*(?:\n[^{};\n]*)?\{")
PROPERTY = re.compile(r"^(?:@\w+(?:\([^)]*\))? |(?:public|package|internal|private|fileprivate|unowned|weak|nonisolated|lazy|final)"
                      r"(?:\(\w+\))? )*(?:let|var) (\([^)]*\)|\w+(?:, \w+)*)(.*)$")


def properties(text):
    """How many stored properties a type's body declares."""
    count = depth = 0
    for line in text.splitlines():
        found = PROPERTY.match(line.strip()) if not depth else None
        if found:
            head = found[2].split("{")[0]
            # What has a body and no value is computed; observers do not occur.
            count += (found[1].count(",") + 1) * ("=" in head or "{" not in found[2])
        depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
    return count


def figures(tree):
    found = {}
    for name, (files, pattern, in_texts) in COUNTED.items():
        found[name] = sum(sum(1 for _ in re.finditer(pattern, code(tree.text(file), in_texts))) for file in tree.names(files))
    over, lines = {}, Counter()
    for file in tree.names(r"Sources/\w+/.*\.swift"):
        module, text = file.split("/")[1], tree.text(file)
        lines[module] += text.count("\n") if "/Generated/" not in file else 0
        blank = code(text)
        for match in TYPE.finditer(blank):
            count = properties(block(blank, match.end()))
            if count > MOST_PROPERTIES:
                over[f"{module}.{match[1]}"] = count
    return {**found, "stored properties": dict(sorted(over.items())), "lines": dict(sorted(lines.items()))}


def flat(found):
    return {(name, part): value for name, values in found.items()
            for part, value in (values.items() if isinstance(values, dict) else [("", values)])}


def check(tree):
    now, known = flat(figures(tree)), flat(json.loads(tree.text(FIGURES)))
    faults = []
    for name in sorted(now.keys() | known.keys()):
        value, most = now.get(name, 0), known.get(name, 0)
        what = " ".join(filter(None, name))
        if value > most:
            faults.append(f"{FIGURES}: {what}: {value}, and {most} were left: it may only fall")
        elif value < most and name[0] != "lines":
            faults.append(f"{FIGURES}: {what}: {value}, down from {most}: write that down with scripts/check ratchet --write")
    return faults, "what the code is being rid of has not grown"


def write(tree, root):
    Path(root, FIGURES).write_text(json.dumps(figures(tree), indent=2) + "\n")


def self_test(tree):
    place = "Sources/KuraServer/Handlers/SettingsHandlers.swift"
    mistakes = {
        "positions by number": "let a = reader.string(0)", "literal members": r'let b = ",\"rev\":"',
        "requests begun again": "let c = call.answer",
        "stored properties": "struct Large {\n" + "".join(f"    var a{at}: Int\n" for at in range(16)) + "}",
        "lines": "\n" * 3000,
    }
    missed = [f"not found: {what}" for what, line in mistakes.items()
              if not any(what in fault for fault in check(tree.changed(place, "", line))[0])]
    pieces = [("let a = 1\nvar b: Int\nprivate(set) var c, d: Int\nvar e: Int { 1 }\nfunc f() {\nlet g = 1\n}", 4),
              ("@unsafe private let a: Int\nlazy var b = { 1 }()\nstatic let c = 1\nlet (d, e) = (1, 2)", 4)]
    missed += [f"judged wrong: {text}" for text, count in pieces if properties(text) != count]
    return missed, len(mistakes) + len(pieces)
