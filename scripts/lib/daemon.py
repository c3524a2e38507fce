"""The daemon as a child process, on a directory of its own. `$KURAD` is the program, unless another is named."""

import atexit
import os
import signal
import subprocess
import time

from client import Connection, Gone


class StartFailed(Exception):
    """The daemon did not become ready."""


def ending(code):
    """An exit status in words."""
    return f"signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exit {code}"


class Daemon:
    """One data directory's daemon, started and stopped as often as is needed.

    `work` gets the socket, the log and the list of process ids; `data` may lie elsewhere. `options` are words of kurad's
    command line, `prefix` words before it (`faketime`), `environment` what it finds in its environment besides.
    """

    connection = Connection

    def __init__(self, work, data=None, options=(), prefix=(), environment=None, program=None):
        self.work = work
        self.data = data or os.path.join(work, "data")
        # Paths of Unix sockets are short; the data directory may be on a file system that is about to die.
        self.socket = os.path.join(work, "s")
        self.log = os.path.join(work, "kurad.log")
        # What it is told of itself, before the options.
        self.place = ["--data-dir", self.data, "--socket", self.socket]
        self.options = list(options)
        self.prefix = list(prefix)
        self.program = program
        self.environment = dict(environment or {})
        self.process = None
        # Whatever ends the script leaves no daemon behind.
        atexit.register(self.kill)
        # Seconds that each start took.
        self.starts = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def launch(self, faults=""):
        """Starts the process without waiting for anything."""
        environment = {**os.environ, **self.environment, "KURA_FAULTS": faults}
        command = [*self.prefix, self.program or os.environ["KURAD"], *self.place, *self.options]
        with open(self.log, "ab") as log:
            log.write(f"--- start {faults}\n".encode())
            log.flush()
            self.logged = log.tell()
            # In a group of its own: Ctrl-C is for the script, which then stops it.
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0)
        # Of the daemon: another one's, where `prefix` is a program that starts it and stays.
        self.pid = self.process.pid
        with open(os.path.join(self.work, "pids"), "a") as pids:
            pids.write(f"{self.pid}\n")

    def settle(self, timeout=30.0):
        """Waits until the process answers a ping, which gives None, or has ended, which gives its exit status."""
        begun = time.monotonic()
        while self.process.poll() is None:
            if time.monotonic() - begun > timeout:
                raise StartFailed(f"not ready in {timeout} s: {self.last_words()}")
            try:
                with self.connect(timeout) as connection:
                    connection.call("storage.ping")
                return None
            except Gone:
                time.sleep(0.002)
            except TimeoutError as error:
                raise StartFailed(f"no answer to ping in {timeout} s: {self.last_words()}") from error
        return self.process.returncode

    def start(self, faults="", timeout=30.0):
        """Starts the process and waits until it answers a ping; returns itself."""
        begun = time.monotonic()
        self.launch(faults)
        if self.settle(timeout) is not None:
            raise StartFailed(f"{ending(self.process.returncode)}: {self.last_words()}")
        self.starts.append(time.monotonic() - begun)
        return self

    def connect(self, timeout=30.0):
        return self.connection(self.socket, timeout)

    def call(self, method, **params):
        """The result of one request, over a connection of its own."""
        with self.connect() as connection:
            return connection.call(method, **params)

    def kill(self):
        """kill -9; returns whether the process was still alive."""
        if self.process is None:
            return False
        was_alive = self.process.poll() is None
        if was_alive:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        return was_alive

    def stop(self, timeout=30.0):
        """SIGTERM; returns the exit status, or None when the process still runs after `timeout` seconds."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait(timeout)

    def wait(self, timeout):
        """The exit status (negative: signal), or None when the process still runs after `timeout` seconds."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def resident(self):
        """Its memory, in bytes."""
        with open(f"/proc/{self.pid}/status") as status:
            return next(int(row.split()[1]) << 10 for row in status if row.startswith("VmRSS"))

    def descriptors(self):
        """How many descriptors it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def words(self):
        """What it has logged since its last start."""
        with open(self.log, "rb") as log:
            log.seek(self.logged)
            return log.read().decode(errors="replace")

    def lines(self):
        return self.words().splitlines()

    def last_words(self, count=4):
        with open(self.log, "rb") as log:
            log.seek(max(0, os.path.getsize(self.log) - 16384))
            return "\n" + b"\n".join(log.read().splitlines()[-count:]).decode(errors="replace")
