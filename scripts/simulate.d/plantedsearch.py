"""After how many seeds each planted fault is found: by a judge that has nothing to say of the same seed without the fault."""

import multiprocessing
import os
import time

import main as command
import planted

SEEDS = 100


def first_found(item):
    """Runs one fault's seeds until one of them finds it. Returns (number, seeds, judge/kind or None, seconds)."""
    number, most = item
    session, begun = command._session, time.monotonic()
    for seed in range(1, most + 1):
        kind = attempted(session, seed, number)
        if kind and kind != attempted(session, seed, 0):
            return number, seed, kind, time.monotonic() - begun
    return number, most, None, time.monotonic() - begun


def attempted(session, seed, number):
    """The judge and kind of what the seed finds in a daemon with this fault, or with none."""
    session.planted = number
    return session.attempt_seed(seed).kind


def search(session, processors, chosen):
    """All planted faults, or those whose numbers were given; a line for each. Returns an exit status."""
    faults = {fault["number"]: fault for fault in planted.read_all() if not chosen.seed or fault["number"] in chosen.seed}
    for number in [] if chosen.seed else [number for number in faults if "beyond" in faults[number]]:
        fault = faults.pop(number)
        print(f"{number:3} beyond the simulator: {fault['beyond']}  {fault['class']}: {fault['name']}", flush=True)
    work = [(number, chosen.seeds or SEEDS) for number in faults]
    context = multiprocessing.get_context("fork")
    jobs, missed = chosen.jobs or len(processors), []
    with context.Pool(jobs, command.begin, (session, processors)) as pool:
        for number, seeds, kind, seconds in pool.imap_unordered(first_found, work):
            fault = faults[number]
            told = f"seed {seeds:4} {kind}" if kind else f"not in {seeds} seeds"
            print(f"{number:3} {told:40} {seconds:4.0f} s  {fault['class']}: {fault['name']}", flush=True)
            missed += [] if kind else [number]
    print(f"{len(work) - len(missed)} of {len(work)} planted faults are found; not {missed or 'one is missed'}")
    return 1 if missed else 0
