"""Models on the emulated Cortex-M4 of tables of accelerators: their cycles, and whether bits are equal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aot.ir.types import Array
from benchmarks.shared import model_file
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.benchmark.cycle_model import model_cycles
from deploy.benchmark.run_series import run_series
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import prepare_compiled, ready_for
from deploy.devices.session import open_device
from deploy.inputs.samples import Samples
from platforms.base import BuildChoices
from platforms.board_files import load_board

BOARD, RUNNER = "mps2-an386", "unicorn"
_MOST_SAMPLES = 3


def compiled_with(name: str, *accelerators: str) -> Compiled:
    options = CompileOptions(accelerators=accelerators)
    return compile_for(import_model(model_file(name), options), load_board(BOARD), options)


def cycles_of(compiled: Compiled) -> int:
    return model_cycles(compiled.artifact, load_board(BOARD), None, LineOptions(), layers=False).run.count


def compared(
    compiled: Compiled, golden: Mapping[str, Array], most_samples: int = _MOST_SAMPLES
) -> tuple[int, int]:
    """(how many results on the emulated board are TensorFlow Lite Micro's, how many there are)."""
    count = min(most_samples, len(golden["in_0"]))
    (x,), (y,) = compiled.model.inputs, compiled.model.outputs
    samples = Samples(tuple((golden["in_0"][n].reshape(x.shape),) for n in range(count)), is_series=True)
    line = LineOptions(runner=RUNNER)
    with open_device(ready_for(prepare_compiled(compiled), BuildChoices(), RUNNER), line) as device:
        outputs = run_series(device, samples).outputs
    found = np.stack([each[0].reshape(y.shape) for each in outputs])
    wanted = golden["out_0"][:count].reshape(found.shape)
    return int((found == wanted).sum()), wanted.size
