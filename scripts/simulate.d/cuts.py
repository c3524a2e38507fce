"""What power cuts may have taken of changes that were told before they were synced."""

from itertools import islice, product

from states import BEGINNING
from values import ABSENT, same

# Ways in which several cuts may have taken changes, of which one has to explain what is left.
MOST_TRIES = 1000


class Cuts:
    """The part of a history that knows of power cuts."""

    def __init__(self):
        # Since the last settling: the revision that was on the disk for sure, the newest given out, whether durable changes may be gone.
        self.cuts = []
        self.has_torn = False     # durable ones are
        self.relaxed = []         # acknowledged before they were synced: revision, when
        self.flush_seconds = 5    # after which such are synced at the latest, whatever their domain

    @property
    def was_cut(self):
        return bool(self.cuts)

    def cut(self, now):
        """The power goes, at this time of the world."""
        due = now - (self.flush_seconds + 1) * 1_000_000_000
        self.strict_rev = max([self.strict_rev, *(rev for rev, at in self.relaxed if at < due)])
        self.cuts.append((self.strict_rev, self.newest, False))
        self.relaxed = []

    def tear(self, rev):
        """What comes behind this revision may be gone from the log, whether it was durable or not."""
        self.cuts.append((rev, self.newest, True))

    def take_back(self, readback):
        """Of relaxed changes each cut may have taken those behind one revision, never one before it, and none that was due to be synced."""
        windows, low = [], 0
        for strict, top, is_torn in self.cuts:
            # What a cut before has left may be torn all the same.
            low = strict if is_torn else max(strict, low)
            loosely = sorted({entry.rev for timeline in self.timelines.values() for entry in timeline
                              if (is_torn or not entry.durable) and low < entry.rev <= top}, reverse=True)
            # It may have taken nothing: what nobody was told of may lie behind the newest of them.
            windows.append((top, [top, *loosely, low] if loosely else []))
            low = top
        windows = [(top, limits) for top, limits in windows if limits]
        if not windows:
            return

        def left(timeline, spans):
            return [entry for entry in timeline if not any(limit < entry.rev <= top for limit, top in spans)]

        def fits(spans):
            for item, timeline in self.timelines.items():
                if item[:2] not in readback.scopes:
                    continue
                value, rev = readback.items.get(item, (ABSENT, 0))
                entries = left(timeline, spans)
                states = self.closure(entries[-1].possible if entries else BEGINNING, self.loose_parts(item))
                weak = self.is_rewrapped and item[0] == "secrets"
                if not any(same(s.value, value) and (value is ABSENT or s.rev in (rev, None) or weak) for s in states):
                    return False
            return True

        tries = islice(product(*(limits for _, limits in windows)), MOST_TRIES)
        spans = next(filter(fits, ([(limit, top) for limit, (top, _) in zip(limits, windows)] for limits in tries)), None)
        if spans is None:
            self.fault("suffix", f"after cuts no revision of {[limits[:-1][::-1] for _, limits in windows]}, nor the one before them, "
                                 "explains what is left")
            return
        for timeline in self.timelines.values():
            rest = left(timeline, spans)
            # A relaxed change is one that a cut may take, whatever else has happened.
            self.has_torn |= any(entry.durable for entry in timeline if entry not in rest)
            timeline[:] = rest
