"""The counters of a model's runs in the field (--observe), in 128 bytes of RAM.

They count results that exceed their integers, the margin between the best two classes, entropy, input drift
and run times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.quantize import Quantize
from aot.ops.softmax import Softmax
from codegen.c.dialect import Dialect
from codegen.formats import RowFormat
from codegen.lower.stages import Lowered, LoweredStage

OBSERVED_BYTES = 128
OBSERVED_FORMAT = 1
MARGIN_BUCKETS = 8  # equal intervals from 0 to 1 in which margins are counted
ENTROPY_STEPS = 4096  # per bit
SCORE_STEPS = 256  # scores are rounded down to this resolution
INTEGERS, FLOATS, SCORES = 1, 2, 4  # bit flags of available counters
_SAMPLES = 32  # elements of the input that a run samples; one per row if there are more rows
_MOST_LOOKED_AT = 256  # results of a row per run
_WINDOW_RUNS = 64
_MOST_IN_WINDOW = 1 << 14  # elements, so that sums of 16-bit ones stay below 32 bits
_MOST_SCORES = 1 << 12  # whose entropy fits its counter
_INPUTS = {DType.I8: INTEGERS, DType.U8: INTEGERS, DType.I16: INTEGERS, DType.F32: FLOATS}


@dataclass(frozen=True)
class LookedAt:
    """A layer whose results can exceed their integers."""

    layer: int
    value: str
    format: RowFormat
    rows: int  # reported one by one; 1: all at once
    ends: int  # saturated integers: 1 or 2, from `first` on
    first: int
    mask: int


@dataclass(frozen=True)
class Scores:
    """The layer that writes the scores of classes, which are from 0 to 1."""

    layer: int
    value: str
    dtype: DType
    zero_point: int
    shift: int  # converts integers to 1/256
    count: int
    first: int  # element of the row
    step: int  # from one to the next


@dataclass(frozen=True)
class InputSamples:
    """The elements of the first input that runs sample."""

    kind: int
    row_elements: int  # of a streamed row, or of the whole input
    each: int  # sampled elements of these
    window_rows: int  # after which a window is complete

    @property
    def stride(self) -> int:
        return self.row_elements // self.each


@dataclass(frozen=True)
class Observation:
    """The parameters of a model's observation."""

    layers: tuple[LookedAt, ...]
    scores: Scores | None
    samples: InputSamples | None

    @property
    def kinds(self) -> int:
        samples = 0 if self.samples is None else self.samples.kind
        return samples | (0 if self.scores is None else SCORES)


def observation_of(graph: Graph, lowered: Lowered, stream_rows: int) -> Observation:
    """Returns the facts for a model's C code; `stream_rows` is 0 if the input is not streamed."""
    layers = tuple(
        found for number, stage in enumerate(lowered.stages) if (found := _looked_at(number, stage, graph))
    )
    return Observation(layers, _scores(graph, lowered.stages), _samples(graph, stream_rows))


def _looked_at(number: int, stage: LoweredStage, graph: Graph) -> LookedAt | None:
    node, out = stage.node, stage.result
    if node is None or stage.others or stage.kernel.started or out.type.dtype not in (DType.I8, DType.I16):
        return None
    ends = _ends(node, graph.types[node.outputs[0]], out.format.fill)
    if not ends or out.format.dtype_bytes > 2:
        return None
    kernel = stage.kernel
    is_told_at_once = kernel.accumulation or kernel.whole or kernel.spread
    rows = 1 if is_told_at_once else out.image_rows
    mask = (1 << 8 * out.type.dtype.bytes) - 1
    return LookedAt(number, out.value, out.format, rows, len(ends), ends[0] & mask, mask)


def _ends(node: Node, kind: TensorType, fill: int) -> tuple[int, ...]:
    """Returns the integers at which results saturate without a reason in the model, the largest first."""
    activation = getattr(node.op, "activation", Activation.NONE if isinstance(node.op, Quantize) else None)
    if activation is None or kind.quant is None:
        return ()
    (smallest, largest), (low, high) = kind.dtype.limits, activation.real_limits
    meant = (fill, kind.quant.zero_point)  # a zero point at an end is a ReLU that the file omits
    cut = ((largest, high), (smallest, low))
    return tuple(end for end, real in cut if math.isinf(real) and end not in meant)


def _scores(graph: Graph, stages: Sequence[LoweredStage]) -> Scores | None:
    """Finds the scores of the last softmax, if it computes one row of scores."""
    made = [
        (number, stage)
        for number, stage in enumerate(stages)
        if stage.node is not None and isinstance(stage.node.op, Softmax)
    ]
    if not made:
        return None
    number, stage = made[-1]
    out, kind = stage.result, graph.types[stage.result.value]
    shift = _shift(kind)
    fits = out.image_rows == 1 and out.format.width == 1 and 2 <= out.format.channels <= _MOST_SCORES
    if shift is None or not fits or out.format.dtype_bytes != kind.dtype.bytes:
        return None
    zero_point = 0 if kind.quant is None else kind.quant.zero_point
    return Scores(
        number,
        out.value,
        kind.dtype,
        zero_point,
        shift,
        out.format.channels,
        out.format.left * out.format.x_step,
        out.format.c_step,
    )


def _shift(kind: TensorType) -> int | None:
    """Returns the bits of score integers below 1/256; None if the scale is not a softmax's."""
    if kind.dtype is DType.F32:
        return 0
    if kind.quant is None or kind.quant.is_per_channel:
        return None
    return {2.0**-8: 0, 2.0**-15: 7}.get(kind.quant.scale)


def _samples(graph: Graph, stream_rows: int) -> InputSamples | None:
    kind = graph.types[graph.inputs[0]] if graph.inputs else None
    if kind is None or kind.dtype not in _INPUTS or not kind.elements:
        return None
    rows = stream_rows or 1
    elements = kind.elements // rows
    each = min(elements, max(1, _SAMPLES // rows))
    window = min(rows * _WINDOW_RUNS, _MOST_IN_WINDOW // each)
    return InputSamples(_INPUTS[kind.dtype], elements, each, window)


def score_entropies() -> tuple[int, ...]:
    """Returns -p log2(p) of p = 0/256, 1/256, ... 256/256, in fractions of a bit."""
    return tuple(
        round(-p / SCORE_STEPS * math.log2(p / SCORE_STEPS) * ENTROPY_STEPS) if p else 0
        for p in range(SCORE_STEPS + 1)
    )


def observation_words(observation: Observation, dialect: Dialect) -> Mapping[str, object]:
    """Returns the template variables."""
    entropies = score_entropies()
    lines = [", ".join(map(str, entropies[start : start + 16])) for start in range(0, len(entropies), 16)]
    return {
        "looked_at": observation.layers,
        "most_looked_at": _MOST_LOOKED_AT,
        "wide_rows": any(each.format.dtype_bytes == 2 for each in observation.layers),
        "narrow_rows": any(each.format.dtype_bytes == 1 for each in observation.layers),
        "scores": observation.scores,
        "samples": observation.samples,
        "kinds": observation.kinds,
        "entropies": lines,
        "constant": dialect.constant,
        "reals": observation.samples is not None and observation.samples.kind == FLOATS,
    }
