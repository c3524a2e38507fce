"""Lets the tests import the simulator's workload."""

import os
import sys

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts")
sys.path[:0] = [os.path.join(SCRIPTS, "simulate.d"), os.path.join(SCRIPTS, "lib")]

# Some tests play into the daemon, when one is built.
DAEMON = os.environ.get("KURAD") or os.path.join(SCRIPTS, "../.build/release/kurad")
