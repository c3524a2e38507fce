"""The lock-step with a daemon under the simulated kernel: orders go to it, reports come back until it pauses again.

The numbers are those of Tests/Simulator/kernel/kernel.h, which says what each order and report carries.
"""

import ctypes
import os
import resource
import signal
import socket
import struct
import subprocess
import time

(RUN, CONNECT, BYTES, WINDOW, END, SIGNAL, FAULT, CLEAR, ROOM, SHIFT, KILL, CUT, PUT, FLIP, FILE, LIST, DIGEST, REMOVE, SETTING, GIVE,
 FIND) = range(1, 22)
PAUSED, SENT, DESCRIPTOR, CLOSED, REFUSED, ACCEPTED, OUTPUT, ENDED, FAULTED, UNKNOWN, CONTENT, LISTING, TAKEN, DIGESTED, FOUND = range(1, 16)
SEAMS, TIME, IDLE, NEWS = range(4)

TRACE_DESCRIPTOR, DISK_DESCRIPTOR, CONTROL_DESCRIPTOR = 1020, 1021, 1022
FOREVER = (1 << 63) - 1
# Of personality(2): addresses are the same in each process.
ADDRESSES_STAY = 0x0040000
PR_SET_PDEATHSIG = 1
DISK_SIZE = 2 << 30
# Seconds of the processor within one turn, of which honest ones take a twentieth of one; and of the wall clock without any.
COMPUTES, STANDS = 10, 300
TICKS = os.sysconf("SC_CLK_TCK")

_libc = ctypes.CDLL(None, use_errno=True)


class Gone(Exception):
    """The process is gone without a word: a signal of the real kernel, or a fault of the simulated one."""


class Spins(Exception):
    """The daemon is at work all the time, and nothing comes of it."""


class Watch:
    """Tells when a turn does not end: a thread computes for ever, or waits for what only the real kernel knows of. A machine that is busy
    with others takes the wall clock's time, and none of the processor's that is counted here."""

    def __init__(self, process):
        self.path = f"/proc/{process}/stat"
        self.begun = self.used = self.processor_time()
        self.changed = time.monotonic()

    def processor_time(self):
        with open(self.path, encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def look(self):
        used, now = self.processor_time(), time.monotonic()
        if used > self.used:
            self.used, self.changed = used, now
        if used - self.begun > COMPUTES:
            raise Spins(f"{COMPUTES} seconds of the processor without a call: a thread computes for ever")
        if now - self.changed > STANDS:
            raise Spins(f"{STANDS} seconds in which no thread ran or made a call: they wait for what is not simulated")


class Disk:
    """The simulated disk's memory. It outlives the processes that work on it."""

    def __init__(self):
        self.descriptor = os.memfd_create("disk", os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, DISK_SIZE)

    def close(self):
        os.close(self.descriptor)


class Process:
    """A daemon under the simulated kernel. It is paused unless `run` is under way."""

    def __init__(self, kernel, command, disk, environment, processor=None, trace=None):
        """`trace`: a file that is told what happens, a line each."""
        ours, theirs = socket.socketpair()
        keep = {CONTROL_DESCRIPTOR: theirs.fileno(), DISK_DESCRIPTOR: disk.descriptor}
        if trace is not None:
            keep[TRACE_DESCRIPTOR] = trace.fileno()
            environment = {**environment, "KURA_SIM_TRACE": "1"}

        def prepare():
            _libc.personality(ADDRESSES_STAY)
            # What computes for ever does not notice that the controller is gone.
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if processor is not None:
                os.sched_setaffinity(0, {processor})
            for number, there in keep.items():
                os.dup2(there, number)
            # The stack's place depends on its limit.
            resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        self._process = subprocess.Popen(
            command, env={**environment, "LD_PRELOAD": str(kernel)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, preexec_fn=prepare, close_fds=False, cwd="/")
        theirs.close()
        self._socket = ours
        # Whoever reads looks after this time whether there is still something to come; writing waits.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 500_000))
        self._orders = bytearray()
        self._come = bytearray()
        self.has_ended = False

    def order(self, kind, payload=b""):
        self._orders += struct.pack("<IB", len(payload), kind) + payload

    def run(self, until, seams=FOREVER, for_news=True):
        """Gives the process its turn, and returns the reports until its next pause or its end."""
        self.order(RUN, struct.pack("<qQB", until, seams, for_news))
        return self._exchange()

    def begin(self):
        """The reports of the first pause, before the program's first line."""
        return self._exchange()

    def _exchange(self):
        try:
            self._socket.sendall(self._orders)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self._orders.clear()
        reports, watch = [], None
        while True:
            for kind, payload in self._whole():
                reports.append((kind, payload))
                if kind == ENDED:
                    self.has_ended = True
                    self.close()
                    return reports
                if kind == PAUSED:
                    return reports
            try:
                more = self._socket.recv(1 << 18)
            except BlockingIOError:
                watch = watch or Watch(self._process.pid)
                watch.look()
                continue
            except ConnectionResetError:
                more = b""
            if not more:
                self.has_ended = True
                raise Gone()
            self._come += more

    def _whole(self):
        start, come = 0, self._come
        whole = []
        while len(come) - start >= 5:
            length, kind = struct.unpack_from("<IB", come, start)
            if len(come) - start < 5 + length:
                break
            whole.append((kind, bytes(come[start + 5:start + 5 + length])))
            start += 5 + length
        del come[:start]
        return whole

    def words(self):
        """What the process has said on its way out, and how it went."""
        output = self._process.stdout.read().decode(errors="replace") if self._process.stdout else ""
        status = self._process.wait()
        return f"status {status}: {output[-4000:]}"

    def close(self):
        if self._process.poll() is None:
            if not self.has_ended:
                self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._socket.close()
