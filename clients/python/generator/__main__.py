"""Writes what is generated in the Python client anew: `methods/` from openrpc.json, `sync/` from `aio/`.

usage: python3 clients/python/generator [--check]     (--check writes nothing; exit 1 when something is stale)

proto-docs/openrpc.json is what `rpc.discover` answers; scripts/docs keeps it so.
"""

import json
import sys
from pathlib import Path

import methods
import threaded

CLIENT = Path(__file__).resolve().parent.parent
PACKAGE = CLIENT / "src" / "kura"


def main() -> int:
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    is_check = bool(sys.argv[1:])
    document = json.loads((CLIENT.parent.parent / "proto-docs" / "openrpc.json").read_text("utf-8"))
    made = {PACKAGE / "methods" / name: text for name, text in methods.render(document).items()}
    for source in sorted((PACKAGE / "aio").glob("*.py")):
        made[PACKAGE / "sync" / source.name] = threaded.render(source.read_text("utf-8"), source.name)

    stale = [path for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
    left = [path for folder in ("methods", "sync") for path in (PACKAGE / folder).glob("*.py") if path not in made]
    for path in stale + left:
        print(f"stale: {path.relative_to(CLIENT.parent.parent)}")
        if is_check:
            continue
        if path in made:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made[path], "utf-8")
        else:
            path.unlink()
    return 1 if is_check and stale + left else 0


if __name__ == "__main__":
    sys.exit(main())
