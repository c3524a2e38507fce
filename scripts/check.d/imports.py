#!/usr/bin/env python3
"""Checks that KuraClient and the modules it is made of keep to what Linux and Darwin have in common, but in branches for one of them.

usage: imports.py ROOT              exit code 1 when something would not build on the other
       imports.py --self-test ROOT  breaks a copy in each known way: every mistake must be found

We have no Mac. What is looked at instead: which modules there are (Package.swift) and that none of them is a system library; that each
C library is imported in its own branch; that what only Linux has stands in a branch of Linux; and that the Swift compiler accepts
Darwin's branches, with a module `Darwin` of our own (darwin/Darwin.swift) that declares what the client uses of it, and nothing more.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PRODUCT = "KuraClient"
LIBRARIES = {"Glibc": "canImport(Glibc)", "Musl": "canImport(Musl)", "Darwin": "canImport(Darwin)"}
LINUX = re.compile(
    r"\b(?:epoll_\w+|EPOLL\w+|accept4|pipe2|dup3|SOCK_CLOEXEC|SOCK_NONBLOCK|MSG_NOSIGNAL|MSG_CMSG_CLOEXEC|SO_PEERCRED|SO_PEERGROUPS"
    r"|SO_DOMAIN|memfd_create|MFD_\w+|eventfd\w*|EFD_\w+|signalfd\w*|SFD_\w+|timerfd_\w+|inotify_\w+|gettid|O_TMPFILE|O_PATH|openat2"
    r"|getrandom|prctl|PR_\w+|explicit_bzero|mremap|MREMAP_\w+|ppoll|sendmmsg|recvmmsg|splice|fallocate|sync_file_range|fdatasync"
    r"|malloc_trim|mallopt|M_MMAP_THRESHOLD|SCHED_BATCH|SCHED_IDLE|CLOCK_BOOTTIME|CLOCK_MONOTONIC_COARSE|F_ADD_SEALS|F_SETPIPE_SZ"
    r"|F_GETPIPE_SZ|program_invocation_name|secure_getenv|linux/\w+|malloc\.h|sys/(?:epoll|eventfd|prctl|signalfd|timerfd|timex|vfs)\.h)")
IMPORT = re.compile(r"^\s*(?:@\w+\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+(?:\w+\s+)?(Glibc|Musl|Darwin)\b")
COMMENT_OR_TEXT = re.compile(r'"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*(?s:.*?)\*/')


def closure(root):
    """The product's modules, those first that others need, and what of them is not ours to compile."""
    text = COMMENT_OR_TEXT.sub(lambda match: "" if match[0][0] == "/" else match[0], (root / "Package.swift").read_text())
    needs = {name: re.findall(r'"(\w+)"', list_ or "") for name, list_ in re.findall(r'\bmodule\(\s*"(\w+)"(?:,\s*\[([^\]]*)\])?', text)}
    needs |= {name: [] for name in re.findall(r'\.target\(name: "(\w+)"\)', text)}
    libraries = set(re.findall(r'\.systemLibrary\(\s*name: "(\w+)"', text))
    ordered = []

    def add(name):
        for other in needs.get(name, []):
            add(other)
        if name not in ordered:
            ordered.append(name)

    add(PRODUCT)
    return ordered, sorted(name for name in ordered if name in libraries or name not in needs)


def blank(match):
    """As many lines, without what could be taken for code. What C includes is code."""
    return re.sub(r"[^\n]", " ", match[0])


def is_linux(condition):
    return re.search(r"(?<!!)(?:os\(Linux\)|canImport\((?:Glibc|Musl)\)|\b__linux__\b|\b__GLIBC__\b)", condition) is not None


def is_darwin(condition):
    return re.search(r"(?<!!)(?:canImport\(Darwin\)|os\(macOS\)|\b__APPLE__\b)", condition) is not None


def branches(path):
    """The file's lines of code, with their numbers and the conditions under which each is compiled."""
    text = path.read_text()
    includes = {number for number, line in enumerate(text.split("\n")) if line.startswith("#include")}
    code = COMMENT_OR_TEXT.sub(blank, text).split("\n")
    lines = [text.split("\n")[number] if number in includes else line for number, line in enumerate(code)]
    chains = []
    for number, line in enumerate(lines, 1):
        directive = re.match(r"\s*#\s*(ifdef|ifndef|if|elseif|elif|else|endif)\b(.*)", line)
        if not directive:
            yield number, line, [chain[-1] for chain in chains]
        elif directive[1] in ("if", "ifdef", "ifndef"):
            chains.append([("not " if directive[1] == "ifndef" else "") + directive[2].strip()])
        elif directive[1] in ("elseif", "elif"):
            chains[-1].append(directive[2].strip())
        elif directive[1] == "else":
            # Where it is not Darwin it is Linux.
            others = chains[-1]
            chains[-1].append("os(Linux)" if any(map(is_darwin, others)) and not any(map(is_linux, others)) else "else")
        else:
            chains.pop()


def linux_functions(root):
    """What CSyscalls.h declares for Linux alone."""
    header = root / "Sources/CSyscalls/include/CSyscalls.h"
    found = set()
    for _, line, conditions in branches(header):
        if any(map(is_linux, conditions)):
            found |= set(re.findall(r"\b(csys_\w+|CSYS_\w+)\b", line))
    return found


def textual_faults(root, modules):
    faults = []
    linux_only = linux_functions(root)
    if len(linux_only) < 20:
        faults.append(f"CSyscalls.h declares {len(linux_only)} names for Linux alone: too few to be true")
    for module in modules:
        for path in sorted((root / "Sources" / module).rglob("*.*")):
            if path.suffix not in (".swift", ".c", ".h"):
                continue
            for number, line, conditions in branches(path):
                place = f"{path.relative_to(root)}:{number}"
                imported = IMPORT.match(line)
                if imported and not any(LIBRARIES[imported[1]] in condition for condition in conditions):
                    faults.append(f"{place}: imports {imported[1]} outside of #if {LIBRARIES[imported[1]]}")
                if any(map(is_linux, conditions)):
                    continue
                for name in LINUX.findall(line):
                    faults.append(f"{place}: {name} is Linux's, and stands outside of its branch")
                if module != "CSyscalls":
                    for name in sorted(linux_only & set(re.findall(r"\w+", line))):
                        faults.append(f"{place}: {name} is declared for Linux alone")
    return faults


# What stands for the platform in a copy that is to be compiled as on Darwin.
AS_ON_DARWIN = [
    (re.compile(r"canImport\((?:Glibc|Musl)\)|os\(Linux\)"), "os(Windows)"),
    (re.compile(r"\bos\(macOS\)"), "os(Linux)"),
]


def compile_as_darwin(root, modules):
    """Has the compiler check Darwin's branches against our module of that name."""
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory)
        for module in modules:
            for path in (root / "Sources" / module).rglob("*.*"):
                if path.suffix in (".swift", ".h"):
                    text = path.read_text()
                    if path.suffix == ".swift":
                        for pattern, other in AS_ON_DARWIN:
                            text = pattern.sub(other, text)
                    else:
                        text = re.sub(r"^#ifdef __linux__", "#if 0", text, flags=re.MULTILINE)
                    place = copy / path.relative_to(root / "Sources")
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(text)
        header = copy / "CSyscalls/include/CSyscalls.h"
        (header.parent / "module.modulemap").write_text('module CSyscalls { header "CSyscalls.h" export * }\n')

        def compiled(module, files, *flags):
            command = [
                "swiftc", "-swift-version", "6", "-package-name", "kura", "-parse-as-library", "-module-name", module, "-wmo",
                "-I", str(copy), "-I", str(header.parent), "-suppress-warnings", "-emit-module", "-emit-module-path", str(copy / f"{module}.swiftmodule"), *flags, *map(str, files)]
            result = subprocess.run(command, capture_output=True, text=True)
            errors = [line.replace(directory, "Sources") for line in result.stderr.split("\n") if ": error:" in line]
            return errors or ([result.stderr] if result.returncode else [])

        flags = []
        for feature in ("ExistentialAny", "MemberImportVisibility", "InternalImportsByDefault"):
            flags += ["-enable-upcoming-feature", feature]
        faults = compiled("Darwin", [root / "scripts/check.d/darwin/Darwin.swift"])
        for module in modules:
            files = sorted((copy / module).rglob("*.swift"))
            if files and not faults:
                faults = [f"as on Darwin: {line}" for line in compiled(module, files, *flags)]
        return faults


def faults_of(root, compiles=True):
    modules, foreign = closure(root)
    faults = [f"Package.swift: {PRODUCT} needs {name}, which is no module of ours" for name in foreign]
    if len(modules) < 4:
        faults.append(f"Package.swift: {PRODUCT} is made of {modules}: too few to be true")
    modules = [name for name in modules if name not in foreign]
    faults += textual_faults(root, modules)
    if compiles and not faults:
        faults = compile_as_darwin(root, modules)
    return faults, modules


# (file, what is replaced, by what; nothing: added at the end; what the fault must say)
MISTAKES = [
    ("Sources/KuraBytes/Rows.swift", "#if canImport(Glibc)\n", "import Glibc\n#if canImport(Glibc)\n", "imports Glibc outside"),
    ("Sources/KuraClient/Client.swift", None, "import Darwin\n", "imports Darwin outside"),
    ("Sources/KuraClient/Calls/Clock.swift", "#elseif canImport(Darwin)\n    import Darwin\n", "#else\n    import Glibc\n", "imports Glibc outside"),
    ("Sources/KuraSocket/Socket.swift", None, "let flags = MSG_NOSIGNAL\n", "MSG_NOSIGNAL is Linux's"),
    ("Sources/KuraSocket/Socket.swift", None, "let event = csys_eventfd()\n", "csys_eventfd is declared for Linux alone"),
    ("Sources/KuraSocket/Socket.swift", None, "#if canImport(Darwin)\n#else\nlet a = SO_PEERCRED\n#endif\nlet b = SO_PEERCRED\n", "SO_PEERCRED is Linux's"),
    ("Sources/CSyscalls/CSyscalls.c", "#include <errno.h>", "#include <errno.h>\n#include <sys/epoll.h>", "sys/epoll.h is Linux's"),
    ("Sources/CSyscalls/CSyscalls.c", "SOCK_STREAM, 0)", "SOCK_STREAM | SOCK_CLOEXEC, 0)", "SOCK_CLOEXEC is Linux's"),
    ("Sources/CSyscalls/include/CSyscalls.h", "#ifdef __linux__", "#if 1", "too few to be true"),
    ("Package.swift", 'module("KuraSocket", [', 'module("KuraSocket", ["CSodium", ', "needs CSodium, which is no module of ours"),
    ("Package.swift", 'module("KuraClient", [', 'module("KuraClient", ["KuraTransport", ', "imports Glibc outside"),
    # What only the compiler finds.
    ("Sources/KuraSocket/SystemError.swift", None, "let name = program_name()\n", "cannot find 'program_name' in scope"),
    ("Sources/KuraClient/Blobs/MemoryFile.swift", None, "#if canImport(Darwin)\nlet here = getpagesizes()\n#endif\n", "cannot find 'getpagesizes' in scope"),
    ("Sources/KuraClient/Calls/Clock.swift", "    import Darwin\n", "", "cannot find 'clock_gettime' in scope"),
]


def self_test(root):
    missed = 0
    for name, old, new, expected in MISTAKES:
        with tempfile.TemporaryDirectory() as directory:
            copy = Path(directory)
            shutil.copytree(root / "Sources", copy / "Sources")
            shutil.copytree(root / "scripts/check.d/darwin", copy / "scripts/check.d/darwin")
            shutil.copy(root / "Package.swift", copy)
            text = (copy / name).read_text()
            if old and old not in text:
                missed += 1
                print(f"self-test: {name} has no {old!r} to replace")
                continue
            (copy / name).write_text(text.replace(old, new, 1) if old else text + "\n" + new)
            found = faults_of(copy)[0]
            if not any(expected in line for line in found):
                missed += 1
                print(f"self-test: not found: {new.strip()!r} in {name}", *found[:3], sep="\n  ")
    print(f"self-test: imports found {len(MISTAKES) - missed} of {len(MISTAKES)} mistakes")
    return missed == 0


def main():
    if sys.argv[1:2] == ["--self-test"]:
        sys.exit(0 if self_test(Path(sys.argv[2])) else 1)
    faults, modules = faults_of(Path(sys.argv[1]))
    for line in faults:
        print(line)
    if faults:
        sys.exit(1)
    print(f"imports: {PRODUCT} is {', '.join(modules)}: portable by what they import, and Darwin's branches compile against what we declare of it")


main()
