"""Checks that KuraClient and the modules it is made of keep to what Linux and Darwin have in common, but in branches for one of
them.

We have no Mac. What is looked at instead: which modules there are (Package.swift) and that none of them is a system library; that
each C library is imported in its own branch; that what only Linux has stands in a branch of Linux; and that the Swift compiler
accepts Darwin's branches, with a module `Darwin` of our own (darwin/Darwin.swift) that declares what the client uses of it, and
nothing more.
"""

import re
import subprocess
import tempfile
from pathlib import Path

from programs import needs
from tree import code, passed_over

PRODUCT = "KuraClient"
LIBRARIES = {"Glibc": "canImport(Glibc)", "Musl": "canImport(Musl)", "Darwin": "canImport(Darwin)"}
LINUX = re.compile(
    r"\b(?:epoll_\w+|EPOLL\w+|accept4|pipe2|dup3|SOCK_CLOEXEC|SOCK_NONBLOCK|MSG_NOSIGNAL|MSG_CMSG_CLOEXEC|SO_PEERCRED"
    r"|SO_PEERGROUPS|SO_DOMAIN|memfd_create|MFD_\w+|eventfd\w*|EFD_\w+|signalfd\w*|SFD_\w+|timerfd_\w+|inotify_\w+|gettid"
    r"|O_TMPFILE|O_PATH|openat2|getrandom|prctl|PR_\w+|explicit_bzero|mremap|MREMAP_\w+|ppoll|sendmmsg|recvmmsg|splice|fallocate"
    r"|sync_file_range|fdatasync|malloc_trim|mallopt|M_MMAP_THRESHOLD|SCHED_BATCH|SCHED_IDLE|CLOCK_BOOTTIME"
    r"|CLOCK_MONOTONIC_COARSE|F_ADD_SEALS|F_SETPIPE_SZ|F_GETPIPE_SZ|program_invocation_name|secure_getenv|linux/\w+|malloc\.h"
    r"|sys/(?:epoll|eventfd|prctl|signalfd|timerfd|timex|vfs)\.h)")
IMPORT = re.compile(
    r"^\s*(?:@\w+\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+(?:\w+\s+)?(Glibc|Musl|Darwin)\b")
IS_LINUX = re.compile(r"(?<!!)(?:os\(Linux\)|canImport\((?:Glibc|Musl)\)|\b__linux__\b|\b__GLIBC__\b)")
IS_DARWIN = re.compile(r"(?<!!)(?:canImport\(Darwin\)|os\(macOS\)|\b__APPLE__\b)")
HEADER = "Sources/CSyscalls/include/CSyscalls.h"


def any_matches(pattern, conditions):
    return any(map(pattern.search, conditions))


def modules_of(tree):
    """The product's modules, those first that others need, and what of them is not ours to compile."""
    text = code(tree.text("Package.swift"), keeps_texts=True)
    declared = re.findall(r'\bmodule\(\s*"(\w+)"(?:,\s*\[([^\]]*)\])?', text)
    needs = {name: re.findall(r'"(\w+)"', others) for name, others in declared}
    needs |= {name: [] for name in re.findall(r'\.target\(name: "(\w+)"\)', text)}
    ordered = [PRODUCT]
    for name in ordered:
        ordered += needs.get(name, [])
    # Where one stands last, all that need it come before.
    ordered = list(dict.fromkeys(reversed(ordered)))
    libraries = re.findall(r'\.systemLibrary\(\s*name: "(\w+)"', text)
    return ordered, sorted(name for name in ordered if name in libraries or name not in needs)


def branches(text):
    """The lines of code, with their numbers and the conditions under which each is compiled."""
    # The conditions that the branches of each open `#if` have had so far.
    chains = []
    for number, (line, bare) in enumerate(zip(text.split("\n"), code(text).split("\n")), 1):
        directive = re.match(r"\s*#\s*(ifdef|ifndef|if|elseif|elif|else|endif)\b(.*)", bare)
        if not directive:
            # What C includes in quotation marks is code.
            yield number, line if line.startswith("#include") else bare, [chain[-1] for chain in chains]
        elif directive[1] in ("if", "ifdef", "ifndef"):
            chains.append([("not " if directive[1] == "ifndef" else "") + directive[2].strip()])
        elif directive[1] in ("elseif", "elif"):
            chains[-1].append(directive[2].strip())
        elif directive[1] == "else":
            # Where it is not Darwin it is Linux.
            others = chains[-1]
            others.append("os(Linux)" if any_matches(IS_DARWIN, others) and not any_matches(IS_LINUX, others) else "else")
        else:
            chains.pop()


def textual_faults(tree, modules):
    # What CSyscalls.h declares for Linux alone.
    linux_only = {
        name for _, line, conditions in branches(tree.text(HEADER)) if any_matches(IS_LINUX, conditions)
        for name in re.findall(r"\b(?:csys_\w+|CSYS_\w+)\b", line)}
    if len(linux_only) < 20:
        yield f"CSyscalls.h declares {len(linux_only)} names for Linux alone: too few to be true"
    for file in tree.names(rf"Sources/({'|'.join(modules)})/.*\.(swift|c|h)"):
        for number, line, conditions in branches(tree.text(file)):
            place = f"{file}:{number}"
            imported = IMPORT.match(line)
            if imported and not any(LIBRARIES[imported[1]] in condition for condition in conditions):
                yield f"{place}: imports {imported[1]} outside of #if {LIBRARIES[imported[1]]}"
            if any_matches(IS_LINUX, conditions):
                continue
            for name in LINUX.findall(line):
                yield f"{place}: {name} is Linux's, and stands outside of its branch"
            if not file.startswith("Sources/CSyscalls/"):
                for name in sorted(linux_only & set(re.findall(r"\w+", line))):
                    yield f"{place}: {name} is declared for Linux alone"


def compile_as_darwin(tree, modules):
    """Has the compiler check Darwin's branches, in a copy, against our module of that name; its errors."""
    needs("", "swiftc")
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory)
        tree.write(copy, r"scripts/check\.d/darwin/.*|" + rf"Sources/({'|'.join(modules)})/.*\.(swift|h)")
        for path in copy.glob("Sources/**/*.swift"):
            text = re.sub(r"canImport\((?:Glibc|Musl)\)|os\(Linux\)", "os(Windows)", path.read_text())
            path.write_text(re.sub(r"\bos\(macOS\)", "os(Linux)", text))
        header = copy / HEADER
        header.write_text(re.sub(r"^#ifdef __linux__", "#if 0", header.read_text(), flags=re.MULTILINE))
        (header.parent / "module.modulemap").write_text('module CSyscalls { header "CSyscalls.h" export * }\n')
        command = [
            "swiftc", "-swift-version", "6", "-package-name", "kura", "-parse-as-library", "-wmo", "-suppress-warnings",
            "-I", directory, "-I", header.parent, "-emit-module"]
        for feature in ("ExistentialAny", "MemberImportVisibility", "InternalImportsByDefault"):
            command += ["-enable-upcoming-feature", feature]
        files = {name: sorted(copy.glob(f"Sources/{name}/**/*.swift")) for name in modules}
        for name, sources in {"Darwin": [copy / "scripts/check.d/darwin/Darwin.swift"], **files}.items():
            if not sources:
                continue
            result = subprocess.run(
                [*command, "-module-name", name, "-emit-module-path", copy / f"{name}.swiftmodule", *sources],
                capture_output=True, text=True)
            if result.returncode:
                errors = [line.replace(f"{directory}/", "") for line in result.stderr.split("\n") if ": error:" in line]
                return [f"as on Darwin: {line}" for line in errors or [result.stderr]]
    return []


def check(tree):
    modules, foreign = modules_of(tree)
    faults = [f"Package.swift: {PRODUCT} needs {name}, which is no module of ours" for name in foreign]
    if len(modules) < 4:
        faults.append(f"Package.swift: {PRODUCT} is made of {modules}: too few to be true")
    modules = [name for name in modules if name not in foreign]
    faults += textual_faults(tree, modules)
    return faults or compile_as_darwin(tree, modules), (
        f"{PRODUCT} is {', '.join(modules)}: portable by what they import, and Darwin's branches compile against what we declare "
        "of it")


BRANCHES = "#if canImport(Darwin)\n#else\nlet a = SO_PEERCRED\n#endif\nlet b = SO_PEERCRED\n"
UNKNOWN = "#if canImport(Darwin)\nlet here = getpagesizes()\n#endif\n"
# (file, what is replaced, by what; nothing: added at the end; what the fault must say)
MISTAKES = [
    ("Sources/KuraBytes/Rows.swift", "#if canImport(Glibc)\n", "import Glibc\n#if canImport(Glibc)\n", "imports Glibc outside"),
    ("Sources/KuraClient/Client.swift", "", "import Darwin\n", "imports Darwin outside"),
    ("Sources/KuraBytes/Clocks.swift", "#elseif canImport(Darwin)\n    import Darwin\n", "#else\n    import Glibc\n",
     "imports Glibc outside"),
    ("Sources/KuraSocket/Socket.swift", "", "let flags = MSG_NOSIGNAL\n", "MSG_NOSIGNAL is Linux's"),
    ("Sources/KuraSocket/Socket.swift", "", "let event = csys_eventfd()\n", "csys_eventfd is declared for Linux alone"),
    ("Sources/KuraSocket/Socket.swift", "", BRANCHES, "SO_PEERCRED is Linux's"),
    ("Sources/CSyscalls/CSyscalls.c", "#include <errno.h>", "#include <errno.h>\n#include <sys/epoll.h>",
     "sys/epoll.h is Linux's"),
    ("Sources/CSyscalls/CSyscalls.c", "SOCK_STREAM, 0)", "SOCK_STREAM | SOCK_CLOEXEC, 0)", "SOCK_CLOEXEC is Linux's"),
    (HEADER, "#ifdef __linux__", "#if 1", "too few to be true"),
    ("Package.swift", 'module("KuraSocket", [', 'module("KuraSocket", ["CSodium", ', "needs CSodium, which is no module of ours"),
    ("Package.swift", 'module("KuraClient", [', 'module("KuraClient", ["KuraTransport", ', "imports Glibc outside"),
    # What only the compiler finds.
    ("Sources/KuraSocket/SystemError.swift", "", "let name = program_name()\n", "cannot find 'program_name' in scope"),
    ("Sources/KuraClient/Blobs/MemoryFile.swift", "", UNKNOWN, "cannot find 'getpagesizes' in scope"),
    ("Sources/KuraBytes/Clocks.swift", "    import Darwin\n", "", "cannot find 'clock_gettime' in scope"),
]


def self_test(tree):
    return passed_over(check, tree, MISTAKES), len(MISTAKES)
