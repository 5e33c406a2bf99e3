"""python -m benchmarks measure|report: measure every case into results.json, or print it as tables."""

from __future__ import annotations

import sys

from benchmarks.cases import all_cases
from benchmarks.measure import measure
from benchmarks.report import report
from benchmarks.results import read_results, write_results


def _measure() -> None:
    results = []
    for case in all_cases():
        sys.stderr.write(f"{case.model} on {case.board} for {case.optimize}\n")
        results.append(measure(case))
    write_results(results)


def _report() -> None:
    sys.stdout.write(report(read_results()))


COMMANDS = {"measure": _measure, "report": _report}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]]()
