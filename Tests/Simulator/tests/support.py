"""Lets the tests import the simulator's workload."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts/simulate.d"))

# Some tests play into the daemon, when one is built.
DAEMON = os.environ.get("KURAD") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../.build/release/kurad")
