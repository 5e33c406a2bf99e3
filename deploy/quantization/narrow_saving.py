"""Keeps four-bit weights only if they save flash, because not every kernel stores two per byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aot.ir.graph import State
from aot.wording import counted
from artifact.facts import facts_of
from artifact.report import make_report
from boards.board import Board
from codegen.compile import CompiledModel
from codegen.job import import_data
from codegen.options import CompileOptions
from deploy.compiler.board_or_target import options_on
from deploy.compiler.jobs import compile_or_explain, job_for
from deploy.quantization.calibration import Calibration
from deploy.quantization.onnx_quantizer import LayerWidth, Quantized, quantize
from deploy.quantization.weight_widths import NARROW, Bound

Place = tuple[Path, Board, CompileOptions]  # the float model's file, and the board it should run on


@dataclass(frozen=True, slots=True)
class NarrowSaving:
    """The flash that a model needs with eight-bit weights, and with four-bit weights that save some."""

    layers: int  # with four-bit weights in the result
    of_layers: int
    before_bytes: int  # constants and estimated code
    after_bytes: int

    def __str__(self) -> str:
        if not self.layers:
            return (
                f"weights       of eight bits: four would not reduce the flash of {self.before_bytes:,} bytes"
            )
        return (
            f"weights       of four bits in {self.layers} of {counted(self.of_layers, 'layer')}, "
            f"flash {self.before_bytes:,} -> {self.after_bytes:,} bytes"
        )


def with_less_flash(
    made: Quantized, place: Place, samples: Calibration, least_db: float, states: Sequence[State] = ()
) -> tuple[Quantized, NarrowSaving]:
    """Returns the model with four-bit weights in layers that then need less flash, or none."""
    path = place[0]
    wide = quantize(path, samples, "minmax", {}, refine=True, states=states)
    before = _compiled(wide, place)
    found = made
    while any(each.bits == NARROW for each in found.widths):
        narrow = _compiled(found, place)
        chosen = [each for each in found.widths if each.bits == NARROW]
        among = frozenset(each.weights for each in chosen if _saves(each, narrow, before))
        if len(among) == len(chosen):
            break
        bound = Bound(None, least_db, among)
        found = quantize(path, samples, "minmax", {}, "mixed", bound, refine=True, states=states)
    layers = sum(each.bits == NARROW for each in found.widths)
    flash = _flash(before)
    if not layers or _flash(narrow) >= flash:
        return wide, NarrowSaving(0, len(made.widths), flash, flash)
    return found, NarrowSaving(layers, len(made.widths), flash, _flash(narrow))


def _compiled(made: Quantized, place: Place) -> CompiledModel:
    path, board, options = place
    model = import_data(made.data, path, options)
    return compile_or_explain(job_for(model, board.target, options_on(board, options), board.name)[0])


def _saves(width: LayerWidth, narrow: CompiledModel, wide: CompiledModel) -> bool:
    """Returns whether the layer needs fewer bytes of constants than with eight bits, or has no name."""
    sizes = [_stored(model, width.node) for model in (narrow, wide)]
    return not width.node or sizes[0] < sizes[1]


def _stored(model: CompiledModel, node: str) -> int:
    return sum(layer.weight_bytes for layer in model.layers if f'"{node}"' in layer.origin)


def _flash(model: CompiledModel) -> int:
    return make_report(facts_of(model)).needed_bytes("flash")
