"""The servers that are measured: the daemon and its peers, each on data of its own and a Unix socket."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time

from daemon import Daemon, StartFailed
from programs import postgres_programs, run


class Kurad(Daemon):
    """The daemon under `kura-bench spawn`, which times its first reply and tells at its end what it wrote in all its life.

    `first_reply` is in milliseconds; `wrote` and `passed` are the bytes that went to the disk and to write calls.
    """

    def __init__(self, work, data, options=(), program=None):
        super().__init__(work, data, options, program=program)
        self.target = f"kura:{self.socket}"
        self.wrote = self.passed = None

    def start(self, room=None):
        self.prefix = [os.environ["KURA_BENCH"], "spawn", "--target", self.target, *(["--room", room] if room else []), "--"]
        self.launch()
        while not (first := self._told('{"pid"')):
            if self.process.poll() is not None:
                raise StartFailed(self.last_words())
            time.sleep(0.02)
        self.pid, self.first_reply = first["pid"], first["firstReplyMs"]
        return self

    def _told(self, beginning):
        return next((json.loads(row) for row in self.lines() if row.startswith(beginning)), None)

    def kill(self):
        """kill -9 of the daemon, not of `spawn`, which tells of its end."""
        if self.process is None or self.process.poll() is not None:
            return False
        if self.pid == self.process.pid:
            # Not up yet; `spawn` hands this on when it is.
            self.process.terminate()
        else:
            os.kill(self.pid, signal.SIGKILL)
        self.process.wait()
        return True

    def stop(self):
        """SIGTERM, which has to be a clean drain."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        last = self._told('{"exit"') or {}
        if last.get("exit") != 0:
            raise AssertionError(f"kurad did not end cleanly: {last}; {self.last_words()}")
        self.wrote, self.passed = last["writeBytes"], last["wchar"]


class Peer:
    """A server as a child process, which listens at a Unix socket."""

    def __init__(self, kind, path, work, *words):
        self.title = kind.replace("redis", "Redis")
        self.target, self.socket = f"{kind}:{path}", str(path)
        with open(work / "log", "wb") as log:
            self.process = subprocess.Popen([str(word) for word in words], stdout=log, stderr=log)
        end = time.monotonic() + 10
        with socket.socket(socket.AF_UNIX) as probe:
            while probe.connect_ex(self.socket):
                if self.process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    raise StartFailed(f"{words[0]} did not start: {(work / 'log').read_text()[-300:]}")
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Postgres:
    """A cluster of its own: Unix socket only, synchronous_commit=on, defaults otherwise; a table `kv` as the others have it."""

    title = "PostgreSQL"

    def __init__(self, data, place, options=()):
        self.data, self.socket = data, place
        self.programs = postgres_programs()
        # It refuses to run as root: then it runs as the user that its package made.
        self.rights = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        # Kura's socket directory is nobody else's to write in, and it refuses one that is.
        place.mkdir(exist_ok=True)
        if self.rights:
            for directory in (data, place):
                shutil.chown(directory, "postgres")
        self.call("initdb", "-D", data, "--auth=trust")
        settings = [f"-c listen_addresses= -c unix_socket_directories={place} -c synchronous_commit=on", *options]
        self.call("pg_ctl", "-D", data, "-w", "-l", data / "server.log", "-o", " ".join(settings), "start")
        self.execute(
            "CREATE TABLE kv(key text PRIMARY KEY, value text NOT NULL);"
            "INSERT INTO kv SELECT 'key:' || lpad(n::text, 12, '0'), repeat('x', 100) FROM generate_series(0, 99999) n;",
            "VACUUM ANALYZE kv", "CHECKPOINT")

    def call(self, program, *words):
        """What one of its programs printed."""
        return run(*self.rights, self.programs / program, *words, cwd=self.data, stdin=subprocess.DEVNULL)

    def execute(self, *statements):
        """What psql printed for them, each in a transaction of its own."""
        words = [word for statement in statements for word in ("-c", statement)]
        return self.call("psql", "-h", self.socket, "-d", "postgres", "-qAt", "-v", "ON_ERROR_STOP=1", *words)

    def bench(self, clients, seconds, scripts, *options):
        """Transactions a second."""
        files = [word for script in scripts for word in ("-f", script)]
        text = self.call(
            "pgbench", "-h", self.socket, "-n", "-M", "prepared", "-c", clients, "-j", min(clients, 2), "-T", int(seconds),
            *options, *files, "postgres")
        return float(text.split("tps = ")[1].split()[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if (self.data / "postmaster.pid").exists():
            self.call("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")
