"""What was checked and how it went."""

import sys
import time


class Report:
    """Collects the checks of all sections; every one is printed when it is made."""

    def __init__(self):
        self.rows = []
        self.section = ""
        self.begun = time.monotonic()

    def begin(self, section):
        self.section = section
        self.begun = time.monotonic()
        print(f"\n== {section}", flush=True)

    def end(self):
        print(f"   {time.monotonic() - self.begun:.1f} s", flush=True)

    def note(self, text):
        print(f"   {text}", flush=True)

    def progress(self, text):
        """Shows where a long loop is, to a person only."""
        if sys.stdout.isatty():
            print(f"\r   {text}\x1b[K\r", end="", flush=True)

    def check(self, name, passed, detail=""):
        self.rows.append((self.section, name, bool(passed), detail))
        print(f"   {'ok  ' if passed else 'FAIL'} {name}" + (f": {detail}" if detail else ""), flush=True)
        return bool(passed)

    @property
    def failed(self):
        return sum(not row[2] for row in self.rows)

    def print_summary(self):
        print("\n" + "-" * 100)
        for section, name, passed, detail in self.rows:
            print(f"{'ok  ' if passed else 'FAIL'}  {section:<13} {name:<52} {detail}")
        print("-" * 100)
        print(f"{len(self.rows) - self.failed} passed, {self.failed} failed", flush=True)
