"""Helium, lines of assembly that tiles share: sums of a row's tile, to vectors, to bytes, and to memory.

A tile of a row is one or two pixels by four channels. The last load of each tap advances its pointer to the
next tile; the weights' pointer is reset. The four sums of a pixel are a vector, one channel per lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codegen.isa.asm import Address, AsmLine, adds_to, computes, loads, operand, predicate
from codegen.isa.helium.dots import LANES, HeliumDotTile
from codegen.isa.helium.four_bits import DIGITS, SHIFT, WeightForm
from codegen.isa.helium.requantise import RequantTile, halves_moved, scaled
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


PIXELS, CHANNELS = 2, 4
# By pixel and channel: all even registers, including LR.
SUMS = tuple(tuple(operand(f"s{i}{j}") for j in range(CHANNELS)) for i in range(PIXELS))
_WORD_REACH, _BYTE_REACH, _SUBTRACTED = 508, 127, 4095  # bytes
WEIGHTS = "q2"
VECTORS = ("q3", "q7")  # of two pixels' sums


@dataclass(frozen=True, slots=True)
class RowSums:
    """The sums of `pixels` neighbors."""

    tile: HeliumDotTile
    pixels: int
    moves_on: bool = True  # to the next tile

    def lines(self, between: Sequence[AsmLine] = ()) -> list[AsmLine]:
        """Returns the lines. The lines `between` follow the first products, whose registers they may use."""
        first, *others = (list(self._products(group)) for group in self._groups())
        return [*first, *between, *(line for group in others for line in group), *self._back()]

    @property
    def pointers(self) -> int:
        t = self.tile
        return t.kernel_rows * t.taps + (t.steps > 0) + (t.rest > 0)

    def is_in_reach(self) -> bool:
        """Returns True if every load is within the range of its offset."""
        steps = [offset for group in self._groups() for offset in self._offsets(group)]
        in_reach = all(-self._reach(rest) <= offset <= self._reach(rest) for offset, rest in steps)
        return in_reach and self._weights <= _SUBTRACTED

    @property
    def _weights(self) -> int:
        t = self.tile
        return t.kernel_rows * t.taps * t.steps * t.vectors * LANES

    def _groups(self) -> Iterator[_Products]:
        t = self.tile
        per_tap = t.steps + (t.rest > 0)
        every = t.kernel_rows * t.taps * per_tap
        for n in range(every):
            tap, step = divmod(n, per_tap)
            yield _Products(tap, step, step == per_tap - 1, step == t.steps, n == 0)

    def _offsets(self, group: _Products) -> Iterator[tuple[int, bool]]:
        advance = self._advance(group)
        yield advance, group.is_rest
        if self.pixels > 1:
            yield self.tile.x_step - advance, group.is_rest

    def _advance(self, group: _Products) -> int:
        """Returns the bytes from the group's load to the next load of its pointer."""
        if not group.ends_tap:
            return LANES
        return self.pixels * self.tile.x_step - LANES * group.step if self.moves_on else 0

    def _reach(self, rest: bool) -> int:
        return _WORD_REACH if self.tile.x_aligned and not rest else _BYTE_REACH

    def _products(self, group: _Products) -> Iterator[AsmLine]:
        """Yields the first pixel's load, the first weights, and the second pixel's load when it is needed."""
        yield from self._pixel(group, 0)
        for j in range(CHANNELS):
            yield from self._weights_of(group, j)
            for i in range(self.pixels):
                if j == 0 and i == 1:
                    yield from self._pixel(group, 1)
                total, operands = SUMS[i][j], (f"q{i}", self._factor(j))
                if group.is_first:
                    yield computes("vmladav.s8", total, *operands)
                else:
                    yield adds_to("vmladava.s8", total, *operands)

    def _pixel(self, group: _Products, pixel: int) -> Iterator[AsmLine]:
        pointer, advance = operand(f"p{group.tap}"), self._advance(group)
        if group.is_rest:
            yield predicate("vpst", 1)
        name = "vldrbt.8" if group.is_rest else "vldrw.32" if self.tile.x_aligned else "vldrb.8"
        if pixel == 0:
            yield loads(name, ("q0",), Address(pointer, advance or None, moves=advance != 0))
        else:
            yield loads(name, ("q1",), Address(pointer, self.tile.x_step - advance))

    def _weights_of(self, group: _Products, channel: int) -> Iterator[AsmLine]:
        """Loads a channel's weights; for 4-bit weights, every other channel's come from the previous byte."""
        form = self.tile.form
        if form.is_four_bits and channel % DIGITS:
            yield computes("vshl.i8", WEIGHTS, WEIGHTS, end=f"#{SHIFT}")
            return
        length = self.tile.rest if group.is_rest else LANES
        pointer = operand("rest" if group.is_rest else "w")
        yield loads("vldrb.8", (WEIGHTS,), Address(pointer, length, moves=True))
        if form is WeightForm.NIBBLES:
            yield computes("vshr.s8", self._factor(channel), WEIGHTS, end=f"#{SHIFT}")

    def _factor(self, channel: int) -> str:
        """Returns the register of a channel's weights; upper halves use one that is needed only later."""
        is_above = self.tile.form is WeightForm.NIBBLES and channel % DIGITS == 0
        return VECTORS[channel // DIGITS] if is_above else WEIGHTS

    def _back(self) -> Iterator[AsmLine]:
        if not self.moves_on:
            return
        t = self.tile
        rests = t.kernel_rows * t.taps * t.rest * t.vectors
        for name, size in (("w", self._weights), ("rest", rests)):
            if size:
                yield computes("sub", operand(name), operand(name), end=f"#{size}")


@dataclass(frozen=True, slots=True)
class _Products:
    """Products of up to sixteen lanes."""

    tap: int
    step: int
    ends_tap: bool
    is_rest: bool
    is_first: bool


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
