"""Checks that the arrows between the modules run one way, by what each file imports and names."""

import re

from tree import code, passed_over

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
    "KuraCheck": {"KuraBytes", "KuraStorage", "SQLite", "Sodium", "CSyscalls"},
    "KuraServer": {
        "KuraBytes", "KuraJSON", "KuraProtocol", "JSONSchema", "KuraSocket", "KuraTransport", "KuraStorage", "KuraCheck",
        "SQLite", "Sodium"},
    "KuraClient": {"KuraBytes", "KuraProtocol", "KuraSocket"},
    "KuraFoundation": {"KuraClient"},
    "KuraTesting": {"KuraBytes", "KuraClient", "KuraProtocol", "KuraServer"},
    "kurad": {"KuraServer", "KuraProtocol"},
    "KuraCommand": {"KuraBytes", "KuraClient", "KuraProtocol", "SQLite", "Sodium", "CSyscalls"},
    "kura": {"KuraCommand"},
    "kura-bench": set(),
    "Examples": {"KuraClient"},
}
# What one folder of a module alone may import: the storage knows the wire's grammar and bounds where records of files are held
# against them, and nowhere else.
ONE_FOLDER = {
    ("KuraStorage", "KuraProtocol"): "Sources/KuraStorage/Guard",
    ("KuraStorage", "JSONSchema"): "Sources/KuraStorage/Guard",
}
# Cold parts of the storage that are no modules of their own, as folders with all below them: the types of them that the rest of the
# storage may name, and who may. Nobody names what is not here, and what is not named any more is taken out.
COLD = {
    ("Backups", "Bundles"): {
        "BackupDirectory": "DamageBook", "BackupFault": "Boot Guard Places", "BackupFormat": "Guard Stores",
        "BackupManifest": "Boot Guard", "BackupRecord": "Boot Documents Guard", "BundleModel": "Guard",
        "ContentPiece": "Guard", "FoldTap": "Log", "FoldTaps": "Log", "ModelSeed": "Models", "RestoredTables": "Boot", "SeedBundle": "Boot",
        "SeedRecord": "Boot", "SeedStatus": "Boot"},
    ("Boot",): {
        "Boot": "Bundles Caches DamageBook Models Recovery TablesInMemory", "BootPhase": "Log",
        "Formats": "Backups DataDirectory", "LayoutRecord": "Tables", "NoteReader": "Bundles", "Quarantine": "Log Places",
        "RecoveredFile": "Log", "RecoveredNotice": "Log", "RecoveredOmission": "Backups Guard", "SnapshotSource": "Backups Bundles Configuration",
        "StorageStart": "Log Secrets Storage TablesKeeper",
        "TablesCheck": "TablesInMemory", "Work": "Log Secrets Storage+upkeep TablesInMemory"},
    ("Caches", "Models", "Blobs"): {
        "BlobsStore": "Storage", "CacheChange": "Bill Boot", "CacheFile": "Boot Bundles Compaction",
        "CacheFiles": "Bundles Compaction", "CacheJob": "Bundles Compaction", "CacheSources": "Changes", "CacheStore": "Bill Boot",
        "Caches": "Bill Launches Storage TablesKeeper", "FreeSpace": "Backups Bundles Compaction Room",
        "ModelConfiguration": "Bundles Guard", "ModelNamespace": "Bundles", "ModelRow": "Bundles",
        "ModelStatements": "Bundles", "ModelsStore": "Bundles Guard Storage Storage+ahead"},
}
# C that one file of a module imports, and no other.
ONE_FILE = {"CPCRE2": "Sources/JSONSchema/Pattern.swift"}
# What every module may import. Foundation is not among them: it costs start time, memory and 10 MB of program.
SYSTEM = {"Glibc", "Musl", "Darwin", "Observation", "Synchronization"}
# Applications that somebody starts from may use what applications use, and one module is there for those that do.
APPLICATIONS = {"Examples": {"Foundation", "FoundationNetworking"}, "KuraFoundation": {"Foundation"}}
# The server looks at the bytes written, arms faults, and uses the lock that ThreadSanitizer sees; databases are the storage's.
SERVER_MAY_NAME = {
    "Guarded", "CountingScope", "CountingVFS", "WriteCounts", "FileRole", "FilePart", "FaultPoints", "FaultPoint", "FaultAction"}

IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+"
    r"(?:(?:struct|class|enum|protocol|typealias|func|var|let|actor)\s+)?([\w]+)", re.MULTILINE)
# At the margin, so of the file and not inside of another type; extensions declare nothing.
TYPE = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private|final|indirect)\s+)*"
    r"(?:class|struct|enum|actor|protocol|typealias)\s+(\w+)", re.MULTILINE)


def types_in(codes):
    return {name for text in codes.values() for name in TYPE.findall(text)}


def cold_faults(storage):
    """Names of cold parts where they do not belong; `storage`: its files with their code."""
    part = lambda name: name.split("/")[2].removesuffix(".swift")
    faults = []
    for folders, face in COLD.items():
        own = {name: text for name, text in storage.items() if part(name) in folders}
        rest = {name: text for name, text in storage.items() if name not in own}
        allowed = {(type_, who) for type_, places in face.items() for who in places.split()}
        found = set()
        # What a file keeps to itself nobody else can mean.
        seen = {name: re.sub(r"(?m)^(?:@\w+\s+)*(?:file)?private .*", "", text) for name, text in own.items()}
        types = types_in(seen) - types_in(rest)
        for name, text in rest.items():
            for type_ in named(types, text):
                found.add((type_, part(name)))
                if (type_, part(name)) not in allowed:
                    faults.append(f"{name}: {part(name)} must not name {type_} of {folders[0]} (COLD in scripts/check.d/layers.py)")
        faults += [f"scripts/check.d/layers.py: {who} names no {type_} any more: take it out of COLD"
                   for type_, who in sorted(allowed - found)]
    return faults


def check(tree):
    sources = {name: code(tree.text(name)) for name in tree.names(r"Sources/.*\.swift")}
    modules = {name: name.split("/")[1] for name in sources}
    faults = []
    for name, text in sources.items():
        module, folder = modules[name], name.rpartition("/")[0]
        if module not in ARROWS:
            faults.append(f"{name}: no arrows are written down for the module {module} (scripts/check.d/layers.py)")
            continue
        for imported in IMPORT.findall(text):
            if imported not in ARROWS[module] | SYSTEM | APPLICATIONS.get(module, set()):
                faults.append(f"{name}: {module} must not import {imported}")
            elif folder != ONE_FOLDER.get((module, imported), folder):
                only = ONE_FOLDER[module, imported]
                faults.append(f"{name}: {module} must not import {imported}: that is for {only} alone")
            elif name != ONE_FILE.get(imported, name):
                faults.append(f"{name}: only {ONE_FILE[imported]} may import {imported}")

    def of_module(module):
        return {name: text for name, text in sources.items() if modules[name] == module}

    server = of_module("KuraServer")
    hidden = types_in(of_module("SQLite")) - SERVER_MAY_NAME - types_in(server)
    for name, text in server.items():
        if "SQLite" in IMPORT.findall(text):
            faults += [f"{name}: KuraServer must not use SQLite's {type_}" for type_ in named(hidden, text)]

    faults += cold_faults(of_module("KuraStorage"))

    # A room is a folder of KuraStorage with a store in it.
    folders = {}
    for name, text in of_module("KuraStorage").items():
        if name.count("/") > 2:
            folders.setdefault(name.split("/")[-2], {})[name] = text
    rooms = {room: files for room, files in folders.items() if f"{room}Store" in types_in(files)}
    for room, files in rooms.items():
        for other in sorted(rooms.keys() - {room}):
            foreign = types_in(rooms[other]) - types_in(files)
            for name, text in files.items():
                faults += [f"{name}: the room {room} names {type_} of the room {other}" for type_ in named(foreign, text)]
    if len(rooms) < 2:
        faults.append(f"rooms found: {sorted(rooms)}; there should be two at least")
    return faults, f"{len(sources)} files, {len(ARROWS)} modules, {len(rooms)} rooms: every arrow runs one way"


def named(types, text):
    return sorted(types & set(re.findall(r"\w+", text)))


# (file, what is added to it, how the fault of that file begins)
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
    ("Sources/KuraServer/Server.swift", "import SQLite\nlet m: Migrator? = nil\n", "KuraServer must not use SQLite's Migrator"),
    ("Sources/KuraStorage/Settings/SettingsStore.swift", "let d: DocumentsStore?\n", "the room Settings names DocumentsStore"),
    ("Sources/KuraStorage/Documents/DocumentsStore.swift", "let s: SettingsStore?\n", "the room Documents names SettingsStore"),
    ("Sources/KuraStorage/Log/Fold.swift", "let b: BackupRun?\n", "Log must not name BackupRun of Backups"),
    ("Sources/KuraStorage/Log/Log.swift", "let b: BackupFault?\n", "Log must not name BackupFault of Backups"),
    ("Sources/KuraStorage/Documents/Search/SearchText.swift", "let t: TrapNote?\n", "Documents must not name TrapNote of Boot"),
    ("Sources/KuraStorage/Ledger/Ledger.swift", "let c: CacheOrder?\n", "Ledger must not name CacheOrder of Caches"),
    ("Sources/KuraStorage/Ledger/Ledger.swift", "import KuraCheck\n", "KuraStorage must not import KuraCheck"),
    ("Sources/KuraTesting/InMemoryDaemon.swift", "import KuraStorage\n", "KuraTesting must not import KuraStorage"),
    ("Sources/KuraClient/Client.swift", "import KuraServer\n", "KuraClient must not import KuraServer"),
    ("Sources/KuraClient/Client.swift", "import Foundation\n", "KuraClient must not import Foundation"),
    ("Sources/KuraClient/Client.swift", "import KuraFoundation\n", "KuraClient must not import KuraFoundation"),
    ("Sources/KuraFoundation/Timestamp.swift", "import KuraServer\n", "KuraFoundation must not import KuraServer"),
    ("Sources/Examples/Notes/Notes.swift", "import KuraServer\n", "Examples must not import KuraServer"),
    ("Sources/Utilities/Bytes.swift", "import Glibc\n", "no arrows are written down for the module Utilities"),
]


def self_test(tree):
    missed = passed_over(check, tree, [(name, "", text, f"{name}: {fault}") for name, text, fault in MISTAKES])
    no_code = '// import Foundation\nlet note = "DocumentsStore"\n'
    if check(tree.changed("Sources/KuraStorage/Settings/SettingsStore.swift", "", no_code)) != check(tree):
        missed.append("a comment or a string was taken for code")
    return missed, len(MISTAKES) + 1
