"""Measures candidates with the cycle model: an emulated board records what each one executes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from platforms.base import Firmware
from platforms.cycles.estimate import estimate
from platforms.cycles.model import core_of, flash_of
from platforms.cycles.recording import open_recorded
from platforms.cycles.trace import load_trace
from platforms.transport.base import Transport
from platforms.tuning.candidates import Batch
from platforms.tuning.image_bench import EMPTY, MEASURED, ImageBench, run_candidate
from platforms.tuning.trial import Outcome

_FUNCTION = "measure"  # in project_templates/tuning/models.c.jinja; runs one candidate


class CycleBench(ImageBench):
    """A bench that restarts its board for each candidate, because it records only one run."""

    _trace = Path()

    def open_line(self, firmware: Firmware) -> Transport:
        return open_recorded(firmware, self.board, _FUNCTION, self._trace)

    def measured(self, batch: Batch) -> list[Outcome]:
        firmware = self.workshop.build(batch)
        return [self._cycles(firmware, batch, number) for number in range(batch.count)]

    def _cycles(self, firmware: Firmware, batch: Batch, number: int) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="solder-cycles-") as folder:
            self._trace = Path(folder) / "trace.npz"
            outcome = run_candidate(self, firmware, batch, number)
            if outcome.failure is not None:
                return outcome
            layers = estimate(load_trace(self._trace), core_of(self.board), flash_of(self.board)).layers
        return Outcome((layers[MEASURED].count - layers[EMPTY].count,))
