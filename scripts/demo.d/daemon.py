"""kurad as a child process, on a data directory of its own."""

import json
import os
import signal
import subprocess
import time

from client import Client


class Daemon:
    def __init__(self, directory):
        self.data = os.path.join(directory, "data")
        self.socket = os.path.join(directory, "kura.sock")
        self.log = os.path.join(directory, "log")
        self.process = None

    def start(self):
        """Returns the milliseconds until the first reply."""
        self._logged = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        begun = time.monotonic()
        with open(self.log, "ab") as log:
            # In a group of its own: Ctrl-C is for the demo, which then stops it.
            self.process = subprocess.Popen(
                [os.environ["KURAD"], "--data-dir", self.data, "--socket", self.socket],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0)
        while True:
            try:
                client = Client(self.socket, "demo")
                break
            except (FileNotFoundError, ConnectionError):
                if self.process.poll() is not None:
                    raise RuntimeError(f"kurad does not start: {self.lines()}") from None
                if time.monotonic() - begun > 30:
                    raise RuntimeError("kurad does not answer") from None
                time.sleep(0.002)
        client.call("storage.ping")
        client.close()
        return (time.monotonic() - begun) * 1000

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def drain(self):
        """SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def lines(self):
        """What it has logged since its last start."""
        with open(self.log, encoding="utf-8") as log:
            log.seek(self._logged)
            return log.read().splitlines()

    def event(self, name):
        """The line of its log that tells of this event; None when there is none."""
        for line in self.lines():
            if json.loads(line).get("event") == name:
                return line
        return None

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill()
