"""One client: what it sends follows from its seed, what it gets is judged as it comes."""

import array
import os
import random
import socket
import time
from collections import deque

from generate import Generator, compact
from judge import NULL, NotWire, expected, identity, read

# Replies that a client leaves open before it waits for some.
MOST_OPEN = 100
SHARED_IDS = (NULL, ("number", "1.5"), ("number", "1000.0"))


class Violation(Exception):
    """The daemon did what it must not do."""


class ModelKey:
    """A setting that one client at a time writes: its value is the last one acknowledged, or one sent since."""

    def __init__(self, name):
        self.name = name
        self.value = None
        self.possible = []
        # Sent by clients that ended before they were answered: the daemon may come to them whenever it does.
        self.adrift = set()

    def admits(self, value):
        return value == self.value or value in self.possible or value in self.adrift


class Client:
    """`world` is the run: what all clients share, and their counters."""

    def __init__(self, serial, world, model):
        self.dice = random.Random(f"{world.seed}/{serial}")
        self.serial = serial
        self.world = world
        self.model = model
        self.generator = Generator(self.dice, world.description, world.daemon.roots)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(world.daemon.socket)
        self.socket.setblocking(False)
        self.left = self.dice.choice([1, 5, 40, 150])
        # A client with a model key goes on to the end; of the others some leave in the midst of it.
        self.leaves = not model and self.dice.random() < 0.3
        self.reads_late = not model and self.dice.random() < 0.1
        # (bytes, descriptors) that are still to be sent.
        self.pieces = deque()
        self.input = b""
        # The Expectations whose replies come in order, and those that come when they are ready.
        self.ordered, self.loose = deque(), []
        self.is_ordered = True
        self.is_half_closed = self.is_over = False
        self.moved = time.monotonic()
        self.reads_from = self.moved + (self.dice.random() * 3 if self.reads_late else 0)

    def fail(self, what):
        raise Violation(f"client {self.serial}: {what}")

    # MARK: Sending

    def send_more(self):
        """Makes and sends some of what is left."""
        if self.left and not self.pieces and len(self.ordered) + len(self.loose) < MOST_OPEN:
            self.make_more()
        while self.pieces:
            text, descriptors = self.pieces[0]
            try:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
                sent = self.socket.sendmsg([text], rights)
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                if self.reads_late:
                    return self.end()
                self.fail("the daemon hung up")
            close_all(descriptors)
            self.moved = time.monotonic()
            self.pieces.popleft()
            if sent < len(text):
                self.pieces.appendleft((text[sent:], []))
            if self.dice.random() < 0.3:
                return
        if not self.left and not self.is_half_closed:
            if self.leaves:
                return self.end()
            self.is_half_closed = True
            self.socket.shutdown(socket.SHUT_WR)

    def make_more(self):
        text, descriptors = b"", []
        for _ in range(min(self.left, self.dice.choice([1, 1, 1, 2, 8, 30]))):
            self.left -= 1
            if self.model and self.dice.random() < 0.3:
                line, model = self.model_line()
            else:
                line, model = self.generator.line(self.world.limits["lineBytes"]), None
                if b"documents." in line and b'"fd"' in line or self.dice.random() < 0.01:
                    descriptors += [self.descriptor() for _ in range(self.dice.choice([1, 1, 1, 2, 0]))]
            self.expect(line, model)
            text += line + b"\n"
            self.world.lines += 1
        if not self.left and self.dice.random() < 0.2:
            # The last line may lack its end.
            text = text[:-1]
        self.cut(text, descriptors)

    def cut(self, text, descriptors):
        """Puts the text into pieces, and the descriptors in front of some."""
        start = 0
        while start < len(text):
            size = len(text) if self.dice.random() < 0.6 else self.dice.randrange(1, 200)
            own = self.dice.randrange(len(descriptors) + 1) if start + size < len(text) else len(descriptors)
            self.pieces.append((text[start : start + size], descriptors[:own]))
            descriptors = descriptors[own:]
            start += size
        close_all(descriptors)

    def descriptor(self):
        kind = self.dice.randrange(5)
        if kind == 0:
            reader, writer = os.pipe()
            os.write(writer, self.generator.records()[:60000])
            os.close(writer)
            return reader
        if kind == 1:
            # Nobody reads what is written there.
            reader, writer = os.pipe()
            os.close(reader)
            return writer
        if kind == 2:
            return os.open(self.dice.choice(["/dev/null", "/"]), os.O_RDONLY)
        memory = os.memfd_create("records")
        os.write(memory, self.generator.records())
        os.lseek(memory, 0, os.SEEK_SET)
        return memory

    def model_line(self):
        """A read or write of the key that nobody else writes."""
        key = {"domain": "model", "key": self.model.name}
        request = {"jsonrpc": "2.0", "id": self.generator.identifier()}
        if self.dice.random() < 0.5:
            value = str(self.dice.randrange(1 << 60)) + "v" * self.dice.choice([0, 10, 300])
            self.model.possible.append(value)
            return compact(request | {"method": "settings.put", "params": key | {"value": value}}), ("put", value)
        return compact(request | {"method": "settings.get", "params": key}), ("get", None)

    def expect(self, line, model):
        if b"outOfOrder" in line:
            # From here on replies may come as they are ready.
            self.is_ordered = False
            self.loose += self.ordered
            self.ordered.clear()
        found = expected(line, self.world.limits, self.world.out_of_band)
        if found:
            found.model = model
            found.may_wait = b"changes.wait" in line
            (self.ordered if self.is_ordered and not found.is_loose else self.loose).append(found)

    # MARK: Receiving

    def receive(self):
        if time.monotonic() < self.reads_from:
            return
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            # Who reads late may find that the daemon has stopped waiting.
            if not self.reads_late and (self.input or not self.is_half_closed or self.open_replies()):
                self.fail(f"hung up with {self.open_replies()} replies open: {self.shown()}")
            return self.end()
        self.moved = time.monotonic()
        *lines, self.input = (self.input + data).split(b"\n")
        for line in lines:
            self.take(line)

    def open_replies(self):
        """Replies that must come without anybody's doing: in order, none behind one that waits."""
        for count, one in enumerate(self.ordered):
            if one.may_wait:
                return count
        return len(self.ordered) + sum(not one.may_wait for one in self.loose)

    def shown(self):
        return [one.ids for one in [*self.ordered][:3] + self.loose[:3]]

    def take(self, line):
        self.world.replies += 1
        try:
            value = read(line)
        except NotWire as error:
            self.fail(f"no JSON ({error}): {line[:300]!r}")
        if isinstance(value, dict) and "method" in value:
            if "id" in value or list(value)[0] != "jsonrpc" or not isinstance(value.get("params"), dict):
                self.fail(f"no notification: {line[:300]!r}")
            self.world.notices += 1
            return
        is_batch = isinstance(value, list)
        replies = value if is_batch else [value]
        ids = [identity(reply.get("id")) if isinstance(reply, dict) else NULL for reply in replies]
        found = self.find_unread(value, line) or self.find(lambda one: one.ids == ids and one.is_batch == is_batch)
        if not found:
            self.fail(f"nobody waits for {line[:300]!r}, but for {self.shown()}")
        for reply in replies:
            # Under an id that several requests share, none can tell whose result it is.
            is_shared = found.ids[0] in SHARED_IDS or found.is_batch
            fault = self.world.judge.fault(reply, None if is_shared else found.method)
            if fault:
                self.fail(f"{fault}: {line[:600]!r}")
        if found.model:
            self.check_model(found.model, value)

    def find(self, fits):
        """Takes out and returns what a reply may be for: the next in order, or one of the others; None if it is for none."""
        if self.ordered and fits(self.ordered[0]):
            return self.ordered.popleft()
        return next((self.loose.pop(at) for at, one in enumerate(self.loose) if fits(one)), None)

    def find_unread(self, reply, line):
        """The Expectation of a line that could not be read, but for its id."""
        error = reply.get("error", {}) if isinstance(reply, dict) else {}
        if error.get("data", {}).get("kind") not in ("parseError", "lineTooLong"):
            return None
        told = line.split(b'"id":', 1)[1].split(b',"error"', 1)[0]
        # Replies under null are all alike: one of them may have been taken for this one's.
        return (self.find(lambda one: one.ids == [NULL] and one.unread is not None and told in one.unread)
                or self.find(lambda one: one.ids == [NULL]))

    def check_model(self, model, reply):
        action, value = model
        if "error" in reply:
            if reply["error"]["data"]["kind"] not in ("overloaded", "noSpace"):
                self.fail(f"a plain {action} was refused: {reply}")
            return
        self.world.model_checks += 1
        if action == "put":
            # What was sent before it is past; in order means that nothing else can be seen.
            while self.model.possible and self.model.possible.pop(0) != value:
                pass
            self.model.value = value
        elif self.is_ordered and reply["result"].get("value") not in {self.model.value} | self.model.adrift:
            self.fail(f"{self.model.name} is {self.model.value!r}, read {reply['result']}")

    def end(self):
        for one in [*self.ordered, *self.loose]:
            if one.model and one.model[0] == "put":
                self.model.adrift.add(one.model[1])
        for _, descriptors in self.pieces:
            close_all(descriptors)
        self.socket.close()
        self.is_over = True


def close_all(descriptors):
    for descriptor in descriptors:
        os.close(descriptor)
