"""Tells what is answered otherwise than in a recording.

That is no fault by itself. A recording does not have what was stored before it, nor the limits, the grants, the faults and the time of its
world; and where several connections want one item the seed decides whose turn it is. Judges look at each answer in the light of what
happened in this run, which is exact; the recording adds what the user wants to know: whether the errors of the report have come again.
"""

from collections import Counter

from values import text

MOST = 20


class Compared:
    """Observes a run of a recording."""

    def __init__(self, recorded):
        self.recorded = recorded  # by the request's name: the kind of the error; None: a result
        self.asked, self.kinds = {}, {}

    def sent(self, asked):
        self.asked[asked.name] = asked

    def answered(self, asked, result, kind, error):
        self.kinds[asked.name] = kind

    def __getattr__(self, name):
        return lambda *_: None

    def remarks(self, is_whole):
        """Sentences by what they are about. `is_whole`: the run came to its end."""
        made = {}
        for name, kind in self.recorded.items():
            asked = self.asked.get(name)
            if asked and name in self.kinds:
                here = word(self.kinds[name])
            elif is_whole:
                here = "no answer" if asked else "not sent, since its connection is gone"
            else:
                continue
            if here != word(kind):
                what = f", {asked.method} {text(asked.params)[:150]}" if asked else ""
                connection, number = name.split(".")
                made[name, here] = f"request {number}, of connection {connection}{what}: {word(kind)} in the recording, {here} here"
        return made


def word(kind):
    return kind or "a result"


class Remarks:
    """Those of all runs of a recording; each is told once."""

    def __init__(self):
        self.runs, self.counts, self.sentences = Counter(), Counter(), {}

    def take(self, path, remarks):
        self.runs[path] += 1
        for about, sentence in remarks.items():
            self.counts[path, *about] += 1
            self.sentences.setdefault((path, *about), sentence)

    def lines(self):
        for path, runs in self.runs.items():
            own = [(about, sentence) for about, sentence in self.sentences.items() if about[0] == path]
            if own:
                yield f"{path}: answered otherwise than in the recording, which is no fault by itself:"
            for about, sentence in own[:MOST]:
                yield f"  {sentence}" + (f", in {self.counts[about]} of {runs} runs" if runs > 1 else "")
            if len(own) > MOST:
                yield f"  and {len(own) - MOST} more"
