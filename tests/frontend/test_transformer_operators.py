"""Layers of language models become single ops if their form allows it, and match ONNX Runtime."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file
from onnx_oracle import run_onnx

from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.ir.types import Array

RNG = np.random.default_rng(3)


def real(*sizes: int) -> Array:
    return RNG.normal(size=sizes).astype(np.float32)


def file_of(
    operator: str, operands: Sequence[Array | str], outputs: int = 1, domain: str = "", **attributes: Any
) -> tuple[bytes, dict[str, Array]]:
    """The operator on inputs (x, with their values) and constants; a text is an absent operand."""
    names, values, constants = [], {}, {}
    for number, each in enumerate(operands):
        if isinstance(each, str):
            names.append("")
        elif number == 0 or each.dtype == np.int64 or each.ndim == 4:
            names.append(f"x{number}")
            values[names[-1]] = each
        else:
            names.append(f"c{number}")
            constants[names[-1]] = each
    wanted = range(outputs) if operator == "Attention" else (0, outputs - 1)
    made = [f"y{number}" if number in wanted else "" for number in range(outputs)]
    node = helper.make_node(operator, names, made, domain=domain, **attributes)
    return onnx_file([node], values, [name for name in made if name], constants, 24, 11), values


TABLES = [np.cos(real(16, 4)), np.sin(real(16, 4))]
CACHE = [real(1, 4, 1, 8), real(1, 2, 16, 8), real(1, 2, 16, 8), "", "", ""]
ONE_OP: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "rms_norm": ("RMSNormalization", [real(2, 3, 8), real(8)], {"epsilon": 1e-3}),
    "rms_norm of a sum": (
        "SkipSimplifiedLayerNormalization",
        [real(1, 3, 8), real(1, 3, 8), real(8)],
        {"outputs": 4, "domain": "com.microsoft"},
    ),
    "rotary": ("RotaryEmbedding", [real(1, 2, 1, 8), *TABLES, np.array([[5]])], {}),
    "rotary of neighbors": (
        "RotaryEmbedding",
        [real(1, 2, 3, 8), *TABLES, np.array([[1, 9, 4]])],
        {"interleaved": 1},
    ),
    "cached_attention": ("Attention", [*CACHE, np.array([7])], {}),
    "cached_attention, scaled": ("Attention", [*CACHE, np.array([16])], {"scale": 0.7}),
}
BY_DEFINITION: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "several axes": ("RMSNormalization", [real(2, 3, 8), real(3, 8)], {"axis": 1}),
    "a part of the head": (
        "RotaryEmbedding",
        [real(1, 2, 1, 8), TABLES[0][:, :2], TABLES[1][:, :2], np.array([[5]])],
        {"rotary_embedding_dim": 4},
    ),
    "no cache": ("Attention", [real(1, 2, 3, 8), real(1, 2, 3, 8), real(1, 2, 3, 8)], {"is_causal": 1}),
    "grouped heads": ("Attention", [real(1, 4, 3, 8), real(1, 2, 5, 8), real(1, 2, 5, 8)], {"softcap": 2.0}),
    "grouped heads side by side": (
        "Attention",
        [real(1, 5, 32), real(1, 5, 16), real(1, 5, 16)],
        {"q_num_heads": 4, "kv_num_heads": 2, "is_causal": 1},
    ),
    "grouped heads after a past": (
        "Attention",
        [real(1, 2, 32), real(1, 2, 8), real(1, 2, 8), "", real(1, 1, 5, 8), real(1, 1, 5, 8)],
        {"q_num_heads": 4, "kv_num_heads": 1, "outputs": 3, "is_causal": 1},
    ),
}


@pytest.mark.parametrize("name", [*ONE_OP, *BY_DEFINITION])
def test_a_layer_gives_what_onnx_runtime_gives(name):
    operator, operands, attributes = {**ONE_OP, **BY_DEFINITION}[name]
    data, values = file_of(operator, operands, **attributes)
    graph = read_onnx(data, "net.onnx")
    made, wanted = run_graph(graph, values), run_onnx(data, values)
    for output, array in zip(graph.outputs, wanted, strict=True):
        assert np.allclose(made[output].astype(np.float32), array.astype(np.float32), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ONE_OP)
def test_a_usual_form_is_one_op(name):
    operator, operands, attributes = ONE_OP[name]
    data, _ = file_of(operator, operands, **attributes)
    assert name.split(",")[0].split(" ")[0] in [node.op.name for node in read_onnx(data, "net.onnx").nodes]


@pytest.mark.parametrize("name", BY_DEFINITION)
def test_another_form_is_read_by_its_definition(name):
    operator, operands, attributes = BY_DEFINITION[name]
    data, _ = file_of(operator, operands, **attributes)
    made = {node.op.name for node in read_onnx(data, "net.onnx").nodes}
    assert not made & {"rms_norm", "rotary", "cached_attention"}
