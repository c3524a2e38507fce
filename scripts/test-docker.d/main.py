"""What scripts/test-docker does."""

import os
import sys
import tempfile
import time
import traceback

import section_compose
import section_image
import section_package
import section_systemd
from engine import Failed, Tally, docker

SECTIONS = {"image": section_image.test, "compose": section_compose.test, "package": section_package.test,
            "systemd": section_systemd.test}

CONTAINERS = ("kura-test-alone", "kura-test-pod", section_package.FRESH, section_systemd.HOST)


def main():
    tally = Tally()
    names = sys.argv[1:] or list(SECTIONS)
    begun = time.monotonic()
    print(f"engine {docker('version', '-f', '{{.Server.Version}}')}, compose {docker('compose', 'version', '--short')}")
    with tempfile.TemporaryDirectory(prefix="kura-docker-") as work:
        docker("rm", "-fv", *CONTAINERS, check=False)
        try:
            tally.section("build")
            section_image.build(work, tally)
        except Failed as failure:
            tally.check("the images", False, failure)
            names = []
        for name in names:
            try:
                SECTIONS[name](work, tally)
            except Exception as failure:
                if not isinstance(failure, Failed):
                    traceback.print_exc()
                tally.check(f"{name} to its end", False, failure)
        if os.environ.get("KURA_KEEP") != "1":
            docker("image", "rm", "-f", "kura:test", "kura-notes:test", "kura-client:test", "kura-systemd:test", check=False)
    print(f"\n{tally.passed} passed, {len(tally.failed)} failed in {time.monotonic() - begun:.0f} s")
    for name in tally.failed:
        print(f"  failed: {name}")
    sys.exit(1 if tally.failed else 0)


main()
