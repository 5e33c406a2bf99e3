"""Library arguments of the steps of an integer LSTM."""

from __future__ import annotations

import math

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.integer_lstm import LstmParameters, Multiplier, lstm_parameters
from aot.ops.recurrent import Recurrent
from aot.ops.requant import quant_of
from aot.ops.rounding import RequantRounding
from codegen.kernels.kernel import Site
from codegen.kernels.strategy import Condition
from extensions.cmsis_nn.strategies import Arguments, LibraryCall

_X, _WEIGHTS, _HIDDEN, _CELL = 0, 1, 4, 5
_GATES = ("taken", "shown", "kept", "fresh")
_FULL = DType.I16.limits
_LEAST_CELL_SCALE = 2.0**-15


def _is_of_bytes(site: Site) -> bool:
    return site.input(_X).dtype is DType.I16 and site.input(_HIDDEN).dtype is DType.I8


def _is_computed(site: Site) -> bool:
    return site.constants.keys() == {_WEIGHTS}


def _has_room_for_cells(site: Site) -> bool:
    return quant_of(site.input(_CELL)).scale >= _LEAST_CELL_SCALE


def _parameters(site: Site) -> LstmParameters:
    op = site.op_as(Recurrent)
    return lstm_parameters(site.input(_HIDDEN), site.input(_CELL), site.input(_WEIGHTS), op.cell_clip)


def _scaled(name: str, multiplier: Multiplier) -> tuple[tuple[str, int], ...]:
    return ((f"{name}_mult", multiplier[0]), (f"{name}_shift", multiplier[1]))


def _is_wide(site: Site) -> bool:
    return site.input(_X).dtype is DType.I16 and site.input(_HIDDEN).dtype is DType.I16


def _is_reduced(site: Site) -> bool:
    op = site.op_as(Recurrent)
    return op.rounding is RequantRounding.REDUCED and quant_of(site.input(_HIDDEN)).zero_point == 0


def _has_short_sums(site: Site) -> bool:
    """Returns True if sums fit into 32 bits, the width that the library uses with Helium and SMLAD."""
    largest = np.abs(site.constants[_WEIGHTS].astype(np.int64)).sum(axis=1).max() << 15
    return bool(largest < 1 << 31)


def _of_bytes(site: Site) -> Arguments:
    w, zero = site.constants[_WEIGHTS], quant_of(site.input(_HIDDEN)).zero_point
    bias = -zero * w.astype(np.int64).sum(axis=1)
    return _lstm(site, bias.astype(np.int32), (("hidden_zero", zero),))


def _of_16_bits(site: Site) -> Arguments:
    return _lstm(site, np.zeros(len(site.constants[_WEIGHTS]), np.int64), ())


def _lstm(site: Site, bias: Array, more: tuple[tuple[str, int], ...]) -> Arguments:
    p, w = _parameters(site), site.constants[_WEIGHTS]
    _, steps, sequences, _ = site.input(_X).shape
    units = w.shape[1]
    gates = [(int(p.from_hidden[0][n * units]), int(p.from_hidden[1][n * units])) for n in range(len(_GATES))]
    low, high = (-p.clip, p.clip) if p.clip else _FULL
    values = sequences * units
    return Arguments(
        (
            *(("steps", steps), ("sequences", sequences), ("units", units)),
            *(number for name, gate in zip(_GATES, gates, strict=True) for number in _scaled(name, gate)),
            *_scaled("forget", p.forget),
            *_scaled("update", p.update),
            *(("cell_least", low), ("cell_most", high)),
            ("tanh_shift", 12 + int(math.log2(quant_of(site.input(_CELL)).scale))),
            *_scaled("hidden", p.hidden),
            *more,
        ),
        {"w": w.reshape(-1), "bias": bias},
        scratch_bytes=(3 * 2 + site.input(_HIDDEN).dtype.bytes) * values,
        tells_scratch=False,
    )


_NAMES = ("x", "h", "c")
_STATES = (
    Condition("constant weights, and states that are not constants", _is_computed),
    Condition("cell scales of at least 2**-15", _has_room_for_cells),
)
LSTM = LibraryCall(
    "cmsis_nn_lstm",
    "arm_nn_lstm_step_s8",
    4900,
    488,
    _of_bytes,
    (Condition("gates of 16 bits and hidden values of bytes", _is_of_bytes), *_STATES),
    names=_NAMES,
)
WIDE_LSTM = LibraryCall(
    "cmsis_nn_lstm_wide",
    "arm_nn_lstm_step_s16",
    4900,
    488,
    _of_16_bits,
    (
        Condition("gates and hidden values of 16 bits", _is_wide),
        *_STATES,
        Condition("sums rounded as in 16-bit TFLite", _is_reduced),
        Condition("sums of 32 bits", _has_short_sums),
    ),
    names=_NAMES,
)
