"""Races strangers against the daemon's starts: while its sockets are made, nobody gets in who must not.

usage: access.py WORK STARTS

Strangers run as another user, in no group of the sockets'. All the time they try to connect to each socket, and to whatever they
find beside it: a socket that is being made has another name. Half of the starts find the socket that a killed daemon has left.
A last round, in which the sockets are open to everybody, shows that the strangers would have got in.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

KURAD = os.environ["KURAD"]
STRANGER = 2001
GROUP = 3001


def attack(directory, names, report):
    """Tries for ever; writes how often it tried and got in when it is told to end."""
    tries = admitted = 0
    running = True

    def end(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, end)
    while running:
        paths = [os.path.join(directory, name) for name in names]
        try:
            paths += [os.path.join(directory, name, "s") for name in os.listdir(directory) if name.startswith(".kura")]
            paths += [os.path.join(directory, name) for name in os.listdir(directory) if name not in names]
        except OSError:
            pass
        for path in paths:
            with socket.socket(socket.AF_UNIX) as client:
                client.setblocking(False)
                tries += 1
                if client.connect_ex(path) == 0:
                    admitted += 1
    os.write(report, f"{tries} {admitted}\n".encode())
    os._exit(0)


def begin_attack(directory, names):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        # They give the daemon's start the way: trying as often as they can would only make it slow.
        os.nice(10)
        os.setgroups([60000])
        os.setresgid(60000, 60000, 60000)
        os.setresuid(STRANGER, STRANGER, STRANGER)
        attack(directory, names, writing)
    os.close(writing)
    return child, reading


def end_attack(attackers):
    tries = admitted = 0
    for child, reading in attackers:
        os.kill(child, signal.SIGTERM)
        with os.fdopen(reading) as lines:
            words = lines.read().split()
        os.waitpid(child, 0)
        tries += int(words[0])
        admitted += int(words[1])
    return tries, admitted


def start(work, config, paths):
    daemon = subprocess.Popen(
        [KURAD, "--ephemeral", "--profile", "small", "--log-level", "error", "--config", config],
        stderr=open(os.path.join(work, "log"), "ab"), env={"TMPDIR": os.path.join(work, "private"), "PATH": os.environ["PATH"]})
    deadline = time.monotonic() + 20
    waiting = list(paths)
    while waiting:
        with socket.socket(socket.AF_UNIX) as client:
            if client.connect_ex(waiting[0]) == 0:
                waiting.pop(0)
                continue
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("prove: the daemon does not start: " + open(os.path.join(work, "log")).read()[-500:])
        time.sleep(0.0003)
    return daemon


def run(work, starts, modes):
    """Starts the daemon that often with sockets of these modes, under attack."""
    directory = os.path.join(work, "public")
    config = os.path.join(work, "config.json")
    names = [f"{index}.sock" for index in range(len(modes))]
    paths = [os.path.join(directory, name) for name in names]
    with open(config, "w") as file:
        json.dump({"sockets": [
            {"path": path, "mode": mode, "group": GROUP, "role": "admin"} for path, mode in zip(paths, modes)]}, file)
    attackers = [begin_attack(directory, names) for _ in range(2)]
    try:
        for index in range(starts):
            daemon = start(work, config, paths)
            daemon.send_signal(signal.SIGTERM if index % 2 else signal.SIGKILL)
            daemon.wait()
    finally:
        result = end_attack(attackers)
    return result


def main():
    work, starts = sys.argv[1], int(sys.argv[2])
    # Whoever started this may have blocked what ends the strangers.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.chmod(work, 0o711)
    os.mkdir(os.path.join(work, "public"))
    os.chmod(os.path.join(work, "public"), 0o755)
    os.mkdir(os.path.join(work, "private"))
    os.environ["LC_ALL"] = "C"
    tries, admitted = run(work, starts, ["0600", "0660", "0000"])
    print(f"{starts} starts, {3 * starts} sockets, {tries} tries to connect, {admitted} admitted")
    control_tries, control = run(work, max(3, starts // 100), ["0666"])
    print(f"as a check of the strangers: {control} of {control_tries} tries admitted where everybody may connect")
    return 0 if admitted == 0 and tries >= 10 * starts and control > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
