"""Creates a schedule from tensor expressions."""

from __future__ import annotations

from collections.abc import Sequence

from codegen.lang.argument_checks import checks_arguments
from codegen.lang.schedule import LoopSchedule
from codegen.lang.tensor import TensorExpression
from codegen.lang.tensor_proc import Outputs, outputs_of, proc


@checks_arguments
def schedule(
    name: str, inputs: Sequence[TensorExpression], output: Outputs, check: bool = False
) -> LoopSchedule:
    """Returns a schedule without steps that computes one or several outputs from inputs and constants."""
    shapes = {tensor.name: tensor.shape for tensor in (*inputs, *outputs_of(output))}
    return LoopSchedule(proc(name, inputs, output), check, shapes)
