"""Measures working candidates in bytes of flash: code and constants of the candidate's object file."""

from __future__ import annotations

from pathlib import Path

from platforms.elf import sizes, symbols
from platforms.tuning.candidates import Batch
from platforms.tuning.image_bench import ImageBench
from platforms.tuning.trial import Outcome

_CANDIDATE = "candidate_"  # in project_templates/tuning/candidates.c.jinja


class SizeBench(ImageBench):
    """A bench whose images have one file per candidate."""

    files_of_a_batch = ImageBench.most_in_a_batch

    def measured(self, batch: Batch) -> list[Outcome]:
        outcomes = super().measured(batch)
        flash_bytes = dict(map(_candidate_in, self.workshop.candidate_objects(batch)))
        return [
            outcome if outcome.failure is not None else Outcome((flash_bytes[number],))
            for number, outcome in enumerate(outcomes)
        ]


def _candidate_in(file: Path) -> tuple[int, int]:
    """Returns the number of the candidate in an object file, and its flash bytes."""
    (name,) = (each.name for each in symbols(file) if each.name.startswith(_CANDIDATE))
    return int(name.removeprefix(_CANDIDATE)), sizes(file).flash
