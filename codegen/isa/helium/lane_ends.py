"""Helium, lines of assembly that requantised lanes share: a number in each, the lowest bytes stored."""

from __future__ import annotations

from collections.abc import Iterator

from codegen.isa.asm_line import AsmLine, computes

_STORE_REACH = 127


def in_eight_lanes(vector: str, number: int) -> AsmLine:
    """The number in lanes of 16 bits."""
    text = f"vmov.i16 {vector}, #{number}" if number >= 0 else f"vmvn.i16 {vector}, #{~number}"
    return AsmLine("vmov", text, (vector,))


def stored_channels(vector: str, y: str, step: int) -> Iterator[AsmLine]:
    """The lowest byte of each word, and the pointer at the next pixel."""
    if step <= _STORE_REACH:
        yield AsmLine("vstrb.32", f"vstrb.32 {vector}, [{y}], #{step}", (y,), (y, vector))
    else:
        yield AsmLine("vstrb.32", f"vstrb.32 {vector}, [{y}]", (), (y, vector))
        yield computes("add", y, y, end=f"#{step}")
