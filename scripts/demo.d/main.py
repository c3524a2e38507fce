"""Kura's main job on real input: six processes keep documents and settings, the daemon is killed, nothing is lost.

Exit status: 0 when all that was acknowledged is there, 1 when anything is not.
"""

import json
import os
import sys
import tempfile
import time

import crew
import records
from client import Refused
from daemon import Daemon, StartFailed

LOADERS = 4
SCHEMA = {"type": "object", "properties": {"theme": {"enum": ["light", "dark"], "default": "light"}}}


class Failed(Exception):
    """The demo did not show what it is there to show."""


def expect(is_so, otherwise):
    if not is_so:
        raise Failed(otherwise)


def title(text):
    print(f"\n{text}", flush=True)


def say(text):
    print(f"  {text}", flush=True)


def event(daemon, name):
    """The line of its log that tells of this event; None when there is none."""
    return next((row for row in daemon.lines() if f'"event":"{name}"' in row), None)


def load(daemon, values, meanwhile=lambda: None):
    """Four loaders store a share of the values each, two keepers keep settings. Returns rev by key of what was acknowledged, what
    the keepers were told, each in order, and the seconds that it took.
    """
    documents = list(values.items())
    crew.STORED.value = 0
    crew.STOP.clear()
    begun = time.monotonic()
    with crew.processes(LOADERS + 2) as processes:
        loaders = [processes.submit(crew.work, daemon.socket, f"loader-{number + 1}", crew.store, documents[number::LOADERS])
                   for number in range(LOADERS)]
        keepers = [processes.submit(crew.work, daemon.socket, name, body)
                   for name, body in (("launcher", crew.count_launches), ("painter", crew.toggle_theme))]
        try:
            meanwhile()
            revs = {key: rev for loader in loaders for key, rev in loader.result()}
            seconds = time.monotonic() - begun
        finally:
            crew.STOP.set()
    launches, themes = (keeper.result() for keeper in keepers)
    return revs, launches, themes, seconds


def show(daemon):
    """Prints what is stored."""
    with crew.connect(daemon.socket, "demo") as connection:
        rows = [("collection", "documents", "bytes", "rev")]
        for scope in connection.call("documents.scopes")["scopes"]:
            rows.append((scope["collection"], *(f"{scope[member]:,}" for member in ("count", "bytes", "rev"))))
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            say("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]))
        print()
        for collection, name in [("countries", "JP"), ("subdivisions", "CH-ZH"), ("languages", "yue"), ("currencies", "EUR")]:
            document = connection.call("documents.get", collection=collection, id=name)
            say(f"{collection}/{name} rev {document['rev']:,}: {json.dumps(document['value'], ensure_ascii=False)}")
        say(f"settings of app: {json.dumps(connection.call('settings.list', domain='app')['values'])}")
        disk = connection.call("storage.status")["log"]
        say(f"the log has taken {disk['commits']:,} commits and {disk['syncs']:,} syncs")


def hold_to_a_schema(daemon):
    """One process says what a setting may be; another is held to it."""
    with crew.connect(daemon.socket, "designer") as designer, crew.connect(daemon.socket, "painter") as painter:
        designer.call("settings.configure", domain="app", schema=SCHEMA, mode="enforce")
        reply = painter.ask("settings.put", domain="app", key="theme", value="purple")
        expect("error" in reply, "a theme that the schema does not know was stored")
        say(f"theme purple: {reply['error']['message']}: {json.dumps(reply['error'].get('data'))}")


def follow(daemon):
    """A writer and a watcher; the watcher is killed, and another goes on where it was without a gap."""
    watcher = crew.Watcher(daemon.socket)
    with crew.connect(daemon.socket, "writer") as writer:

        def write(number):
            """A note and the count of notes, in two stores, under one revision."""
            note = {"collection": "notes", "id": f"{number}", "value": {"text": f"note {number}"}}
            return writer.call("transaction.apply", operations=[
                {"method": "documents.put", "params": note},
                {"method": "settings.increment", "params": {"domain": "app", "key": "notes"}}])

        first = write(0)
        revs = {result["rev"] for result in first["results"]}
        expect(revs == {first["rev"]}, "the transaction's changes have more than one revision")
        say(f"a note and its count, one transaction: {json.dumps(first)}")
        for number in range(1, 200):
            write(number)
        watcher.follow(first["rev"])
        watcher.kill()
        say(f"the watcher heard of {len(watcher.keys)} notes, up to rev {watcher.rev}, when it was killed")
        for number in range(200, 400):
            last = write(number)["rev"]
    second = crew.Watcher(daemon.socket, after=watcher.rev)
    second.follow(last)
    second.kill()
    again = watcher.keys.keys() & second.keys.keys()
    heard = watcher.keys.keys() | second.keys.keys()
    say(f"another went on after rev {watcher.rev} and heard of {len(second.keys)}: {len(heard)} of 400, {len(again)} twice")
    expect(len(heard) == 400 and not again, "the watchers' changes have a gap or come twice")


def kill_half_way(daemon, count):
    """What to do meanwhile: kill -9 when half of the documents are acknowledged."""

    def meanwhile():
        deadline = time.monotonic() + 30
        while crew.STORED.value < count // 2:
            expect(time.monotonic() < deadline, "the second load does not get half-way")
            time.sleep(0.0005)
        daemon.kill()

    return meanwhile


def check(daemon, first, revs, launches, theme):
    """Everything that was acknowledged is there, and nothing that nobody sent. A step of each keeper may have been under way."""
    with crew.connect(daemon.socket, "demo") as connection:
        counts, lost = records.compare(connection, first, revs)
        value = connection.call("settings.get", domain="app", key="launches").get("value", 0)
        found = connection.call("settings.get", domain="app", key="theme")
    if not launches <= value <= launches + 1:
        lost.append(f"launches: {value}, acknowledged {launches}")
    # The next theme, that may have been under way, is the other of the two.
    is_same = (found["value"], found["rev"]) == theme
    is_next = found["rev"] > theme[1] and found["value"] in {"dark", "light"} - {theme[0]}
    if not (is_same or is_next):
        lost.append(f"theme: {found}, acknowledged {theme[0]} at {theme[1]}")
    say(f"acknowledged {counts['acknowledged']:,}, found with their values and revisions {counts['found']:,}, lost {len(lost)}")
    say(f"not acknowledged {counts['unanswered']:,}: {counts['stored']} are stored, the others as before")
    say(f"launches acknowledged {launches:,}, found {value:,}; theme {found.get('value')}")
    expect(not lost, "LOST: " + "; ".join(lost[:5]))
    expect(counts["acknowledged"] == len(revs), f"{len(revs)} were acknowledged, {counts['acknowledged']} looked at")


def run(daemon):
    values = records.read()
    print(f"Kura's demo: {len(values):,} records in {len(records.LISTS)} lists of Debian's iso-codes")

    def start():
        daemon.start()
        say(f"kurad answers after {daemon.starts[-1] * 1000:.0f} ms")

    start()
    title("Four processes store them, two others keep settings")
    first_revs, launches, themes, seconds = load(daemon, values)
    expect(len(first_revs) == len(values), f"{len(values)} documents were sent, {len(first_revs)} acknowledged")
    say(f"{len(first_revs):,} documents acknowledged in {seconds:.2f} s, each after it was on the disk")
    say(f"meanwhile {len(launches):,} launches counted and the theme changed {len(themes):,} times")
    title("What is stored")
    show(daemon)
    title("A schema for everybody's settings, a transaction over two stores, a watcher that is killed")
    hold_to_a_schema(daemon)
    follow(daemon)

    title("A second load changes every document; half-way: kill -9")
    changes = {key: records.changed(value) for key, value in values.items()}
    revs, more_launches, more_themes, _ = load(daemon, changes, kill_half_way(daemon, len(values)))
    expect(len(revs) < len(values), "the kill came after the last acknowledgement, so it shows nothing; run the demo again")
    say(f"{len(revs):,} of {len(values):,} changes were acknowledged when the daemon was killed")

    title("The daemon starts again")
    start()
    recovery = event(daemon, "recovered after an unclean stop")
    expect(recovery, "the log does not tell of a recovery")
    say(recovery)
    first = {key: (value, first_revs[key]) for key, value in values.items()}
    check(daemon, first, revs, (launches + more_launches)[-1], (themes + more_themes)[-1])

    title("SIGTERM")
    status = daemon.stop()
    for name in ("draining", "stopped"):
        say(event(daemon, name) or f"(no line {name})")
    expect(status == 0, f"kurad drained with exit status {status}")
    print("\nEverything acknowledged is there.")


def main():
    # On a disk rather than in memory, so that the syncs are real.
    place = os.environ.get("TMPDIR", "/var/tmp")
    with tempfile.TemporaryDirectory(prefix="kura-demo-", dir=place, ignore_cleanup_errors=True) as work:
        try:
            with Daemon(work) as daemon:
                run(daemon)
        except KeyboardInterrupt:
            sys.exit(130)
        except (Failed, Refused, RuntimeError, StartFailed) as error:
            print(f"\ndemo: {error}", file=sys.stderr)
            sys.exit(1)


if __name__ == "__main__":
    main()
