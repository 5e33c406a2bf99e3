"""Complex numbers inside a TFLite model: a spectrogram, what else may touch them, what may not."""

import numpy as np
import pytest
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.verify import verify


def spectrum(shape: tuple[int, ...], lengths: tuple[int, int]) -> tuple[ModelBuilder, str, tuple[int, ...]]:
    """A model up to its complex numbers, their tensor and its shape in the file."""
    build = ModelBuilder()
    x = build.input("x", shape, dtype="float32")
    made = (*shape[:-2], lengths[0], lengths[1] // 2 + 1)
    inputs = (x, build.constant("length", np.array(lengths, np.int32)))
    z = build.operator("RFFT2D", 1, inputs, [FileTensor("z", made, "complex64")], "Rfft2dOptions")
    return build, z, made


def magnitude(build: ModelBuilder, z: str, made: tuple[int, ...]) -> bytes:
    return build.finish(build.operator("COMPLEX_ABS", 1, (z,), [FileTensor("y", made, "float32")]))


def test_a_spectrogram_is_a_transform_of_each_frame_and_its_magnitude():
    build, z, _ = spectrum((6, 1, 20), (1, 32))
    frames = build.operator(
        "SQUEEZE", 1, (z,), [FileTensor("frames", (6, 17), "complex64")], "SqueezeOptions"
    )
    graph = read_tflite(magnitude(build, frames, (6, 17)), "spectrogram.tflite", "tflm")
    verify(graph)
    names = [node.op.name for node in graph.nodes if node.op.name != "reshape"]
    assert names == ["fft", "real_spectrum", "energy", "unary_math"]
    x = np.random.default_rng(0).normal(size=(6, 1, 20)).astype(np.float32)
    wanted = np.abs(np.fft.rfft(x[:, 0], 32))
    assert np.abs(run_graph(graph, {"x": x})["y"] - wanted).max() <= 1e-5 * wanted.max()


@pytest.mark.parametrize("lengths", [(1, 1), (3, 8), (4, 12)])
def test_lengths_that_litert_cannot_transform_are_refused(lengths):
    build, z, made = spectrum((1, 8, 16), lengths)
    with pytest.raises(ModelError, match="supported: two powers of 2, the last one at least 2"):
        read_tflite(magnitude(build, z, made), "net.tflite", "tflm")


def test_complex_numbers_are_no_output():
    build, z, _ = spectrum((1, 4, 8), (4, 8))
    with pytest.raises(ModelError, match='"z" has complex numbers, which are supported inside a model only'):
        read_tflite(build.finish(z), "net.tflite", "tflm")


def test_an_operator_that_would_take_the_parts_for_numbers_is_refused():
    build, z, made = spectrum((1, 4, 8), (4, 8))
    build.operator("MUL", 1, (z, z), [FileTensor("square", made, "complex64")], "MulOptions")
    with pytest.raises(ModelError, match="it computes with complex numbers"):
        read_tflite(magnitude(build, "square", made), "net.tflite", "tflm")


def test_a_part_of_real_numbers_is_refused():
    build = ModelBuilder()
    x = build.input("x", (1, 4, 2), dtype="float32")
    y = build.operator("REAL", 1, (x,), [FileTensor("y", (1, 4), "float32")])
    with pytest.raises(ModelError, match='"x" is f32, it must be complex'):
        read_tflite(build.finish(y), "net.tflite", "tflm")
