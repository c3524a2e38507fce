"""What the daemon reads of the machine: files below /proc, /sys and /etc of the simulated disk.

The machine has two processors and 8 GiB, as the simulated kernel says elsewhere (environment.c). The daemon is a service with 4 GiB in a
control group of its own, and user 1000. Numbers that would change while it runs stand still.

Devices (/dev/null, /dev/urandom) and /proc/self/fd are the kernel's own. The C library reads /proc/self/maps, /proc/sys/vm and
/sys/devices/system/cpu by itself, past the simulated kernel; what those say is here all the same, for whoever asks by name.
"""

import random

KIB = 1024
MEMORY = 8 << 30
GROUP_MEMORY = 4 << 30
USER = 1000
GROUP = "/system.slice/kura.service"


def _table(rows: dict[str, str], width: int = 0) -> bytes:
    return "".join(f"{name}:{value:>{width}}\n" if width else f"{name}:\t{value}\n" for name, value in rows.items()).encode()


MEMINFO = _table(
    {
        "MemTotal": f"{MEMORY // KIB} kB",
        "MemFree": f"{(5 << 30) // KIB} kB",
        "MemAvailable": f"{(6 << 30) // KIB} kB",
        "Buffers": "65536 kB",
        "Cached": "1048576 kB",
        "SwapCached": "0 kB",
        "Active(file)": "524288 kB",
        "Inactive(file)": "524288 kB",
        "SwapTotal": "0 kB",
        "SwapFree": "0 kB",
        "Dirty": "0 kB",
        "Shmem": "0 kB",
    },
    18,
)

# VmLck is all that the limit allows: keys that are locked are seen to be, however many there are.
STATUS = _table(
    {
        "Name": "kurad",
        "Umask": "0022",
        "State": "R (running)",
        "Uid": f"{USER}\t{USER}\t{USER}\t{USER}",
        "Gid": f"{USER}\t{USER}\t{USER}\t{USER}",
        "Groups": f"{USER} ",
        "VmPeak": "  262144 kB",
        "VmSize": "  262144 kB",
        "VmLck": "    8192 kB",
        "VmHWM": "   65536 kB",
        "VmRSS": "   65536 kB",
        "Threads": "8",
        "SigBlk": "0000000000014003",
        "CapEff": "0000000000000000",
        "NoNewPrivs": "1",
        "Cpus_allowed": "3",
        "Cpus_allowed_list": "0-1",
    }
)


def _limits() -> bytes:
    rows = [
        ("Max core file size", "0", "0", "bytes"),
        ("Max locked memory", "8388608", "8388608", "bytes"),
        ("Max open files", "900", "900", "files"),
        ("Max processes", "30000", "30000", "processes"),
        ("Max stack size", "8388608", "unlimited", "bytes"),
    ]
    lines = [("Limit", "Soft Limit", "Hard Limit", "Units"), *rows]
    return "".join(f"{name:<26}{soft:<21}{hard:<21}{unit:<10}\n" for name, soft, hard, unit in lines).encode()


MOUNTS = b"""21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /proc rw,nosuid,nodev,noexec,relatime shared:2 - proc proc rw
23 21 0:21 / /sys rw,nosuid,nodev,noexec,relatime shared:3 - sysfs sysfs rw
24 23 0:22 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw
25 21 0:23 / /dev/shm rw,nosuid,nodev shared:5 - tmpfs tmpfs rw
"""


def boot_id(seed: int, boots: int) -> bytes:
    """Names the machine's start: a power cut makes a new one, a kill does not."""
    digits = f"{random.Random(f'{seed} {boots}').getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}\n".encode()


BOOT_ID = "/proc/sys/kernel/random/boot_id"

TREE: dict[str, bytes] = {
    "/proc/meminfo": MEMINFO,
    "/proc/self/cgroup": f"0::{GROUP}\n".encode(),
    "/proc/self/limits": _limits(),
    "/proc/self/mountinfo": MOUNTS,
    "/proc/self/status": STATUS,
    "/proc/sys/kernel/overflowgid": b"65534\n",
    "/proc/sys/kernel/overflowuid": b"65534\n",
    BOOT_ID: boot_id(0, 0),
    "/proc/sys/vm/overcommit_memory": b"0\n",
    "/sys/devices/system/cpu/online": b"0-1\n",
    "/sys/devices/system/cpu/possible": b"0-1\n",
    f"/sys/fs/cgroup{GROUP}/memory.current": f"{64 << 20}\n".encode(),
    f"/sys/fs/cgroup{GROUP}/memory.max": f"{GROUP_MEMORY}\n".encode(),
    f"/sys/fs/cgroup{GROUP}/memory.stat": b"anon 33554432\nfile 16777216\nactive_file 8388608\ninactive_file 8388608\n",
    "/sys/fs/cgroup/system.slice/memory.current": f"{256 << 20}\n".encode(),
    "/sys/fs/cgroup/system.slice/memory.max": b"max\n",
    "/sys/fs/cgroup/system.slice/memory.stat": b"anon 134217728\nfile 33554432\nactive_file 16777216\ninactive_file 16777216\n",
    "/etc/group": b"root:x:0:\nkura:x:1000:\nreaders:x:2000:\nwriters:x:2001:\nnogroup:x:65534:\n",
    "/etc/passwd": (
        b"root:x:0:0:root:/root:/bin/sh\nkura:x:1000:1000::/home/kura:/bin/false\nanna:x:2000:2000::/home/anna:/bin/sh\n"
        b"bert:x:2001:2001::/home/bert:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
    ),
}

# Names that lead elsewhere.
LINKS: dict[str, str] = {"/proc/self/exe": "/usr/bin/kurad"}

# Directories that have to be there, and their modes; whatever lies in them.
DIRECTORIES: dict[str, int] = {
    "/tmp": 0o1777, "/run": 0o755, "/var/lib": 0o755, "/var/tmp": 0o1777, "/home/kura": 0o700, "/dev/shm": 0o1777
}
