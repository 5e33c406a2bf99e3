"""Fits movement features to the model's input: rows of a window, element order."""

from __future__ import annotations

from aot.counted import counted
from aot.frontend.added_nodes import AddedNodes
from aot.fronts.model_input import ModelInput
from aot.fronts.movement import Movement
from aot.fronts.movement_nodes import add_movement
from aot.ir.types import DType, Quant, TensorType
from aot.ops.quantize import Quantize


def rows_type(movement: Movement, wanted: ModelInput) -> TensorType:
    """Returns the type of the rows that give the model's input. Raises ModelError if none do."""
    samples = _filtered_rows(movement, wanted) if movement.is_filter else _window(movement, wanted)
    quant = None if movement.steps is None else Quant((movement.steps,), (0,))
    return TensorType(DType.F32 if quant is None else DType.I16, (1, samples, 1, movement.axes), quant)


def add_rows(chain: AddedNodes, movement: Movement, wanted: ModelInput) -> None:
    add_movement(chain, movement)
    if wanted.type.dtype is not DType.F32:
        chain.then("quantize", Quantize(wanted.type.dtype), quant=wanted.type.quant)
    chain.view("input", *wanted.type.shape)


def _filtered_rows(movement: Movement, wanted: ModelInput) -> int:
    rows, rest = divmod(wanted.type.elements, movement.axes)
    if rest or (movement.samples is not None and movement.samples != rows):
        window = "" if movement.samples is None else f" and {counted(movement.samples, 'row')} of a window"
        raise wanted.refusal(
            f"the front end computes {counted(movement.axes, 'number')} for each row{window}, but "
            f"{wanted.said} has shape {list(wanted.type.shape)}",
            "set axes and samples as in training",
        )
    return rows


def _window(movement: Movement, wanted: ModelInput) -> int:
    made = movement.axes * movement.features
    if made != wanted.type.elements:
        raise wanted.refusal(
            f"the front end computes {counted(movement.features, 'feature')} for each axis, "
            f"{movement.axes} axes together {made:,}; but {wanted.said} has {wanted.type.elements:,}: "
            f"{list(wanted.type.shape)}",
            "set axes, features and nperseg as in training",
        )
    if movement.samples is None:
        raise wanted.refusal(
            "the number of rows in a window is not set",
            "set samples, for example samples=125 for two seconds at 62.5 Hz",
        )
    return movement.samples
