"""Helium, the end of a row's tile as assembly: sums to vectors, vectors to bytes, bytes to memory.

The four sums of a pixel are a vector, one channel per lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codegen.isa.asm_line import Address, AsmLine, computes, loads, operand
from codegen.isa.helium.four_bits import SHIFT, WeightForm
from codegen.isa.helium.lane_ends import of_channels, stored_channels, to_bytes, to_halves
from codegen.isa.helium.requantise import RequantTile, halves_moved, scaled
from codegen.isa.helium.row_sums import PIXELS, SUMS, VECTORS, WEIGHTS
from codegen.isa.plain.requantise import Requant

PLACES, LONE_PLACES = 0, 16  # bytes from `ends`: offsets of the stored bytes of two pixels, and of one
_FREE = VECTORS[1]  # once both pixels are in the first one


@dataclass(frozen=True, slots=True)
class RowEnds:
    """The ends of `pixels` neighbors."""

    tile: RequantTile
    requant: Requant
    pixels: int
    form: WeightForm = WeightForm.BYTES
    constants: tuple[str, str, str] = ("%q[start]", "%q[scale]", "%q[shift]")

    @property
    def is_scattered(self) -> bool:
        return self.tile.channel_step != 1

    def into_vectors(self) -> Iterator[AsmLine]:
        yield from (line for sums in SUMS[: self.pixels] for line in of_channels(self.form, sums))
        for v, (a, b, c, d) in zip(self._vectors, SUMS, strict=False):
            yield AsmLine("vmov", f"vmov {v}[2], {v}[0], {a}, {c}", (v,), (a, c))
            yield AsmLine("vmov", f"vmov {v}[3], {v}[1], {b}, {d}", (v,), (v, b, d))

    def lines(self) -> list[AsmLine]:
        return [*self._rounded(), *self._narrowed(), *self._stored()]

    @property
    def _vectors(self) -> tuple[str, ...]:
        return VECTORS[: self.pixels]

    def _rounded(self) -> Iterator[AsmLine]:
        start, scale, shift = self.constants
        for v in self._vectors:
            if self.form is WeightForm.JOINED:
                yield computes("vshr.s32", v, v, end=f"#{SHIFT}")
            yield computes("vadd.i32", v, v, start)
            yield from scaled(self.requant, v, scale)
        for v in self._vectors:
            yield from halves_moved(self.requant, v, scale, shift, WEIGHTS)
            yield computes("vrshl.s32", v, v, shift)

    def _narrowed(self) -> Iterator[AsmLine]:
        """Adds the zero point and saturates twice. Two pixels are in the halves of each lane."""
        r, v = self.requant, VECTORS[0]
        yield from to_halves(v, r)
        if self.pixels == PIXELS:
            yield AsmLine("vqmovnt.s32", f"vqmovnt.s32 {v}, {VECTORS[1]}", (v,), VECTORS)
        yield from to_bytes(v, r, _FREE)

    def _stored(self) -> Iterator[AsmLine]:
        (v, *others), step, y = self._vectors, self.tile.pixel_step, operand("y")
        if self.is_scattered:
            places, name = (PLACES, "vstrb.16") if others else (LONE_PLACES, "vstrb.32")
            yield loads("vldrw.32", (_FREE,), Address(operand("ends"), places))
            yield AsmLine(name, f"{name} {v}, [{y}, {_FREE}]", (), (y, v, _FREE))
            yield computes("add", y, y, end=f"#{step * self.pixels}")
            return
        for second in others:
            yield computes("vshr.u32", second, v, end="#16")
        for each in (v, *others):
            yield from stored_channels(each, y, step)
