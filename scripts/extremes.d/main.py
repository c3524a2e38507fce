"""usage: main.py requests|starts [SECONDS [SEED]] | try METHOD PARAMS | try-start FILE CHANGE"""

import json
import os
import random
import shutil
import sys
import tempfile

import requests
import starts
from state import FAULTS
from wire import Raw


def main():
    mode, *words = sys.argv[1:]
    # In memory where that is possible: nothing here is about the disk.
    room = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    work = tempfile.mkdtemp(prefix="kura-extremes.", dir=room)
    try:
        if mode == "try":
            return requests.again(work, words[0], json.loads(words[1], parse_int=Raw, parse_float=Raw))
        if mode == "try-start":
            return starts.again(work, words[0], words[1])
        seconds = float(words[0]) if words else 60
        seed = words[1] if len(words) > 1 else str(random.SystemRandom().randrange(10**9))
        print(f"seed {seed}", flush=True)
        return (requests if mode == "requests" else starts).run(work, seconds, random.Random(seed), seed)
    except FAULTS as error:
        print(f"FOUND: {error}")
        return 1
    finally:
        shutil.rmtree(work, ignore_errors=True)


sys.exit(main())
