"""What the durable stores held at every revision, as far as requests and replies tell.

Each acknowledged change has a revision, so all of them have one order, whatever connections they came by. An item's
timeline is its states by revision. A write whose outcome is unknown (unanswered at a kill, a notification, a connection
that was left) is loose: it may have happened at any place or not at all, so a state is a set of possible ones until a
reply shows which.
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import replace

from cuts import Cuts
from makers.secrets import FLEETING
from states import BEGINNING, DESTROYED, NEVER, UNKNOWN, Entry, Possible, Write, behind, distinct, finds, outcomes, same_states, show
from values import ABSENT, ANY, canonical, same, text


def fresh(timeline, seeded):
    """What a bundle has of an item."""
    states = distinct([Possible(ABSENT, 0) if state.value is ABSENT or state.rev is not None and state.rev <= seeded else state
                       for state in timeline[-1].possible])
    return [Entry(timeline[-1].rev, states, timeline[-1].known, timeline[-1].sent, True)]


class History(Cuts):
    def __init__(self):
        self.timelines = defaultdict(list)     # by item
        self.acknowledged = []                 # since the last settling
        self.loose = []
        self.reads = []
        self.ancient = set()                   # items (or their scopes) that writes of unknown outcome were about; only looked up
        self.known_items = {}                  # in the order in which they were met
        self.scopes = {}
        self.groups = {}                       # by account of secrets: the groups that it was written in
        self.faults = []
        self.strict_rev = 0
        self.owners = {}          # by revision: the request that changed something at it
        self.newest = 0
        self.base = 0             # the revision of what was there before the run
        # Secrets get new revisions by themselves once a key was rotated.
        self.is_rewrapped = False
        # What deleted and trimmed versions have left in the log goes with a version that is destroyed.
        self.is_scrubbed = False
        Cuts.__init__(self)

    # MARK: Taking in

    def meet(self, item):
        if item[2] is not None:
            self.known_items.setdefault(item, None)
        self.scopes.setdefault(item[:2], None)

    def meet_group(self, account, group):
        known = self.groups.setdefault(account, [])
        if group not in known:
            known.append(group)

    def groups_of(self, account):
        """Of one that was not written yet, those of the generator's custom."""
        return self.groups.get(account, ["team" if account.startswith("g") else None])

    def is_main(self, account, group):
        """An account in several groups is several secrets, of which the first is judged. What expires has a judge of its own."""
        return account != FLEETING and group == self.groups_of(account)[0]

    def is_grouped(self, account):
        return account == FLEETING or any(self.groups_of(account))

    def took(self, write):
        """A write was acknowledged."""
        self.acknowledged.append(write)
        for part in write.parts:
            self.meet(part.item)
        self.newest = max(self.newest, write.rev or 0)
        if write.durable and write.parts:
            self.strict_rev = max(self.strict_rev, write.rev or 0)
        elif write.parts and write.answered_at is not None:
            self.relaxed.append((write.rev or 0, write.answered_at))

    def left(self, write):
        """A write may have happened or not; an import in parts of its own."""
        if write.label == "documents.import" and len(write.parts) > 1:
            self.loose += [Write(write.number, write.label, write.sent, [part]) for part in write.parts]
        else:
            self.loose.append(write)
        for part in write.parts:
            self.meet(part.item)

    def showed(self, read):
        self.reads.append(read)
        self.meet(read.item)
        self.newest = max(self.newest, read.rev)

    def fault(self, kind, words):
        self.faults.append((kind, words))

    def begin(self, readback):
        """The data directory is an earlier one: what is found in it is what was there."""
        if readback is None:
            self.fault("lost", "nothing can be read of what was there before")
            return
        for item, (value, rev) in readback.items.items():
            self.timelines[item].append(Entry(rev, [Possible(value, rev, ANY)], readback.tick, readback.tick))
        self.base = self.newest = readback.rev

    def is_spelled_otherwise(self, value, rev):
        """An earlier run may have written letters as they are, which this one escapes: the value is known, and its bytes are not."""
        return rev <= self.base and "\\u" in text(value)

    # MARK: States

    def closure(self, states, parts):
        """What the states may have become by the loose parts, each at most once, in any order."""
        if not parts:
            return states
        todo = [(state, frozenset()) for state in states]
        seen = {(canonical(state.value), state.rev, used) for state, used in todo}
        result = []
        while todo:
            state, used = todo.pop()
            result.append(state)
            for at, part in enumerate(parts):
                if at in used:
                    continue
                for new in outcomes(part, state, None):
                    name = canonical(new.value), new.rev, used | {at}
                    if name not in seen:
                        seen.add(name)
                        todo.append((new, used | {at}))
            if len(result) > 400:
                return UNKNOWN
        return distinct(result)

    def at(self, item, rev):
        """The possible states of an item as of a revision, loose writes aside."""
        timeline = self.timelines.get(item, ())
        index = bisect_right(timeline, rev, key=lambda entry: entry.rev)
        return timeline[index - 1].possible if index else BEGINNING

    def loose_parts(self, item):
        return [part for write in self.loose for part in write.parts if part.item == item or part.item == (*item[:2], None)]

    def now(self, item):
        return self.at(item, 1 << 62)

    def may_be(self, item, rev):
        """The possible states as of a revision, loose writes included."""
        return self.closure(self.at(item, rev), self.loose_parts(item))

    def items(self, store, scope):
        return [item for item in self.known_items if item[0] == store and item[1] == scope]

    # MARK: Settling

    def settle(self, readback):
        """Everything is answered or will never be; `readback` has each item as it is now (value, rev). Makes the timelines."""
        self.bind()
        by_item = defaultdict(list)
        for write in self.acknowledged:
            for part in write.parts:
                targets = [part.item] if part.item[2] is not None else self.items(*part.item[:2])
                for item in targets:
                    changes = by_item[item]
                    if changes and changes[-1][0] is write:
                        changes[-1] = write, behind(changes[-1][1], part)
                    else:
                        changes.append((write, part))
        sightings = defaultdict(dict)
        for read in self.reads:
            if read.rev:
                sightings[read.item].setdefault(read.rev, read)
        for item in list(self.known_items):
            self.walk(item, by_item.get(item, []), sightings.get(item, {}))
        for read in self.reads:
            self.check(read)
        if self.was_cut and readback is not None:
            self.take_back(readback)
        if readback is not None:
            for item in list(self.known_items):
                self.compare(item, readback)
        self.acknowledged, self.reads = [], []
        if readback is not None:
            self.cuts = []
            for write in self.loose:
                # What it may have changed was looked at.
                write.age += all(part.item[:2] in readback.scopes for part in write.parts)
                if write.age == 2:
                    for part in write.parts:
                        self.ancient.add(part.item)
            self.loose = [write for write in self.loose if write.age < 2]

    def go_on_from(self, rev, holds, until, seeded=None):
        """Another history begins with what was held at a revision. `holds`: whether an item is in it; None: nobody knows. What was sent
        behind the tick `until` is not. `seeded`, of a bundle: it has no tombstones, and nothing that is as old."""
        for item, timeline in self.timelines.items():
            length, is_held, timeline[:] = len(timeline), holds(item), [entry for entry in timeline if entry.rev <= rev]
            if item in self.ancient and is_held is not False and len(timeline) < length:
                # What nobody waited for any more may have come before what is gone.
                before = timeline[-1] if timeline else None
                timeline[:] = [Entry(before.rev if before else 0, UNKNOWN, NEVER, before.sent if before else 0)]
                continue
            if timeline and is_held and seeded is not None:
                timeline[:] = fresh(timeline, seeded)
            elif timeline and not is_held:
                timeline[:] = [] if is_held is False else [Entry(timeline[-1].rev, UNKNOWN, NEVER, timeline[-1].sent)]
        self.loose = [write for write in self.loose if write.sent <= until and any(holds(part.item) is not False for part in write.parts)]
        self.owners = {at: number for at, number in self.owners.items() if at <= rev}
        if rev < NEVER:
            self.newest = self.base = self.strict_rev = rev
            self.cuts, self.relaxed = [], []
        else:
            self.base = self.newest

    def bind(self):
        """A loose write is known to have happened once something shows what it alone can have put."""
        told = {(part.item, write.rev) for write in self.acknowledged for part in write.parts}
        for read in self.reads:
            if not read.rev or read.value is ANY or (read.item, read.rev) in told or self.has(read.item, read.rev):
                continue
            puts = [(w, p) for w in self.loose for p in w.parts
                    if p.item in (read.item, (*read.item[:2], None)) and p.plain is not ANY and same(p.plain, read.value)]
            if len(puts) == 1 and len(text(read.value)) > 8:
                [(write, part)] = puts
                part.item = read.item
                self.loose.remove(write)
                write.rev, write.answered, write.is_late = read.rev, read.answered, True
                self.acknowledged.append(write)
                told |= {(part.item, write.rev) for part in write.parts}

    def has(self, item, rev):
        timeline = self.timelines.get(item, ())
        index = bisect_right(timeline, rev, key=lambda entry: entry.rev)
        return bool(index) and timeline[index - 1].rev == rev

    def walk(self, item, changes, sightings):
        """Puts the changes of an item in the order of their revisions; what nothing explains is a fault."""
        timeline = self.timelines[item]
        base = timeline[-1].rev if timeline else 0
        groups = defaultdict(list)
        for write, part in changes:
            groups[part.rev or write.rev].append((write, part))
        for rev in sightings:
            if rev > base:
                groups.setdefault(rev, [])
        for rev in sorted(groups):
            group = groups[rev]
            if rev <= base and not (rev == base and not timeline):
                self.repeat(item, rev, group)
                continue
            before = self.closure(timeline[-1].possible if timeline else BEGINNING, self.loose_parts(item))
            after = self.together(group, before, rev)
            if any(part.may_spare and (not timeline or timeline[-1].known >= write.sent) for write, part in group):
                after = distinct([*after, *before])
            seen = sightings.get(rev)
            if not group:
                after = [Possible(s.value, rev) for s in before if s.rev is None and same(s.value, seen.value)]
                if any(s.value is ANY for s in after):
                    after = [Possible(seen.value, rev)]
                if not after and self.is_rewrapped and item[0] == "secrets":
                    after = [Possible(s.value, rev) for s in before if same(s.value, seen.value)]
                if not after:
                    self.fault("revision", f"{item} has revision {rev} with {str(seen.value)[:120]!r} (request {seen.number}), "
                               f"which nobody wrote; before it {show(before)}")
                    after = [Possible(seen.value, rev)]
            if not after:
                names = ", ".join(f"{write.label} (request {write.number})" for write, _ in group)
                self.fault("order", f"{item}: {names} was acknowledged at {rev}, which cannot follow {show(before)}")
                after = UNKNOWN
            if group and same_states(after, timeline[-1].possible if timeline else BEGINNING) and not seen:
                # Found as it was, or what was to be removed was not there.
                continue
            self.claim(item, rev, group, before, after)
            known = min([write.answered for write, _ in group if write.answered is not None] + ([seen.answered] if seen else []),
                        default=NEVER)
            sent = min([write.sent for write, _ in group], default=0)
            timeline.append(Entry(rev, after, known, sent, all(write.durable for write, _ in group)))

    def claim(self, item, rev, group, before, after):
        """A revision is one write's: what changed for sure at the same one was changed by the same."""
        if len(group) != 1 or item[0] == "secrets" and self.is_rewrapped or not all(state.rev == rev for state in after) or \
                any(state.rev in (rev, None) or state.value is ANY for state in before):
            return
        [(write, _)] = group
        number = self.owners.setdefault(rev, write.number)
        if number != write.number:
            self.fault("shared", f"{item} was changed at {rev} by request {write.number} ({write.label}), which is the "
                                 f"revision of request {number}")

    def together(self, group, before, rev):
        """The states after writes that were answered with the same revision: one changed the item, the others found it so."""
        after = []
        for first in group:
            for state in before:
                for new in outcomes(first[1], state, rev):
                    others = [part for _, part in group if part is not first[1]]
                    if all(finds(part, new) for part in others):
                        after.append(new)
        return distinct(after) if group else []

    def repeat(self, item, rev, group):
        for write, part in group:
            if write.is_late:
                continue
            # A reply may tell the revision of an item that it found as it was; when that came to be was not known.
            states = [*self.at(item, rev), *(s for entry in self.timelines[item] if entry.rev > rev for s in entry.possible
                                             if s.rev in (rev, None))]
            if not any(finds(part, state) for state in states):
                self.fault("order", f"{item}: {write.label} (request {write.number}) was answered with {rev}, when it was {show(states)}")

    # MARK: Judging what was shown

    def floor(self, item, sent):
        """The revision that a request of this tick must at least see."""
        return max((entry.rev for entry in self.timelines.get(item, ()) if entry.known < sent
                    and all(s.value is not ANY for s in entry.possible)),
                   default=0)

    def known_change(self, item, sent):
        """The same, of changes whose revision was told."""
        timeline = self.timelines.get(item, ())
        return max((entry.rev for at, entry in enumerate(timeline) if entry.known < sent and entry.rev == int(entry.rev) and
                    all(s.rev == entry.rev or s.value is ABSENT and at
                        and all(old.value not in (ABSENT, ANY) for old in timeline[at - 1].possible)
                        for s in entry.possible)), default=0)

    def check(self, read):
        timeline = self.timelines[read.item]
        floor = self.floor(read.item, read.sent)
        index = bisect_right(timeline, floor, key=lambda entry: entry.rev)
        states = list(timeline[index - 1].possible) if index else list(BEGINNING)
        for entry in timeline[index:]:
            if entry.sent <= read.answered:
                states += entry.possible
        loose = self.loose_parts(read.item)
        if read.rev == 0 or read.value is ABSENT:
            fits = any(state.value in (ABSENT, ANY) for state in self.closure(states, loose))
        else:
            weak = self.is_rewrapped and read.item[0] == "secrets"
            fits = any(same(state.value, read.value) and (state.rev in (read.rev, None) or weak) for state in self.closure(states, loose))
        if not fits:
            self.fault("read", f"request {read.number} showed {read.item} as {str(read.value)[:120]!r} of {read.rev}; "
                       f"it was {show(states)}, known from {floor} on")

    def compare(self, item, readback):
        """The item as it is found when all is quiet."""
        if item[:2] not in readback.scopes:
            return
        value, rev = readback.items.get(item, (ABSENT, 0))
        timeline = self.timelines[item]
        last = timeline[-1].possible if timeline else BEGINNING
        weak = self.is_rewrapped and item[0] == "secrets"
        fits = [s for s in self.closure(last, self.loose_parts(item))
                if same(s.value, value) and (value is ABSENT or s.value is not ABSENT and (s.rev in (rev, None) or weak))]
        if not fits:
            self.fault("lost", f"{item} is found as {str(value)[:120]!r} of {rev}; it was {show(last)}")
        if value is ANY or value is DESTROYED:
            value = fits[0].value if len(fits) == 1 else ANY
        ghost = fits[0].ghost if len(fits) == 1 else ANY
        found = Possible(value, rev if value is not ABSENT else 0, ghost)
        if len(last) != 1 or last[0][:2] != found[:2]:
            # Nobody tells the revision of a deletion whose reply was lost: it is somewhere behind the last one.
            last_rev = timeline[-1].rev if timeline else 0
            at = max(rev, last_rev)
            if value is ABSENT:
                timeline.append(Entry(last_rev + 0.25, distinct([*last, found]), NEVER, readback.tick))
                at = max(last_rev, self.newest) + 0.5
            if timeline and timeline[-1].rev == at:
                timeline[-1].possible = [found]
            else:
                timeline.append(Entry(at, [found], readback.tick, readback.tick))
        elif value is ABSENT and ghost is ANY:
            # It may have come and gone meanwhile.
            timeline[-1:] = [replace(timeline[-1], possible=[found]) if timeline else Entry(0, [found], NEVER, readback.tick)]
