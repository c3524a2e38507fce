"""What scripts that try things by chance have in common."""

import itertools
import os
import random
import tempfile


def seeded(given=""):
    """The seed of a run, a new one unless it is given; it is printed, so that the run can be made again."""
    seed = given or str(random.SystemRandom().randrange(10**9))
    print(f"seed {seed}", flush=True)
    return seed


def room(name):
    """A directory that goes with its block, in memory where that is possible: for what is not about the disk."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix=f"kura-{name}.", dir=place, ignore_cleanup_errors=True)


def in_turns(rows):
    """The first of each row, then the second of each, and so on, for as long as a row has one."""
    nothing = object()
    return [one for turn in itertools.zip_longest(*rows, fillvalue=nothing) for one in turn if one is not nothing]
