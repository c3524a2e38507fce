"""The guests: each takes a socket path, calls `ready()` when it is in place, and goes on until `stop()` is true.

Returns what it was told: the last error line, and figures of its own.
"""

import array
import json
import os
import select
import socket
import time


def connect(path, wait=True):
    guest = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Waits while the backlog is full: a time limit would make that an error.
    guest.connect(path)
    guest.settimeout(20 if wait else 0)
    return guest


def line(method, params="{}", identifier=1):
    return b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' % (identifier, method.encode(), params.encode())


def read_line(guest):
    """A line, or what there is before the end."""
    text = b""
    while not text.endswith(b"\n"):
        chunk = guest.recv(65536)
        if not chunk:
            break
        text += chunk
    return text


def last_error(text):
    """The kinds of the errors in replies, each once, as they stand."""
    told = {}
    for row in text.splitlines():
        try:
            reply = json.loads(row)
        except ValueError:
            continue
        for one in reply if isinstance(reply, list) else [reply]:
            error = one.get("error") if isinstance(one, dict) else None
            if error:
                data = error["data"]
                told[data["kind"] + (f" limit {data['limit']}" if "limit" in data else "")
                     + (f" {data['reason']}" if "reason" in data else "")] = None
    return "; ".join(told) or "served"


def has_input(guest, milliseconds):
    poll = select.poll()
    poll.register(guest, select.POLLIN)
    return bool(poll.poll(milliseconds))


def connections(path, ready, stop):
    """10,000 connections, each of which has asked once."""
    guests = []
    for _ in range(10_000):
        guests.append(connect(path))
        guests[-1].send(line("storage.ping"))
    told = {last_error(read_line(guest)) for guest in guests}
    ready()
    while not stop():
        time.sleep(0.05)
    return "; ".join(told), f"{len(guests)} open"


def connects(path, ready, stop, rate=10_000):
    """10,000 connections a second, each of which asks once and goes."""
    ready()
    begun = time.monotonic()
    done = 0
    told = {}
    while not stop():
        due = (time.monotonic() - begun) * rate
        while done < due:
            guest = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            guest.connect(path)
            if done % 100 == 0:
                guest.send(line("storage.ping"))
                told[last_error(guest.recv(4096))] = None
            guest.close()
            done += 1
            if done % 256 == 0 and stop():
                break
        time.sleep(0.001)
    return "; ".join(told), f"{done / (time.monotonic() - begun):,.0f}/s"


def overflow(path, ready, stop):
    """As many connections as are allowed, and then more and more."""
    guests = []
    for _ in range(11_900):
        guests.append(connect(path))
    ready()
    # The well-behaved client comes in meanwhile.
    time.sleep(0.3)
    told = {}
    refused = hanging = 0
    begun = time.monotonic()
    while not stop():
        with connect(path) as guest:
            guest.settimeout(5)
            if len(guests) < 12_100 and not has_input(guest, 2):
                guests.append(socket.socket(fileno=guest.detach()))
                continue
            try:
                text = guest.recv(4096)
                told[last_error(text)] = None
                refused += 1
                while text and guest.recv(4096):
                    pass
            except TimeoutError:
                hanging += 1
            except OSError:
                pass
    return "; ".join(told), f"{refused / (time.monotonic() - begun):,.0f}/s refused, {hanging} left hanging"


def never_reads(path, ready, stop):
    """64 clients that ask for 1 MiB again and again and read nothing."""
    request = line("settings.get", '{"domain":"crowd","key":"large"}')
    guests = [connect(path, wait=False) for _ in range(64)]
    sent = 0

    def push():
        nonlocal sent
        for guest in guests:
            try:
                sent += guest.send(request * 500)
            except (BlockingIOError, ConnectionError):
                pass
    for _ in range(20):
        push()
    ready()
    while not stop():
        push()
        time.sleep(0.01)
    closed = 0
    for guest in guests:
        try:
            guest.send(b"\n")
        except BlockingIOError:
            pass
        except ConnectionError:
            closed += 1
    return "nothing (it does not read)", f"{sent >> 10} KiB asked, {closed} of 64 closed"


def one_byte(path, ready, stop):
    """1,000 clients that send one byte a second each."""
    request = line("storage.ping")
    guests = [connect(path) for _ in range(1000)]
    ready()
    position = 0
    while not stop():
        for guest in guests:
            guest.send(request[position % len(request):][:1])
            time.sleep(1 / len(guests))
            if stop():
                break
        position += 1
    return "served when the line ends", f"{position} bytes each"


def no_newline(path, ready, stop):
    """1 GB without a newline, as often as it goes."""
    chunk = b"x" * (1 << 20)
    ready()
    text, sent, begun = b"", 0, time.monotonic()
    while not stop():
        with connect(path) as guest:
            for _ in range(1000):
                guest.sendall(chunk)
                sent += len(chunk)
                if stop():
                    break
            guest.sendall(b"\n" + line("storage.ping", identifier=7))
            text = read_line(guest)
            if b'"id":7' not in text:
                text += read_line(guest)
    return last_error(text), f"{sent / (time.monotonic() - begun) / 1e6:,.0f} MB/s"


def pour(path, ready, stop, texts):
    """Sends the texts in turn, and reads the reply to each."""
    ready()
    told, done, begun = {}, 0, time.monotonic()
    with connect(path) as guest:
        while not stop():
            guest.sendall(texts[done % len(texts)])
            told[last_error(read_line(guest))] = None
            done += 1
    return "; ".join(told), f"{done / (time.monotonic() - begun):,.0f}/s"


def nested(path, ready, stop):
    """Lines of 100,000 nested arrays."""
    return pour(path, ready, stop, [b"[" * 100_000 + b"]" * 100_000 + b"\n"])


def members(path, ready, stop):
    """Batches of 1,000,000 members."""
    small = b"[" + b",".join([b"1"] * 1_000_000) + b"]\n"
    large = b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"storage.ping"}'] * 1_000_000) + b"]\n"
    return pour(path, ready, stop, [small, large])


def half_closed(path, ready, stop):
    """Clients that ask and shut their side, one after the other."""
    ready()
    done, begun, told = 0, time.monotonic(), {}
    while not stop():
        with connect(path) as guest:
            guest.send(line("storage.ping"))
            guest.shutdown(socket.SHUT_WR)
            text = b""
            while chunk := guest.recv(4096):
                text += chunk
            told[last_error(text)] = None
            done += 1
    return "; ".join(told), f"{done / (time.monotonic() - begun):,.0f}/s"


def mid_request(path, ready, stop):
    """Clients that go in the middle of a request."""
    ready()
    done, begun = 0, time.monotonic()
    half = line("settings.put", json.dumps({"domain": "crowd", "key": "k", "value": "v" * 20_000}))[:-100]
    while not stop():
        with connect(path) as guest:
            guest.send(half)
            done += 1
    return "nothing (it is gone)", f"{done / (time.monotonic() - begun):,.0f}/s"


def subscriptions(path, ready, stop):
    """65,535 subscriptions of one client, and 50 changes a second that concern some of them."""
    guest = connect(path)
    text = b""
    for start in range(0, 65_535, 500):
        numbers = range(start, min(start + 500, 65_535))
        guest.sendall(b"".join(
            line("changes.watch", '{"stores":["settings"],"scope":"watched","prefix":"k%05d"}' % n, n) for n in numbers))
        replies = b""
        while replies.count(b"\n") < len(numbers):
            replies += guest.recv(1 << 18)
        text += replies
    ready()
    writer = connect(path)
    events = changes = 0
    guest.setblocking(False)
    while not stop():
        changes += 1
        key = "k%05d" % (changes * 7919 % 65_535)
        writer.send(line("settings.put", '{"domain":"watched","key":"%s","value":%d}' % (key, changes)))
        read_line(writer)
        until = time.monotonic() + 0.02
        while (left := until - time.monotonic()) > 0:
            if select.select([guest], [], [], left)[0]:
                events += guest.recv(1 << 20).count(b"changes.changed")
    return last_error(text), f"{changes} changes, {events} events"


def descriptors(path, ready, stop):
    """253 descriptors a message, with half a line behind them, again and again over 200 connections; one more asks then."""
    null = os.open("/dev/null", os.O_RDONLY)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null] * 253))]
    guests = [connect(path, wait=False) for _ in range(201)]
    sent = refused = 0
    for guest in guests:
        guest.send(b'{"jsonrpc":"2.0",')
    # The others wait ever longer before they are read from.
    first = guests.pop()
    first.sendmsg([b" "], rights)
    ready()
    while not stop():
        for guest in guests:
            try:
                guest.sendmsg([b" "], rights)
                sent += 253
            except OSError:
                refused += 1
        time.sleep(0.001)
    first.setblocking(True)
    first.settimeout(5)
    first.sendall(line("documents.export", '{"collection":"crowd","fd":true}')[len('{"jsonrpc":"2.0",'):])
    return last_error(read_line(first)), f"{sent} sent, {refused} by the kernel"


def hoard(path, ready, stop):
    """64 clients that send 15 MiB of a line each and stop."""
    guests = [connect(path, wait=False) for _ in range(64)]
    chunk = b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (1 << 20)
    left = {guest: 15 << 20 for guest in guests}

    def push():
        for guest in list(left):
            try:
                left[guest] -= guest.send(chunk[:left[guest]])
            except BlockingIOError:
                continue
            except ConnectionError:
                left[guest] = 0
            if left[guest] <= 0:
                del left[guest]
    until = time.monotonic() + 1.5
    while left and time.monotonic() < until:
        push()
    ready()
    while not stop():
        push()
        time.sleep(0.005)
    text = b""
    for guest in guests:
        try:
            text += guest.recv(65536)
        except (BlockingIOError, ConnectionError):
            pass
    return last_error(text), f"{len(guests) - len(left)} of 64 sent all, {text.count(b'overloaded')} told"


def trickle_lines(path, ready, stop):
    """10,000 clients that stop in the middle of a line of 20 KiB."""
    guests = [connect(path) for _ in range(10_000)]
    for guest in guests:
        guest.send(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 20_000)
    ready()
    while not stop():
        time.sleep(0.05)
    text = b""
    for guest in guests:
        guest.setblocking(False)
        try:
            text += guest.recv(4096)
        except (BlockingIOError, ConnectionError):
            pass
    return last_error(text), f"{text.count(b'overloaded')} told"


def batches(path, ready, stop):
    """Batches of 1,000 requests."""
    batch = b"[" + b",".join(
        line("settings.get", '{"domain":"crowd","key":"k%d"}' % n)[:-1] for n in range(1000)) + b"]\n"
    return pour(path, ready, stop, [batch])


def large_values(path, ready, stop):
    """Values of 1 MiB, written and read."""
    put = [line("settings.put", '{"domain":"crowd","key":"large","value":"%s"}' % (letter * ((1 << 20) - 2)))
           for letter in "ab"]
    get = line("settings.get", '{"domain":"crowd","key":"large"}')
    return pour(path, ready, stop, [put[0], get, put[1], get])


def large_reads(path, ready, stop):
    """Values of 1 MiB, read."""
    return pour(path, ready, stop, [line("settings.get", '{"domain":"crowd","key":"large"}')])


def many_keys(path, ready, stop):
    """getMany of 1,000 keys."""
    keys = json.dumps([f"k{n}" for n in range(1000)])
    return pour(path, ready, stop, [line("settings.getMany", '{"domain":"crowd","keys":%s}' % keys)])


def lists(path, ready, stop):
    """Pages of 1,000, of settings and documents, and exports."""
    texts = [line("settings.list", '{"domain":"crowd","limit":1000}'),
             line("documents.list", '{"collection":"crowd","limit":1000}'),
             line("settings.export", '{"domain":"crowd"}')]
    return pour(path, ready, stop, texts)


def long_replies(path, ready, stop):
    """getMany of 1,000 documents of 256 KiB, more than a reply may have, and of 100, which fit."""
    with connect(path) as guest:
        value = "v" * (256 << 10)
        for n in range(100):
            guest.sendall(line("documents.put", '{"collection":"long","id":"d%d","value":"%s"}' % (n, value)))
            read_line(guest)
    def ask(numbers):
        return line("documents.getMany", '{"collection":"long","ids":%s}' % json.dumps([f"d{n % 100}" for n in numbers]))
    return pour(path, ready, stop, [ask(range(1000)), ask(range(100))])


def large_lines(path, ready, stop):
    """Lines of 15 MiB: small objects for a method that is not there, and one long text for one that is."""
    objects = ",".join(['{"a":1,"b":"xyz","c":[true,null]}'] * ((15 << 20) // 34))
    return pour(path, ready, stop, [
        line("no.such", f"[{objects}]"),
        line("settings.get", '{"domain":"crowd","key":"absent","default":"%s"}' % ("x" * (15 << 20)))])


def bulk_writes(path, ready, stop):
    """putMany of 5,000 documents of 1 KiB, one after the other."""
    texts = []
    for letter in "ab":
        documents = ",".join('{"id":"b%d","value":"%s"}' % (n, letter * 1000) for n in range(5000))
        texts.append(line("documents.putMany", '{"collection":"bulk","documents":[%s]}' % documents))
    return pour(path, ready, stop, texts)


def pipelining(path, ready, stop):
    """One client that pipelines single reads at full speed."""
    text = line("settings.get", '{"domain":"crowd","key":"k1"}') * 2000
    guest = connect(path, wait=False)
    ready()
    rest, done, begun = b"", 0, time.monotonic()
    while not stop():
        readable, writable, _ = select.select([guest], [guest], [], 0.1)
        if writable:
            try:
                rest = rest or text
                rest = rest[guest.send(rest):]
            except BlockingIOError:
                pass
        if readable:
            done += guest.recv(1 << 20).count(b"\n")
    return "served", f"{done / (time.monotonic() - begun):,.0f}/s"


def burn(path, ready, stop):
    """No guest at all: a core is busy."""
    ready()
    while not stop():
        for _ in range(10_000):
            pass
    return "", ""
