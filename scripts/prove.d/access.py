"""Races strangers against the daemon's starts: while its sockets are made, nobody gets in who must not.

Strangers run as another user, in no group of the sockets'. All the time they try to connect to each socket, and to whatever they
find beside it: a socket that is being made has another name. Half of the starts find the socket that a killed daemon has left.
A last round, in which the sockets are open to everybody, shows that the strangers would have got in.
"""

import json
import mmap
import os
import signal
import socket
import subprocess
from pathlib import Path

from crew import Child
from proof import until

STRANGER = 2001
NO_GROUP = 60000
GROUP = 3001


def connects(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        return client.connect_ex(path) == 0


def attack(directory, names, stop):
    """Tries until `stop[0]`; returns how often, and how often it got in. Once it has, `stop[1]` says so."""
    # They give the daemon's start the way: trying as often as they can would only make it slow.
    os.nice(10)
    os.setgroups([NO_GROUP])
    os.setresgid(NO_GROUP, NO_GROUP, NO_GROUP)
    os.setresuid(STRANGER, STRANGER, STRANGER)
    tries = admitted = 0
    while not stop[0]:
        paths = list(names)
        try:
            paths += [f"{name}/s" for name in os.listdir(directory) if name.startswith(".kura")]
            paths += [name for name in os.listdir(directory) if name not in names]
        except OSError:
            pass
        tries += len(paths)
        admitted += sum(connects(os.path.join(directory, path)) for path in paths)
        if admitted:
            stop[1] = 1
    return tries, admitted


def race(work, starts, modes, is_control=False):
    """Starts the daemon that often with sockets of these modes, under attack; returns tries and admissions. The control's
    first daemon stays until a stranger has got in: on a busy machine none may come to it at once."""
    directory, config, log = os.path.join(work, "public"), Path(work, "config.json"), Path(work, "log")
    names = [f"{index}.sock" for index in range(len(modes))]
    paths = [os.path.join(directory, name) for name in names]
    sockets = [{"path": path, "mode": mode, "group": GROUP, "role": "admin"} for path, mode in zip(paths, modes)]
    config.write_text(json.dumps({"sockets": sockets}))
    command = [os.environ["KURAD"], "--ephemeral", "--profile", "small", "--log-level", "error", "--config", config]
    environment = {"TMPDIR": os.path.join(work, "private"), "PATH": os.environ["PATH"]}
    stop = mmap.mmap(-1, 2)
    strangers = [Child(attack, directory, names, stop) for _ in range(2)]
    try:
        for index in range(starts):
            with open(log, "ab") as errors:
                daemon = subprocess.Popen(command, stderr=errors, env=environment)
            until(lambda: all(map(connects, paths)) or daemon.poll() is not None, 20, 0.0003)
            if daemon.poll() is not None or not all(map(connects, paths)):
                raise SystemExit("prove: the daemon does not start: " + log.read_text()[-500:])
            if is_control:
                until(lambda: stop[1], 60, 0.01)
            daemon.send_signal(signal.SIGTERM if index % 2 else signal.SIGKILL)
            daemon.wait()
    finally:
        stop[0] = 1
        results = [stranger.result() for stranger in strangers]
    return [sum(counts) for counts in zip(*results)]


def main(work, starts):
    """Returns the exit status."""
    # Whoever started this may have blocked what ends the daemon.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.chmod(work, 0o711)
    for name in ("public", "private"):
        os.mkdir(os.path.join(work, name))
    os.chmod(os.path.join(work, "public"), 0o755)
    tries, admitted = race(work, starts, ["0600", "0660", "0000"])
    print(f"{starts} starts, {3 * starts} sockets, {tries} tries to connect, {admitted} admitted")
    control_tries, control = race(work, max(3, starts // 100), ["0666"], is_control=True)
    print(f"as a check of the strangers: {control} of {control_tries} tries admitted where everybody may connect")
    return 0 if admitted == 0 and tries >= 10 * starts and control > 0 else 1
