"""Files with a few wrong bytes end in a graph or in an error that says what is wrong; always the same."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.passes.pipeline import run_meaning
from aot.wording import printable

MUTATIONS = 400
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF)


def gathering() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (4, 5), dtype="float32")
    indices = build.constant("indices", np.array([3, 0, 2], np.int32))
    return build.finish(
        build.operator(
            "GATHER", 1, (x, indices), [FileTensor("y", (3, 5), "float32")], "GatherOptions", Axis=0
        )
    )


def blocks() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (4, 2, 2, 1), dtype="float32")
    sizes = build.constant("sizes", np.array([2, 2], np.int32))
    crops = build.constant("crops", np.array([[0, 1], [1, 0]], np.int32))
    result = [FileTensor("y", (1, 3, 3, 1), "float32")]
    return build.finish(build.operator("BATCH_TO_SPACE_ND", 1, (x, sizes, crops), result))


def reduction() -> bytes:
    build = ModelBuilder()
    x, axes = build.input("x", (2, 3, 4), 0.5), build.constant("axes", np.array([0, 2], np.int32))
    result = [FileTensor("y", (3,), "int8", (0.5,), (0,))]
    return build.finish(build.operator("MEAN", 1, (x, axes), result, "ReducerOptions", KeepDims=False))


@pytest.mark.parametrize("make", [gathering, blocks, reduction])
def test_wrong_bytes_end_in_a_graph_or_in_an_error(make: object) -> None:
    whole = make()  # type: ignore[operator]
    rng = np.random.default_rng(7)
    for _ in range(MUTATIONS):
        data = bytearray(whole)
        for place in rng.integers(8, len(data), rng.integers(1, 4)):
            data[place] = rng.choice(EXTREMES) if rng.random() < 0.5 else rng.integers(256)
        kept = bytes(data[: rng.integers(8, len(data))]) if rng.random() < 0.1 else bytes(data)
        with suppress(ModelError):
            run_meaning(read_tflite(kept, "mutated.tflite"))


def test_names_cannot_command_a_terminal() -> None:
    assert printable("conv\x1b[31m\n1 é") == "conv\\x1b[31m\\n1 é"
