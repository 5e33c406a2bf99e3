"""UNIDIRECTIONAL_SEQUENCE_LSTM gives what LiteRT gives, from run to run, in every order of its dimensions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from litert_oracle import run_litert
from tflite_builder import ModelBuilder

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_series
from aot.ir.graph import Graph
from aot.passes.pipeline import run_meaning

STEPS, DEPTH, UNITS = 5, 3, 4
RNG = np.random.default_rng(4)


def lstm(shape: tuple[int, int], is_time_major: bool = False, cell_clip: float = 0.0) -> bytes:
    build, count = ModelBuilder(), shape[1 if is_time_major else 0]
    x = build.input("x", (*shape, DEPTH), dtype="float32")

    def constants(name: str, *sizes: int) -> list[str]:
        arrays = [RNG.standard_normal(sizes).astype(np.float32) for _ in range(4)]
        return [build.constant(f"{name}{gate}", array) for gate, array in enumerate(arrays)]

    weights = (*constants("w", UNITS, DEPTH), *constants("r", UNITS, UNITS))
    states = [build._add(FileTensor(n, (count, UNITS), "float32", is_variable=True)) for n in ("h", "c")]
    inputs = (x, *weights, *(None,) * 3, *constants("b", UNITS), None, None, *states, *(None,) * 4)
    return build.finish(
        build.operator(
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            1,
            inputs,
            [FileTensor("y", (*shape, UNITS), "float32")],
            "UnidirectionalSequenceLSTMOptions",
            FusedActivationFunction=4,
            TimeMajor=is_time_major,
            CellClip=cell_clip,
        )
    )


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in run_meaning(graph).graph.nodes if node.op.name != "reshape"]


FILES = {
    "one sequence": lstm((1, STEPS)),
    "two sequences": lstm((2, STEPS)),
    "two sequences step by step": lstm((STEPS, 2), is_time_major=True),
    "one step": lstm((1, 1)),
    "clipped cells": lstm((2, STEPS), cell_clip=0.3),
}


@pytest.mark.parametrize("name", FILES)
def test_an_lstm_gives_what_litert_gives_from_run_to_run(
    name: str, require_package: Callable[..., None]
) -> None:
    require_package("ai_edge_litert")
    graph = run_meaning(read_tflite(FILES[name], "lstm.tflite", "tflm")).graph
    inputs = RNG.standard_normal((3, *graph.types["x"].shape)).astype(np.float32)
    made = [values["y"] for values in run_series(graph, ({"x": x} for x in inputs))]
    assert np.allclose(made, run_litert(FILES[name], inputs), rtol=0, atol=1e-5)


def test_the_steps_of_one_sequence_are_two_layers_and_what_is_cut_out_of_them() -> None:
    made = ops(read_tflite(FILES["one sequence"], "lstm.tflite", "tflm"))
    assert made[:2] == ["conv2d", "recurrent"]
    assert set(made[2:]) == {"rearrange"}
