"""A real daemon on a directory of its own, with the face of a world."""

import array
import json
import os
import select
import signal
import socket
import tempfile
import time

from daemon import Daemon, StartFailed
from world import Accepted, Closed, Descriptor, Ended, Line, Refused, around


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.socket.setblocking(False)
        self.tail = b""
        self.out = []             # bytes and the descriptors that go with the first of them
        self.window = -1


class Real:
    """`cut` is a kill here: see `Powered`. Faults and flips are not offered."""

    def __init__(self, work, program, data=None):
        self.work, self.program = work, program
        self.begun = time.monotonic_ns()
        self.clients = {}
        self.count = 0
        self.events = []
        self.output = []
        self.file = os.path.join(work, "config.json")
        self.daemon = Daemon(work, data, options=[], program=program)
        self.daemon.place = ["--data-dir", self.daemon.data, "--config", self.file]
        self.roles = []

    @property
    def now(self):
        return time.monotonic_ns() - self.begun

    @property
    def wall(self):
        return time.time_ns()

    # MARK: The process

    def configure(self, configuration):
        self.roles = ["admin", *sorted(configuration.get("roles", {}))]
        sockets = [{"path": self.path(role), "mode": "0600", "role": role} for role in self.roles]
        with open(self.file, "w", encoding="ascii") as file:
            json.dump({**configuration, "sockets": sockets}, file)
        os.chmod(self.file, 0o600)

    def path(self, role):
        return os.path.join(self.work, "s" if role == "admin" else f"s-{role}")

    def start(self, configuration):
        self.configure(configuration)
        try:
            self.daemon.start()
        except StartFailed as error:
            self.events.append(Ended(self.daemon.process.returncode or 0, str(error)))

    def signal(self, number):
        if self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.process.send_signal(number)
            if number == signal.SIGHUP:
                time.sleep(0.02)

    def kill(self):
        self.daemon.kill()
        for number in list(self.clients):
            self.forget(number)

    cut = kill

    def clear(self):
        pass

    def crowd(self, permille):
        pass

    def fault(self, rule):
        raise NotImplementedError

    room = flip = fault

    def find(self, marks):
        result = []
        for folder, _, names in os.walk(self.daemon.data):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        data = file.read()
                except OSError:
                    continue
                at = next((data.find(mark) for mark in marks if mark in data), None)
                if at is not None:
                    result.append((os.path.relpath(file.name, self.daemon.data), at, around(data, at)))
        return sorted(result)

    # MARK: Connections

    def connect(self, role):
        self.count += 1
        try:
            self.clients[self.count] = Client(self.path(role))
            self.events.append(Accepted(self.count))
        except OSError:
            self.events.append(Refused(self.count))
        return self.count

    def send(self, connection, data, descriptors=()):
        client = self.clients.get(connection)
        if client:
            client.out.append((data, [self.temporary(content) for content in descriptors]))
            self.flush(connection)

    def temporary(self, content):
        with tempfile.TemporaryFile(dir=self.work) as file:
            file.write(content)
            file.seek(0)
            return os.dup(file.fileno())

    def flush(self, connection):
        client = self.clients[connection]
        while client.out:
            data, descriptors = client.out[0]
            try:
                if descriptors:
                    sent = client.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])
                else:
                    sent = client.socket.send(data)
            except BlockingIOError:
                return
            except OSError:
                client.out.clear()
                return
            for descriptor in descriptors:
                os.close(descriptor)
            client.out[0] = (data[sent:], [])
            if sent == len(data):
                client.out.pop(0)

    def half_close(self, connection):
        if connection in self.clients:
            try:
                self.clients[connection].socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def close(self, connection):
        self.forget(connection)

    def reset(self, connection):
        # A Unix socket that is closed with unread bytes is reset for the other side; there is no other way.
        self.forget(connection)

    def window(self, connection, count):
        if connection in self.clients:
            self.clients[connection].window = count

    def forget(self, connection):
        client = self.clients.pop(connection, None)
        if client:
            client.socket.close()

    # MARK: Time

    def advance(self, span):
        events, self.events = self.events, []
        if events:
            return events
        readers = {client.socket: number for number, client in self.clients.items() if client.window}
        writers = {client.socket: number for number, client in self.clients.items() if client.out}
        ready, writable, _ = select.select(list(readers), list(writers), [], min(span, 50_000_000) / 1e9)
        for number in sorted(writers[each] for each in writable):
            self.flush(number)
        for number in sorted(readers[each] for each in ready):
            events += self.read(number)
        if not events and self.daemon.process and self.daemon.process.poll() is not None:
            code = self.daemon.process.returncode
            for number in list(self.clients):
                self.forget(number)
            events.append(Ended(code, self.daemon.last_words()))
        return events

    def read(self, number):
        client = self.clients[number]
        events = []
        most = 1 << 18 if client.window < 0 else client.window
        try:
            data, passed, _, _ = socket.recv_fds(client.socket, most, 16)
        except BlockingIOError:
            return []
        except OSError:
            data, passed = b"", []
        for descriptor in passed:
            events.append(Descriptor(number, content(descriptor)))
        if client.window > 0:
            client.window -= len(data)
        if not data:
            self.forget(number)
            return [*events, Closed(number, "end")]
        *lines, client.tail = (client.tail + data).split(b"\n")
        return events + [Line(number, line) for line in lines]


def content(descriptor):
    try:
        return os.pread(descriptor, 1 << 24, 0)
    finally:
        os.close(descriptor)


class Powered(Real):
    """On a file system of its own, whose power can be cut: what was not synced is gone."""

    def __init__(self, work, program, disk):
        super().__init__(work, program, disk.data)
        self.disk = disk

    def cut(self):
        # What is said behind it would have reached nobody.
        self.disk.cut()
        self.kill()
        self.disk.remount()
