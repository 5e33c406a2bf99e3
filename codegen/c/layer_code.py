"""The code of one layer: its loops as a proc says them, and the C functions that they became."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegen.c.dialect import Dialect
from codegen.c.helper_library import collect_helpers
from codegen.c.kernel_library import KernelLibrary, called_helpers
from codegen.c.layers import RunCode
from codegen.c.printer import Printer
from codegen.lower.stages import LoweredStage
from codegen.model import LayerCode


def layer_code(
    index: int, stages: Sequence[LoweredStage], library: KernelLibrary, run: RunCode, dialect: Dialect
) -> LayerCode:
    called = {call.name for call in library.calls[index]}
    kernels = [kernel.function for kernel in library.kernels if kernel.function.name in called]
    helpers = collect_helpers(helper for kernel in kernels for helper in called_helpers(kernel))
    printer = Printer(dialect, library.helpers.names)
    layer = run.layers[index]
    return LayerCode(
        stages[index].kernel.procs,
        replace(helpers, names=library.helpers.names).texts(printer),
        tuple(printer.function(kernel) for kernel in kernels),
        printer.function(layer),
        (*(kernel.name for kernel in kernels), layer.name),
    )
