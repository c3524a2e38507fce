"""A world of memory: the shipped daemon under the simulated kernel."""

import hashlib
import json
import os
import random
import struct

import link
from world import Accepted, Closed, Descriptor, Ended, Line, Refused

SOCKET, DATA, CONFIGURATION = "/run/kura/kura.sock", "/var/lib/kura", "/etc/kura/kura.json"
# 2026-01-01, in nanoseconds.
BEGINNING = 1_767_225_600 * 10**9
SETTINGS = {"switch": 0, "split": 1, "slow": 2, "cold": 3, "descriptors": 4}
CALLS = {name: 1 << bit for bit, name in enumerate("open read write sync name cut look map socket thread memory".split())}
ACTIONS = {"short": -1, "slow": -2, "hang": -3, "kill": -4, "cut": -5, "torn": -6}


class NotSimulated(Exception):
    """The daemon has made a call that the simulated kernel does not know."""


class SimulatedWorld:
    def __init__(self, kernel, kurad, seed, tree, processor=None, trace=None, temper=None):
        """`tree`: what lies on the disk at the beginning, by path. `temper`: values of SETTINGS."""
        self._kernel, self._kurad, self._tree = kernel, kurad, tree
        self._dice = random.Random(f"kernel {seed}")
        self._temper = {"switch": 200, "split": 100, "slow": 100, "cold": 100, **(temper or {})}
        self._processor, self._trace = processor, trace
        self._disk = link.Disk()
        self._process = None
        self._is_new = True
        self._incarnation = 0
        self._monotonic = 10**12
        self._wall = BEGINNING
        self._partial = {}
        self._numbers = 0
        self._due = []
        self._digest = hashlib.blake2b(digest_size=16)
        # Of all processes together.
        self.seams = self.written = self.syncs = self.faults = self.starts = 0
        # (rule, kind of call, path) of faults that have struck.
        self.struck = []
        self.output = []

    # MARK: The process

    def start(self, configuration):
        assert self._process is None
        self._incarnation += 1
        self.starts += 1
        environment = {
            "KURA_SIM_SEED": str(self._dice.getrandbits(63)), "KURA_SIM_MONOTONIC": str(self._monotonic),
            "KURA_SIM_WALL": str(self._wall), "KURA_SIM_PID": str(1000 + self._incarnation),
            "SWIFT_DETERMINISTIC_HASHING": "1", "SWIFT_BACKTRACE": "enable=no", "TZ": "UTC", "HOME": "/root", "PATH": "/bin", "LANG": "C.UTF-8"}
        command = [str(self._kurad), "--data-dir", DATA, "--socket", SOCKET, "--config", CONFIGURATION, "--log-level", "debug"]
        self._process = link.Process(self._kernel, command, self._disk, environment, self._processor, self._trace)
        self._take(self._process.begin())
        for name, value in self._temper.items():
            self._process.order(link.SETTING, struct.pack("<IQ", SETTINGS[name], value))
        if self._is_new:
            self._is_new = False
            for path, content in self._tree.items():
                self._put(path, content, 0o644)
            for path in (os.path.dirname(DATA), os.path.dirname(SOCKET)):
                self._put(path + "/.made", b"", 0o644)
        self.configure(configuration)

    def configure(self, configuration):
        self._put(CONFIGURATION, json.dumps(configuration).encode(), 0o644)

    def _put(self, path, content, mode):
        path = path.encode()
        self._order(link.PUT, struct.pack("<II", mode, len(path)) + path + content)

    def _order(self, kind, payload=b""):
        assert self._process is not None, "nothing runs"
        self._process.order(kind, payload)

    # MARK: Clients

    def connect(self, role="root"):
        self._numbers += 1
        uid = {"root": 0, "owner": 1000}.get(role, 2000)
        self._order(link.CONNECT, struct.pack("<IIIII", self._numbers, uid, uid, 1 << 20, 0x7FFFFFFF) + SOCKET.encode())
        self._partial[self._numbers] = bytearray()
        return self._numbers

    def send(self, connection, data, descriptors=()):
        kinds = [kind if isinstance(kind, int) else 0 for kind in descriptors]
        self._order(link.BYTES, struct.pack(f"<II{len(kinds)}i", connection, len(kinds), *kinds) + data)

    def half_close(self, connection):
        self._order(link.END, struct.pack("<IB", connection, 0))

    def close(self, connection):
        self._order(link.END, struct.pack("<IB", connection, 1))

    def reset(self, connection):
        self._order(link.END, struct.pack("<IB", connection, 2))

    def window(self, connection, count):
        self._order(link.WINDOW, struct.pack("<IQ", connection, count if count >= 0 else 1 << 62))

    # MARK: What the world does to it

    def signal(self, number):
        self._order(link.SIGNAL, struct.pack("<i", number))

    def kill(self):
        self._last(link.KILL)

    def cut(self):
        self._last(link.CUT)

    def _last(self, order):
        self._order(order)
        self._take(self._process.run(self._monotonic))
        # What it has sent and nobody has read goes with it.
        self._due = [event for event in self._due if isinstance(event, Ended)]

    def fault(self, rule):
        """`calls`: names of CALLS; `error`: an errno or a name of ACTIONS; `path`, `skip`, `times`, `permille`, `span`, `number`."""
        kinds = 0
        for name in rule["calls"]:
            kinds |= CALLS[name]
        error = rule["error"]
        self._order(link.FAULT, struct.pack(
            "<IIIIiIq64s", rule.get("number", 1), kinds, rule.get("skip", 0), rule.get("times", 1),
            ACTIONS.get(error, error), rule.get("permille", 1000), rule.get("span", 0), rule.get("path", "").encode()))

    def clear(self):
        self._order(link.CLEAR, struct.pack("<I", 0))

    def room(self, count):
        self._order(link.ROOM, struct.pack("<Q", count))

    def shift(self, span):
        """The wall clock jumps."""
        self._order(link.SHIFT, struct.pack("<q", span))

    def flip(self, path, offset, mask):
        self._order(link.FLIP, struct.pack("<QB", offset, mask) + path.encode())

    # MARK: Time

    @property
    def now(self):
        return self._monotonic - 10**12

    def advance(self, span):
        if self._process is not None and not self._due:
            self._take(self._process.run(self._monotonic + span))
        due, self._due = self._due, []
        return due

    def _take(self, reports):
        for kind, payload in reports:
            if kind != link.PAUSED:
                self._digest.update(bytes([kind]) + payload)
            if kind == link.PAUSED:
                _, self._monotonic, self._wall, seams, _, _, written, syncs = struct.unpack("<BqqQIIQQ", payload)
                self._digest.update(struct.pack("<q", self._monotonic))
                self.seams += seams
            elif kind == link.SENT:
                self._sent(struct.unpack_from("<I", payload)[0], payload[4:])
            elif kind == link.DESCRIPTOR:
                self._due.append(Descriptor(struct.unpack_from("<I", payload)[0], payload[8:]))
            elif kind == link.CLOSED:
                number, how = struct.unpack("<IB", payload)
                self._due.append(Closed(number, "reset" if how else "end"))
            elif kind == link.ACCEPTED:
                self._due.append(Accepted(struct.unpack("<I", payload)[0]))
            elif kind == link.REFUSED:
                self._due.append(Refused(struct.unpack("<I", payload)[0]))
            elif kind == link.ENDED:
                self._due.append(Ended(struct.unpack_from("<i", payload)[0], payload[4:].decode()))
                self._process = None
                self._partial.clear()
            elif kind == link.FAULTED:
                self.faults += 1
                self.struck.append((*struct.unpack_from("<II", payload), payload[8:].decode()))
            elif kind == link.OUTPUT:
                self.output.append(payload[4:])
            elif kind == link.UNKNOWN:
                raise NotSimulated(payload.decode())
            else:
                self._answer = payload

    def _sent(self, connection, data):
        partial = self._partial[connection]
        partial += data
        *lines, rest = partial.split(b"\n")
        self._partial[connection] = bytearray(rest)
        self._due += [Line(connection, bytes(line)) for line in lines]

    # MARK: Looking

    def _ask(self, kind, payload=b""):
        self._order(kind, payload)
        self._take(self._process.run(self._monotonic, for_news=False))
        return self._answer

    def files(self):
        listing = self._ask(link.LIST).decode().splitlines()
        found = []
        for line in sorted(listing, key=lambda line: line.split(" ", 2)[2]):
            mode, _, path = line.split(" ", 2)
            if int(mode, 8) >> 12 == 0o10:
                found.append((path, self._ask(link.FILE, path.encode())))
        return found

    def digest(self):
        """Of all that has been told so far, and of the disk when a process runs."""
        if self._process is not None:
            self._digest.update(self._ask(link.DIGEST))
        return self._digest.hexdigest()

    def stop(self):
        if self._process is not None:
            self._process.close()
            self._process = None
        self._disk.close()
