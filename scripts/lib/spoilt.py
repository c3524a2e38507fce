"""A start on a directory that somebody has spoilt: it serves all, or tells what is lost, or is refused with a reason."""

import os
import shutil
import subprocess
from collections import Counter

import contents
from contents import Found
from daemon import ending


class Spoilt:
    """A directory with something of everything, copied for each start; `daemon` is the class of what starts on it."""

    def __init__(self, work, daemon, options=()):
        self.work = work
        self.daemon = daemon
        self.options = options
        origin = daemon(work, os.path.join(work, "origin"), options)
        self.before = self.fill(origin)
        self.origin = origin.data
        self.serial = 0
        self.counts = Counter()
        self.words = ""

    def fill(self, daemon):
        """Makes the directory; returns what is in it."""
        return contents.fill(daemon)

    def paths(self, is_file=True):
        """What is in the directory, by relative path, in a fixed order."""
        found = []
        for place, directories, files in os.walk(self.origin):
            found += [os.path.relpath(os.path.join(place, name), self.origin) for name in (files if is_file else directories)]
        return sorted(found)

    def start(self, spoil, limit=60):
        """What comes of a start once `spoil(path of a copy)` has been there: whole, told, refused. Raises Found."""
        self.serial += 1
        daemon = self.daemon(self.work, os.path.join(self.work, f"copy{self.serial}"), self.options)
        daemon.log = os.path.join(self.work, "log-of-copies")
        copy(self.origin, daemon.data)
        try:
            spoil(daemon.data)
            found = self.judge(daemon, limit)
            self.counts[found] += 1
            return found
        finally:
            daemon.kill()
            # A directory without rights is nobody's but root's to remove.
            shutil.rmtree(daemon.data, ignore_errors=True)

    def judge(self, daemon, limit):
        # What may pass is tried again, as a service manager does: the ladder then sets damage aside.
        for _ in range(6):
            daemon.launch()
            code = daemon.settle(limit)
            self.words = words = daemon.words()
            if code != 1:
                break
        if code is not None:
            if code not in (1, 2) or not words.strip():
                raise Found(f"the start ends with {ending(code)}: {words}")
            return f"refused ({code})"
        return self.compare(daemon)

    def compare(self, daemon):
        """What a daemon that serves has of what there was: whole, told."""
        with daemon.connect() as connection:
            after = contents.durable(connection)
        words = daemon.words()
        if daemon.process.poll() is not None or daemon.stop() != 0:
            raise Found(f"it does not go on until it is stopped, or drains with an error: {words[-800:]}")
        missing = contents.differing(self.before, after, self.before)
        if not missing:
            return "whole"
        if not any(f'"level":"{level}"' in words for level in ("warning", "error")):
            raise Found(f"{missing[0]} is another, of {len(missing)}, and nothing is told: {words[-800:]}")
        return "told"


def copy(origin, place):
    """A directory with its holes: the log's and the ballast's files are mostly nothing."""
    subprocess.run(["cp", "--archive", "--sparse=always", origin, place], check=True)
