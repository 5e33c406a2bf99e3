"""The model of Ethos-U computes what its registers say, bit by bit, and answers damage with a fault."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from npu_convolutions import ConvShape, conv_case
from npu_jobs import STOP, NpuJob, Region, Status, build_runner, long, payload, run_jobs, short
from npu_operations import (
    NATURAL,
    REGION,
    TFL,
    TRUNCATE,
    Case,
    Ints,
    Map,
    behind,
    ifm2_registers,
    ifm_registers,
    job_of,
    kernel_registers,
    ofm_registers,
    scaled,
    stored,
)

pytestmark = pytest.mark.cc

MUL, ADD, SUB, LEAST, MOST, LRELU, ABS, CLZ, SHR, SHL = range(10)
MAX_POOL, AVERAGE_POOL, SUM_OF_DEPTH = range(3)
TABLES_AT = 22 * 1024  # in the shared RAM of 128 MACs


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return build_runner(tmp_path_factory.mktemp("npu"))


def check(runner: Path, cases: Sequence[Case]) -> None:
    for case, outcome in zip(cases, run_jobs(runner, [case.job for case in cases]), strict=True):
        assert outcome.status is Status.OK, (case.name, outcome.status, outcome.position)
        found = case.ofm.read(outcome.regions[REGION])
        assert np.array_equal(found, case.expected), case.name


# ---- Rounding ------------------------------------------------------------------------------------------


def product_case(factor: int, shift: int, rounding: int, values: Ints) -> Case:
    """Products with one, scaled: any value through the scaling of results."""
    ifm = Map((1, 1, values.size), "int16")
    ifm2 = behind(ifm, ifm)
    ofm = behind(replace(ifm, dtype="int32"), ifm2)
    words = [
        *ifm_registers(ifm),
        *ifm2_registers(ifm2),
        *ofm_registers(ofm, rounding, is_global=True),
        *short(0x180),
        *long(0x24, factor | shift << 32),
        *short(6, MUL),
    ]
    other = np.full((1, 1, values.size), 181)
    expected = np.array([scaled(int(v) * 181, factor, shift, rounding) for v in values])
    job = job_of(words, [(ifm, values.reshape(1, 1, -1)), (ifm2, other), (ofm, None)])
    return Case(f"{factor} >> {shift}, mode {rounding}", job, ofm, expected.reshape(1, 1, -1))


def test_results_are_rounded_as_each_mode_says(runner):
    rng = np.random.default_rng(1)
    edges = [-32768, -32767, -4096, -3, -2, -1, 0, 1, 2, 3, 4096, 32767]
    values = np.array([*edges, *rng.integers(-32768, 32768, 52)])
    pairs = [(1, 0), (1, 1), (3, 2), (1 << 30, 31), ((1 << 31) + 1, 31), (1 << 30, 33), (1 << 30, 40)]
    pairs += [(int(rng.integers(1 << 30, 1 << 31)), int(rng.integers(24, 50))) for _ in range(20)]
    cases = [product_case(*pair, mode, values) for pair in pairs for mode in (TFL, TRUNCATE, NATURAL)]
    check(runner, cases)


# ---- Convolutions --------------------------------------------------------------------------------------

CONVOLUTIONS = {
    "pointwise": ConvShape((3, 4, 40), 20, (1, 1)),
    "3x3 with padding": ConvShape((6, 5, 9), 12, (3, 3), padding=(1, 1, 1, 1)),
    "part of the kernel first": ConvShape(
        (6, 5, 3), 24, (3, 3), padding=(1, 1, 1, 1), part_kernel_first=True
    ),
    "part of the kernel first, deep": ConvShape((4, 4, 37), 9, (3, 2), part_kernel_first=True),
    "strides and bricks": ConvShape((9, 11, 20), 17, (3, 5), (2, 3), in_bricks=True, padding=(0, 1, 0, 0)),
    "stride 4": ConvShape((13, 9, 4), 8, (4, 3), (4, 4)),
    "dilated": ConvShape((11, 12, 18), 8, (3, 5), dilation=(2, 2), padding=(2, 4, 2, 4)),
    "more than 8 x 8": ConvShape((11, 13, 2), 5, (9, 10), padding=(4, 5, 4, 4), part_kernel_first=True),
    "more than 8 x 8, in depth": ConvShape((11, 13, 33), 5, (9, 10)),
    "16 bits": ConvShape((5, 4, 21), 10, (3, 3), dtype="int16"),
    "16 bits, part of the kernel": ConvShape((5, 4, 21), 10, (3, 3), dtype="int16", part_kernel_first=True),
    "32 MACs": ConvShape((4, 4, 12), 22, (3, 3), macs_log2=5),
    "64 MACs": ConvShape((4, 4, 12), 22, (3, 3), macs_log2=6, part_kernel_first=True),
    "256 MACs": ConvShape((4, 4, 12), 70, (1, 2), macs_log2=8, block_depth=32),
    "depthwise": ConvShape((6, 7, 19), 19, (3, 3), padding=(1, 1, 1, 1), is_depthwise=True),
    "depthwise, strides and bricks": ConvShape(
        (8, 7, 33), 33, (5, 3), (2, 2), is_depthwise=True, in_bricks=True, macs_log2=5
    ),
    "depthwise, 16 bits": ConvShape((4, 5, 6), 6, (2, 2), is_depthwise=True, dtype="int16"),
    "few weights at once": ConvShape((3, 3, 30), 50, (2, 2), weights_count=2 * 2 * 30 * 7 + 1),
    "unsigned": ConvShape((4, 5, 6), 7, (3, 3), dtype="uint8", padding=(1, 0, 1, 0)),
    "only zeros": ConvShape((3, 3, 8), 8, (3, 3), sparse=1.0),
    "no zeros": ConvShape((3, 3, 8), 8, (3, 3), sparse=0.0),
    "hardly any weights": ConvShape((3, 3, 64), 16, (3, 3), sparse=0.95),
    "each pixel twice": ConvShape((4, 3, 5), 6, (3, 3), upscale=1, padding=(1, 1, 1, 1)),
    "zeros between pixels": ConvShape((4, 3, 5), 6, (3, 3), upscale=2, padding=(2, 2, 1, 1)),
    "tiles": ConvShape((7, 6, 5), 6, (3, 3), cut=(3, 5, 4)),
    "tiles and bricks": ConvShape((7, 6, 21), 6, (3, 3), cut=(4, 2, 1), in_bricks=True),
}


def test_convolutions_sum_what_their_weights_say(runner, require_package):
    require_package("ethosu")
    check(runner, [conv_case(name, shape, seed) for seed, (name, shape) in enumerate(CONVOLUTIONS.items())])


# ---- Pools ---------------------------------------------------------------------------------------------


def pool_case(mode: int, rng: np.random.Generator, dtype: str, padding: tuple[int, int, int, int]) -> Case:
    ifm = Map((5, 6, 18), dtype, zero_point=4, in_bricks=True)
    rows, columns = 5 + padding[0] + padding[2] - 2, 6 + padding[1] + padding[3] - 1
    ofm = behind(Map((rows, columns, 18), dtype, zero_point=4), ifm)
    x = ifm.random(rng)
    expected = np.zeros(ofm.shape, np.int64)
    for y, column in np.ndindex(rows, columns):
        first, left = y - padding[0], column - padding[1]
        window = x[max(first, 0) : first + 3, max(left, 0) : left + 2] - 4
        if mode == MAX_POOL:
            expected[y, column] = window.max(axis=(0, 1)) + 4
        else:
            total, count = window.sum(axis=(0, 1)), window.shape[0] * window.shape[1]
            expected[y, column] = np.sign(total) * ((np.abs(total) + count // 2) // count) + 4
    words = [
        *ifm_registers(ifm),
        *ofm_registers(ofm),
        *kernel_registers((3, 2), padding=padding),
        *short(5, mode),
    ]
    return Case(f"pool {mode} {dtype} {padding}", job_of(words, [(ifm, x), (ofm, None)]), ofm, expected)


def test_pools_count_only_pixels(runner):
    rng = np.random.default_rng(4)
    check(
        runner,
        [
            pool_case(mode, rng, dtype, padding)
            for mode in (MAX_POOL, AVERAGE_POOL)
            for dtype in ("int8", "uint8", "int16")
            for padding in ((0, 0, 0, 0), (1, 1, 1, 1), (2, 0, 0, 1))
        ],
    )


def test_sums_of_depth_have_one_channel(runner):
    rng = np.random.default_rng(5)
    ifm = Map((2, 3, 21), "int32")
    ofm = behind(Map((2, 3, 1), "int32"), ifm)
    x = rng.integers(-(1 << 20), 1 << 20, ifm.shape)
    words = [
        *ifm_registers(ifm),
        *ofm_registers(ofm, is_global=True),
        *kernel_registers((1, 1)),
        *long(0x24, 1),
        *short(5, SUM_OF_DEPTH),
    ]
    job = job_of(words, [(ifm, x), (ofm, None)])
    check(runner, [Case("sum", job, ofm, x.sum(axis=2, keepdims=True))])


# ---- Pairs of elements ---------------------------------------------------------------------------------


def pair_case(
    mode: int,
    dtype: str,
    result: Callable[[int, int], int],
    scale: tuple[int, int] = (1, 0),
    operands: tuple[int, int] = (1, 1),
    scale_mode: int = 0,
    broadcast: int = 0,
    rounding: int = TFL,
    low: int | None = None,
    high: int | None = None,
    second: tuple[int, int] | None = None,
    zero_point: int = 0,
) -> Case:
    rng = np.random.default_rng(mode)
    shape = (3, 4, 18)
    ifm = Map(shape, dtype, zero_point=zero_point)
    small = tuple(1 if broadcast >> i & 1 else size for i, size in enumerate(shape))
    ifm2 = behind(Map((small[0], small[1], small[2]), dtype, zero_point=2 * zero_point), ifm)
    ofm = behind(Map(shape, dtype, zero_point=zero_point), ifm2)
    limits = np.iinfo(dtype)
    least, most = limits.min if low is None else low, limits.max if high is None else high
    x = rng.integers(least, most, shape, endpoint=True).astype(np.int64)
    least, most = second or (least, most)
    y = rng.integers(least, most, small, endpoint=True).astype(np.int64)
    wide = np.broadcast_to(y, shape)
    expected = np.zeros(shape, np.int64)
    for place in np.ndindex(*shape):
        a, b = int(x[place]) - zero_point, int(wide[place]) - 2 * zero_point
        expected[place] = stored(result(*((b, a) if broadcast & 0x40 else (a, b))), ofm)
    words = [
        *ifm_registers(ifm, scale_mode),
        *ifm2_registers(ifm2),
        *ofm_registers(ofm, rounding, is_global=True),
        *short(0x180, broadcast),
        *long(0x24, scale[0] | scale[1] << 32),
        *long(0x25, operands[0]),
        *long(0x26, operands[1]),
        *short(6, mode),
    ]
    job = job_of(words, [(ifm, x), (ifm2, y), (ofm, None)])
    return Case(f"pairs {mode} {dtype} {broadcast}", job, ofm, expected)


def as_tflite_scales(value: int, factor: int, shift: int, fraction_bits: int) -> int:
    """An operand of a sum: to the left, high product, to the right, as TensorFlow Lite."""
    return scaled(value << fraction_bits, factor, shift + fraction_bits, TFL)


def test_pairs_of_elements(runner):
    out, factor, shift = (1518500250, 50), 1073910000, 13
    sums = [
        pair_case(
            ADD,
            "int8",
            lambda a, b: scaled(as_tflite_scales(a, factor, shift, 20) + (b << 19), *out, TFL),
            out,
            (factor | shift << 32, 0),
            scale_mode=1,
            zero_point=5,
        ),
        pair_case(
            SUB,
            "int8",
            lambda a, b: scaled((a << 19) - as_tflite_scales(b, factor, shift, 20), *out, TFL),
            out,
            (factor | shift << 32, 0),
            scale_mode=2,
            broadcast=1,
        ),
        pair_case(
            ADD,
            "int16",
            lambda a, b: scaled((a << 14) + (b << 14), 1518500250, 45, TFL),
            (1518500250, 45),
            (1 << 14, 1 << 14),
            broadcast=2,
        ),
        pair_case(
            ADD,
            "int8",
            lambda a, b: int(np.sign(a + b)) * ((abs(a + b) + 1) // 2),  # halves away from zero
            (1 << 30, 46),
            (1 << 15, 1 << 15),
        ),
        pair_case(SUB, "int32", lambda a, b: a - b, low=-(1 << 29), high=1 << 29, broadcast=0x40 | 4),
    ]
    others = [
        pair_case(
            MUL, "int8", lambda a, b: scaled(a * b, 1518500250, 37, TFL), (1518500250, 37), zero_point=9
        ),
        pair_case(MUL, "int32", lambda a, b: (a * b + (1 << 30)) >> 31, (1 << 30, 31)),
        pair_case(LEAST, "int16", min, broadcast=4),
        pair_case(MOST, "uint8", max),
        pair_case(
            LRELU, "int16", lambda a, _: a if a >= 0 else scaled(a, 1518500250, 34, TFL), (1518500250, 34)
        ),
        pair_case(ABS, "int16", lambda a, _: abs(a)),
        pair_case(CLZ, "int32", lambda a, _: 32 - (a & 0xFFFFFFFF).bit_length()),
        pair_case(SHL, "int32", lambda a, b: a << b, low=-1000, high=1000, second=(0, 20)),
        pair_case(SHR, "int32", lambda a, b: scaled(a, 1, b, NATURAL), second=(0, 31), rounding=NATURAL),
    ]
    check(runner, sums + others)


def test_a_scalar_is_the_second_operand(runner):
    ifm = Map((1, 2, 3), "int8", zero_point=1)
    ofm = behind(ifm, ifm)
    x = ifm.random(np.random.default_rng(3))
    words = [*ifm_registers(ifm), *short(0x185, 1), *short(0x180, 0x80), *short(0x181, -7), *short(0x189, 1)]
    words += [*ofm_registers(ofm), *short(6, MOST)]
    job = job_of(words, [(ifm, x), (ofm, None)])
    check(runner, [Case("scalar", job, ofm, np.maximum(x, -7))])


# ---- Tables --------------------------------------------------------------------------------------------


def table_case(dtype: str, table: bytes, slot: int, result: Callable[[int], int]) -> Case:
    """A table goes into the shared RAM, then elements through it."""
    rng = np.random.default_rng(len(table))
    ifm = Map((1, 3, 20), "int16" if dtype == "int16" else "uint8" if dtype == "uint8" else "int8")
    ifm2 = behind(ifm, ifm)
    ofm = behind(replace(ifm, dtype=dtype), ifm2)
    x = ifm.random(rng)
    limits = np.iinfo(ifm.dtype)
    words = [
        *short(0x130, 0),
        *long(0x30, 0),
        *short(0x131, 0x103),
        *long(0x31, TABLES_AT + 256 * slot),
        *long(0x32, len(table)),
        *short(0x10),
        *short(0x11),
        *ifm_registers(ifm),
        *ifm2_registers(ifm2),
        *ofm_registers(ofm),
        *short(0x180),
        *short(0x125, 16 + slot),
        *short(0x126, int(limits.min)),
        *short(0x127, int(limits.max)),
        *short(6, MOST),
    ]
    expected = np.vectorize(result)(x).astype(np.int64)
    return Case(f"table of {dtype}", job_of(words, [(ifm, x), (ifm2, x), (ofm, None)], table), ofm, expected)


def test_tables_are_looked_up(runner):
    rng = np.random.default_rng(8)
    entries = rng.integers(-128, 128, 256).astype(np.int8)
    wide = rng.integers(-(1 << 31), 1 << 31, 256).astype(np.int32)
    bases, slopes = rng.integers(-9000, 9000, 512), rng.integers(-2000, 2000, 512)
    words = (bases & 0xFFFF | (slopes & 0xFFFF) << 16).astype(np.uint32)

    def between(value: int) -> int:
        at = (value >> 7) + 256
        return int(bases[at] + ((slopes[at] * (value & 127) + 64) >> 7))

    check(
        runner,
        [
            table_case("int8", entries.tobytes(), 3, lambda v: int(entries[v + 128])),
            table_case("uint8", entries.tobytes(), 0, lambda v: int(entries.view(np.uint8)[v])),
            table_case("int32", wide.tobytes(), 4, lambda v: int(wide[v + 128])),
            table_case("int16", words.tobytes(), 0, between),
        ],
    )


# ---- Faults --------------------------------------------------------------------------------------------


def fault_of(words: Sequence[int], size: int = 64) -> NpuJob:
    region = {1: Region(bytes(size)), 0: Region(bytes(16), is_writable=False)}
    return NpuJob(payload(words), region, weights_count=8, most_steps=100_000)


COPY = [*short(0x130, 0), *long(0x30, 0), *short(0x131, 1), *long(0x31, 0), *long(0x32, 16)]
MAP = [*ifm_registers(Map((2, 2, 4))), *ofm_registers(Map((2, 2, 4))), *kernel_registers((1, 1))]
LONG_KERNEL = [*short(0x121, 255), *short(0x120, 65535)]
BEHIND = 32 + 4 * len(MAP)


@pytest.mark.parametrize(
    ("job", "status", "position"),
    [
        (NpuJob(b"COP1", {}), Status.BAD_PAYLOAD, 0),
        (NpuJob(b"COP2" + bytes(40), {}), Status.BAD_PAYLOAD, 0),
        (replace(fault_of(STOP), payload=payload(STOP)[:-4]), Status.BAD_PAYLOAD, 28),
        (NpuJob(payload(STOP).replace(b"\x07\x18", b"\x09\x18"), {}), Status.OTHER_CONFIGURATION, 4),
        (fault_of([]), Status.NO_STOP, 32),
        (fault_of([*short(0x100), *short(0x3FF), *STOP]), Status.UNKNOWN_COMMAND, 36),
        (fault_of([0x00008002, *STOP]), Status.UNKNOWN_COMMAND, 32),
        (fault_of([*long(0x0B, 0), *STOP]), Status.UNKNOWN_COMMAND, 32),
        (fault_of(long(0x00, 0)[:1]), Status.UNKNOWN_COMMAND, 32),
        (fault_of([*COPY, *short(0x10), *STOP]), Status.OK, 68),
        (fault_of([*COPY, *long(0x30, 1), *short(0x10), *STOP]), Status.OUT_OF_REGION, 72),
        (fault_of([*COPY, *long(0x31, 1 << 40), *short(0x10), *STOP]), Status.OUT_OF_REGION, 72),
        (fault_of([*COPY, *short(0x131, 0), *short(0x10), *STOP]), Status.READ_ONLY, 68),
        (fault_of([*COPY, *short(0x131, 8), *short(0x10), *STOP]), Status.BAD_REGISTER, 68),
        (fault_of([*COPY, *short(0x131, 0x103), *short(0x10), *STOP]), Status.OUT_OF_REGION, 68),
        (fault_of([*COPY, *short(0x131, 0x201), *short(0x10), *STOP]), Status.NOT_MODELLED, 68),
        (fault_of([*MAP, *short(5, 3), *STOP]), Status.BAD_REGISTER, BEHIND),
        (fault_of([*MAP, *short(5), *STOP], size=15), Status.OUT_OF_REGION, BEHIND),
        (fault_of([*MAP, *short(0x125, 3), *short(5), *STOP]), Status.NOT_MODELLED, BEHIND + 4),
        (fault_of([*MAP, *short(6, 10), *STOP]), Status.BAD_REGISTER, BEHIND),
        (fault_of([*MAP, *short(0x104, 8), *short(2)]), Status.NO_ROOM_FOR_WEIGHTS, BEHIND + 4),
        (fault_of([*MAP, *short(0x129, 1), *long(0x21, 4), *short(2)]), Status.BAD_WEIGHTS, BEHIND + 12),
        (fault_of([*MAP, *LONG_KERNEL, *short(5)]), Status.TOO_MANY_STEPS, BEHIND + 8),
    ],
)  # fmt: skip
def test_damage_is_a_fault_at_its_command(runner, job, status, position):
    (outcome,) = run_jobs(runner, [job])
    assert (outcome.status, outcome.position) == (status, position)


def test_no_damage_crashes_the_model(runner, require_package):
    """Commands, weights and scales with wrong bits: a result or a fault inside the payload, never more."""
    require_package("ethosu")
    rng = np.random.default_rng(11)
    small = ["pointwise", "part of the kernel first", "depthwise", "16 bits", "hardly any weights"]
    whole = [conv_case(name, CONVOLUTIONS[name], 1).job for name in small]
    whole += [pool_case(mode, rng, "int8", (1, 1, 1, 1)).job for mode in range(3)]
    whole += [pair_case(mode, "int32", min).job for mode in range(10)]
    jobs = [damaged(whole[int(rng.integers(len(whole)))], rng) for _ in range(1500)]
    outcomes = run_jobs(runner, jobs)
    assert all(o.position <= len(job.payload) for o, job in zip(outcomes, jobs, strict=True))
    seen = {outcome.status for outcome in outcomes}
    assert seen >= {Status.OK, Status.OUT_OF_REGION, Status.UNKNOWN_COMMAND, Status.BAD_WEIGHTS}


def damaged(job: NpuJob, rng: np.random.Generator) -> NpuJob:
    """Some bits of the payload or of the constants are others."""
    regions = dict(job.regions)
    content, stream = bytearray(regions[0].content), bytearray(job.payload)
    for _ in range(int(rng.integers(1, 4))):
        target = content if content and rng.random() < 0.4 else stream
        target[int(rng.integers(len(target)))] ^= 1 << int(rng.integers(8))
    regions[0] = Region(bytes(content), is_writable=False)
    return replace(job, payload=bytes(stream), regions=regions, most_steps=300_000)
