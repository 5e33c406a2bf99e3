"""A report's section about one board. Its facts have the keys of the report's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from codegen.fit.memory_use import MemoryUse
from deploy.benchmark.cycle_model import ModelCycles
from deploy.compiler.fit import layer_name, role_name
from deploy.inspection.inspect_facts import arena_facts, report_facts, window_lines
from deploy.inspection.inspect_page import FITS
from deploy.inspection.placement_page import limit_lines
from deploy.reporting.advice import OtherBoard, OtherOption
from deploy.reporting.attempt import Attempt, words_of
from deploy.reporting.layer_values import LayerValues

_MOST_SHOWN = 3  # of the buffers at the peak
_NO_VALUES: Mapping[int, LayerValues] = {}


@dataclass(frozen=True)
class BoardSection:
    """All facts of a report about a model on one board."""

    attempt: Attempt
    options: tuple[OtherOption, ...] = ()
    boards: tuple[OtherBoard, ...] = ()
    values: Mapping[int, LayerValues] = field(default_factory=lambda: _NO_VALUES)  # by layer index

    def as_json(self) -> dict[str, Any]:
        attempt, board = self.attempt, self.attempt.board
        facts = report_facts(attempt.report, board.name)
        for layer in facts["layers"]:
            layer.update(self._measured(layer["index"]))
        return facts | {
            "title": board.title,
            "clock_hz": board.clock_hz,
            "options": words_of(attempt.options),
            "verdict": self.verdict(),
            "ram_bytes": attempt.report.needed_bytes("ram"),
            "ram_there": board.target.ram_bytes,
            "flash_bytes": attempt.report.needed_bytes("flash"),
            "flash_there": board.target.flash_bytes,
            "arena": arena_facts(attempt.report.facts.memory),
            **_cost_facts(attempt.cost.cycles if attempt.cost else None),
            "not_measured": attempt.not_measured,
            "other_options": [option.as_json() for option in self.options],
            "other_boards": [other.as_json() for other in self.boards],
        }

    def _measured(self, index: int) -> dict[str, Any]:
        cost, values = self.attempt.cost, self.values.get(index)
        by_layer = {each.layer.index: each.cycles for each in cost.layers} if cost is not None else {}
        cycles = by_layer.get(index)
        return {"cycles": cycles.count if cycles else None, "values": values.as_json() if values else None}

    def verdict(self) -> list[str]:
        """Returns a sentence for each memory and, if RAM is too small, one about the peak."""
        report = self.attempt.report
        said = [_memory_use_text(use) for use in report.memory]
        said += limit_lines(report.facts)
        said += [f"window: {line}" for line in window_lines(report.facts)]
        if self.attempt.report.lacks("ram"):
            peak = self.attempt.report.peak
            largest = ", ".join(f"{name} {size:,}" for name, size in peak.buffers[:_MOST_SHOWN])
            said.append(f"peak at {layer_name(self.attempt.report)}: {largest} bytes")
        return said


def _cost_facts(cycles: ModelCycles | None) -> dict[str, Any]:
    if cycles is None:
        return {"cycles": None, "time_s": None, "measured": ""}
    facts = cycles.as_json()
    return {"cycles": facts["cycles"], "time_s": cycles.seconds, "measured": facts["model"]}


def _memory_use_text(use: MemoryUse) -> str:
    region, needed = use.region, use.needed_bytes
    role = role_name(region.role)
    place = "" if region.name.lower() == role.lower() else f" in {region.name}"
    share = f"{needed:,} of {region.bytes:,} bytes of {role}{place}"
    if use.fits:
        return f"{FITS[use.counts_firmware]}: {share} ({needed / region.bytes:.1%})"
    about = " by estimate" if use.fits_but_for_estimates else ""
    return f"does not fit{about}: {share}, {needed - region.bytes:,} missing"
