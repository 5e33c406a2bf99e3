"""The operators of an audio front end become shifts, transforms, roots and logarithms of whole numbers."""

import numpy as np
import pytest
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_series
from aot.ir.graph import Graph
from aot.ir.types import Array

Tensor = tuple[str, tuple[int, ...]]
TFLM_SAMPLES = [-776, -7010, -4877, 3125, 17652, 7516, -11011, -2619]  # by the tflite-micro package
NOISE = {
    "alternate_one_minus_smoothing": 8192,
    "alternate_smoothing": 8192,
    "clamping": False,
    "min_signal_remaining": 0,
    "num_channels": 2,
    "one_minus_smoothing": 0,
    "smoothing": 16384,
    "smoothing_bits": 0,
    "spectral_subtraction_bits": 14,
}


def read(
    code: str, x: Tensor, outputs: list[Tensor], constants: tuple[Array, ...] = (), **options: float
) -> Graph:
    build = ModelBuilder()
    build.input("x", x[1], dtype="float32")
    build.tensors["x"] = FileTensor("x", x[1], x[0])
    names = [build.constant(f"c{n}", array) for n, array in enumerate(constants)]
    made = [FileTensor(f"y{n}", shape, dtype) for n, (dtype, shape) in enumerate(outputs)]
    build.operator(f"CUSTOM {code}", 1, ("x", *names), made, **options)  # type: ignore[arg-type]
    return read_tflite(build.finish(*(tensor.name for tensor in made)), "front.tflite")


def ops_of(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def test_samples_are_scaled_by_what_is_free_above_them():
    graph = read("SignalFftAutoScale", ("int16", (3,)), [("int16", (3,)), ("int32", ())])
    assert ops_of(graph) == ["headroom", "shift_up"]
    (made,) = run_series(graph, [{"x": np.array([1, -100, 7], np.int16)}])
    assert made["y0"].tolist() == [256, -25600, 1792]
    assert made["y1"] == 8


def test_after_the_lowest_number_the_loudest_is_looked_for_anew():
    """As the reference does: in 16 bits that number is its own negative."""
    graph = read("SignalFftAutoScale", ("int16", (3,)), [("int16", (3,)), ("int32", ())])
    series = [{"x": np.array(x, np.int16)} for x in ([0, -32768, 3], [0, 3, -32768])]
    assert [int(made["y1"]) for made in run_series(graph, series)] == [13, 0]


@pytest.mark.parametrize(("samples", "length"), [(8, 8), (5, 8), (64, 64), (480, 512)])
def test_a_transform_is_of_pairs_and_then_of_single_samples(samples, length):
    shape = (length + 2,)
    graph = read("SignalRfft", ("int16", (samples,)), [("int16", shape)], T=7, fft_length=length)
    assert ops_of(graph) == ["fft", "real_spectrum"]


@pytest.mark.parametrize("length", [4, 8, 64])
def test_a_transform_back_gives_the_samples(length):
    """A spectrum in floats gives exactly those, one in integers those divided by their number."""
    x = np.random.default_rng(length).normal(size=length)
    pairs = np.fft.rfft(x).view(np.float64)
    real = read("SignalIrfft", ("float32", pairs.shape), [("float32", (length,))], T=0, fft_length=length)
    assert ops_of(real) == ["real_samples", "fft", "mul", "rearrange"]
    (made,) = run_series(real, [{"x": pairs.astype(np.float32)}])
    np.testing.assert_allclose(made["y0"], x, atol=1e-5)  # type: ignore[arg-type]
    whole = read("SignalIrfft", ("int32", pairs.shape), [("int32", (length,))], T=2, fft_length=length)
    (made,) = run_series(whole, [{"x": (pairs * 2**20).astype(np.int32)}])
    np.testing.assert_allclose(made["y0"] / 2**20, x, atol=1e-4)  # type: ignore[operator]


def test_integers_transformed_back_have_the_bits_of_tflite_micro():
    spectrum = np.array([2000, 0, -32768, 77, 32767, -1, -4096, 12345, -25, 0], np.int16)
    graph = read("SignalIrfft", ("int16", (10,)), [("int16", (8,))], T=7, fft_length=8)
    (made,) = run_series(graph, [{"x": spectrum}])
    assert made["y0"].tolist() == TFLM_SAMPLES


def test_the_noise_lives_from_run_to_run_and_odd_channels_have_their_own_share():
    vector = ("uint32", (2,))
    graph = read("SignalFilterBankSpectralSubtraction", vector, [vector, vector], **NOISE)  # type: ignore[arg-type]
    assert ops_of(graph) == ["noise_estimate", "without_noise"]
    series = [{"x": np.array([100, 100], np.uint32)}, {"x": np.array([100, 100], np.uint32)}]
    found = [(made["y0"].tolist(), made["y1"].tolist()) for made in run_series(graph, series)]
    assert found == [([0, 50], [100, 50]), ([0, 25], [100, 75])]


def test_a_filter_bank_shares_an_energy_between_two_channels():
    filters = tuple(np.array(v, np.int16) for v in ([1, 2, 3], [30, 20, 10], [0, 1, 3], [0, 1, 2], [1, 1, 1]))
    graph = read("SignalFilterBank", ("uint32", (4,)), [("uint64", (2,))], filters, num_channels=2)
    (made,) = run_series(graph, [{"x": np.array([1, 10, 100, 1000], np.uint32)}])
    assert made["y0"].tolist() == [30 * 1 + 2 * 10, 20 * 10 + 3 * 1000]


FAR = tuple(np.array(v, np.int16) for v in ([1, 2, 3], [3, 2, 1], [0, 1, 4], [0, 1, 2], [1, 1, 1]))
REFUSED = {
    "a length that is not a power of two": (
        ("SignalRfft", ("int16", (48,)), [("int16", (50,))], (), {"T": 7, "fft_length": 48}),
        "a transform of 48 samples is not supported",
    ),
    "more samples than the length": (
        ("SignalRfft", ("int16", (48,)), [("int16", (34,))], (), {"T": 7, "fft_length": 32}),
        "pairs must be a power of 2 up to 16384, and at least as many as x has: 16 of 48",
    ),
    "no options": (
        ("SignalWindow", ("int16", (4,)), [("int16", (4,))], (np.array([1, 2, 3, 4], np.int16),), {}),
        "its options shift must be whole numbers, 0 or more",
    ),
    "a shift beyond the bits": (
        (
            "SignalWindow",
            ("int16", (4,)),
            [("int16", (4,))],
            (np.array([1, 2, 3, 4], np.int16),),
            {"shift": 40},
        ),
        "shift must be 0 to 31: shift is 40",
    ),
    "filters beyond the energies": (
        ("SignalFilterBank", ("uint32", (4,)), [("uint64", (2,))], FAR, {"num_channels": 2}),
        "its 2 channels do not fit 4 energies and 3 weights",
    ),
    "fewer filters than channels": (
        ("SignalFilterBank", ("uint32", (4,)), [("uint64", (9,))], FAR, {"num_channels": 9}),
        "its 9 channels do not fit 4 energies and 3 weights",
    ),
    "too few gains": (
        (
            "SignalPCAN",
            ("uint32", (4,)),
            [("uint32", (4,))],
            (np.array([1, 2, 3, 4], np.uint32), np.array([1, 2], np.int16)),
            {"snr_shift": 6},
        ),
        "x and noise must have the same shape, and there must be at least 125 gains: 4 and 4 and 2",
    ),
    "one result too few": (
        ("SignalFftAutoScale", ("int16", (4,)), [("int16", (4,))], (), {}),
        "it has 1 outputs, not 2",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_does_not_fit_is_reported(kind):
    (code, x, outputs, constants, options), says = REFUSED[kind]
    with pytest.raises(ModelError) as refusal:
        read(code, x, outputs, constants, **options)  # type: ignore[arg-type]
    assert refusal.value.what == says


def test_unsigned_numbers_are_not_computed_with_by_other_operators():
    build = ModelBuilder()
    names = [build.input(name, (4,), dtype="float32") for name in ("a", "b")]
    for name in names:
        build.tensors[name] = FileTensor(name, (4,), "uint32")
    y = build.operator("ADD", 1, names, [FileTensor("y", (4,), "uint32")], "AddOptions")
    with pytest.raises(ModelError) as refusal:
        read_tflite(build.finish(y), "sum.tflite")
    assert "u32" in refusal.value.what
