"""Every file call of a scripted run goes wrong once: it fails, the disk is full from there on, or it is the last one before kill -9.

The calls are struck in the process (strike.c, with LD_PRELOAD), counted over all its threads. Two acts are played: a new
directory, and the start after a kill -9 with what follows. After each the daemon must end or stop by itself, start again without
help, and show what was acknowledged and nothing that was refused.
"""

import collections
import os
import shutil
import signal
import subprocess
import time

from client import Gone
from daemon import StartFailed
from scripted import Account, Script

# Name, classes of calls, mode, whether all later ones are struck too.
SERIES = {
    "eio": ("a write, cut or allocation is EIO", "w", "EIO", ""),
    "sync": ("a sync is EIO", "s", "EIO", ""),
    "names": ("a name made, changed or removed is EIO", "n", "EIO", ""),
    "reads": ("a read is EIO", "r", "EIO", ""),
    "opens": ("an open is EIO", "o", "EIO", ""),
    "full": ("one write or name is ENOSPC", "wn", "ENOSPC", ""),
    "fullon": ("from there on all writes and names are ENOSPC", "wn", "ENOSPC", "+"),
    "emfile": ("from there on nothing can be opened (EMFILE)", "no", "EMFILE", "+"),
    "readonly": ("from there on all is read-only (EROFS)", "wn", "EROFS", "+"),
    "short": ("a write is short", "w", "short", ""),
    "kill": ("kill -9 before a write, sync or name", "wsn", "kill", ""),
    "tear": ("kill -9 in the midst of a write", "w", "tear", ""),
}
# The same call on the same file more often than this (the zeros that fill a segment) is struck at some of its times only.
EACH_UP_TO = {"full": 32, "quick": 1}
STOP_SECONDS = 30.0


def compile_striker(work):
    """Returns the library's path."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "strike.c")
    library = os.path.join(work, "strike.so")
    if not os.path.exists(library):
        compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
        if compiler is None:
            raise RuntimeError("no C compiler: cc, gcc or clang")
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


class Stage:
    """Where acts are played: a data directory that is made anew from a template for each."""

    def __init__(self, proof, library):
        self.proof = proof
        self.library = library
        self.place = proof.directory("stage")
        os.makedirs(self.place)
        # Tables and log of a few MiB, written anew a thousand times: no disk has to do that.
        self.is_mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=512m,mode=0700", "tmpfs", self.place], capture_output=True).returncode == 0
        self.daemon = proof.daemon(os.path.join(self.place, "data"))
        self.daemon.socket = os.path.join(self.place, "s")
        self.daemon.log = os.path.join(self.place, "kurad.log")
        self.calls = os.path.join(self.place, "calls")

    def close(self):
        self.daemon.kill()
        if self.is_mounted:
            subprocess.run(["umount", self.place], check=True)

    def arm(self, specification):
        for path in (self.calls, self.daemon.log):
            if os.path.exists(path):
                os.unlink(path)
        self.daemon.environment = {
            "LD_PRELOAD": self.library, "STRIKE": specification, "STRIKE_ROOT": self.daemon.data, "STRIKE_LOG": self.calls}

    def disarm(self):
        self.daemon.environment = {}

    def struck(self):
        """The calls that were reported, as (number, class, call, path)."""
        if not os.path.exists(self.calls):
            return []
        with open(self.calls) as lines:
            return [tuple(line.split(None, 3)) for line in lines]


class Act:
    """One act: what lies there at first, and which script follows."""

    def __init__(self, name, script):
        self.name = name
        self.script = script
        self.template = None
        self.account = Account()

    def lay_out(self, stage):
        shutil.rmtree(stage.daemon.data, ignore_errors=True)
        if self.template:
            shutil.copytree(self.template, stage.daemon.data, symlinks=True)
        return self.account.copy()


def acts(stage):
    """The two acts; the second finds what a kill -9 has left in the midst of the first."""
    second = Act("after a kill -9", 2)
    stage.daemon.start()
    with stage.daemon.connect() as connection:
        ended = second.account.perform(connection, Script(1))
    if ended != "through" or second.account.refused:
        raise RuntimeError(f"the script does not play: {ended}, {second.account.refused}")
    with stage.daemon.connect() as connection:
        connection.call("settings.put", domain="app", key="unfolded", value=1)
    stage.daemon.kill()
    second.account.state["s", "app", "unfolded"] = 1
    second.template = os.path.join(stage.place, "template")
    shutil.copytree(stage.daemon.data, second.template)
    return [Act("a new directory", 1), second]


class Findings:
    """Sums of one series over one act."""

    def __init__(self):
        self.runs = self.struck = self.acknowledged = self.dropped = 0
        self.refused = collections.Counter()
        self.ends = collections.Counter()
        self.wrong = []

    def __str__(self):
        text = f"{self.runs} runs, {self.struck} struck, {self.acknowledged} acknowledged, {len(self.wrong)} wrong, {self.dropped} caches dropped"
        text += f"; ends {dict(sorted(self.ends.items()))}"
        return text + f", {sum(self.refused.values())} refused"

    def refusals(self):
        kinds = collections.defaultdict(list)
        for (method, kind), times in sorted(self.refused.items()):
            kinds[kind].append(f"{method} {times}")
        return "; ".join(f"{kind}: {', '.join(methods)}" for kind, methods in kinds.items())


def end_of(daemon, ended, mode):
    """Stops the daemon when it lives; returns (how it ended, what is wrong with that)."""
    status = daemon.process.poll()
    if ended == "gone" and status is None:
        # It closes connections before it is gone.
        status = daemon.wait(STOP_SECONDS)
        if status is None:
            return "hangs", "closed the connection and does not end"
    if status is None:
        status = daemon.stop(STOP_SECONDS)
        if status is None:
            return "hangs", f"does not stop in {STOP_SECONDS:.0f} s"
    if status < 0 and not (mode in ("kill", "tear") and status == -signal.SIGKILL):
        return f"signal {-status}", f"ended by signal {-status}"
    return f"exit {status}" if status >= 0 else "killed", None


def play(stage, act, specification, mode, found):
    """One run with one fault; adds to `found` what came of it."""
    daemon, account = stage.daemon, act.lay_out(stage)
    stage.arm(specification)
    found.runs += 1
    wrong = []
    ended = "start failed"
    try:
        daemon.start(timeout=STOP_SECONDS)
        with daemon.connect(timeout=STOP_SECONDS) as connection:
            ended = account.perform(connection, Script(act.script))
    except StartFailed as error:
        if daemon.process.poll() is None:
            wrong.append(f"start: {error}")
    except Gone:
        ended = "gone"
    how, objection = end_of(daemon, ended, mode)
    daemon.kill()
    if objection:
        wrong.append(f"{objection}: {daemon.last_words()}")
    found.ends[how if ended != "start failed" else f"start failed, {how}"] += 1
    found.acknowledged += account.acknowledged
    found.refused.update(account.refused)
    struck = stage.struck()
    found.struck += bool(struck)
    wrong += account.faults
    stage.disarm()
    try:
        daemon.start(timeout=STOP_SECONDS)
        with daemon.connect(timeout=STOP_SECONDS) as connection:
            wrong += account.judge(connection)
            status = connection.call("storage.status")
            aside = [notice["what"] for notice in status.get("recovered", [])]
            if "durable" in aside:
                wrong.append(f"tables and log were set aside: {status['recovered']}")
            found.dropped += len(aside)
            connection.call("settings.put", domain="app", key="after", value=found.runs)
            result = connection.call("storage.check")
            if result.get("findings") or result.get("ok") is False:
                wrong.append(f"storage.check: {str(result)[:300]}")
        status = daemon.stop(STOP_SECONDS)
        if status != 0:
            wrong.append(f"stops with {status} afterwards: {daemon.last_words()}")
    except (StartFailed, Gone, TimeoutError) as error:
        wrong.append(f"afterwards: {type(error).__name__} {error}")
    except Exception as error:
        wrong.append(f"afterwards: {type(error).__name__} {error}")
    daemon.kill()
    where = " ".join(struck[0]).strip() if struck else "not reached"
    found.wrong += [f"{specification} ({where}): {text}" for text in wrong]
    return struck


def count(stage, act, classes):
    """The calls of an act that nobody strikes."""
    found = Findings()
    struck = play(stage, act, f"{classes}:EIO:0", "", found)
    if found.wrong or not struck:
        raise RuntimeError(f"the act does not play without a fault: {found.wrong}")
    return struck


def choose(calls, limit, random):
    """Which numbers to strike: all, but of a call that comes very often on one file the first, the last, and some between."""
    places = collections.defaultdict(list)
    for number, _, call, path in calls:
        places[call, path.strip()].append(int(number))
    chosen = []
    for numbers in places.values():
        if len(numbers) <= limit:
            chosen += numbers
        elif limit < 4:
            chosen += random.sample(numbers, limit)
        else:
            first, last = limit // 2, limit // 4
            chosen += numbers[:first] + numbers[-last:] + random.sample(numbers[first:-last], limit - first - last)
    return sorted(chosen)


def run(proof):
    library = compile_striker(proof.work)
    stage = Stage(proof, library)
    wanted = os.environ.get("SERIES", "").split() or list(SERIES)
    only = os.environ.get("AT")
    limit = int(os.environ.get("EACH_UP_TO") or EACH_UP_TO["full" if proof.is_full else "quick"])
    try:
        for act in acts(stage):
            if os.environ.get("ACT", str(act.script)) != str(act.script):
                continue
            for name in wanted:
                series(proof, stage, act, name, only, limit)
    finally:
        stage.close()


def series(proof, stage, act, name, only, limit):
    report = proof.report
    title, classes, mode, goes_on = SERIES[name]
    calls = count(stage, act, classes)
    if only:
        numbers = [int(number) for number in only.split()]
    else:
        numbers = choose(calls, limit, proof.random)
        runs = int(os.environ.get("RUNS") or (len(numbers) if proof.is_full else 12))
        numbers = sorted(proof.random.sample(numbers, min(runs, len(numbers))))
    found = Findings()
    begun = time.monotonic()
    for at, number in enumerate(numbers):
        report.progress(f"{act.name}: {title}: {at + 1} of {len(numbers)}, {len(found.wrong)} wrong")
        before = len(found.wrong)
        play(stage, act, f"{classes}:{mode}:{number}{goes_on}", mode, found)
        for text in found.wrong[before:][:3]:
            report.note(text)
    if found.refused:
        report.note(f"refused: {found.refusals()}")
    # Threads take turns as they like: a run may have some calls less. With few runs that says nothing.
    enough = len(numbers) * 9 // 10 if len(numbers) >= 20 else 0
    report.check(
        f"{act.name}: {title}", not found.wrong and found.struck >= enough,
        f"{found}; {len(calls)} calls, {time.monotonic() - begun:.0f} s")
