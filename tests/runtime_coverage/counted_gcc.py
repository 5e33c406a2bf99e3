"""Stands in for gcc: what holds the device runtime is compiled with counters, and all else as it was asked.

The first argument is the real gcc, the second the folder of the counts; the others are gcc's own.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_RUNTIME = "solder_"
_COUNTED = ("-O0", "-g", "-w", "--coverage", "-fprofile-abs-path", "-fprofile-update=atomic")
_SANITIZERS = ("-fsanitize", "-fno-sanitize")  # they have branches of their own
_OVERRULED = ("-O", "-Werror")


def with_counters(argv: Sequence[str], dump: str) -> list[str]:
    """The arguments of a build that counts; without counters where nothing of the runtime is built."""
    kept = [each for each in argv if not each.startswith(_SANITIZERS)]
    if not any(Path(each).name.startswith(_RUNTIME) and each.endswith((".c", ".o")) for each in argv):
        return kept
    kept = [each for each in kept if not each.startswith(_OVERRULED)]
    return [*kept, *_COUNTED, "-dumpdir", f"{dump}/"]


def main() -> None:
    gcc, folder, *argv = sys.argv[1:]
    os.execv(gcc, [gcc, *with_counters(argv, tempfile.mkdtemp(dir=folder))])


if __name__ == "__main__":
    main()
