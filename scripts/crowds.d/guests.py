"""The guests. A scenario takes a Visit, calls `begin` when it is in place, and goes on while `goes_on`; it returns a figure."""

import array
import contextlib
import json
import os
import select
import socket
import threading
import time

from client import request

MIB = 1 << 20


class Visit:
    """One scenario's stay with the daemon at a path: its connections, its time, and what it was told."""

    def __init__(self, path):
        self.path = path
        self.stopped = threading.Event()
        # The kinds of errors, each once, in the order in which they came.
        self.told = {}

    def connect(self, wait=True):
        guest = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Waits while the backlog is full: a time limit would make that an error.
        guest.connect(self.path)
        guest.settimeout(20 if wait else 0)
        return guest

    def begin(self):
        """Says that the guests are in place; their time and their work count from now on."""
        self.begun, self.spent = time.monotonic(), time.process_time()
        print("ready", flush=True)

    def goes_on(self, pause=0.0):
        return not (self.stopped.wait(pause) if pause else self.stopped.is_set())

    def rate(self, count):
        """So many a second."""
        return f"{count / (time.monotonic() - self.begun):,.0f}/s"

    def load(self):
        """The part of a core that the guests took."""
        return (time.process_time() - self.spent) / (time.monotonic() - self.begun)

    def hear(self, text):
        """Notes the errors in replies."""
        replies = []
        for row in text.splitlines():
            # The last may be cut off.
            with contextlib.suppress(ValueError):
                reply = json.loads(row)
                replies += reply if isinstance(reply, list) else [reply]
        errors = [one["error"]["data"] for one in replies if isinstance(one, dict) and "error" in one]
        for data in errors:
            limit = f" limit {data['limit']}" if "limit" in data else ""
            reason = f" {data['reason']}" if "reason" in data else ""
            self.told[f"{data['kind']}{limit}{reason}"] = None
        if not errors:
            self.told["served"] = None

    def hear_line(self, guest):
        """Notes a line, or what there is before the end."""
        self.hear(read_line(guest))

    def hear_all(self, guests):
        """Notes what has come on all connections, and returns it."""
        text = b""
        for guest in guests:
            guest.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                text += guest.recv(65536)
        self.hear(text)
        return text


def line(method, identifier=1, **params):
    return request(identifier, method, params)


def read_line(guest):
    """A line, or what there is before the end."""
    text = b""
    while not text.endswith(b"\n") and (chunk := guest.recv(65536)):
        text += chunk
    return text


def has_input(guest, milliseconds):
    # Not `select`, which ends at 1,024 descriptors.
    poll = select.poll()
    poll.register(guest, select.POLLIN)
    return bool(poll.poll(milliseconds))


def offer(guest, text):
    """How many bytes of the text went out; None when the connection is closed."""
    try:
        return guest.send(text)
    except BlockingIOError:
        return 0
    except ConnectionError:
        return None


PING = line("storage.ping")
LARGE = line("settings.get", domain="crowd", key="large")


def connections(visit):
    """10,000 connections, each of which has asked once."""
    guests = []
    for _ in range(10_000):
        guests.append(visit.connect())
        guests[-1].send(PING)
    for guest in guests:
        visit.hear_line(guest)
    visit.begin()
    visit.stopped.wait()
    return f"{len(guests)} open"


def connects(visit):
    """10,000 connections a second, each of which asks once and goes."""
    visit.begin()
    done = 0
    while visit.goes_on(0.001):
        due = (time.monotonic() - visit.begun) * 10_000
        while done < due and (done % 256 or visit.goes_on()):
            with visit.connect() as guest:
                if done % 100 == 0:
                    guest.send(PING)
                    visit.hear(guest.recv(4096))
            done += 1
    return visit.rate(done)


def overflow(visit):
    """As many connections as are allowed, and then more and more."""
    guests = [visit.connect() for _ in range(11_900)]
    visit.begin()
    # The well-behaved client comes in meanwhile.
    time.sleep(0.3)
    refused = hanging = 0
    while visit.goes_on():
        guest = visit.connect()
        if len(guests) < 12_100 and not has_input(guest, 2):
            guests.append(guest)
            continue
        with guest:
            guest.settimeout(5)
            try:
                text = guest.recv(4096)
                visit.hear(text)
                refused += 1
                while text and guest.recv(4096):
                    pass
            except TimeoutError:
                hanging += 1
            except OSError:
                pass
    return f"{visit.rate(refused)} refused, {hanging} left hanging"


def never_reads(visit):
    """64 clients that ask for 1 MiB again and again and read nothing."""
    guests = [visit.connect(wait=False) for _ in range(64)]
    texts = LARGE * 500
    sent = sum(offer(guest, texts) or 0 for _ in range(20) for guest in guests)
    visit.begin()
    while visit.goes_on(0.01):
        sent += sum(offer(guest, texts) or 0 for guest in guests)
    closed = sum(offer(guest, b"\n") is None for guest in guests)
    visit.told["nothing (it does not read)"] = None
    return f"{sent >> 10} KiB asked, {closed} of 64 closed"


def one_byte(visit):
    """1,000 clients that send one byte a second each."""
    guests = [visit.connect() for _ in range(1000)]
    visit.begin()
    position = 0
    while visit.goes_on():
        for guest in guests:
            guest.send(PING[position % len(PING) :][:1])
            if not visit.goes_on(1 / len(guests)):
                break
        position += 1
    visit.told["served when the line ends"] = None
    return f"{position} bytes each"


def no_newline(visit):
    """1 GB without a newline, as often as it goes."""
    chunk = b"x" * MIB
    visit.begin()
    text, sent = b"", 0
    while visit.goes_on():
        with visit.connect() as guest:
            for _ in range(1000):
                guest.sendall(chunk)
                sent += len(chunk)
                if not visit.goes_on():
                    break
            guest.sendall(b"\n" + line("storage.ping", 7))
            text = read_line(guest)
            if b'"id":7' not in text:
                text += read_line(guest)
    visit.hear(text)
    return f"{sent / (time.monotonic() - visit.begun) / 1e6:,.0f} MB/s"


def one_by_one(visit, stay):
    """Clients that come one after the other and do `stay`."""
    visit.begin()
    done = 0
    while visit.goes_on():
        with visit.connect() as guest:
            stay(guest)
        done += 1
    return visit.rate(done)


def half_closed(visit):
    """Clients that ask and shut their side, one after the other."""
    def stay(guest):
        guest.send(PING)
        guest.shutdown(socket.SHUT_WR)
        text = b""
        while chunk := guest.recv(4096):
            text += chunk
        visit.hear(text)
    return one_by_one(visit, stay)


def mid_request(visit):
    """Clients that go in the middle of a request."""
    half = line("settings.put", domain="crowd", key="k", value="v" * 20_000)[:-100]
    visit.told["nothing (it is gone)"] = None
    return one_by_one(visit, lambda guest: guest.send(half))


def subscriptions(visit):
    """65,535 subscriptions of one client, and 50 changes a second that concern some of them."""
    guest = visit.connect()
    for start in range(0, 65_535, 500):
        numbers = range(start, min(start + 500, 65_535))
        guest.sendall(b"".join(line("changes.watch", n, stores=["settings"], scope="watched", prefix=f"k{n:05d}") for n in numbers))
        replies = b""
        while replies.count(b"\n") < len(numbers):
            replies += guest.recv(1 << 18)
        visit.hear(replies)
    visit.begin()
    writer = visit.connect()
    events = changes = 0
    guest.setblocking(False)
    while visit.goes_on():
        changes += 1
        writer.send(line("settings.put", domain="watched", key=f"k{changes * 7919 % 65_535:05d}", value=changes))
        read_line(writer)
        until = time.monotonic() + 0.02
        while (left := until - time.monotonic()) > 0:
            if select.select([guest], [], [], left)[0]:
                events += guest.recv(MIB).count(b"changes.changed")
    return f"{changes} changes, {events} events"


def descriptors(visit):
    """253 descriptors a message, with half a line behind them, again and again over 200 connections; one more asks then."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [os.open("/dev/null", os.O_RDONLY)] * 253))]
    guests = [visit.connect(wait=False) for _ in range(201)]
    export = line("documents.export", collection="crowd", fd=True)
    for guest in guests:
        guest.send(export[:10])
    # The others wait ever longer before they are read from.
    first = guests.pop()
    first.sendmsg([b" "], rights)
    visit.begin()
    sent = refused = 0
    while visit.goes_on(0.001):
        for guest in guests:
            try:
                guest.sendmsg([b" "], rights)
                sent += 253
            except OSError:
                refused += 1
    first.settimeout(5)
    first.sendall(export[10:])
    visit.hear_line(first)
    return f"{sent} sent, {refused} by the kernel"


def hoard(visit):
    """64 clients that send 15 MiB of a line each and stop."""
    guests = [visit.connect(wait=False) for _ in range(64)]
    chunk = b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * MIB
    left = {guest: 15 * MIB for guest in guests}

    def push():
        for guest in list(left):
            went = offer(guest, chunk[: left[guest]])
            left[guest] -= left[guest] if went is None else went
            if not left[guest]:
                del left[guest]
    until = time.monotonic() + 1.5
    while left and time.monotonic() < until:
        push()
    visit.begin()
    while visit.goes_on(0.005):
        push()
    text = visit.hear_all(guests)
    return f"{len(guests) - len(left)} of 64 sent all, {text.count(b'overloaded')} told"


def half_lines(visit):
    """10,000 clients that stop in the middle of a line of 20 KiB."""
    guests = [visit.connect() for _ in range(10_000)]
    for guest in guests:
        guest.send(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 20_000)
    visit.begin()
    visit.stopped.wait()
    return f"{visit.hear_all(guests).count(b'overloaded')} told"


def pipelining(visit):
    """One client that pipelines single reads at full speed."""
    text = line("settings.get", domain="crowd", key="k1") * 2000
    guest = visit.connect(wait=False)
    visit.begin()
    rest, done = b"", 0
    while visit.goes_on():
        readable, writable, _ = select.select([guest], [guest], [], 0.1)
        if writable:
            rest = rest or text
            rest = rest[offer(guest, rest) :]
        if readable:
            done += guest.recv(MIB).count(b"\n")
    visit.told["served"] = None
    return visit.rate(done)


def long_replies():
    documents = [line("documents.put", collection="long", id=f"d{n}", value="v" * (256 << 10)) for n in range(100)]
    ids = [f"d{n}" for n in range(100)]
    return documents, [line("documents.getMany", collection="long", ids=found) for found in (ids * 10, ids)]


def large_lines():
    objects = ['{"a":1,"b":"xyz","c":[true,null]}'] * (15 * MIB // 34)
    unknown = b'{"jsonrpc":"2.0","id":1,"method":"no.such","params":[%s]}\n' % ",".join(objects).encode()
    return [], [unknown, line("settings.get", domain="crowd", key="absent", default="x" * (15 * MIB))]


def large_values():
    puts = [line("settings.put", domain="crowd", key="large", value=letter * (MIB - 2)) for letter in "ab"]
    return [], [puts[0], LARGE, puts[1], LARGE]


def bulk_writes():
    return [], [line("documents.putMany", collection="bulk", documents=[
        {"id": f"b{n}", "value": letter * 1000} for n in range(5000)]) for letter in "ab"]


def batch(requests):
    return b"[" + b",".join(one.strip() for one in requests) + b"]\n"


def keys():
    return [f"k{n}" for n in range(1000)]


# Guests that send lines in turn and read the reply to each: what they are, and what makes (lines before that, these lines).
POURS = {
    "nested": ("Lines of 100,000 nested arrays.", lambda: ([], [b"[" * 100_000 + b"]" * 100_000 + b"\n"])),
    "members": ("Batches of 1,000,000 members.", lambda: ([], [batch([one] * 1_000_000) for one in (b"1", PING)])),
    "batches": ("Batches of 1,000 requests.", lambda: (
        [], [batch(line("settings.get", domain="crowd", key=key) for key in keys())])),
    "large-reads": ("Values of 1 MiB, read.", lambda: ([], [LARGE])),
    "large-values": ("Values of 1 MiB, written and read.", large_values),
    "many-keys": ("getMany of 1,000 keys.", lambda: ([], [line("settings.getMany", domain="crowd", keys=keys())])),
    "lists": ("Pages of 1,000, of settings and documents, and exports.", lambda: ([], [
        line("settings.list", domain="crowd", limit=1000), line("documents.list", collection="crowd", limit=1000),
        line("settings.export", domains=["crowd"])])),
    "long-replies": ("getMany of 1,000 documents of 256 KiB, more than a reply may have, and of 100, which fit.", long_replies),
    "large-lines": (
        "Lines of 15 MiB: small objects for a method that is not there, and one long text for one that is.", large_lines),
    "bulk-writes": ("putMany of 5,000 documents of 1 KiB, one after the other.", bulk_writes),
}


def pour(what, make):
    """The scenario of one row of POURS."""
    def scenario(visit):
        first, texts = make()
        with visit.connect() as guest:
            for text in first:
                guest.sendall(text)
                read_line(guest)
            visit.begin()
            done = 0
            while visit.goes_on():
                guest.sendall(texts[done % len(texts)])
                visit.hear_line(guest)
                done += 1
        return visit.rate(done)
    scenario.__doc__ = what
    return scenario


def burn(visit):
    """No guest at all: a core is busy."""
    visit.begin()
    while visit.goes_on():
        for _ in range(10_000):
            pass
    return ""


SCENARIOS = {
    "connections": connections, "connects": connects, "overflow": overflow, "never-reads": never_reads, "one-byte": one_byte,
    "no-newline": no_newline, "half-closed": half_closed, "mid-request": mid_request, "subscriptions": subscriptions,
    "descriptors": descriptors, "hoard": hoard, "half-lines": half_lines, "pipelining": pipelining,
    **{name: pour(*row) for name, row in POURS.items()},
}
