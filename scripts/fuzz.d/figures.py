"""Says in one line what a run of libFuzzer did.

usage: figures.py LOG
"""

import re
import sys

text = open(sys.argv[1], errors="replace").read()


def stat(name):
    found = re.search(rf"^stat::{name}:\s+(\d+)", text, re.MULTILINE)
    return int(found.group(1)) if found else 0


# The last line of progress: what is covered, and how many inputs it takes.
progress = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", text)
seeds = re.search(r"(\d+) files found in .*\n.*?(\d+) files found in", text)
cover, features, corpus = progress[-1] if progress else ("0", "0", "0")
print(
    f"{stat('number_of_executed_units'):,} executions, {stat('average_exec_per_sec'):,}/s, "
    f"{cover} edges, {features} features, {corpus} inputs, at most {stat('peak_rss_mb')} MB"
)
