"""Measures candidates that run right in bytes of flash: the code and constants of the file that holds one."""

from __future__ import annotations

from pathlib import Path

from platforms.elf import sizes, symbols
from platforms.tuning.candidates import Batch
from platforms.tuning.image_bench import ImageBench
from platforms.tuning.trial import Outcome

_CANDIDATE = "candidate_"  # of project_templates/tuning/candidates.c.jinja


class SizeBench(ImageBench):
    """A bench whose images have each candidate in a file of its own."""

    files_of_a_batch = ImageBench.most_in_a_batch

    def measured(self, batch: Batch) -> list[Outcome]:
        outcomes = super().measured(batch)
        flash_bytes = dict(map(_candidate_in, self.workshop.candidate_objects(batch)))
        return [
            outcome if outcome.failure is not None else Outcome((flash_bytes[number],))
            for number, outcome in enumerate(outcomes)
        ]


def _candidate_in(file: Path) -> tuple[int, int]:
    """The number of the candidate in an object file, and its bytes of flash."""
    (name,) = (each.name for each in symbols(file) if each.name.startswith(_CANDIDATE))
    return int(name.removeprefix(_CANDIDATE)), sizes(file).flash
