"""python3's json for scripts/bench json: `python.py text FILE SECONDS` prints megabytes a second."""

import json
import sys
import time

text = open(sys.argv[2], "rb").read()
start, rounds = time.perf_counter(), 0
while time.perf_counter() - start < float(sys.argv[3]):
    json.loads(text)
    rounds += 1
print("python3", len(text) * rounds / (time.perf_counter() - start) / 1e6, sep="\t")
