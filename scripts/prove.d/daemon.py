"""The daemon as a child process."""

import os
import signal
import subprocess
import time

from client import Connection, Gone


class StartFailed(Exception):
    """The daemon did not become ready."""


class Daemon:
    """One data directory's daemon, started and stopped as often as the proof needs."""

    def __init__(self, work, data, profile="small"):
        self.work = work
        self.data = data
        self.profile = profile
        # Unix socket paths are short; the data directory may be on a file system that is about to die.
        self.socket = os.path.join(work, "s")
        self.log = os.path.join(work, "kurad.log")
        self.process = None
        self.starts = []
        # What it finds in its environment besides.
        self.environment = {}
        # Words before the daemon's, such as `faketime`.
        self.prefix = []

    def launch(self, faults=""):
        """Starts the process without waiting for anything."""
        environment = {**os.environ, **self.environment, "KURA_FAULTS": faults}
        command = [*self.prefix, os.environ["KURAD"], "--data-dir", self.data, "--socket", self.socket, "--profile", self.profile]
        with open(self.log, "ab") as log:
            log.write(f"--- start {faults}\n".encode())
            log.flush()
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        with open(os.path.join(self.work, "pids"), "a") as pids:
            pids.write(f"{self.process.pid}\n")

    def start(self, faults="", timeout=30.0):
        """Starts the process and waits until it answers a ping."""
        begun = time.monotonic()
        self.launch(faults)
        while True:
            if self.process.poll() is not None:
                raise StartFailed(f"exit {self.process.returncode}: {self.last_words()}")
            if time.monotonic() - begun > timeout:
                raise StartFailed(f"not ready in {timeout} s: {self.last_words()}")
            try:
                with Connection(self.socket, timeout=timeout) as connection:
                    connection.call("storage.ping")
                self.starts.append(time.monotonic() - begun)
                return
            except Gone:
                time.sleep(0.002)
            except TimeoutError as error:
                raise StartFailed(f"no answer to ping in {timeout} s: {self.last_words()}") from error

    def connect(self, timeout=30.0):
        return Connection(self.socket, timeout)

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
        """SIGTERM; returns the exit status, or None when it had to be killed after `timeout` seconds."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait(timeout)

    def wait(self, timeout):
        """Returns the exit status (negative: signal), or None when it still runs after `timeout` seconds."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def last_words(self, lines=4):
        with open(self.log, "rb") as log:
            log.seek(max(0, os.path.getsize(self.log) - 16384))
            return "\n" + b"\n".join(log.read().splitlines()[-lines:]).decode(errors="replace")
