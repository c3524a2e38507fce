"""A daemon as a process, and a connection to it: for scripts/strangers alone; no fault is shared with other scripts."""

import atexit
import json
import os
import signal
import socket
import subprocess
import time

from contents import Found

# How long a busy machine may take for what takes moments.
PATIENCE = 60


class Ended(Found):
    """The daemon is gone, or has hung up."""


class Unanswered(Found):
    """No answer within the limit."""


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.error = error
        self.kind = error.get("data", {}).get("kind")


class Connection:
    def __init__(self, path, limit=PATIENCE):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(limit)
        try:
            self.socket.connect(path)
        except OSError as error:
            raise Ended(f"no connection: {error}") from error
        self.rest = b""
        self.last = 0
        self.early = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, method, params):
        """Sends a request and returns its id."""
        self.last += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}, separators=(",", ":"))
        try:
            self.socket.sendall(line.encode() + b"\n")
        except TimeoutError as error:
            raise Unanswered("the daemon does not read") from error
        except OSError as error:
            raise Ended(f"the daemon hung up: {error}") from error
        return self.last

    def reply(self, identifier, limit=PATIENCE):
        """The whole answer to a request, whatever else comes before it."""
        until = time.monotonic() + limit
        while identifier not in self.early:
            line, found, self.rest = self.rest.partition(b"\n")
            if not found:
                if None in self.early:
                    raise Found(f"answered without the request's id: {json.dumps(self.early[None])}")
                self.rest = line + self.receive(until)
                continue
            # A number with a fraction or an exponent as its text, so that its digits count.
            answer = json.loads(line, parse_float=lambda digits: ("number", digits))
            if "method" not in answer:
                self.early[answer.get("id")] = answer
        return self.early.pop(identifier)

    def receive(self, until):
        self.socket.settimeout(max(0.001, until - time.monotonic()))
        try:
            data = self.socket.recv(1 << 20)
        except TimeoutError as error:
            raise Unanswered("no answer") from error
        except OSError as error:
            raise Ended(f"the daemon hung up: {error}") from error
        if not data:
            raise Ended("the daemon hung up")
        return data

    def ask(self, method, /, **params):
        """The whole answer."""
        return self.reply(self.send(method, params))

    def call(self, method, /, **params):
        """The result, or Refused."""
        answer = self.ask(method, **params)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]


class Daemon:
    """`kurad` on a data directory of our own."""

    def __init__(self, work, data="data", options=()):
        self.work = work
        self.data = os.path.join(work, data)
        self.socket = os.path.join(work, "s")
        self.log = os.path.join(work, "log")
        self.options = list(options)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("KURA_")}
        self.environment["SWIFT_BACKTRACE"] = "enable=no"
        self.process = None
        # Whatever ends the script leaves no daemon behind.
        atexit.register(self.kill)

    def launch(self):
        """Starts it and does not wait."""
        if os.path.lexists(self.socket):
            os.unlink(self.socket)
        self.begun = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [os.environ["KURAD"], "--data-dir", self.data, "--socket", self.socket, *self.options], env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def settle(self, limit=PATIENCE):
        """Waits until it serves (None) or has ended (its exit status)."""
        until = time.monotonic() + limit
        while time.monotonic() < until:
            if self.process.poll() is not None:
                return self.process.returncode
            try:
                with Connection(self.socket, limit=max(0.1, until - time.monotonic())) as connection:
                    connection.call("storage.ping")
                return None
            except Ended:
                time.sleep(0.004)
        raise Unanswered(f"neither serves nor ends within {limit} s")

    def start(self):
        self.launch()
        code = self.settle()
        if code is not None:
            raise Ended(f"does not start: {ending(code)}: {self.words()}")
        return self

    def connect(self):
        return Connection(self.socket)

    def words(self):
        """What this start has logged."""
        with open(self.log, "rb") as log:
            log.seek(self.begun)
            return log.read().decode(errors="replace")[-3000:]

    def kill(self):
        """kill -9."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self):
        """SIGTERM: it must drain, and exit with 0, which is returned."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise Unanswered("does not drain") from error
        self.process = None
        if code != 0:
            raise Ended(f"drains with {ending(code)}: {self.words()}")
        return code

    def alive(self):
        if self.process.poll() is not None:
            raise Ended(f"the daemon is gone: {ending(self.process.returncode)}")


def ending(code):
    return f"signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exit {code}"
