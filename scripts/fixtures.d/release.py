"""The daemon of a release, asked for what it knows, and the archive of what it has left."""

import io
import json
import os
import sys
import tarfile
import time

from daemon import Daemon
from programs import ROOT

PROGRAM = os.path.basename(sys.argv[0])


class Release(Daemon):
    """Begins on `work`/data at once. A method that the release does not have, or a parameter of it, is left out."""

    def __init__(self, work):
        os.makedirs(work, exist_ok=True)
        super().__init__(work, options=["--profile", "small"], environment={"KURA_MIN_FREE_BYTES": "0"})
        self.start(timeout=60)
        self.asked = self.connect(timeout=60)
        document = json.loads(self.ask("rpc.discover", {}))["result"]
        self.methods = {
            method["name"]: {parameter["name"] for parameter in method["params"]} for method in document["methods"]}

    def ask(self, method, params):
        """The reply's line as it came."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        # Values are stored as they are written: letters as themselves, not as escapes.
        self.asked.send(json.dumps(request, ensure_ascii=False).encode() + b"\n")
        return self.asked.line().decode()

    def replies(self, requests):
        """Each request that the release knows, as (method, params, the reply's line); ends when one is refused."""
        done = []
        for method, params in requests:
            if method in self.methods:
                params = {name: value for name, value in params.items() if name in self.methods[method]}
                reply = self.ask(method, params)
                # What came together with something that the release does not know may be nothing without it.
                if "error" in json.loads(reply):
                    sys.exit(f"{PROGRAM}: {method} {json.dumps(params)}: {reply}")
                done.append((method, params, reply))
        return done

    def fold(self):
        """Everything is in the tables, indexes are built."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            status = json.loads(self.ask("storage.status", {}))["result"]
            if status["foldedRev"] == status["rev"]:
                break
            time.sleep(0.05)
        if "documents.describe" in self.methods:
            self.ask("documents.describe", {"collection": "notes", "waitMs": 30_000})


def pack(target, texts, data, limit):
    """Writes an archive of texts by their names and the directory `data`; more than `limit` bytes are refused."""
    os.makedirs(os.path.dirname(target), exist_ok=True)

    nobody = {"uid": 0, "gid": 0, "uname": "", "gname": "", "deep": False}
    with tarfile.open(target, "w:gz", compresslevel=9) as archive:
        for name, text in texts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
        archive.add(data, "data", filter=lambda entry: entry.replace(**nobody))
    size, name = os.path.getsize(target), os.path.relpath(target, ROOT)
    if size > limit:
        os.unlink(target)
        sys.exit(f"{PROGRAM}: {name} would have {size} bytes, more than {limit}")
    return f"{name}: {size} bytes"
