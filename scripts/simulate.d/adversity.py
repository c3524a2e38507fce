"""What the world does to the daemon in a run: faults, their end, and what they excuse.

A fault excuses refusals, an end with status 1, and connections that are lost, until it is cleared. Ten seconds later the daemon
serves, everything is answered, and writes are taken. Bits that flip at rest are more: from then on what is lost is excused, when
the daemon tells that something is. Bytes that nobody has stored are never excused.
"""

from readback import ASIDE, ask, read_back
from states import UNKNOWN
from values import ANY, same

SECOND = 1_000_000_000
LIMIT = 10 * SECOND
# Of the simulated kernel: the process was killed, the power went.
KILLED, CUT = -9, -10
# Kinds of failures that damage at rest does not excuse.
NEVER_EXCUSED = {"liveness hang", "liveness died", "liveness spins", "liveness line", "liveness id", "liveness start", "canary clear",
                 "models foreign", "blobs foreign", "blobs bytes", "attachments again", "damage foreign", "damage silent"}


class Adversity:
    """The part of a run that knows of faults."""

    def __init__(self):
        # Something is wrong with the world, or was a moment ago.
        self.faults_active = False
        # What is wrong is a call that hangs, beside which others must go on.
        self.is_scene = False
        # A rule may kill the process, or cut the power.
        self.may_die = False
        # The process has begun after the faults were cleared.
        self.is_fresh = True
        # The process has begun with few descriptors, and keeps to that.
        self.is_few = self.is_cramped = False
        self.terminations = 0
        # Those that this process was sent.
        self.signals = set()
        # Lines of the processes before this one.
        self.lines_before = 0
        self.probes = 0
        self.is_damaged = False
        # When bits have flipped last, in ticks.
        self.damaged_at = 0
        self.doubts = []
        # What the daemon has said of damage.
        self.notices = []
        # The daemon asks for a human: nothing more is to be had.
        self.is_over = False

    def fail(self, judge, kind, words):
        if self.is_damaged and judge not in ("simulator",) and f"{judge} {kind}" not in NEVER_EXCUSED:
            self.doubts.append(f"[{judge}/{kind}] {words}")
        else:
            self.failures.append((judge, kind, words))

    # MARK: Events

    def do_fault(self, event):
        self.begin_faults(event.get("scene", False))
        self.may_die |= event["rule"]["error"] in ("kill", "cut", "torn")
        self.world.fault(event["rule"])

    def do_room(self, event):
        self.begin_faults()
        self.world.room(int(event["bytes"]))

    def do_few(self, event):
        """Descriptors get few."""
        self.begin_faults(event.get("scene", False))
        self.is_few = self.is_cramped = True
        self.world.few(int(event["count"]))

    def do_crowd(self, event):
        """Other processes want the processor; None: no more than before."""
        self.world.crowd(event["permille"])

    def do_clear(self, event):
        self.is_few = self.is_scene = False
        self.world.clear()

    def do_shift(self, event):
        span = int(event["span"])
        self.world.shift(span)
        self.ledger.shift(span, [asked for client in self.clients for asked in self.pending[client].values()])

    def do_flip(self, event):
        self.is_damaged, self.damaged_at = True, self.tick
        self.world.rotten.append((event["path"], int(event["offset"])))
        self.world.flip(event["path"], int(event["offset"]), int(event["mask"]))

    def do_mark(self, event):
        self.world.mark(event["part"])

    def do_rot(self, event):
        """`is_new`: only of what was written since the last mark."""
        self.is_damaged, self.damaged_at = True, self.tick
        self.world.rot(event["part"], int(event["place"]), int(event["mask"]), event.get("is_new", False))

    def begin_faults(self, is_scene=False):
        """`is_scene`: of a call that hangs, beside which others must go on."""
        self.is_scene = is_scene and (self.is_scene or not self.faults_active)
        self.faults_active, self.is_fresh = True, False

    def do_insist(self, event):
        """Within a span requests are answered, or the daemon ends, though a call hangs. Other faults excuse that it does not.
        `is_told`: what it has read is answered also when it ends. `is_served`: with a result."""
        until, names = self.world.now + int(event["span"]), set(event.get("answered", ()))
        read = [asked for client in self.clients for asked in self.pending[client].values() if asked.name in names] if event.get("is_told") else []
        while self.is_up and (self.is_scene or not self.faults_active):
            waiting = [asked for client in self.clients for asked in self.pending[client].values() if asked.name in names]
            if not waiting and not event.get("ended"):
                break
            if (left := until - self.world.now) <= 0:
                what = f"{waiting[0].method} (request {waiting[0].number})" if waiting else "its end"
                return self.fail("liveness", "held up", f"{what} has not come within {int(event['span']) // SECOND} s, though "
                                                        "nothing that it needs is broken")
            self.take(self.world.advance(left))
        if event.get("is_served") and self.is_scene and (refused := [name for name in names if "result" not in self.replies.get(name, {})]):
            self.fail("liveness", "kept out", f"{len(refused)} requests are not served, though nothing that they need is broken; the first is told "
                                              f"{self.replies.get(refused[0])}")
        if self.is_scene and (lost := [asked for asked in read if asked.answered is None]):
            self.fail("liveness", "untold", f"the daemon ends with {len(lost)} requests unanswered that it has read, first {lost[0].method} "
                                            f"(request {lost[0].number})")

    # MARK: Ends

    def may_end(self, code, words):
        """Whether the daemon may have ended by itself like this: 2 would say that no later start can do better."""
        if self.is_draining and (code == 0 or code == 1 and self.terminations > 1):
            return True
        if code in (KILLED, CUT) and self.may_die:
            return True
        # Before it has come to its first line the signal does what the kernel has it do.
        if -code in self.signals and not self.has_spoken:
            return True
        if self.is_damaged and code == 1:
            self.notices.append(f"ended with 1: {words[-500:]}")
            return True
        return self.faults_active and not self.is_fresh and bool(self.world.output) and code == 1

    @property
    def has_spoken(self):
        """Whether the process that began last has written a line; one that a full disk has kept from it has not."""
        return len(self.world.output) > self.lines_before

    # MARK: Quiet again

    def end_faults(self):
        """The world is well again. Returns whether the daemon serves and takes writes in time."""
        for client in sorted(self.slow & set(self.clients)):
            self.do_window({"client": client, "bytes": -1})
        if self.faults_active:
            self.do_clear({})
            self.may_die = False
            if self.is_cramped and self.is_up:
                # It has counted its descriptors when it began.
                self.do_kill({})
        self.cancel_waits()
        self.wait_for_answers()
        if not self.faults_active and not self.is_damaged:
            return
        if not self.is_up and not self.is_over:
            self.start_again()
        if self.is_up and not self.is_damaged:
            self.probe()
        # An end that a fault has caused may come a moment later.
        if not self.is_up and not self.is_over and not self.failures:
            self.start_again()
        self.faults_active = False

    def start_again(self):
        self.is_fresh = True
        self.do_start({"configuration": self.configuration})
        if not self.is_up and self.is_damaged:
            self.is_over = True

    def probe(self):
        """A write is taken within ten seconds, or the process ends, which the next start makes good."""
        client = "probe"
        begun = self.world.now
        if client not in self.clients:
            self.do_connect({"client": client, "role": "admin"})
        while self.is_up and not self.failures:
            self.probes += 1
            identifier = f"p{self.probes}"
            params = {"domain": "probe", "key": "probe", "value": f"probe {self.probes}"}
            self.do_send({"client": client, "lines": [{"id": identifier, "method": "settings.put", "params": params}]})
            self.wait_for_answers()
            reply = self.replies.get(f'"{identifier}"')
            if reply and "result" in reply:
                break
            if self.is_up and self.world.now - begun > LIMIT:
                self.fail("liveness", "refuses", f"ten seconds after the faults have ended a write is refused: {reply}")
            if self.is_up:
                self.take(self.world.advance(SECOND // 4))
                if client not in self.clients:
                    self.do_connect({"client": client, "role": "admin"})
        self.do_close({"client": client})

    # MARK: Damage

    def look_for_torn(self):
        """A row whose bits have flipped cannot be told from one that a power cut has torn off, unless something on the disk says that it
        was there: the note of what was acknowledged is not synced, and says less behind a cut. So a start may leave out what comes
        behind all that is proved, and nothing before it. What it holds is read at once: new changes get the revisions of those that
        are gone."""
        proven = self.world.proven
        if proven is None or proven >= self.history.newest or not any("/log/" in path for path, _ in self.world.rotten):
            return
        self.history.tear(proven)
        # Beside a call that hangs nobody may be answered.
        if self.is_up and not self.faults_active:
            self.history.settle(read_back(self))

    def judge_damage(self, readback):
        """What is stored may be lost with a word; it may never be what nobody has stored."""
        for item, (value, _) in (readback.items if readback else {}).items():
            states = [state for entry in self.history.timelines.get(item, ()) for state in entry.possible]
            states += self.history.may_be(item, 1 << 62)
            if states and not any(state in UNKNOWN or state.value is ANY or same(state.value, value) for state in states):
                self.fail("damage", "foreign", f"{item} is given as {str(value)[:120]!r} after "
                                               f"{self.world.rotten}, which nobody has stored")
        if self.history.has_torn:
            self.notices.append("a row that may be torn")
        if self.doubts and not self.notices and (replies := self.ask_for_notices()):
            self.notices += notices_in(replies)
            if not self.notices:
                self.fail("damage", "silent", f"bits have flipped at {self.world.rotten}, nobody tells of it, and {self.doubts[0]}")

    def ask_for_notices(self):
        """What the daemon says when it is asked for damage; nothing, when nobody comes to be asked within ten seconds: it may have ended,
        and a start that nobody has waited for takes its time."""
        begun = self.world.now
        while self.is_up and self.world.now - begun <= LIMIT:
            self.do_connect({"client": ASIDE, "role": "admin"})
            if replies := ask(self, [("storage.status", {}), ("storage.check", {}), ("secrets.verify", {})]):
                return replies
            self.take(self.world.advance(SECOND // 4))
        return []

    def notice(self, kind, result):
        """Words of damage in what was asked anyway."""
        if kind == "integrity":
            self.notices.append(kind)
        elif isinstance(result, dict):
            self.notices += told_in(result)


def notices_in(replies):
    """What replies tell of damage, by results or as errors."""
    found = []
    for reply in replies:
        found += told_in(reply.get("result") or {})
        found += [str(reply["error"])] if (reply.get("error", {}).get("data") or {}).get("kind") == "integrity" else []
    return found


def told_in(result):
    """What a result tells of damage to more than caches."""
    lists = [result[name] for name in ("recovered", "problems", "damaged") if isinstance(result.get(name), list)]
    notices = [notice for each in lists for notice in each]
    return [str(notice) for notice in notices if not isinstance(notice, dict) or notice.get("what") not in ("caches", "blob", "model")]
