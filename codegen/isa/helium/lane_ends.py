"""Helium, lines of assembly that tiles share: sums of digits, constants in lanes, stores of low bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codegen.isa.asm_line import AsmLine, computes
from codegen.isa.helium.four_bits import DIGITS, SHIFT, WeightForm
from codegen.isa.plain.requantise import Requant

_STORE_REACH = 127  # bytes


def in_eight_lanes(vector: str, number: int) -> AsmLine:
    """Sets 16-bit lanes to a number."""
    text = f"vmov.i16 {vector}, #{number}" if number >= 0 else f"vmvn.i16 {vector}, #{~number}"
    return AsmLine("vmov", text, (vector,))


def stored_channels(vector: str, y: str, step: int) -> Iterator[AsmLine]:
    """Stores the lowest byte of each lane, and advances the pointer to the next pixel."""
    if step <= _STORE_REACH:
        yield AsmLine("vstrb.32", f"vstrb.32 {vector}, [{y}], #{step}", (y,), (y, vector))
    else:
        yield AsmLine("vstrb.32", f"vstrb.32 {vector}, [{y}]", (), (y, vector))
        yield computes("add", y, y, end=f"#{step}")


def of_channels(form: WeightForm, sums: Sequence[str]) -> Iterator[AsmLine]:
    """Computes the channels' sums from those with bytes of two weights; joined ones stay enlarged by 16."""
    for high, low in zip(sums[::DIGITS], sums[1::DIGITS], strict=True):
        if form is WeightForm.JOINED:
            yield computes("sub", high, high, low, end=f"asr #{SHIFT}")
        elif form is WeightForm.NIBBLES:
            yield computes("asr", low, low, end=f"#{SHIFT}")


def to_halves(vector: str, r: Requant) -> Iterator[AsmLine]:
    """Saturates 32-bit lanes to 16 bits in even positions, if they need it."""
    if not r.scaled_fits_16_bits:
        yield AsmLine("vqmovnb.s32", f"vqmovnb.s32 {vector}, {vector}", (vector,), (vector,))


def to_bytes(vector: str, r: Requant, free: str, zero: str = "") -> Iterator[AsmLine]:
    """Turns 16-bit sums into results in the lowest byte of each lane.

    `free` is a vector for numbers; the zero point is in the general register `zero`, if there is one.
    """
    bounds = (
        ("vqadd.s16", r.zero_point, r.zero_point != 0),
        ("vmax.s16", r.low, r.low > -128),
        ("vmin.s16", r.high, r.high < 127),
    )
    for name, number, is_needed in bounds:
        if is_needed and zero and name == "vqadd.s16":
            yield computes(name, vector, vector, zero)
        elif is_needed:
            yield in_eight_lanes(free, number)
            yield computes(name, vector, vector, free)
    yield AsmLine("vqmovnb.s16", f"vqmovnb.s16 {vector}, {vector}", (vector,), (vector,))
