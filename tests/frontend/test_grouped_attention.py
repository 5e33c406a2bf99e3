"""ONNX Runtime's own operators of language models: grouped heads with caches, and rotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_oracle import run_onnx

import deploy
from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.ir.types import Array

KINDS = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64,
}
Values = dict[str, Array]
NEAR = 2e-6


def file_of(
    operator: str,
    operands: list[str],
    values: Values,
    constants: Values,
    results: list[str],
    **attributes: Any,
) -> bytes:
    node = helper.make_node(operator, operands, results, domain="com.microsoft", **attributes)
    graph = helper.make_graph(
        [node],
        "net",
        [helper.make_tensor_value_info(name, KINDS[a.dtype], a.shape) for name, a in values.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    data: bytes = helper.make_model(graph, opset_imports=sets, ir_version=8).SerializeToString()
    return data


def attention(
    positions: int,
    end: int,
    past: int | None = 16,
    heads: int = 4,
    shared: int = 2,
    head: int = 16,
    turned: int = 0,
    is_packed: bool = False,
    has_bias: bool = False,
    has_places: bool = False,
    grows: bool = False,
    **attributes: Any,
) -> tuple[bytes, Values]:
    """Attention of so many positions, after which `end` are known; with its inputs."""
    rng = np.random.default_rng(positions + end)

    def real(*shape: int) -> Array:
        return rng.normal(size=shape).astype(np.float32)

    values: Values = {"q": real(1, positions, (heads + 2 * shared * is_packed) * head)}
    if not is_packed:
        values |= {name: real(1, positions, shared * head) for name in "kv"}
    if past is not None:
        values |= {name: real(1, shared, past, head) for name in ("pk", "pv")}
        for name in ("pk", "pv"):
            values[name][:, :, end - positions :] = 0  # not written yet
    constants: Values = {}
    values["last"] = np.array([end - 1], np.int32)
    (constants if grows else values)["total"] = np.array(end, np.int32)
    if turned:
        angles = rng.normal(size=(32, turned // 2))
        constants |= {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
        attributes["do_rotary"] = 1
    if has_places:
        values["places"] = np.arange(3, 3 + positions).reshape(1, -1)
    if has_bias:
        values["bias"] = real(1, heads, positions, end)
    known = {**values, **constants}
    names = ["q", "k", "v", "pk", "pv", "last", "total", "cos", "sin", "places", "bias"]
    operands = [name if name in known else "" for name in names]
    attributes |= {"num_heads": heads, "kv_num_heads": shared}
    results = ["y", "nk", "nv"]
    return file_of("GroupQueryAttention", operands, values, constants, results, **attributes), values


def rotation(shape: tuple[int, ...], places: Array, **attributes: Any) -> tuple[bytes, Values]:
    rng = np.random.default_rng(len(shape))
    angles = rng.normal(size=(16, 4))
    constants: Values = {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
    values = {"x": rng.normal(size=shape).astype(np.float32), "places": places}
    data = file_of("RotaryEmbedding", ["x", "places", "cos", "sin"], values, constants, ["y"], **attributes)
    return data, values


FILES: dict[str, tuple[bytes, Values]] = {
    "a step": attention(1, 6),
    "a step, turned": attention(1, 6, turned=16),
    "a part of each head turned, neighbors, one operand": attention(
        1, 6, head=32, turned=16, rotary_interleaved=1, is_packed=True
    ),
    "positions given": attention(2, 6, turned=16, has_places=True),
    "a step with a full cache": attention(1, 16),
    "a prompt without a cache": attention(4, 4, past=None, turned=16, grows=True),
    "a prompt into a cache": attention(4, 4, turned=16),
    "several positions later": attention(3, 9),
    "all heads share one": attention(1, 10, shared=1, scale=0.3),
    "no heads share": attention(2, 5, shared=4),
    "a window": attention(1, 10, local_window_size=3),
    "a prompt with a window": attention(6, 6, local_window_size=2),
    "capped scores": attention(2, 9, softcap=5.0),
    "a cache that grows": attention(1, 9, past=8, grows=True),
    "added scores": attention(2, 10, past=8, grows=True, has_bias=True),
    "rotation": rotation((1, 3, 16), np.array([[4, 1, 9]])),
    "rotation from a position": rotation((1, 3, 16), np.array([5])),
    "rotation of heads": rotation((1, 2, 3, 8), np.array([[4, 1, 9]]), interleaved=1),
    "rotation of parts": rotation((1, 2, 3, 12), np.array([5]), rotary_embedding_dim=8, num_heads=2),
}


@pytest.mark.parametrize("name", FILES)
def test_an_operator_gives_what_onnx_runtime_gives(name, require_package):
    require_package("onnxruntime")
    data, values = FILES[name]
    graph = read_onnx(data, "net.onnx")
    made = run_graph(graph, values)
    for output, wanted in zip(graph.outputs, run_onnx(data, values), strict=True):
        assert made[output].shape == wanted.shape
        assert np.allclose(made[output], wanted, rtol=0, atol=NEAR)
    if "a step" in name:
        assert "cached_attention" in [node.op.name for node in graph.nodes]


REFUSED: dict[str, Callable[[], tuple[bytes, Values]]] = {
    "smooth_softmax is not supported": lambda: attention(1, 6, smooth_softmax=1),
    "3 heads of queries do not fit keys": lambda: attention(1, 6, heads=3),
    "8 past and 1 new positions are not 12 in total": lambda: attention(1, 12, past=8, grows=True),
    "packed batches and scaled rotations": lambda: rotation((1, 3, 16), np.array([5]), scale=2.0),
    "batches of 2 are not supported": lambda: rotation((2, 2, 3, 8), np.array([5])),
    "is not one sequence of 2 heads": lambda: rotation((2, 3, 16), np.array([5])),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_read_is_refused_by_its_reason(reason):
    with pytest.raises(ModelError) as caught:
        read_onnx(REFUSED[reason]()[0], "net.onnx")
    assert reason in caught.value.what


@pytest.mark.cc
def test_caches_are_states_that_steps_write_in_place(require_package, tmp_path):
    """A sequence until the cache is full gives what ONNX Runtime gives; the next position is refused."""
    require_package("onnxruntime")
    data, first = attention(1, 1, past=12, turned=16)
    path = tmp_path / "step.onnx"
    path.write_bytes(data)
    states = ("pk=nk", "pv=nv")
    host = deploy.in_process(path, state=states)
    caches = {name: first[name] for name in ("pk", "pv")}
    for position in range(12):
        _, given = attention(1, position + 1, past=12, turned=16)
        wanted, *made = run_onnx(data, {**given, **caches})
        caches = dict(zip(caches, made, strict=True))
        found = host.run({name: given[name] for name in (each.name for each in host.inputs)})
        assert np.allclose(found["y"], wanted, rtol=0, atol=NEAR)
    _, given = attention(1, 13, past=12, turned=16)
    with pytest.raises(RuntimeError, match="failed with error 4"):
        host.run({name: given[name] for name in (each.name for each in host.inputs)})
    cache_bytes = 2 * first["pk"].nbytes
    assert cache_bytes < deploy.inspect(path, state=states).report.facts.arena_bytes < 1.3 * cache_bytes
