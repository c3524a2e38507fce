"""Kura's main job on real input: six processes keep documents and settings, the daemon is killed, nothing is lost.

Exit status: 0 when all that was acknowledged is there, 1 when anything is not.
"""

import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time

import records
import together
import verify
import workers
from client import Client
from daemon import Daemon

LOADERS = 4


class Failed(Exception):
    """The demo did not show what it is there to show."""


def title(text):
    print(f"\n{text}", flush=True)


def say(text):
    print(f"  {text}", flush=True)


def start_workers(daemon, documents):
    """Four loaders with a share of `documents` each, and two keepers."""
    stop = multiprocessing.Event()
    loaders = [
        workers.Worker(f"loader-{number + 1}", daemon.socket, workers.store, documents[number::LOADERS])
        for number in range(LOADERS)]
    keepers = [
        workers.Worker("launcher", daemon.socket, workers.count_launches, stop),
        workers.Worker("painter", daemon.socket, workers.toggle_theme, stop)]
    return loaders, keepers, stop


def first_load(daemon, values):
    """Returns rev by key, and what the keepers were told last: the counter's value, the theme and its revision."""
    begun = time.monotonic()
    loaders, keepers, stop = start_workers(daemon, [(*key, value) for key, value in values.items()])
    results = [loader.join() for loader in loaders]
    seconds = time.monotonic() - begun
    stop.set()
    (launches, _), (themes, _) = (keeper.join() for keeper in keepers)
    revs = {(collection, name): rev for entries, _ in results for collection, name, rev in entries}
    if len(revs) != len(values) or any(gone for _, gone in results):
        raise Failed(f"{len(values)} documents were sent, {len(revs)} acknowledged")
    say(f"{len(revs):,} documents acknowledged in {seconds:.2f} s, each after it was on the disk")
    say(f"meanwhile {len(launches):,} launches counted and the theme changed {len(themes):,} times")
    return revs, launches[-1], themes[-1]


def show(daemon):
    client = Client(daemon.socket, "demo")
    rows = [("collection", "documents", "bytes", "rev")]
    for scope in client.call("documents.scopes")["scopes"]:
        rows.append((scope["collection"], f"{scope['count']:,}", f"{scope['bytes']:,}", f"{scope['rev']:,}"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        say("  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]))
    print()
    for collection, name in [("countries", "JP"), ("subdivisions", "CH-ZH"), ("languages", "yue"), ("currencies", "EUR")]:
        document = client.call("documents.get", collection=collection, id=name)
        say(f"{collection}/{name} rev {document['rev']:,}: {json.dumps(document['value'], ensure_ascii=False)}")
    say(f"settings of app: {json.dumps(client.call('settings.list', domain='app')['values'])}")
    disk = client.call("storage.status")["log"]
    say(f"the log has taken {disk['commits']:,} commits and {disk['syncs']:,} syncs")
    client.close()


def second_load(daemon, values):
    """Changes every document, kills the daemon half-way. Returns rev by key, and what the keepers were told last, if they
    were told anything."""
    loaders, keepers, stop = start_workers(
        daemon, [(*key, records.changed(value)) for key, value in values.items()])
    deadline = time.monotonic() + 30
    while sum(loader.progress.value for loader in loaders) < len(values) // 2:
        if time.monotonic() > deadline:
            raise Failed("the second load does not get half-way")
        time.sleep(0.0005)
    daemon.kill()
    results = [loader.join() for loader in loaders]
    stop.set()
    (launches, _), (themes, _) = (keeper.join() for keeper in keepers)
    revs = {(collection, name): rev for entries, _ in results for collection, name, rev in entries}
    if len(revs) == len(values):
        raise Failed("the kill came after the last acknowledgement, so it shows nothing; run the demo again")
    say(f"{len(revs):,} of {len(values):,} changes were acknowledged when the daemon was killed")
    return revs, launches[-1:], themes[-1:]


def check(daemon, values, first_revs, revs, launches, theme):
    client = Client(daemon.socket, "demo")
    first = {key: (value, first_revs[key]) for key, value in values.items()}
    verdict = verify.documents(client, first, set(first), revs)
    lost = verdict.lost
    value, fault = verify.launches(client, launches)
    lost += [fault] if fault else []
    theme, fault = verify.theme(client, *theme)
    lost += [fault] if fault else []
    client.close()
    say(f"acknowledged {verdict.acknowledged:,}, found with their values and revisions {verdict.found:,}, lost {len(verdict.lost)}")
    say(f"not acknowledged {verdict.unanswered:,}: {verdict.unanswered_stored} are stored, the others as before")
    say(f"launches acknowledged {launches:,}, found {value:,}; theme {theme}")
    if lost:
        raise Failed("LOST: " + "; ".join(lost[:5]))
    if verdict.acknowledged != len(revs):
        raise Failed(f"{len(revs)} were acknowledged, {verdict.acknowledged} looked at")


def run(directory):
    values = records.read()
    daemon = Daemon(directory)
    try:
        print(f"Kura's demo: {len(values):,} records in {len(records.LISTS)} lists of Debian's iso-codes")
        say(f"kurad answers after {daemon.start():.0f} ms")

        title("Four processes store them, two others keep settings")
        first_revs, launches, theme = first_load(daemon, values)

        title("What is stored")
        show(daemon)

        title("A schema for everybody's settings, a transaction over two stores, a watcher that is killed")
        together.schema(daemon, say)
        together.follow(daemon, say)

        title("A second load changes every document; half-way: kill -9")
        revs, more_launches, more_themes = second_load(daemon, values)

        title("The daemon starts again")
        say(f"kurad answers after {daemon.start():.0f} ms")
        recovery = daemon.event("recovered after an unclean stop")
        if not recovery:
            raise Failed("the log does not tell of a recovery")
        say(recovery)
        check(daemon, values, first_revs, revs, *(more_launches or [launches]), *(more_themes or [theme]))

        title("SIGTERM")
        status = daemon.drain()
        for name in ("draining", "stopped"):
            say(daemon.event(name) or f"(no line {name})")
        if status != 0:
            raise Failed(f"kurad drained with exit status {status}")
        print("\nEverything acknowledged is there.")
    finally:
        daemon.end()


def main():
    # On a disk rather than in memory, so that the syncs are real.
    directory = tempfile.mkdtemp(prefix="kura-demo-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    try:
        run(directory)
    except KeyboardInterrupt:
        sys.exit(130)
    except (Failed, RuntimeError) as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        sys.exit(1)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
