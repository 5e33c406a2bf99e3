"""REVERSE_SEQUENCE with constant lengths gives what LiteRT gives, whichever dimensions it goes along."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from litert_oracle import run_litert
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph


def reversing(shape: tuple[int, ...], time: int, batch: int, lengths: list[int] | None) -> bytes:
    build = ModelBuilder()
    x = build.input("x", shape, dtype="float32")
    if lengths is None:
        given = build.input("lengths", (shape[batch],), dtype="int32")
    else:
        given = build.constant("lengths", np.array(lengths, np.int32))
    y = FileTensor("y", shape, "float32")
    fields = {"SeqDim": time, "BatchDim": batch}
    return build.finish(
        build.operator("REVERSE_SEQUENCE", 1, (x, given), [y], "ReverseSequenceOptions", **fields)
    )


@pytest.mark.parametrize(
    ("shape", "time", "batch", "lengths"),
    [
        ((1, 5, 3), 1, 0, [5]),
        ((1, 5, 3), 1, 0, [3]),
        ((3, 4, 2), 1, 0, [1, 4, 2]),
        ((4, 3, 2), 0, 1, [4, 4, 4]),
        ((4, 3, 2), 0, 1, [3, 2, 4]),
        ((2, 3, 4, 2), 2, 1, [1, 4, 3]),
        ((2, 3, 4, 2), 3, 0, [2, 1]),
    ],
)
def test_it_gives_what_litert_gives(
    shape: tuple[int, ...], time: int, batch: int, lengths: list[int], require_package: Callable[..., None]
) -> None:
    require_package("ai_edge_litert")
    data = reversing(shape, time, batch, lengths)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (wanted,) = run_litert(data, x[None])
    (made,) = run_graph(read_tflite(data, "net.tflite"), {"x": x}).values()
    assert made.tolist() == wanted.tolist()


def test_sequences_longer_than_the_tensor_are_reported() -> None:
    with pytest.raises(ModelError) as caught:
        read_tflite(reversing((2, 3, 1), 1, 0, [2, 4]), "net.tflite")
    assert caught.value.what == "lengths [2, 4] do not fit dimensions 0 and 1 of shape [2, 3, 1]"


def test_lengths_that_only_the_run_knows_are_refused() -> None:
    with pytest.raises(ModelError) as caught:
        read_tflite(reversing((2, 3, 1), 1, 0, None), "net.tflite")
    assert caught.value.what == 'its lengths of the sequences "lengths" must be constant'
