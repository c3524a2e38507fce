"""Checks that the arrows between the modules run one way, by what each file imports and names.

usage: layers.py ROOT             exit code 1 when an arrow runs the wrong way
       layers.py --self-test ROOT breaks a copy in each known way: every mistake must be found
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

# Which of our modules a module may import. Whoever adds a module adds its line.
ARROWS = {
    "CSQLite": set(),
    "CPCRE2": set(),
    "CSodium": set(),
    "CSyscalls": set(),
    "KuraBytes": {"CSyscalls"},
    "SQLite": {"KuraBytes", "CSQLite", "CSyscalls"},
    "Sodium": {"KuraBytes", "CSodium"},
    "KuraProtocol": {"KuraBytes"},
    "KuraJSON": {"KuraBytes"},
    "JSONSchema": {"KuraBytes", "KuraJSON", "KuraProtocol", "CPCRE2"},
    "KuraSocket": {"KuraBytes", "CSyscalls"},
    "KuraTransport": {"KuraBytes", "KuraSocket", "CSyscalls"},
    "KuraStorage": {"KuraBytes", "KuraJSON", "KuraProtocol", "JSONSchema", "SQLite", "Sodium", "CSyscalls"},
    "KuraServer": {
        "KuraBytes", "KuraJSON", "KuraProtocol", "JSONSchema", "KuraSocket", "KuraTransport", "KuraStorage", "SQLite"},
    "KuraClient": {"KuraBytes", "KuraProtocol", "KuraSocket"},
    "KuraFoundation": {"KuraClient"},
    "KuraTesting": {"KuraBytes", "KuraClient", "KuraProtocol", "KuraServer"},
    "kurad": {"KuraServer", "KuraProtocol"},
    "KuraCommand": {"KuraBytes", "KuraClient", "KuraProtocol", "SQLite", "Sodium", "CSyscalls"},
    "kura": {"KuraCommand"},
    "kura-bench": set(),
    "Examples": {"KuraClient"},
}
# What one folder of a module alone may import: the storage knows the wire's grammar and bounds where records of files are held against
# them, and nowhere else.
ONE_FOLDER = {
    ("KuraStorage", "KuraProtocol"): "Sources/KuraStorage/Guard",
    ("KuraStorage", "JSONSchema"): "Sources/KuraStorage/Guard",
}
# C that one file of a module imports, and no other.
ONE_FILE = {"CPCRE2": "Sources/JSONSchema/Pattern.swift"}
# What every module may import. Foundation is not among them: it costs start time, memory and 10 MB of program.
SYSTEM = {"Glibc", "Musl", "Darwin", "Observation", "Synchronization"}
# Applications that somebody starts from may use what applications use, and one module is there for those that do.
APPLICATIONS = {"Examples": {"Foundation", "FoundationNetworking"}, "KuraFoundation": {"Foundation"}}
# The server looks at the bytes written, arms faults, and uses the lock that ThreadSanitizer sees; databases are the storage's.
SERVER_MAY_NAME = {"Guarded", "CountingScope", "CountingVFS", "WriteCounts", "FileRole", "FilePart", "FaultPoints", "FaultPoint", "FaultAction"}

IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+"
    r"(?:(?:struct|class|enum|protocol|typealias|func|var|let|actor)\s+)?([\w]+)", re.MULTILINE)
# At the margin, so of the file and not inside of another type; extensions declare nothing.
TYPE = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private|final|indirect)\s+)*"
    r"(?:class|struct|enum|actor|protocol|typealias)\s+(\w+)", re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r'"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*(?s:.*?)\*/')


def code_of(path):
    """The file without comments and strings, which may name anything."""
    return COMMENT_OR_TEXT.sub('""', path.read_text())


def types_in(files):
    return {name for code in files.values() for name in TYPE.findall(code)}


def faults_of(root):
    sources = {path: code_of(path) for path in sorted((root / "Sources").rglob("*.swift"))}
    faults = []

    def fault(path, what):
        faults.append(f"{path.relative_to(root)}: {what}")

    def module_of(path):
        return path.relative_to(root / "Sources").parts[0]

    for path, code in sources.items():
        module = module_of(path)
        if module not in ARROWS:
            fault(path, f"no arrows are written down for the module {module} (scripts/check.d/layers.py)")
            continue
        for imported in IMPORT.findall(code):
            if imported not in ARROWS[module] | SYSTEM | APPLICATIONS.get(module, set()):
                fault(path, f"{module} must not import {imported}")
            elif str(path.parent.relative_to(root)) != ONE_FOLDER.get((module, imported), str(path.parent.relative_to(root))):
                fault(path, f"{module} must not import {imported}: that is for {ONE_FOLDER[module, imported]} alone")
            elif str(path.relative_to(root)) != ONE_FILE.get(imported, str(path.relative_to(root))):
                fault(path, f"only {ONE_FILE[imported]} may import {imported}")

    wrapper = types_in({path: code for path, code in sources.items() if module_of(path) == "SQLite"})
    server = {path: code for path, code in sources.items() if module_of(path) == "KuraServer"}
    hidden = wrapper - SERVER_MAY_NAME - types_in(server)
    for path, code in server.items():
        if "SQLite" in IMPORT.findall(code):
            for name in sorted(hidden & set(re.findall(r"\w+", code))):
                fault(path, f"KuraServer must not use SQLite's {name}")

    # A room is a folder of KuraStorage with a store in it.
    rooms = {}
    for path, code in sources.items():
        if module_of(path) == "KuraStorage" and len(path.relative_to(root / "Sources").parts) > 2:
            rooms.setdefault(path.parent.name, {})[path] = code
    rooms = {name: files for name, files in rooms.items() if f"{name}Store" in types_in(files)}
    for room, files in rooms.items():
        for other, others in rooms.items():
            if other == room:
                continue
            foreign = types_in(others) - types_in(files)
            for path, code in files.items():
                for name in sorted(foreign & set(re.findall(r"\w+", code))):
                    fault(path, f"the room {room} names {name} of the room {other}")
    if len(rooms) < 2:
        faults.append(f"rooms found: {sorted(rooms)}; there should be two at least")
    return faults, len(sources), len(rooms)


# (file, what is added to it, what the fault must say)
MISTAKES = [
    ("Sources/KuraStorage/Ledger.swift", "import CSQLite\n", "KuraStorage must not import CSQLite"),
    ("Sources/KuraStorage/Ledger.swift", "import CSodium\n", "KuraStorage must not import CSodium"),
    ("Sources/KuraStorage/Ledger.swift", "internal import KuraProtocol\n", "KuraStorage must not import KuraProtocol"),
    ("Sources/KuraStorage/Ledger.swift", "import struct KuraSocket.Socket\n", "KuraStorage must not import KuraSocket"),
    ("Sources/KuraClient/Client.swift", "import KuraTransport\n", "KuraClient must not import KuraTransport"),
    ("Sources/KuraProtocol/JSONReader.swift", "@preconcurrency import SQLite\n", "KuraProtocol must not import SQLite"),
    ("Sources/JSONSchema/Compiler.swift", "import CPCRE2\n", "only Sources/JSONSchema/Pattern.swift may import CPCRE2"),
    ("Sources/JSONSchema/Tape.swift", "import KuraStorage\n", "JSONSchema must not import KuraStorage"),
    ("Sources/KuraTransport/EventLoop.swift", "import KuraProtocol\n", "KuraTransport must not import KuraProtocol"),
    ("Sources/KuraSocket/Socket.swift", "import KuraTransport\n", "KuraSocket must not import KuraTransport"),
    ("Sources/KuraServer/Server.swift", "import Foundation\n", "KuraServer must not import Foundation"),
    ("Sources/KuraServer/Server.swift", "import SQLite\nlet m: Migrator? = nil\n", "must not use SQLite's Migrator"),
    ("Sources/KuraStorage/Settings/SettingsStore.swift", "let d: DocumentsStore? = nil\n", "names DocumentsStore"),
    ("Sources/KuraStorage/Documents/DocumentsStore.swift", "let s: SettingsStore? = nil\n", "names SettingsStore"),
    ("Sources/KuraTesting/InMemoryDaemon.swift", "import KuraStorage\n", "KuraTesting must not import KuraStorage"),
    ("Sources/KuraClient/Client.swift", "import KuraServer\n", "KuraClient must not import KuraServer"),
    ("Sources/KuraClient/Client.swift", "import Foundation\n", "KuraClient must not import Foundation"),
    ("Sources/KuraClient/Client.swift", "import KuraFoundation\n", "KuraClient must not import KuraFoundation"),
    ("Sources/KuraFoundation/Timestamp.swift", "import KuraServer\n", "KuraFoundation must not import KuraServer"),
    ("Sources/Examples/Notes/Notes.swift", "import KuraServer\n", "Examples must not import KuraServer"),
    ("Sources/Utilities/Bytes.swift", "import Glibc\n", "no arrows are written down for the module Utilities"),
]


def self_test(root):
    missed = 0
    for name, text, expected in MISTAKES:
        with tempfile.TemporaryDirectory() as directory:
            copy = Path(directory)
            shutil.copytree(root / "Sources", copy / "Sources")
            path = copy / name
            path.parent.mkdir(exist_ok=True)
            path.write_text((path.read_text() if path.exists() else "") + "\n" + text)
            found = [line for line in faults_of(copy)[0] if expected in line and line.startswith(name)]
            if not found:
                missed += 1
                print(f"self-test: not found: {text.strip()!r} in {name}")
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory)
        shutil.copytree(root / "Sources", copy / "Sources")
        with open(copy / "Sources/KuraStorage/Settings/SettingsStore.swift", "a") as file:
            file.write('\n// import Foundation\nlet note = "DocumentsStore"\n')
        if faults_of(copy)[0] != faults_of(root)[0]:
            missed += 1
            print("self-test: a comment or a string was taken for code")
    print(f"self-test: {len(MISTAKES) - missed} of {len(MISTAKES)} wrong arrows were found")
    return missed == 0


def main():
    if sys.argv[1:2] == ["--self-test"]:
        sys.exit(0 if self_test(Path(sys.argv[2])) else 1)
    faults, files, rooms = faults_of(Path(sys.argv[1]))
    for line in faults:
        print(line)
    if faults:
        sys.exit(1)
    print(f"layers: {files} files, {len(ARROWS)} modules, {rooms} rooms: every arrow runs one way")


main()
