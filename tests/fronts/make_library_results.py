"""Computes the cases by installed libraries: python tests/fronts/make_library_results.py LIBRARY ...

Those of other libraries stay as they are. The file has each result with the version that gave it.
"""

import importlib.metadata
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from front_cases import CASES, signal
from picture_cases import PICTURES, colours

PLACE = Path(__file__).with_name("library_results.json")
_DIGITS = 7


def kept_frames(count: int) -> list[int]:
    """Those at both ends, where libraries differ, and one between."""
    return sorted({0, 1, count // 2, count - 2, count - 1})


def main(libraries: Sequence[str]) -> None:
    found = json.loads(PLACE.read_text(encoding="utf-8")) if PLACE.exists() else {}
    given = [(case, signal() / 32768.0) for case in CASES] + [
        (case, colours().astype(np.float64)) for case, _ in PICTURES
    ]
    for case, x in given:
        if case.library in libraries:
            result = np.asarray(case.compute(x), np.float64)
            version = importlib.metadata.version(case.library)
            rows = {str(n): [float(f"{v:.{_DIGITS}g}") for v in result[n]] for n in kept_frames(len(result))}
            library = f"{case.library} {version.partition('+')[0]}"
            found[case.declared] = {"library": library, "frames": len(result), "rows": rows}
    entries = ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found))
    PLACE.write_text(f"{{\n{entries}\n}}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
