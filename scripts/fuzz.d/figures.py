"""Says in one line what a run of libFuzzer did.

usage: figures.py LOG
"""

import re
import sys

text = open(sys.argv[1], errors="replace").read()
stats = {name: int(number) for name, number in re.findall(r"^stat::(\w+):\s+(\d+)", text, re.MULTILINE)}
# The last line of progress: what is covered, and how many inputs it takes.
cover, features, corpus = [("0", "0", "0"), *re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", text)][-1]
print(f"{stats.get('number_of_executed_units', 0):,} executions, {stats.get('average_exec_per_sec', 0):,}/s, "
      f"{cover} edges, {features} features, {corpus} inputs, at most {stats.get('peak_rss_mb', 0)} MB")
