"""Operations of Ethos-U with random numbers: the commands, the memory, and what must come out, in NumPy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from npu_jobs import STOP, NpuJob, Region, long, payload, short

Ints = npt.NDArray[np.int64]

TFL, TRUNCATE, NATURAL = range(3)
REGION = 1  # where all feature maps lie
CONSTANTS = 0  # scales, then weights


def scaled(value: int, factor: int, shift: int, rounding: int) -> int:
    """value * factor / 2^shift: for TFL as gemmlowp does it, rounded to 31 bits and then to the rest."""
    product = value * factor
    if rounding == TRUNCATE:
        return abs(product) // (1 << shift) * (1 if product >= 0 else -1)
    if rounding == NATURAL or shift <= 31:
        return (product + (1 << shift >> 1)) >> shift
    high = (product + (1 << 30)) >> 31
    rest = shift - 31
    return (high + (1 << (rest - 1)) - (high < 0)) >> rest


@dataclass(frozen=True)
class Map:
    """A feature map in memory: rows, columns, channels in one of two layouts, cut into four tiles."""

    shape: tuple[int, int, int]
    dtype: str = "int8"
    zero_point: int = 0
    in_bricks: bool = False
    cut: tuple[int, int, int] | None = None  # height0, height1, width0
    base: int = 0

    @property
    def size(self) -> int:
        return np.dtype(self.dtype).itemsize

    @property
    def strides(self) -> tuple[int, int, int]:
        """The bytes from one row, column and block of channels to the next."""
        _, columns, channels = self.shape
        if self.in_bricks:
            blocks = -(-channels // 16)
            return columns * blocks * 16 * self.size, 16 * self.size, columns * 16 * self.size
        return columns * channels * self.size, channels * self.size, self.size

    @property
    def tile_bytes(self) -> int:
        rows, columns, channels = self.shape
        return rows * columns * -(-channels // 16) * 16 * self.size

    @property
    def tiles(self) -> tuple[int, int, int]:
        return self.cut or (self.shape[0], self.shape[0], self.shape[1])

    def address(self, y: int, x: int, c: int) -> int:
        height0, height1, width0 = self.tiles
        tile, height = (1, height1) if x >= width0 else (0, height0)
        x -= width0 if tile else 0
        if y >= height:
            tile, y = tile + 2, y - height
        row, column, block = self.strides
        within = c // 16 * block + c % 16 * self.size if self.in_bricks else c * self.size
        return self.base + tile * self.tile_bytes + y * row + x * column + within

    @property
    def end(self) -> int:
        return self.base + 4 * self.tile_bytes

    def write(self, memory: bytearray, values: Ints) -> None:
        for place, value in np.ndenumerate(values):
            at = self.address(*place)
            memory[at : at + self.size] = np.array(value, self.dtype).tobytes()

    def read(self, memory: bytes) -> Ints:
        values = np.zeros(self.shape, np.int64)
        for place in np.ndindex(*self.shape):
            at = self.address(*place)
            values[place] = np.frombuffer(memory[at : at + self.size], self.dtype)[0]
        return values

    def random(self, rng: np.random.Generator) -> Ints:
        limits = np.iinfo(self.dtype)
        return rng.integers(limits.min, limits.max, self.shape, endpoint=True).astype(np.int64)

    def precision(self, size_bit: int) -> int:
        signed = np.dtype(self.dtype).kind == "i"
        return signed | {1: 0, 2: 1, 4: 2}[self.size] << size_bit | self.in_bricks << 6

    def registers(self, short_base: int, long_base: int, width0: int, region: int) -> list[int]:
        height0, height1, first_width = self.tiles
        row, column, block = self.strides
        return [
            *short(region, REGION),
            *(word for i in range(4) for word in long(long_base + i, self.base + i * self.tile_bytes)),
            *long(long_base + 4, column),
            *long(long_base + 5, row),
            *long(long_base + 6, block),
            *short(width0, first_width - 1),
            *short(width0 + 1, height0 - 1),
            *short(width0 + 2, height1 - 1),
            *short(short_base + 9, self.zero_point),
        ]


def ifm_registers(ifm: Map, scale_mode: int = 0) -> list[int]:
    return [
        *ifm.registers(0x100, 0x00, 0x10A, 0x10F),
        *short(0x104, ifm.shape[2] - 1),
        *short(0x105, ifm.precision(2) | scale_mode << 8),
    ]


def ifm2_registers(ifm2: Map) -> list[int]:
    return [*ifm2.registers(0x180, 0x80, 0x18A, 0x18F), *short(0x185, ifm2.precision(2))]


def ofm_registers(ofm: Map, rounding: int = TFL, is_global: bool = False) -> list[int]:
    rows, columns, channels = ofm.shape
    limits = np.iinfo(ofm.dtype if ofm.size < 4 else "int16")
    return [
        *ofm.registers(0x10F, 0x10, 0x11A, 0x11F),
        *short(0x111, columns - 1),
        *short(0x112, rows - 1),
        *short(0x113, channels - 1),
        *short(0x114, ofm.precision(1) | is_global << 8 | rounding << 14),
        *short(0x126, int(limits.min)),
        *short(0x127, int(limits.max)),
    ]


def kernel_registers(
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    part_kernel_first: bool = False,
) -> list[int]:
    """`padding` is top, left, bottom, right."""
    y, x = stride[0] - 1, stride[1] - 1
    word = (x & 1) | (y & 1) << 1 | part_kernel_first << 2 | (dilation[1] - 1) << 3 | (dilation[0] - 1) << 4
    word |= (x >> 1) << 6 | (y >> 1) << 9
    return [
        *short(0x121, (kernel[0] - 1) * dilation[0]),
        *short(0x120, (kernel[1] - 1) * dilation[1]),
        *short(0x122, word),
        *short(0x100, padding[0]),
        *short(0x101, padding[1]),
        *short(0x103, padding[2]),
        *short(0x102, padding[3]),
    ]


def stored(value: int, ofm: Map) -> int:
    limits = np.iinfo(ofm.dtype)
    return int(min(max(value + ofm.zero_point, limits.min), limits.max))


@dataclass(frozen=True)
class Case:
    """A job, and what its result must be."""

    name: str
    job: NpuJob
    ofm: Map
    expected: Ints


def job_of(
    words: Sequence[int],
    maps: Sequence[tuple[Map, Ints | None]],
    constants: bytes = b"",
    macs_log2: int = 7,
    weights_count: int = 1 << 20,
) -> NpuJob:
    memory = bytearray(max(fm.end for fm, _ in maps))
    for fm, values in maps:
        if values is not None:
            fm.write(memory, values)
    regions = {CONSTANTS: Region(constants, is_writable=False), REGION: Region(bytes(memory))}
    return NpuJob(payload([*words, *STOP], macs_log2), regions, weights_count)


def behind(fm: Map, other: Map) -> Map:
    """The same map, in memory behind another one."""
    return replace(fm, base=other.end)
