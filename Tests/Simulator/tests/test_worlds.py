"""The network keeps its promises, and worlds that a courier keeps alike are alike once nothing goes wrong any more."""

import os
import unittest

import support  # finds the simulator
import kernel
import session
from shrink import shrink
from simulated import SimulatedWorld
from tree import TREE
from values import parse, text
from world import Line
from worlds import CLIENT, MILLISECOND, SECOND, Worlds


class Echo:
    """A world in which a daemon says back what it hears."""

    def __init__(self, seed):
        self.now = self.connections = 0
        self.due, self.heard, self.closed = [], [], []

    def start(self, configuration, waits):
        pass

    def connect(self, role):
        self.connections += 1
        return self.connections

    def send(self, connection, data):
        self.heard.append((connection, data, self.now))
        self.due.append(Line(connection, data[:-1]))

    def close(self, connection):
        self.closed.append(connection)

    def reach(self, moment):
        self.now = moment
        due, self.due = self.due, []
        return due

    def kill(self):
        self.due = []

    cut = kill


class Actor:
    wakes = None

    def __init__(self, worlds, site):
        self.worlds, self.site = worlds, site
        self.heard, self.losses = [], []
        worlds.actors.append(self)

    def came(self, wire, line):
        self.heard.append((self.worlds.now, wire.number, line))

    def lost(self, wire):
        self.losses.append(wire)

    def woke(self):
        pass


class TheNetwork(unittest.TestCase):
    def setUp(self):
        self.make(1)

    def make(self, seed):
        self.worlds = Worlds(seed, Echo, 2)
        self.one, self.other = self.worlds.worlds
        self.worlds.start(0), self.worlds.start(1)
        self.actor = Actor(self.worlds, 0)

    def messages(self, wires, count):
        for number in range(count):
            self.worlds.later(number * MILLISECOND, self.worlds.send, wires[number % len(wires)], b"%d" % number)

    def test_all_worlds_stand_at_the_same_time(self):
        for _ in range(20):
            self.worlds.go_on(7 * MILLISECOND)
            self.assertEqual({self.one.now, self.other.now}, {self.worlds.now})

    def test_messages_of_a_wire_keep_their_order_and_those_of_two_do_not(self):
        disorder = 0
        for seed in range(10):
            self.make(seed)
            wires = [self.worlds.connect(self.actor, 1) for _ in range(2)]
            self.messages(wires, 100)
            if seed % 2:
                self.worlds.later(20 * MILLISECOND, self.worlds.cut, 0, 1)
                self.worlds.later(60 * MILLISECOND, self.worlds.heal, 0, 1)
            self.worlds.go_on(10 * SECOND)
            told = [int(line) for _, _, line in self.actor.heard]
            for part in range(2):
                self.assertEqual([number for number in told if number % 2 == part], list(range(part, 100, 2)))
            disorder += told != sorted(told)
        self.assertGreater(disorder, 5)

    def test_a_message_takes_its_time_and_none_at_home(self):
        home, away = self.worlds.connect(self.actor, 0), self.worlds.connect(self.actor, 1)
        for wire in (home, away):
            self.worlds.send(wire, b"x")
        self.worlds.go_on(SECOND)
        self.assertLess(self.one.heard[0][2], 5 * MILLISECOND)
        self.assertGreaterEqual(self.other.heard[0][2], 5 * MILLISECOND)

    def test_one_way_may_be_cut_off_alone(self):
        wire = self.worlds.connect(self.actor, 1)
        self.worlds.go_on(SECOND)
        self.worlds.cut(1, 0)
        self.worlds.send(wire, b"x")
        self.worlds.go_on(80 * MILLISECOND, lambda: len(self.other.heard) > 0)
        self.assertEqual((len(self.other.heard), self.actor.heard), (1, []))
        self.worlds.go_on(20 * MILLISECOND)
        self.worlds.heal(1, 0)
        self.worlds.go_on(2 * SECOND)
        self.assertTrue(self.actor.heard or self.actor.losses)

    def test_what_is_cut_off_for_long_is_lost_with_its_messages_and_both_ends_hear_of_it(self):
        wire = self.worlds.connect(self.actor, 1)
        self.worlds.go_on(SECOND)
        self.worlds.cut(0, 1)
        self.worlds.send(wire, b"x")
        self.worlds.go_on(10 * SECOND)
        self.worlds.heal(0, 1)
        self.worlds.go_on(SECOND)
        self.assertEqual((self.other.heard, self.actor.losses, self.other.closed), ([], [wire], [1]))
        self.assertEqual(self.worlds.wires, [])

    def test_the_wires_of_a_daemon_that_ends_are_lost_and_none_is_made(self):
        wire = self.worlds.connect(self.actor, 1)
        self.worlds.go_on(SECOND)
        self.worlds.end(1, "kill")
        another = self.worlds.connect(self.actor, 1)
        self.worlds.go_on(SECOND)
        self.assertEqual(self.actor.losses, [wire, another])

    def test_rough_weather_ends(self):
        self.worlds.is_rough = True
        self.worlds.go_on(30 * SECOND)
        self.worlds.calm()
        self.assertGreater(self.worlds.counts["cuts"], 5)
        self.assertGreater(self.worlds.counts["ends"], 2)
        self.worlds.go_on(30 * SECOND)
        self.assertEqual((self.worlds.cut_off, self.worlds.is_up), (set(), [True, True]))

    def gone(self, weather=None):
        """What went wrong, and whether both daemons have."""
        self.worlds = Worlds(1, Echo, 2, weather=weather)
        self.worlds.start(0), self.worlds.start(1)
        self.worlds.is_rough = True
        self.worlds.go_on(20 * SECOND)
        events = self.worlds.weathered
        return events, "both" if {event["world"] for event in events if event["do"] in ("kill", "cut")} == {0, 1} and self.worlds.counts["ends"] > 1 else None

    def test_what_goes_wrong_can_be_made_less(self):
        events, kind = self.gone()
        self.assertGreater(len(events), 10)
        self.assertEqual(kind, "both")
        less = shrink(events, lambda some: self.gone(some)[1], kind)
        self.assertEqual(sorted(event["world"] for event in less), [0, 1])
        self.assertEqual(self.gone(less), (less, kind))


class Client(Actor):
    """Holds wires to daemons, and makes them anew when they are lost."""

    def __init__(self, worlds, site):
        super().__init__(worlds, site)
        self.asked = {}           # by id: what is done with the reply
        self.count = 0

    def ask(self, wire, method, params, then):
        self.count += 1
        self.asked[self.count] = wire, then
        self.worlds.send(wire, text({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}).encode())

    def came(self, wire, line):
        reply = parse(line)
        of, then = self.asked.pop(int(reply["id"]), (None, None))
        if of is wire:
            then(reply.get("result"))

    def lost(self, wire):
        self.asked = {number: asked for number, asked in self.asked.items() if asked[0] is not wire}


class Writer(Client):
    """Writes at random into the collection of its own world."""

    def __init__(self, worlds, site):
        super().__init__(worlds, site)
        self.dice, self.left, self.wire = worlds.dice, 120, None
        self.wakes = 0

    def woke(self):
        if self.left == 0:
            return
        self.wakes = self.worlds.now + self.dice.randrange(1, 120) * MILLISECOND
        if self.wire is None:
            self.wire = self.worlds.connect(self, self.site)
        self.left -= 1
        name = f"i{self.dice.randrange(24)}"
        if self.dice.random() < 0.3:
            self.ask(self.wire, "documents.delete", {"collection": "c", "id": name}, lambda result: None)
        else:
            self.ask(self.wire, "documents.put", {"collection": "c", "id": name, "value": {"n": self.left}}, lambda result: None)

    def lost(self, wire):
        super().lost(wire)
        self.wire = None


class Courier(Client):
    """Applies what has changed in the collection of its own world to that of another."""

    forgets = False

    def __init__(self, worlds, start, end):
        super().__init__(worlds, start)
        self.start, self.end = start, end
        self.at = self.upcoming = 0
        self.source = self.target = None
        self.under_way = []       # revisions of changes that are on their way, in their order
        self.is_busy = False
        self.wakes = 0

    def woke(self):
        self.source = self.source or self.worlds.connect(self, self.start)
        self.target = self.target or self.worlds.connect(self, self.end)
        if not self.is_busy:
            self.is_busy = True
            params = {"afterRev": self.at, "stores": ["documents"], "scope": "c", "values": True, "limit": 3}
            self.ask(self.source, "changes.list", params, self.listed)

    def listed(self, result):
        if result is None:
            return self.again()
        self.upcoming, changes = int(result["rev"]), result["changes"]
        self.under_way = [int(change["rev"]) for change in changes]
        for change in changes:
            params = {"collection": "c", "id": change["key"]}
            if change.get("deleted"):
                self.ask(self.target, "documents.delete", params, self.applied)
            else:
                self.ask(self.target, "documents.put", params | {"value": change["value"]}, self.applied)
        if not changes:
            self.done(30)

    def applied(self, result):
        if result is None:
            return self.again()
        self.under_way.pop(0)
        if not self.under_way:
            self.done(1)

    def done(self, pause):
        self.at = self.upcoming
        self.again(pause)

    def again(self, pause=50):
        """From where everything was applied for sure."""
        self.asked.clear()
        self.under_way, self.is_busy = [], False
        self.wakes = self.worlds.now + pause * MILLISECOND

    def lost(self, wire):
        super().lost(wire)
        if wire is self.source:
            self.source = None
        elif wire is self.target:
            self.target = None
            if self.forgets and self.under_way:
                # The planted fault: the first one on its way is taken for done.
                self.at = self.under_way[0]
        else:
            return
        self.again()


class Forgetful(Courier):
    forgets = True


@unittest.skipUnless(os.access(support.DAEMON, os.X_OK), "there is no daemon")
class Couriers(unittest.TestCase):
    def history(self, seed, make, weather=None):
        """Three worlds, of which the second follows the first and the third the second; what they hold in the end, and the digest."""
        program, library = support.DAEMON, kernel.built()
        worlds = Worlds(seed, lambda each: SimulatedWorld(library, program, each, TREE, temper=session.temper(each)), 3, weather=weather)
        try:
            for number in range(3):
                worlds.start(number)
            writer = Writer(worlds, 0)
            make(worlds, 0, 1), make(worlds, 1, 2)
            worlds.go_on(SECOND)
            worlds.is_rough = True
            worlds.go_on(20 * SECOND, lambda: writer.left == 0)
            worlds.calm()
            worlds.go_on(8 * SECOND)
            # A call takes 100 ns.
            self.assertLess(max(abs(world.now - worlds.now) for world in worlds.worlds), 1000)
            self.weathered = worlds.weathered
            return self.contents(worlds), worlds.digest(), worlds.counts
        finally:
            worlds.stop()

    def contents(self, worlds):
        found = {}
        for number in range(3):
            reader = Client(worlds, number)
            reader.ask(worlds.connect(reader, number), "documents.list", {"collection": "c", "limit": 1000},
                       lambda result, number=number: found.update({number: {each["id"]: text(each["value"]) for each in result["documents"]}}))
        worlds.go_on(10 * SECOND, lambda: len(found) == 3)
        return [found.get(number) for number in range(3)]

    def test_worlds_are_alike_in_the_end(self):
        for seed in range(3):
            contents, _, counts = self.history(seed, Courier)
            self.assertTrue(contents[0])
            self.assertEqual(contents[0], contents[1], (seed, counts))
            self.assertEqual(contents[1], contents[2], (seed, counts))

    def test_the_same_seed_is_the_same_history(self):
        one, other = self.history(7, Courier), self.history(7, Courier)
        self.assertEqual(one, other)
        self.assertEqual(one, self.history(7, Courier, self.weathered))
        self.assertNotEqual(one[1], self.history(7, Courier, self.weathered[1:])[1])
        self.assertNotEqual(one[1], self.history(8, Courier)[1])

    def test_a_courier_that_loses_a_message_is_found(self):
        self.assertTrue(any(contents[0] != contents[1] or contents[1] != contents[2]
                            for contents, _, _ in (self.history(seed, Forgetful) for seed in range(10))))


if __name__ == "__main__":
    unittest.main()
