"""Part words: each verb with too few words, too many, the neighbour's and an option that it does not have."""

import os
import re
import subprocess
from collections import Counter

from stranger import Daemon, Found, ending

# What waits for something is ended after so many seconds.
WAITS = 6
# These exit statuses say that nothing was changed.
REFUSED = (1, 2, 4, 7)
# These run on, or write what a whole disk takes.
LEFT_OUT = ("bench", "top", "watch", "man")
DAEMONS = [
    ["--no-such-option"], ["too", "many"], ["--data-dir"], ["--data-dir", ""], ["--min-free", "-1"], ["--min-free", str(2**64)],
    ["--min-free", "1e308"], ["--disk-limit", "5"], ["--profile", "huge"], ["--key-fd", "-1"], ["--key-fd", "99999999999999999999"],
    ["--key-fd", "2147483647"], ["--config", "/nowhere"], ["--config", "/"], ["--config", "/dev/null"], ["--log-level", ""],
    ["--print-docs", "nothing"], ["restore"], ["restore", "/nowhere"], ["restore", "/dev/null"], ["restore", "/"],
    ["doctor", "too", "many"], ["--seed-bundle", "/nowhere"],
    ["--socket", "/" + "x" * 200], ["--socket", ""], ["--data-dir", "/proc/version"], ["--ephemeral", "--data-dir", "/nowhere"]]


def execute(command, environment, limit):
    """The ended process, or None when it waits for something."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, env=environment, text=True,
                              errors="replace", check=False)
    except subprocess.TimeoutExpired:
        return None


class Kura:
    """The command, and what its help says of it."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.environment = daemon.environment | {"KURA_SOCKET": daemon.socket, "HOME": daemon.work, "EDITOR": "true"}
        self.exits = {int(code) for code in re.findall(r"^ +(\d+) ", self.told("help", "exit-codes"), re.M)}
        # The words of an example of each verb and command.
        self.examples = {}
        # Those that take any number of words.
        self.endless = set()
        told = self.told("--help")
        for noun in re.findall(r"^  (\S+) ", re.search(r"\nnouns\n(.*?)\n\n", told, re.S)[1], re.M):
            # What a verb says of itself: its name, how it is used, and an example.
            for verb, usage, example in re.findall(
                    rf"^  {noun} (\S+)(.*?)^    kura {noun} \S+ ?(.*?)\n\n", self.told(noun, "--help") + "\n\n", re.M | re.S):
                self.examples[noun, verb] = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", example)]
                if "…" in usage:
                    self.endless.add((noun, verb))
        verbs = len(self.examples)
        commands = re.findall(r"^  ([a-z-]+)(?:  | [\[A-Z(a-z])", told.split("\ncommands\n")[1].split("\n\n")[0], re.M)
        self.examples |= {(name,): [] for name in commands}
        if verbs < 100 or len(commands) < 10:
            raise Found(f"kura --help names too little: {verbs} verbs, {len(commands)} commands")
        self.counts, self.waited = Counter(), 0
        self.last = self.rev()

    def told(self, *given):
        return self.execute(given, 40).stdout

    def execute(self, given, limit):
        return execute([os.environ["KURA"], *given], self.environment, limit)

    def rev(self):
        with self.daemon.connect() as connection:
            return connection.call("changes.list", afterRev=0, limit=1)["rev"]

    def cases(self):
        """What each verb and command is given, and what that is."""
        names = list(self.examples)
        for at, name in enumerate(names):
            own = self.examples[name]
            yield name, "too few", []
            yield name, "too many", own + ["too", "many", "words"] * 5
            yield name, "the neighbour's", self.examples[names[at - 1]]
            yield name, "an unknown option", own + ["--no-such-option"]
            yield name, "an empty word", [""] * max(1, len(own))
            yield name, "an extreme", own + ["--limit", str(2**63)]
            yield name, "without a value", own + ["--timeout"]

    def attempt(self, name, how, given):
        ended, before = self.execute([*name, *given], WAITS), self.last
        self.last = self.rev()
        if ended is None:
            self.waited += 1
            return
        code, said = ended.returncode, (ended.stdout + ended.stderr)
        self.counts[code] += 1
        if code not in self.exits:
            raise Found(f"{ending(code)}: {said[-300:]}")
        if code != 0 and not said.strip():
            raise Found(f"exit {code} and not a word")
        is_wrong = how in ("an unknown option", "without a value") or how == "too many" and name not in self.endless
        if code == 0 and is_wrong:
            raise Found(f"exit 0, though it was {how}: {said[-300:]}")
        if self.last != before and code in REFUSED:
            raise Found(f"exit {code}, and something was changed: {said[-300:]}")


def words(run):
    daemon = Daemon(run.room()).start()
    with daemon.connect() as connection:
        connection.call("settings.put", domain="app", key="theme", value="dark")
        connection.call("documents.put", collection="countries", id="JP", value={"name": "Japan"})
        connection.call("secrets.put", service="mail", account="ada", secret="open sesame")
    kura = Kura(daemon)
    cases = list(kura.cases())
    run.dice.shuffle(cases)
    done = 0
    for name, how, given in cases:
        if run.is_late():
            break
        if name[0] in LEFT_OUT:
            continue
        done += 1
        run.guard(lambda: kura.attempt(name, how, given), f"kura {' '.join(name)}: {how}",
                  f"KURA_SOCKET=… kura {' '.join([*name, *map(repr, given)])}")
    for given in DAEMONS:
        run.guard(lambda: refuse(daemon, given), f"kurad {' '.join(given)[:60]}", f"kurad {' '.join(map(repr, given))}")
    run.guard(daemon.alive, "words", "all of these")
    daemon.kill()
    shown = ", ".join(f"exit {code} {count}" for code, count in sorted(kura.counts.items()))
    return (f"{done + len(DAEMONS)} commands of {len(cases)} over {len(kura.examples)} verbs and commands: {shown}; "
            f"{kura.waited} wait for something")


def refuse(daemon, given):
    """Has kurad refuse wrong options with a word."""
    words = list(given)
    # Its own directory comes last: what is given is never somebody's.
    if not {"--data-dir", "--ephemeral", "restore", "doctor"} & set(given):
        words += ["--data-dir", os.path.join(daemon.work, "none")]
    if "--socket" not in given and given[0] not in ("restore", "doctor"):
        words += ["--socket", os.path.join(daemon.work, "t")]
    ended = execute([os.environ["KURAD"], *words], daemon.environment | {"HOME": daemon.work}, 20)
    if ended is None:
        raise Found("it serves, or waits")
    if ended.returncode not in (1, 2, 8, 9) or not (ended.stderr + ended.stdout).strip():
        raise Found(f"{ending(ended.returncode)}: {ended.stderr[-300:]}")
