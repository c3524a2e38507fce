"""Checks that stores are described once: that nothing but their descriptions and what is generated lists them.

A list is a line of Swift that names two of them, a `switch` with cases of two or over a `store`, an enumeration with cases of three, and a
literal with the names of three, in Swift or Python. What lies in a store's own folder may name that one. Tests, proofs and load generators
have models of stores of their own, which cannot be derived.
"""

import re

from tree import block, code, passed_over

NAMES = "settings|secrets|documents|models|blobs"
PARTS = "attachments|configuration|requests|secretVersions"
SWIFT = r"Sources/(?!kura-bench/|Examples/|\w+/Generated/|KuraStorage/Stores/|.*/Method\+stores\.swift|.*/CacheStore\.swift).*\.swift"
PYTHON = r"clients/python/(src/kura/(?!methods/)|generator/).*\.py|scripts/(lib|check-budgets|fuzz-live)(\.d)?(/.*\.py)?"
# A bracket, whatever kind, with brackets of one more level within.
LITERAL = re.compile(r"[\[({](?:[^\[\](){}]|[\[({][^\[\](){}]*[\])}])*[\])}]")


def own(file):
    """The stores whose folder or file this is."""
    return {name for name in f"{NAMES}|{PARTS}".split("|") if re.search(rf"/{name}", file, re.I)}


def in_swift(file, text):
    """Places and kinds of lists."""
    for line in re.finditer(r"(?m)^.*$", text):
        if len(set(re.findall(rf"\.({NAMES})\b(?!\()", line[0])) - own(file)) > 1:
            yield line.start(), "a line with several stores"
        declared = re.match(r"\s*case ([\w, ]+)$", line[0])
        if declared and len(set(declared[1].split(", ")) & set(NAMES.split("|"))) > 2:
            yield line.start(), "an enumeration of stores"
    for switch in re.finditer(r"\bswitch ([^{}]*?)\s*\{", text):
        named = set(re.findall(rf"\bcase \.({NAMES}|{PARTS})\b(?!\()", block(text, switch.end()))) - own(file)
        if len(named) > 1 or named and re.search(r"\bstore$", switch[1]):
            yield switch.start(), "a switch over stores"


def in_texts(text):
    for literal in LITERAL.finditer(text):
        if len(set(re.findall(rf"[\"']({NAMES})[\"']", literal[0]))) > 2:
            yield literal.start(), "a literal with several stores' names"


def lists(tree):
    """Each list, as a line of a report."""
    found = []
    for file in tree.names(f"{SWIFT}|{PYTHON}"):
        text = tree.text(file)
        places = [*in_swift(file, code(text)), *in_texts(code(text, True))] if file.endswith(".swift") else in_texts(text)
        found += [f"{file}:{text.count(chr(10), 0, at) + 1}: {kind}: derive it from their descriptions" for at, kind in places]
    return found


def check(tree):
    return lists(tree), "stores are listed by their descriptions alone"


SERVER, CLIENT = "Sources/KuraServer/Handlers/StatusHandler.swift", "Sources/KuraClient/Changes/Changes.swift"
PYTHONS = "clients/python/src/kura/stores.py"
MISTAKES = [
    (SERVER, "", "let known = [Store.settings, Store.documents]", "a line with several stores"),
    (SERVER, "", "func word(_ store: Store) -> String {\n    switch store {\n    case .documents: \"id\"\n    default: \"key\"\n    }\n}", "a switch"),
    (SERVER, "", "switch room(scope) {\ncase .settings: 1\ncase .documents: 2\n}", "a switch over stores"),
    (SERVER, "", "switch room(scope) {\ncase .attachments: 1\ncase .requests: 2\n}", "a switch over stores"),
    ("Sources/KuraStorage/Secrets/SecretHead.swift", "", "let known = [Store.settings, Store.documents]", "a line with several stores"),
    ("Sources/KuraCommand/Kura.swift", "", 'let known = ["settings", "secrets", "blobs"]', "a literal"),
    ("Sources/KuraCommand/Kura.swift", "", 'let known = [\n    "settings": 1,\n    "secrets": 2,\n    "documents": 3,\n]', "a literal"),
    (CLIENT, "", "enum Room {\n    case settings, secrets, documents\n}", "an enumeration of stores"),
    (PYTHONS, "", 'WORDS = {"settings": "domain", "secrets": "service", "blobs": "namespace"}', "a literal"),
    (PYTHONS, "", "STORES = ('settings',\n          'documents', 'models')", "a literal"),
]


def self_test(tree):
    right = [("Sources/KuraStorage/Secrets/SecretHead.swift", "let both = [Store.secrets, Store.settings]"),
             (SERVER, "switch kind {\ncase .models: 1\ncase .keys: 2\n}"), (SERVER, "enum Unit {\n    case bytes, documents, secrets\n}")]
    missed = passed_over(check, tree, MISTAKES)
    known = len(lists(tree))
    missed += [f"judged wrong: {text}" for file, text in right if len(lists(tree.changed(file, "", text))) > known]
    return missed, len(MISTAKES) + len(right)
