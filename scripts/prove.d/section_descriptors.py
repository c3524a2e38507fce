"""No descriptor is left, for a while: nobody loses anything, nothing is set aside, and all goes on when there are some again."""

import os
import resource
import time

from client import Connection, Gone, Refused
from daemon import StartFailed
from mixed import MixedModel
from proof import Tally

SECONDS = 1.0


def open_now(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def limit(pid, soft):
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def answers(daemon, seconds):
    """Whether a new client is answered within so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with Connection(daemon.socket, timeout=5.0) as connection:
                connection.call("settings.put", domain="probe", key="p", value=time.monotonic_ns())
                return True
        except (Gone, Refused, TimeoutError):
            time.sleep(0.02)
    return False


def run(proof):
    report = proof.report
    daemon = proof.daemon(proof.directory("data"))
    crew = proof.crew("descriptors", 5, MixedModel)
    tally = Tally(report)
    rounds = 40 if proof.is_full else 4
    ends, kinds, unanswered, recovered = [], {}, 0, []
    for number in range(rounds):
        report.progress(f"round {number + 1} of {rounds}")
        daemon.start()
        crew.start(daemon, pause=0.01)
        crew.wait_until_busy()
        usual = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)[0]
        # Also fewer than it has open: then every attempt fails, and what is open stays.
        limit(daemon.process.pid, max(1, open_now(daemon.process.pid) + proof.random.randrange(-4, 6)))
        time.sleep(SECONDS)
        alive = daemon.process.poll() is None
        if alive:
            limit(daemon.process.pid, usual)
            begun = time.monotonic()
            if answers(daemon, 10):
                recovered.append(time.monotonic() - begun)
            else:
                unanswered += 1
        crew.finish()
        for kind, count in crew.errors().items():
            kinds[kind] = kinds.get(kind, 0) + count
        ends.append(daemon.stop() if alive else daemon.wait(1))
        if ends[-1] is None:
            daemon.kill()
        tally.verify(daemon, crew)
        with daemon.connect() as connection:
            aside = [notice for notice in connection.call("storage.status").get("recovered", []) if notice["what"] == "durable"]
        if aside:
            tally.faults.append(f"round {number}: set aside: {aside}")
        daemon.kill()
    tally.check(f"{rounds} times {SECONDS:.0f} s without descriptors", f"refused {kinds}")
    report.check(
        "the daemon lives through it and drains", set(ends) == {0},
        f"exits {sorted(set(map(str, ends)))}: {[ends.count(end) for end in sorted(set(ends), key=str)]}")
    report.check(
        "new clients are served when there are some again", unanswered == 0 and recovered,
        f"after {max(recovered, default=0) * 1000:.0f} ms at most")
    few(proof, report)


def few(proof, report):
    """Starts with so few that something has to fail: it serves, or says why it does not."""
    served, refused, wrong = [], [], []
    for count in list(range(8, 60, 4 if not proof.is_full else 1)):
        daemon = proof.daemon(proof.directory(f"few-{count}"))
        daemon.prefix = ["prlimit", f"--nofile={count}:{count}"]
        try:
            daemon.start(timeout=5)
            with daemon.connect() as connection:
                try:
                    connection.call("settings.put", domain="d", key="k", value=count)
                    connection.call("secrets.put", service="s", account="a", secret="x")
                except Refused:
                    pass
            served.append(count)
            if daemon.stop() != 0:
                wrong.append(f"{count}: exit {daemon.process.returncode} {daemon.last_words()}")
        except StartFailed as error:
            # Or it serves, and nobody can be let in.
            if daemon.process.poll() not in (1, 2) and (daemon.process.returncode is not None or daemon.stop() != 0):
                wrong.append(f"{count}: {error}")
            refused.append(count)
        except (AssertionError, Gone):
            # It serves, but has none for another client, and says so.
            refused.append(count)
            if daemon.stop() != 0:
                wrong.append(f"{count}: exit {daemon.process.returncode} {daemon.last_words()}")
        daemon.kill()
        # The same directory serves when there are enough.
        daemon.prefix = []
        try:
            daemon.start()
            with daemon.connect() as connection:
                if any(notice["what"] == "durable" for notice in connection.call("storage.status").get("recovered", [])):
                    wrong.append(f"{count}: set aside")
                connection.call("secrets.put", service="s", account="b", secret="x")
            daemon.stop()
        except Exception as error:
            wrong.append(f"{count}, afterwards: {type(error).__name__} {error}")
        daemon.kill()
    for text in wrong[:5]:
        report.note(text)
    report.check(
        "starts with few descriptors", not wrong and served and refused,
        f"served with {min(served, default=0)} and more, refused with {max(refused, default=0)} and fewer, {len(wrong)} wrong")
