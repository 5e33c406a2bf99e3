"""python -m benchmarks measure|report|faults: measure the cases, print them, try the faults of the line."""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.cases import all_cases
from benchmarks.fault_table import HEAD, ROWS, build_devices, text_of, try_out
from benchmarks.measure import measure
from benchmarks.report import report
from benchmarks.results import read_results, write_results


def _measure() -> None:
    """On every core of this machine: instructions are counted, so that time does not matter."""
    results = []
    with ProcessPoolExecutor() as pool:
        for result in pool.map(measure, all_cases()):
            sys.stderr.write(f"{result.model} on {result.board} for {result.optimize}\n")
            results.append(result)
    write_results(results)


def _report() -> None:
    sys.stdout.write(report(read_results()))


def _faults() -> None:
    sys.stdout.write("\n".join(HEAD) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        devices = build_devices(Path(folder))
        for row in ROWS:
            sys.stdout.write(text_of(row, try_out(row, devices)) + "\n")
            sys.stdout.flush()


COMMANDS = {"measure": _measure, "report": _report, "faults": _faults}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]]()
