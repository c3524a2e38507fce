"""Part words: each verb with too few words, too many, the neighbour's and an option that it does not have."""

import os
import re
import subprocess
from collections import Counter

from stranger import Daemon, Found, Refused, ending

# Exit statuses that `kura help exit-codes` has; the rest is read from there.
WAITS = 6
# These say that nothing was changed.
REFUSED = (1, 2, 4, 7)


def execute(command, environment, limit=40):
    """The ended process, or None when it waits for something."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return None


def words(run):
    work = run.room("words")
    daemon = Daemon(work).start()
    with daemon.connect() as connection:
        connection.call("settings.put", domain="app", key="theme", value="dark")
        connection.call("documents.put", collection="countries", id="JP", value={"name": "Japan"})
        connection.call("secrets.put", service="mail", account="ada", secret="open sesame")
    kura = os.environ["KURA"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KURA_")} | {
        "KURA_SOCKET": daemon.socket, "HOME": work, "SWIFT_BACKTRACE": "enable=no", "EDITOR": "true"}

    def told(*given):
        return execute([kura, *given], environment).stdout.decode()

    known = {int(code) for code in re.findall(r"^ +(\d+) ", told("help", "exit-codes"), re.M)}
    nouns = re.search(r"\nnouns\n(.*?)\n\n", told("--help"), re.S)[1]
    verbs, endless = {}, set()
    for noun in re.findall(r"^  (\S+) ", nouns, re.M):
        # What a verb says of itself: its name, how it is used, and an example.
        for verb, usage, example in re.findall(
                rf"^  {noun} (\S+)(.*?)^    kura {noun} \S+ ?(.*?)\n\n", told(noun, "--help") + "\n\n", re.M | re.S):
            verbs[noun, verb] = re.findall(r"'[^']*'|\S+", example)
            if "…" in usage:
                endless.add((noun, verb))
    commands = {(name,): [] for name in re.findall(r"^  ([a-z-]+)(?:  | [\[A-Z(a-z])", told("--help").split("\ncommands\n")[1].split("\n\n")[0], re.M)}
    if len(verbs) < 100 or len(commands) < 10:
        raise Found(f"kura --help names too little: {len(verbs)} verbs, {len(commands)} commands")
    names = list(verbs | commands)
    cases = []
    for at, name in enumerate(names):
        neighbour = [word.strip("'") for word in (verbs | commands)[names[at - 1]]]
        own = [word.strip("'") for word in (verbs | commands)[name]]
        cases += [(name, "too few", []), (name, "too many", own + ["too", "many", "words"] * 5),
                  (name, "the neighbour's", neighbour), (name, "an unknown option", own + ["--no-such-option"]),
                  (name, "an empty word", [""] * max(1, len(own))), (name, "an extreme", own + ["--limit", str(2**63)]),
                  (name, "without a value", own + ["--timeout"])]
    run.dice.shuffle(cases)
    counts, waited, done = Counter(), 0, 0

    def rev():
        with daemon.connect() as connection:
            return int(connection.call("changes.list", afterRev=0, limit=1)["rev"])

    last = rev()
    for name, how, given in cases:
        if run.is_late():
            break
        # These run on, or write what a whole disk takes.
        if name[0] in ("bench", "top", "watch") or name == ("man",):
            continue
        done += 1

        def attempt(name=name, how=how, given=given):
            nonlocal last, waited
            ended = execute([kura, *name, *given], environment, WAITS)
            if ended is None:
                waited += 1
                last = rev()
                return
            counts[ended.returncode] += 1
            said = (ended.stdout + ended.stderr).decode(errors="replace")
            if ended.returncode < 0 or ended.returncode not in known:
                raise Found(f"{ending(ended.returncode)}: {said[-300:]}")
            if ended.returncode != 0 and not ended.stderr.strip() and not said.strip():
                raise Found(f"exit {ended.returncode} and not a word")
            if ended.returncode == 0 and not (how == "too many" and name in endless) and how in ("too many", "an unknown option", "without a value"):
                raise Found(f"exit 0, though it was {how}: {said[-300:]}")
            now = rev()
            if now != last and ended.returncode in REFUSED:
                last = now
                raise Found(f"exit {ended.returncode}, and something was changed: {said[-300:]}")
            last = now

        run.guard(attempt, f"kura {' '.join(name)}: {how}", f"KURA_SOCKET=… kura {' '.join([*name, *map(repr, given)])}")
    done += daemons(run, daemon)
    run.guard(lambda: daemon.alive(), "words", "all of these")
    daemon.kill()
    shown = ", ".join(f"exit {code} {count}" for code, count in sorted(counts.items()))
    return f"{done} commands of {len(cases)} over {len(names)} verbs and commands: {shown}; {waited} wait for something"


def daemons(run, daemon):
    """What kurad makes of wrong options."""
    cases = [["--no-such-option"], ["too", "many"], ["--data-dir"], ["--data-dir", ""], ["--min-free", "-1"], ["--min-free", str(2**64)],
             ["--min-free", "1e308"], ["--disk-limit", "5"], ["--profile", "huge"], ["--key-fd", "-1"], ["--key-fd", "99999999999999999999"],
             ["--key-fd", "2147483647"], ["--config", "/nowhere"], ["--config", "/"], ["--config", "/dev/null"], ["--log-level", ""],
             ["--print-docs", "nothing"], ["restore"], ["restore", "/nowhere"], ["restore", "/dev/null"], ["restore", "/"],
             ["doctor", "too", "many"], ["--seed-bundle", "/nowhere"],
             ["--socket", "/" + "x" * 200], ["--socket", ""], ["--data-dir", "/proc/version"], ["--ephemeral", "--data-dir", "/nowhere"]]
    for given in cases:
        def attempt(given=given):
            # Its own directory comes last: what is given is never somebody's.
            place = [] if {"--data-dir", "--ephemeral", "restore", "doctor"} & set(given) else ["--data-dir", os.path.join(daemon.work, "none")]
            room = [] if "--socket" in given or given[0] in ("restore", "doctor") else ["--socket", os.path.join(daemon.work, "t")]
            ended = execute([os.environ["KURAD"], *given, *place, *room], daemon.environment | {"HOME": daemon.work}, 20)
            if ended is None:
                raise Found("it serves, or waits")
            if ended.returncode not in (1, 2, 8, 9) or not (ended.stderr + ended.stdout).strip():
                raise Found(f"{ending(ended.returncode)}: {ended.stderr.decode(errors='replace')[-300:]}")

        run.guard(attempt, f"kurad {' '.join(given)[:60]}", f"kurad {' '.join(map(repr, given))}")
    return len(cases)


__all__ = ["Refused", "words"]
