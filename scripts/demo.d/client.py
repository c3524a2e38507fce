"""All that a client needs: a socket, one JSON object a line, replies in the order of the requests."""

import json
import socket


class Gone(Exception):
    """The daemon closed the connection."""


class Refused(Exception):
    """The daemon answered with an error."""


class Client:
    def __init__(self, path, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")
        self.call("session.hello", client=name)

    def close(self):
        self.lines.close()
        self.socket.close()

    def call(self, method, **params):
        """One request, one result."""
        for result in self.pipeline([(method, params)]):
            return result

    def pipeline(self, calls, window=64):
        """Yields the results of `calls` in order, with up to `window` requests on their way."""
        sent = answered = 0
        while answered < len(calls):
            # Half a window at a time: neither side waits for the other, and one write carries many requests.
            if sent < len(calls) and sent - answered <= window // 2:
                self._send(sent, calls[sent : answered + window])
                sent = min(len(calls), answered + window)
            yield self._receive(answered)
            answered += 1

    def _send(self, first, calls):
        requests = (
            {"jsonrpc": "2.0", "id": first + index, "method": method, "params": params}
            for index, (method, params) in enumerate(calls))
        try:
            self.socket.sendall(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
        except ConnectionError as error:
            raise Gone(str(error)) from error

    def _receive(self, expected):
        try:
            line = self.lines.readline()
        except ConnectionError as error:
            raise Gone(str(error)) from error
        # A line without its end was cut off with the daemon: it acknowledges nothing.
        if not line.endswith(b"\n"):
            raise Gone("end of stream")
        reply = json.loads(line)
        if reply["id"] != expected:
            raise Refused(f"reply {reply['id']} came where {expected} was due")
        if "error" in reply:
            raise Refused(f"{reply['error']['message']}: {json.dumps(reply['error'].get('data'))}")
        return reply["result"]
