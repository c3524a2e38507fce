"""A run ends with a finding when the daemon does not give the turn back, whether it makes calls or none."""

import argparse
import os
import subprocess
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401  (finds the simulator)
import kernel
import link
import session
from simulated import SimulatedWorld, Spins
from tree import TREE

# What stands in for the daemon.
BODIES = {
    "computes": "for (;;) count++;",
    "computes beside a wait": "pthread_t other; pthread_create(&other, NULL, compute, NULL); pthread_join(other, NULL);",
    "stands": "for (;;) __asm__ volatile(\"syscall\" : : \"a\"(34) : \"rcx\", \"r11\", \"memory\");",
    "calls": "for (;;) sched_yield();",
    "computes for a while": "for (; count < 1L << 29; count++); sleep(3600);",
}
SOURCE = """
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile long count;
static void *compute(void *nothing) { for (;;) count++; return nothing; }
int main(void) { (void)compute; BODY }
"""


class WhatDoesNotEnd(unittest.TestCase):
    @staticmethod
    def program(name):
        path = os.path.join(tempfile.mkdtemp(), "program")
        subprocess.run([kernel.COMPILER, "-x", "c", "-", "-O0", "-pthread", "-o", path], input=SOURCE.replace("BODY", BODIES[name]).encode(), check=True)
        return path

    def start(self, name, computes=60, stands=60):
        world = SimulatedWorld(kernel.built(), self.program(name), 1, TREE)
        try:
            with mock.patch.multiple(link, COMPUTES=computes, STANDS=stands):
                world.start({"roles": {}}, waits=False)
                world.advance(10**9)
        finally:
            world.stop()

    def test_what_computes_for_ever_is_ended(self):
        for name in ("computes", "computes beside a wait"):
            with self.assertRaisesRegex(Spins, "computes for ever"):
                self.start(name, computes=1)

    def test_what_waits_past_the_simulated_kernel_is_ended(self):
        with self.assertRaisesRegex(Spins, "wait for what is not simulated"):
            self.start("stands", stands=1)

    def test_what_calls_for_ever_is_ended(self):
        with self.assertRaisesRegex(Spins, "calls since"):
            self.start("calls")

    def test_what_goes_on_after_a_while_is_not(self):
        self.start("computes for a while", computes=link.COMPUTES)

    def test_a_run_tells_of_it(self):
        chosen = argparse.Namespace(requests=None, trace=False, twice=False, no_shrink=True, keep=tempfile.mkdtemp(), planted=None)
        with mock.patch.object(link, "COMPUTES", 1):
            outcome = session.Session(kernel.built(), self.program("computes"), chosen).run("seed", 1)
        self.assertIn("[liveness/spins]", outcome["found"])
        self.assertEqual(outcome["events"], 1)


if __name__ == "__main__":
    unittest.main()
