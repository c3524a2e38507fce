"""A connection to the daemon: one JSON object a line, replies in order."""

import json
import socket


class Gone(Exception):
    """The daemon closed the connection, or there is none."""


class Refused(Exception):
    """The daemon answered with an error."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.kind = (error.get("data") or {}).get("kind", "")


def render(identifier, method, params):
    request = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}
    return json.dumps(request, separators=(",", ":")).encode() + b"\n"


class Connection:
    """A blocking connection; `timeout` seconds without a byte raise TimeoutError."""

    def __init__(self, path, timeout=30.0):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(path)
        except (ConnectionError, FileNotFoundError) as error:
            self.socket.close()
            raise Gone(str(error)) from error
        self.tail = b""

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except ConnectionError as error:
            raise Gone(str(error)) from error

    def receive(self):
        """Returns the complete lines that have come, at least one."""
        while True:
            try:
                data = self.socket.recv(1 << 18)
            except ConnectionError as error:
                raise Gone(str(error)) from error
            if not data:
                raise Gone("end of stream")
            *lines, self.tail = (self.tail + data).split(b"\n")
            if lines:
                return lines

    def call(self, method, **params):
        return self.call_all([(method, params)])[0]

    def call_all(self, calls, window=100):
        """Sends `calls` pipelined and returns their results in order; raises Refused on the first error."""
        results = []
        for start in range(0, len(calls), window):
            part = calls[start : start + window]
            self.send(b"".join(render(start + at, method, params) for at, (method, params) in enumerate(part)))
            while len(results) < start + len(part):
                for line in self.receive():
                    reply = json.loads(line)
                    if "method" in reply:
                        # How far a long job has come.
                        continue
                    if reply["id"] != len(results):
                        raise AssertionError(f"reply {reply['id']} came where {len(results)} was due")
                    if "error" in reply:
                        raise Refused(reply["error"])
                    results.append(reply["result"])
        return results
