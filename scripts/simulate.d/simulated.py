"""A world of memory: the shipped daemon under the simulated kernel."""

import errno
import hashlib
import json
import random
import struct

import link
from link import Spins
from places import CONFIGURATION, CUT, HOME, Places
from rotting import Rotting
from tree import BOOT_ID, boot_id
from world import Accepted, Closed, Descriptor, Ended, Line, Refused, around

RUN = f"{HOME}/run"
UID, CLIENT_PID = 1000, 4_000_000
# Of enum PassedKind: a file with bytes that are given.
GIVEN = 10
# 2026-01-01, in nanoseconds.
BEGINNING = 1_767_225_600 * 10**9
SETTINGS = {"switch": 0, "split": 1, "slow": 2, "cold": 3, "descriptors": 4, "stall": 5}
CALLS = {name: 1 << bit for bit, name in enumerate("open read write sync name cut look map socket thread memory close".split())}
ACTIONS = {"short": -1, "slow": -2, "hang": -3, "kill": -4, "cut": -5, "torn": -6}
# Of the disk, and of the process, when nothing is amiss.
ROOM, DESCRIPTORS = 1 << 30, 900
# So many calls without a byte that is read, sent or stored are no progress. Honest work stays below a third of it.
SPIN = 30_000
# Tries of a client to reach the daemon: a second of milliseconds, then ever longer until ten seconds are over.
TRIES = [10**6] * 1000 + [30 * 10**6] * 300


class NotSimulated(Exception):
    """The daemon has made a call that the simulated kernel does not know."""


class Died(Exception):
    """The daemon is gone in a way that no simulated call has: a trap."""


class SimulatedWorld(Places, Rotting):
    def __init__(self, kernel, kurad, seed, tree, processor=None, trace=None, temper=None, planted=None):
        """`tree`: what lies on the disk at the beginning, by path. `temper`: values of SETTINGS. `planted`: a fault that is there."""
        Places.__init__(self)
        Rotting.__init__(self)
        self._kernel, self._kurad, self._tree = kernel, kurad, tree
        self._dice = random.Random(f"kernel {seed}")
        self._temper = {"switch": 200, "split": 100, "slow": 100, "cold": 100, "stall": 0, **(temper or {})}
        self._processor, self._trace = processor, trace
        self._planted = planted
        self._disk = link.Disk()
        self._process = None
        self._is_new = True
        self._incarnation = 0
        # The machine's starts: the power has gone that often.
        self._seed, self._boots = seed, 0
        self._monotonic = 10**12
        self._wall = BEGINNING
        self._partial = {}
        self._numbers = 0
        self._due = []
        self._digest = hashlib.blake2b(digest_size=16)
        # Of all processes together.
        self.seams = self.written = self.syncs = self.faults = self.starts = 0
        # Of faults that have struck: the call, and what it met with.
        self._struck = []
        self._rules = {}
        # Rules that go on until they are cleared, in the next process too; and what waits for the next process.
        self._standing, self._waiting = [], []
        self._descriptors = None
        self.held = 0
        # Calls since the last progress, and the most of them.
        self._in_vain = self.most_in_vain = 0
        self._progress = None
        self.output = []

    # MARK: The process

    def start(self, configuration, waits=True):
        """`waits`: until it serves. Returns whether it does, as far as anybody knows."""
        self.starts += 1
        self._begin(["--data-dir", self.data, "--config", CONFIGURATION, *self._options])
        self.configure(configuration)
        waiting, self._waiting = self._waiting, []
        for order in waiting:
            order()
        if self.rotten:
            self.proven = self._proven()
        return self._wait_until_it_serves() if waits else True

    def _begin(self, words, is_struck=True):
        """A process that has not come to its first line. `is_struck`: by the rules that go on."""
        assert self._process is None
        self._incarnation += 1
        environment = {
            "KURA_SIM_SEED": str(self._dice.getrandbits(63)), "KURA_SIM_MONOTONIC": str(self._monotonic),
            "KURA_SIM_WALL": str(self._wall), "KURA_SIM_PID": str(1000 + self._incarnation),
            "SWIFT_DETERMINISTIC_HASHING": "1", "SWIFT_BACKTRACE": "enable=no", "TZ": "UTC", "HOME": HOME, "PATH": "/bin",
            "LANG": "C.UTF-8"}
        if self._planted:
            environment["KURA_PLANTED"] = str(self._planted)
        self._process = link.Process(self._kernel, [str(self._kurad), *words], self._disk, environment, self._processor, self._trace)
        self._take(self._process.begin())
        for name, value in self._temper.items():
            self._process.order(link.SETTING, struct.pack("<IQ", SETTINGS[name], value))
        if self._is_new:
            self._is_new = False
            for path, content in self._tree.items():
                self._put(path, *(content if isinstance(content, tuple) else (content, 0o644)))
            for path in (HOME, RUN):
                self._put(path, b"", 0o40700)
        self._put(BOOT_ID, boot_id(self._seed, self._boots), 0o444)
        for kind, payload in self._standing if is_struck else ():
            self._order(kind, payload)
        if self._descriptors is not None and is_struck:
            self.few(self._descriptors)

    def _wait_until_it_serves(self):
        """A client waits in the queue of whoever listens, and tries again when nobody does."""
        number = None
        for pause in TRIES:
            if number is None:
                number = self.connect("admin")
            self._turn(self._monotonic + pause, for_news=False)
            if self._process is None:
                return True
            answers = [event for event in self._due if isinstance(event, (Accepted, Refused, Closed)) and event.connection == number]
            self._due = [event for event in self._due if event not in answers]
            if any(isinstance(event, Accepted) for event in answers):
                self.close(number)
                self._turn(self._monotonic + 10**6)
                self._due = [event for event in self._due if getattr(event, "connection", 0) != number]
                return True
            if answers:
                number = None
        return False

    def configure(self, configuration):
        sockets = [{"path": self._socket(role), "mode": "0600", "role": role}
                   for role in ["admin", *sorted(configuration.get("roles", {}))]]
        self._put(CONFIGURATION, json.dumps({**configuration, "sockets": sockets}).encode(), 0o600)

    @staticmethod
    def _socket(role):
        return f"{RUN}/{role}.sock"

    def _put(self, path, content, mode):
        path = path.encode()
        self._order(link.PUT, struct.pack("<II", mode, len(path)) + path + content)

    def _order(self, kind, payload=b""):
        # What is asked of a daemon that is gone comes to nothing.
        if self._process is not None:
            self._process.order(kind, payload)

    # MARK: Clients

    def connect(self, role):
        self._numbers += 1
        self._order(link.CONNECT, struct.pack("<IIIII", self._numbers, UID, UID, CLIENT_PID, 0x7FFFFFFF) + self._socket(role).encode())
        self._partial[self._numbers] = bytearray()
        return self._numbers

    def send(self, connection, data, descriptors=()):
        if self._process is None:
            return
        kinds = [kind if isinstance(kind, int) else GIVEN for kind in descriptors]
        for content in descriptors:
            if not isinstance(content, int):
                self._order(link.GIVE, content)
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
        if self._process is None:
            self._begin(["--version"], is_struck=False)
        self._last(link.CUT)

    def _last(self, order):
        if self._process is None:
            return
        self._order(order)
        self._turn(self._monotonic)
        # What it has sent and nobody has read goes with it.
        self._due.clear()

    def fault(self, rule):
        """`calls`: names of CALLS; `error`: an errno or a name of ACTIONS; `path`, `skip`, `times`, `permille`, `span`, `number`."""
        kinds = 0
        for name in rule["calls"]:
            kinds |= CALLS[name]
        error = rule["error"]
        self._rules[rule.get("number", 1)] = errno.errorcode.get(error, error)
        payload = struct.pack(
            "<IIIIiIq64s", rule.get("number", 1), kinds, rule.get("skip", 0), rule.get("times", 1),
            ACTIONS.get(error, error), rule.get("permille", 1000), rule.get("span", 0), rule.get("path", "").encode())
        if rule.get("times", 1) == 0:
            self._standing.append((link.FAULT, payload))
            self._order(link.FAULT, payload)
        else:
            self._soon(lambda: self._order(link.FAULT, payload))

    def take_struck(self):
        struck, self._struck = self._struck, []
        return struck

    def _soon(self, order):
        """Now, or when the next process begins."""
        if self._process is None:
            self._waiting.append(order)
        else:
            order()

    def clear(self):
        self._standing.clear()
        self._waiting.clear()
        self._order(link.CLEAR, struct.pack("<I", 0))
        self.few(None)
        self._soon(lambda: self._order(link.ROOM, struct.pack("<Q", ROOM)))

    def room(self, count):
        """How many bytes more find room."""
        self._soon(lambda: self._order(link.ROOM, struct.pack("<Q", self.held + count)))

    def few(self, count):
        """How many descriptors the process may have; None: as many as ever."""
        if self._process is not None and count != self._descriptors or count is not None:
            self._order(link.SETTING, struct.pack("<IQ", SETTINGS["descriptors"], count or DESCRIPTORS))
        self._descriptors = count

    def crowd(self, permille):
        """At so many of the daemon's calls a thread stands still for a while, until the process ends; None: as the temper has it."""
        self._order(link.SETTING, struct.pack("<IQ", SETTINGS["stall"], self._temper["stall"] if permille is None else permille))

    def shift(self, span):
        """The wall clock jumps."""
        self._wall += span
        self._order(link.SHIFT, struct.pack("<q", span))

    # MARK: Time

    @property
    def now(self):
        return self._monotonic - 10**12

    @property
    def wall(self):
        """Nanoseconds since 1970, as the world's clock has it."""
        return self._wall

    def advance(self, span, seams=link.FOREVER):
        """`seams`: at most so many calls of the daemon."""
        if self._process is not None and not self._due:
            self._turn(self._monotonic + span, seams=seams)
        due, self._due = self._due, []
        return due

    def reach(self, moment):
        """Lets time pass up to this moment, whatever comes, and with no process too; returns what has come."""
        while self._process is not None and self.now < moment:
            self._turn(moment + 10**12, for_news=False)
        if self.now < moment:
            self._wall += moment - self.now
            self._monotonic = moment + 10**12
        due, self._due = self._due, []
        return due

    def _turn(self, until, for_news=True, seams=link.FOREVER):
        try:
            while self._take(self._process.run(until, min(seams, SPIN), for_news)) == link.SEAMS and seams > SPIN and not self._due:
                pass
        except link.Gone as gone:
            words = self._process.words()
            self._process = None
            raise Died(words) from gone

    def _take(self, reports):
        """Returns why the process pauses."""
        why = None
        # That a call has failed is no progress, nor is a sync of what was not written.
        if any(kind not in (link.PAUSED, link.FAULTED) for kind, _ in reports):
            self._in_vain = 0
        for kind, payload in reports:
            if kind != link.PAUSED:
                self._digest.update(bytes([kind]) + payload)
            if kind == link.PAUSED:
                why, self._monotonic, self._wall, seams, _, _, written, syncs, self.held = struct.unpack("<BqqQIIQQQ", payload)
                self._digest.update(struct.pack("<q", self._monotonic))
                self.seams += seams
                self.written, self.syncs = written, syncs
                self._count(seams, written)
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
                code = struct.unpack_from("<i", payload)[0]
                self._due.append(Ended(code, payload[4:].decode()))
                self._boots += code == CUT
                self._process = None
                self._partial.clear()
            elif kind == link.FAULTED:
                self.faults += 1
                rule, call = struct.unpack_from("<II", payload)
                self._struck.append(f"{list(CALLS)[call]} {self._rules.get(rule)}")
            elif kind == link.OUTPUT:
                self.output.append(payload[4:])
            elif kind == link.UNKNOWN:
                raise NotSimulated(payload.decode())
            elif kind != link.TAKEN:
                self._answer = payload
        return why

    def _count(self, seams, *progress):
        if progress != self._progress:
            self._progress, self._in_vain = progress, 0
        self._in_vain += seams
        self.most_in_vain = max(self.most_in_vain, self._in_vain)
        if self._in_vain > SPIN:
            raise Spins(f"{self._in_vain} calls since anything was read, sent or stored")

    def _sent(self, connection, data):
        partial = self._partial.setdefault(connection, bytearray())
        partial += data
        *lines, rest = partial.split(b"\n")
        self._partial[connection] = bytearray(rest)
        self._due += [Line(connection, bytes(line)) for line in lines]

    # MARK: Looking

    def _ask(self, kind, payload=b""):
        """Nothing, of a process that is gone."""
        self._answer = b""
        if self._process is not None:
            self._order(kind, payload)
            self._turn(self._monotonic, for_news=False)
        return self._answer

    def listing(self):
        """Paths of files, and how long they are."""
        lines = [line.split(" ", 2) for line in self._ask(link.LIST).decode().splitlines()]
        return sorted((path, int(size)) for mode, size, path in lines if int(mode, 8) >> 12 == 0o10)

    def find(self, marks):
        """Files in which one of these lies, where, and what is around it."""
        lines = self._ask(link.FIND, b"".join(bytes([len(mark)]) + mark for mark in marks)).decode().splitlines()
        places = [(path, int(offset)) for offset, path in (line.split(" ", 1) for line in lines)]
        return [(path, at, around(self._ask(link.FILE, path.encode()), at)) for path, at in places]

    def digest(self):
        """Of all that has been told so far, and of the disk when a process runs."""
        if self._process is not None:
            self._digest.update(self._ask(link.DIGEST))
        return self._digest.hexdigest()

    @property
    def told(self):
        return self._digest.hexdigest()

    def stop(self):
        if self._process is not None:
            self._process.close()
            self._process = None
        self._disk.close()
