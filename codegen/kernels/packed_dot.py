"""Sums with two pixels per 32-bit register, by plain 32-bit multiplications."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aot.ir.types import DType
from aot.wording import counted
from codegen.kernels.packed_pixels import PAIR, products
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, For, Instruction, Role, load

# Bytes per sum: constants and result addresses are spilled while iterations use all registers.
_STACKED = 12


@dataclass(frozen=True, slots=True)
class PackedTile:
    """Sums of `pixels` by `channels`. After `taps` products in packed form, they are added to 32-bit sums."""

    pixels: int
    channels: int
    taps: int  # per iteration
    turns: int

    @property
    def name(self) -> str:
        return f"packed_dot_{self.pixels}x{self.channels}_by_{self.taps}"

    @property
    def words(self) -> int:
        return -(-self.pixels // PAIR)

    @property
    def pairs(self) -> int:
        return self.pixels // PAIR

    @property
    def turn_instructions(self) -> int:
        """Returns the machine instructions of an iteration: loads, products, sums, and three for the loop."""
        alone = self.words - self.pairs
        loads = self.taps * (self.words + self.channels)
        return self.channels * (self.pairs * (2 * self.taps + 3) + alone * 2 * self.taps) + loads + 3


def packed_dot(tile: PackedTile) -> Instruction:
    """sums[channel][pixel] += all products of the pixel's half of v with the channel's weights.

    It is exact only if the absolute weights of each iteration sum up to at most 255.
    """
    sums = Buffer("sums", DType.I32, tile.pixels * tile.channels, Role.LOCAL)
    v = Buffer("v", DType.I32, 0, Role.SCRATCH)
    w = Buffer("w", DType.I8, 0, Role.CONSTANT)
    tap, channel = variable("n"), variable("j")
    weight = load(w, tap * tile.channels + channel)
    adds = products(tile.pixels, sums, v, weight, channel * tile.pixels)
    every = ", ".join(f"&{{sums[{number}]}}" for number in range(sums.elements))
    return Instruction(
        name=tile.name,
        params=(sums, v, w),
        body=(For("n", tile.turns * tile.taps, (For("j", tile.channels, adds),)),),
        call=f"{tile.name}({every}, {{v}}, {{w}}, {{turns}});",
        definition=_text(tile),
        machine_instructions=tile.turn_instructions + 4 * tile.channels * tile.words,
        stack_bytes=_STACKED * tile.pixels * tile.channels,
        numbers=(("turns", tile.turns),),
    )


def _text(tile: PackedTile) -> str:
    sums = [f"sum{j}{i}" for j in range(tile.channels) for i in range(tile.pixels)]
    lines = [
        f"/* Sums of {counted(tile.pixels, 'pixel')} and {counted(tile.channels, 'channel')}: a product with"
        " the word of two pixels is",
        f"   both their products. After {counted(tile.taps, 'tap')} they are added to `all`, as they are, and"
        " the second to `high`. */",
        f"static inline void {tile.name}(",
        f"    {', '.join(f'int32_t *{name}' for name in sums)},",
        "    const int32_t *v, const int8_t *w, int32_t turns)",
        "{",
        *_begun(tile),
        f"    const int8_t *const end = w + turns * {tile.taps * tile.channels};",
        "    do {",
        *(f"        {line}" for line in _turn(tile)),
        "    } while (w != end);",
        *_ended(tile),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _pairs(tile: PackedTile) -> Iterator[tuple[int, int, str, str, str]]:
    """Yields each pair of pixels with its channel: their numbers, the suffix of its names, and its sums."""
    for j in range(tile.channels):
        for q in range(tile.pairs):
            yield q, j, f"{j}{q}", f"sum{j}{q * PAIR}", f"sum{j}{q * PAIR + 1}"


def _lone(tile: PackedTile) -> list[int]:
    """Returns the channels if the last pixel has no partner, otherwise nothing."""
    return list(range(tile.channels)) if tile.pixels % PAIR else []


def _begun(tile: PackedTile) -> Iterator[str]:
    for _, _, name, first, second in _pairs(tile):
        yield f"    uint32_t all{name} = (uint32_t)*{first} + ((uint32_t)*{second} << 16);"
        yield f"    int32_t high{name} = *{second};"
    yield from (f"    int32_t alone{j} = *sum{j}{tile.pixels - 1};" for j in _lone(tile))


def _turn(tile: PackedTile) -> Iterator[str]:
    names = [f"both{name}" for _, _, name, _, _ in _pairs(tile)]
    if names:
        yield f"int32_t {', '.join(names)};"
    for tap in range(tile.taps):
        yield "{"
        for q in range(tile.words):
            yield f"    const int32_t x{q} = v[{tap * tile.words + q}];"
        for j in range(tile.channels):
            yield f"    const int32_t w{j} = w[{tap * tile.channels + j}];"
            for q in range(tile.pairs):
                # Adding 32768 rounds: the upper half is then the second sum, whatever the sign of the first.
                begin = "= 32768 +" if tap == 0 else "+="
                yield f"    both{j}{q} {begin} x{q} * w{j};"
            if tile.pixels % PAIR:
                yield f"    alone{j} += x{tile.pairs} * w{j};"
        yield "}"
    for _, _, name, _, _ in _pairs(tile):
        yield f"all{name} += (uint32_t)both{name};"
        yield f"high{name} += both{name} >> 16;"
    yield f"v += {tile.taps * tile.words};"
    yield f"w += {tile.taps * tile.channels};"


def _ended(tile: PackedTile) -> Iterator[str]:
    """Yields the final code. `all` has 32,768 too much per iteration."""
    pairs = list(_pairs(tile))
    if pairs:
        yield "    const uint32_t added = (uint32_t)turns << 15;"
    for _, _, name, first, second in pairs:
        yield f"    *{second} = high{name};"
        yield f"    *{first} = (int32_t)(all{name} - ((uint32_t)high{name} << 16) - added);"
    yield from (f"    *sum{j}{tile.pixels - 1} = alone{j};" for j in _lone(tile))
