"""Part squatters: somebody else has made the directory of the default socket, and listens there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from stranger import Found

# Nobody on this host has these numbers.
VICTIM, SQUATTER = 54321, 54322
SECRET = "hunter2-for-nobody"
PYTHON = f"""
import kura
client = kura.connect()
client.secrets["mail"]["ada"] = "{SECRET}"
"""
# Listens at the path of the first argument, answers all alike, and appends what it is told to the file of the second.
TRAP = """
import os, socket, sys, threading
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
server.listen(8)
heard = open(sys.argv[2], "ab", buffering=0)
print("listening", flush=True)
def listen(peer):
    while data := peer.recv(65536):
        heard.write(data)
        for line in data.splitlines():
            identifier = line.split(b'"id":', 1)[-1].split(b",", 1)[0].strip(b"}")
            peer.sendall(b'{"jsonrpc":"2.0","id":' + identifier + b',"result":{"rev":1,"version":1}}\\n')
while True:
    threading.Thread(target=listen, args=(server.accept()[0],), daemon=True).start()
"""


class Trap:
    """The stranger's process, which listens in a directory."""

    def __init__(self, python, directory, note):
        self.socket = os.path.join(directory, "kura.sock")
        self.note = note
        note.touch()
        note.chmod(0o666)
        self.process = subprocess.Popen([python, "-c", TRAP, self.socket, note], user=SQUATTER, group=SQUATTER, extra_groups=[],
                                        cwd="/", stdout=subprocess.PIPE)
        if not self.process.stdout.readline():
            raise Found("the stranger's process does not listen")

    def heard(self):
        """What it has been told since it was asked last."""
        data = self.note.read_bytes()
        os.truncate(self.note, 0)
        return data

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def attempt(trap, command, environment):
    """Has a client of the victim's keep a secret, without a word of where the daemon is: the stranger must hear nothing."""

    def carry_out(more):
        return subprocess.run(command, input=SECRET, text=True, capture_output=True, timeout=60, env=environment | more,
                              user=VICTIM, group=VICTIM, extra_groups=[], cwd="/", check=False)

    # The control: the user who is named is believed.
    ended = carry_out({"KURA_SOCKET": trap.socket, "KURA_PEER_UID": str(SQUATTER)})
    if not trap.heard():
        raise Found(f"the client does not work here: {ended.stderr[-300:]}")
    ended = carry_out({})
    told = f"exit {ended.returncode}: {(ended.stdout + ended.stderr)[-300:]}"
    heard = trap.heard()
    if SECRET.encode() in heard:
        raise Found(f"the secret went to a stranger; {told}")
    if heard:
        raise Found(f"a stranger was asked: {heard[:200]}; {told}")
    if ended.returncode <= 0 or not ended.stderr.strip():
        raise Found(f"not refused with a word; {told}")


def squatters(run):
    if os.geteuid() != 0:
        return "left out: only root can be two others"
    place = f"/tmp/kura-{VICTIM}"
    if os.path.lexists(place):
        return f"left out: {place} is there"
    home = Path(run.room())
    # What the victim runs lies where it may read.
    program = shutil.copy(os.environ["KURA"], home / "kura")
    package = shutil.copytree("clients/python/src", home / "package")
    for directory in (run.work, home):
        os.chmod(directory, 0o755)
    python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
    faces = {"kura": [program, "secrets", "put", "mail", "ada", "--secret"], "Python": [python, "-c", PYTHON]}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package), "LANG": "C.UTF-8"}
    done = 0
    for kind in ("directory", "open directory", "link"):
        real = place if kind != "link" else str(home / "elsewhere")
        os.mkdir(real)
        os.chmod(real, 0o777)
        trap = None
        try:
            trap = Trap(python, real, home / "heard")
            os.chown(real, VICTIM if kind == "open directory" else SQUATTER, -1)
            os.chmod(real, 0o777 if kind == "open directory" else 0o755)
            if kind == "link":
                os.symlink(real, place)
                os.lchown(place, SQUATTER, -1)
            for face, command in faces.items():
                done += 1
                trap.heard()
                run.guard(lambda: attempt(trap, command, environment), f"squatted {kind}, {face}",
                          f"as uid {VICTIM}, without XDG_RUNTIME_DIR, {place} a {kind} of uid {SQUATTER}: "
                          + " ".join(map(str, command[:5])))
        finally:
            if trap:
                trap.end()
            if os.path.islink(place):
                os.unlink(place)
            shutil.rmtree(real, ignore_errors=True)
    return f"{done} attempts of two clients at three kinds of squatted places"
