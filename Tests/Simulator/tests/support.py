"""Lets the tests import the simulator's workload."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts/simulate.d"))
