"""Observers of a run: what lets the generator learn, and what tells of it."""

from collections import Counter

from plan import story
from values import text

# Events that the requests themselves tell of, and time.
ORDINARY = {"send", "connect", "advance", "pass", "until", "window"}


class Observer:
    """Lets the generator learn from replies, and from nothing else."""

    def __init__(self, generator):
        self.answered = generator.answered

    def __getattr__(self, name):
        return lambda *_: None


class Trace:
    """Tells what is asked, answered and told, line by line, and where the fault was found."""

    def __init__(self, run):
        self.run, self.lines, self.has_found = run, [], False

    def say(self, words):
        # What was found is in the light of the line before.
        if self.run.failures and not self.has_found:
            self.has_found = True
            judge, kind, why = self.run.failures[0]
            self.lines.append(f"{'FOUND':>6} [{judge}/{kind}] {why[:400]}")
        if words:
            self.lines.append(words)

    def whole(self):
        self.say("")
        return self.lines

    def sent(self, asked):
        self.say(f"{asked.sent:6} {asked.client:>4} -> {asked.number} {asked.method} {text(asked.params)[:400]}")

    def answered(self, asked, result, kind, error):
        self.say(f"{asked.answered:6} {asked.client:>4} <- {asked.number} "
                 f"{text(asked.reply.get('result', asked.reply.get('error')))[:400]}")

    def abandoned(self, asked):
        self.say(f"{self.run.tick:6} {asked.client:>4} -- {asked.number} will not be answered")

    def told(self, client, method, params):
        self.say(f"{self.run.tick:6} {client:>4} <- {method} {text(params)[:400]}")

    def stopped(self, was_clean):
        self.say(f"{self.run.tick:6} ended, {'cleanly' if was_clean else 'killed'}")

    def __getattr__(self, name):
        return lambda *_: None


class Short(Trace):
    """The same and what goes wrong: enough to follow a run without the daemon's own calls."""

    def performs(self, event):
        if event["do"] not in ORDINARY:
            self.say(f"{self.run.tick:6} {story(event, 400)}")

    def struck(self, faults):
        # What is found is found behind them.
        self.lines += [f"{self.run.tick:6} struck: {fault}" + (f", {count:,} times" if count > 1 else "") for fault, count in Counter(faults).items()]

    def ended(self, code, words):
        self.say(f"{self.run.tick:6} the daemon has ended with {code}: {words[-400:].strip()}")
