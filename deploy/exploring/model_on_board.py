"""Evaluates one combination of model, board and options, in any process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aot.errors import DeployError
from codegen.job import import_data, model_name
from codegen.options import CompileOptions
from codegen.version import VERSION
from deploy.reporting.attempt import Measuring, attempt_of, words_of
from platforms.board_files import load_board


@dataclass(frozen=True)
class ModelOnBoard:
    """A self-contained task for any process with Solder; it includes the content of the model file."""

    path: Path  # determines the model's name
    data: bytes = field(repr=False)
    board: str
    options: CompileOptions
    measuring: Measuring | None

    @property
    def key(self) -> str:
        """A hash of everything that affects the result."""
        model, measured = hashlib.sha256(self.data).hexdigest(), repr(self.measuring)
        asked = [VERSION, model, str(self.path), self.board, words_of(self.options), measured]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]


def explore_one(asked: ModelOnBoard) -> dict[str, Any]:
    """Compiles the combination and, if requested and it fits, measures it."""
    board = load_board(asked.board)
    target = board.target
    found: dict[str, Any] = {
        "key": asked.key,
        "model": model_name(asked.path),
        "board": board.name,
        "core": board.core.name,
        "clock_hz": board.clock_hz,
        "options": words_of(asked.options),
        "ram_there": target.ram_bytes,
        "flash_there": target.flash_bytes,
        **_NOTHING_FOUND,
    }
    try:
        imported = import_data(asked.data, asked.path, asked.options)
        attempt = attempt_of(imported, board, asked.options, asked.measuring)
    except DeployError as error:
        return found | {"error": error.what}
    report, cost = attempt.report, attempt.cost
    found |= {
        "fits": report.fits,
        "counts_firmware": report.counts_firmware,
        "ram_bytes": report.needed_bytes("ram"),
        "flash_bytes": report.needed_bytes("flash"),
        "macs": report.facts.macs,
        "error": attempt.not_measured,
    }
    if cost is not None:
        cycles, time_s = cost.cycles, cost.time_s
        found |= {
            "cycles": cycles.run.count if cycles else None,
            "time_s": time_s,
            "rate_hz": 1 / time_s if time_s else None,
        }
    return found


_NOTHING_FOUND: Mapping[str, Any] = {
    "fits": False,
    "counts_firmware": False,
    "ram_bytes": None,
    "flash_bytes": None,
    "macs": None,
    "cycles": None,
    "time_s": None,
    "rate_hz": None,
    "error": "",
}
