"""A raw connection to the daemon: one JSON object a line.

It sends a request once and shows each answer as it is. The client of clients/python hides what proofs are about: it
connects again, sends again and waits. `scripts/strangers` alone has a client of its own.
"""

import array
import json
import socket


class Gone(Exception):
    """There is no daemon, or it has closed the connection."""


class Refused(Exception):
    """The daemon answered with an error."""

    def __init__(self, error):
        super().__init__(error)
        self.error = error
        self.kind = (error.get("data") or {}).get("kind", "")

    def __str__(self):
        return json.dumps(self.error)


def request(identifier, method, params):
    """The line of a request."""
    value = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


class Connection:
    """A blocking connection; `timeout` seconds without a byte raise TimeoutError."""

    # How a request becomes a line, and a line a reply: `wire.Exact` keeps numbers as they are written.
    request = staticmethod(request)
    decode = staticmethod(json.loads)

    def __init__(self, path, timeout=30.0):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(path)
        except (ConnectionError, FileNotFoundError) as error:
            self.socket.close()
            raise Gone(str(error)) from error
        self._lines = []
        self._tail = []
        # What came with the last answer, in order; whoever takes them closes them.
        self.descriptors = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data, descriptors=()):
        """Sends bytes, the descriptors with the first of them."""
        try:
            if descriptors:
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
                data = data[self.socket.sendmsg([data], [rights]) :]
            self.socket.sendall(data)
        except ConnectionError as error:
            raise Gone(str(error)) from error

    def line(self):
        """The next line, without its end. What lacks an end was cut off, and acknowledges nothing."""
        while not self._lines:
            try:
                data, passed, _, _ = socket.recv_fds(self.socket, 1 << 18, 16)
            except ConnectionError as error:
                raise Gone(str(error)) from error
            if not data:
                raise Gone("end of stream")
            self.descriptors += passed
            if b"\n" not in data:
                self._tail.append(data)
                continue
            *lines, rest = (b"".join(self._tail) + data).split(b"\n")
            self._tail = [rest] if rest else []
            self._lines = lines[::-1]
        return self._lines.pop()

    def reply(self, expected=None):
        """The next reply as it is; notifications are passed over.

        An id other than `expected`, where one is, raises AssertionError.
        """
        while True:
            reply = self.decode(self.line())
            if "method" in reply:
                continue
            if expected is not None and reply["id"] != expected:
                raise AssertionError(f"{reply} came where the reply {expected} was due")
            return reply

    def result(self, expected=None):
        reply = self.reply(expected)
        if "error" in reply:
            raise Refused(reply["error"])
        return reply["result"]

    def ask(self, method, descriptors=(), **params):
        """The whole reply to one request, an error too."""
        self.send(self.request(1, method, params), descriptors)
        return self.reply(1)

    def call(self, method, descriptors=(), **params):
        """The result of one request, or Refused."""
        self.send(self.request(1, method, params), descriptors)
        return self.result(1)

    def pipeline(self, calls, window=100):
        """Yields the results of `calls`, pairs of method and params, in order, `window` requests on their way at most."""
        sent = 0
        for answered in range(len(calls)):
            # Half a window at a time: neither side waits for the other, and one write carries many requests.
            if sent < len(calls) and sent - answered <= window // 2:
                part = calls[sent : answered + window]
                self.send(b"".join(self.request(sent + at, method, params) for at, (method, params) in enumerate(part)))
                sent += len(part)
            yield self.result(answered)

    def call_all(self, calls, window=100):
        """The results of `calls` in order; raises Refused on the first error."""
        return list(self.pipeline(calls, window))
