"""Observers of a run: what lets the generator learn, and what tells of it."""

from values import text


class Observer:
    """Lets the generator learn from replies, and from nothing else."""

    def __init__(self, generator):
        self.answered = generator.answered

    def __getattr__(self, name):
        return lambda *_: None


class Trace:
    """Tells what is asked, answered and told, line by line."""

    lines = []

    def __init__(self, run):
        self.run = run
        Trace.lines = []

    def say(self, words):
        self.lines.append(words)

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
