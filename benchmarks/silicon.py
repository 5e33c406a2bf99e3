"""The page of boards that were measured: figures of benchmarks/silicon/*.kit next to the cycle model's."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from deploy.silicon.check_kit import KitReport, check_kit
from deploy.silicon.kit_page import error_text

FOLDER = Path(__file__).parent / "silicon"
HEAD = """\
# Measured on boards

Files of `deploy bench --kit` in [silicon](silicon/README.md), with the cycle model's estimates of that day.
Printed by `python -m benchmarks silicon`. An error of +10 % is an estimate that is a tenth too high.
"""
_COLUMNS = (
    "\n| board | date | Solder | model | cycles | ms | model's cycles | error | mJ |\n"
    "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
)
_NONE = "\nThere is no file yet: nothing has been measured on a board.\n"


def silicon_files() -> list[Path]:
    return sorted(FOLDER.glob("*.kit"))


def silicon_page(files: Sequence[Path]) -> str:
    """Returns the page. Ends the program if a file is not sound, or not from a board."""
    rows = [row for path in files for row in _rows(_measured(path))]
    return HEAD + (_COLUMNS + "".join(rows) if rows else _NONE)


def _measured(path: Path) -> KitReport:
    report = check_kit(path)
    if not report.is_hardware:
        why = report.problems or report.figures["not_hardware"]
        sys.exit(f"{path.name} is no measurement of a board: {'; '.join(why)}")
    return report


def _rows(report: KitReport) -> Iterator[str]:
    head = report.figures["measurement"]
    energy = report.figures.get("energy", {})
    for model in report.figures["models"]:
        estimate = report.estimates.get("models", {}).get(model["model"], {}).get("cycles")
        joules = energy.get(model["model"], {}).get("joules_per_run")
        yield (
            f"| {head['board']['name']} | {head['date'][:10]} | {head['solder']['version']} "
            f"| {model['model']} | {model['cycles']:,} | {model['time_s'] * 1e3:.4g} "
            f"| {'-' if estimate is None else f'{estimate:,}'} | {error_text(model['cycles'], estimate)} "
            f"| {'-' if joules is None else f'{joules * 1e3:.4g}'} |\n"
        )
