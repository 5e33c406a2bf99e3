"""The code of one layer: its loops as procs, and the C functions generated from them."""

from __future__ import annotations

from dataclasses import replace

from codegen.c.dialect import Dialect
from codegen.c.helper_library import collect_helpers
from codegen.c.kernel_library import KernelLibrary, called_helpers
from codegen.c.layers import RunCode
from codegen.c.printer import Printer
from codegen.lower.stages import STREAMED_ROW, Lowered, LoweredStage, Reading
from codegen.model import LayerCode, RowsRead


def layer_code(
    index: int, lowered: Lowered, library: KernelLibrary, run: RunCode, dialect: Dialect
) -> LayerCode:
    called = {call.name for call in library.calls[index]}
    kernels = [kernel.function for kernel in library.kernels if kernel.function.name in called]
    helpers = collect_helpers(helper for kernel in kernels for helper in called_helpers(kernel))
    printer = Printer(dialect, library.helpers.names)
    layer = run.layers[index]
    half = [run.halves[index]] if index in run.halves else []
    stage = lowered.stages[index]
    params = (param.name for param in stage.kernel.row_params)
    reads = zip(params, stage.reads, strict=True)
    return LayerCode(
        stage.kernel,
        stage.steps,
        {name: _rows_read(stage, reading, lowered) for name, reading in reads},
        replace(helpers, names=library.helpers.names).texts(printer),
        tuple(printer.function(kernel) for kernel in kernels),
        "\n\n".join(printer.function(function) for function in (*half, layer)),
        (*(kernel.name for kernel in kernels), layer.name),
    )


def _rows_read(stage: LoweredStage, reading: Reading, lowered: Lowered) -> RowsRead:
    if reading.tensor == STREAMED_ROW:  # the caller's row, in the format in which the stage stores it
        return RowsRead(stage.result.type, stage.result.format.row_elements, reading.fill)
    tensor = lowered.tensors[reading.tensor]
    rows = tensor.rows if stage.kernel.whole else 1
    return RowsRead(tensor.type, rows * (reading.view or tensor.format).row_elements, reading.fill)
