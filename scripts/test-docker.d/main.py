"""What scripts/test-docker does."""

import sys
import tempfile
import time
import traceback
from pathlib import Path

import section_compose
import section_image
import section_package
import section_systemd
from engine import KEEPS, Failed, check, docker, failed, passed

SECTIONS = {"build": section_image.build, "image": section_image.test, "compose": section_compose.test,
            "package": section_package.test, "systemd": section_systemd.test}
CONTAINERS = section_image.ALONE, section_image.POD, section_package.FRESH, section_systemd.HOST
IMAGES = "kura:test", "kura-notes:test", "kura-client:test", "kura-systemd:test"


def main(names):
    begun = time.monotonic()
    print(f"engine {docker('version', '-f', '{{.Server.Version}}')}, compose {docker('compose', 'version', '--short')}")
    with tempfile.TemporaryDirectory(prefix="kura-docker-") as work:
        docker("rm", "-fv", *CONTAINERS, check=False)
        for name in ["build", *(names or list(SECTIONS)[1:])]:
            print(f"\n== {name}", flush=True)
            try:
                SECTIONS[name](Path(work))
            except Exception as failure:
                if not isinstance(failure, Failed):
                    traceback.print_exc()
                check(f"{name} to its end", False, failure)
                if name == "build":
                    break
        if not KEEPS:
            docker("image", "rm", "-f", *IMAGES, check=False)
    print(f"\n{len(passed)} passed, {len(failed)} failed in {time.monotonic() - begun:.0f} s")
    for name in failed:
        print(f"  failed: {name}")
    sys.exit(1 if failed else 0)


main(sys.argv[1:])
