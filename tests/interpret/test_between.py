"""Values between the layers, too, equal LiteRT's reference kernels in every bit, tensor by tensor."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import tflite
from litert_oracle import litert_interpreter
from tiny_models import TINY

from aot.frontend.load import parse_model
from aot.frontend.tflite.model_file import short_name
from aot.frontend.tflite.tensors import tensor_name
from aot.interpret import run_all
from aot.ir.graph import Graph
from aot.ir.types import Array

# Left out are those that LiteRT does not read, and an LSTM of integers: its kernel in LiteRT is a step away,
# as the documentation of the op says.
SHARED = (
    "cfu_mbv2_160_035_int8",
    "coral_mbv1_025_128_uint8",
    "coral_split_concat_uint8",
    "ml_micro_kws_m_int8",
    "mww_alexa_v1_int8",
    "mww_okay_nabu_v2_int8",
    "mww_vad_v2_int8",
    "sl_fingerprint_int8",
    "sl_kws_alexa_int8",
    "te_lenet300_logsoftmax_int8",
    "te_vww_int8",
    "tflm_hello_world_int8",
    "tflm_kw_scrambled_16x8",
    "tflm_micro_speech_int8",
    "tiny_ad_fc_int8",
    "tiny_ic_resnet8_int8",
    "tiny_kws_dscnn_int8",
    "tiny_vww_mbv1_int8",
    "tmx_mnist_rect_int8",
    "tmx_mnist_valid_int8",
    "ut_tanh_int8",
)


@pytest.mark.parametrize("name", sorted(TINY))
def test_every_value_of_a_tiny_model_is_litert_s(name):
    assert _wrong(TINY[name](), least_compared=1.0) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED)
def test_every_value_of_a_shared_model_is_litert_s(name, shared_dir):
    data = (shared_dir / "models" / name / "model.tflite").read_bytes()
    assert _wrong(data, least_compared=0.85) == []


def _wrong(data: bytes, least_compared: float) -> list[str]:
    """The values that differ; what an importer computes, or only looks at otherwise, has no value here."""
    interpreter, graph = (
        litert_interpreter(data, keeps_all=True),
        parse_model(data, "model.tflite", "litert-ref"),
    )
    ours = _results(graph, _run(interpreter, graph))
    theirs = {(number, index): name for number, index, name in _single_results(data)}
    compared, wrong = 0, []
    for (number, index), name in theirs.items():
        made = ours.get((number, name))
        if made is not None:
            compared += 1
            wrong += [] if _is_equal(made, interpreter.get_tensor(index)) else [f"operator {number}: {name}"]
    assert compared >= least_compared * len(theirs)
    return wrong


def _run(interpreter: Any, graph: Graph) -> Mapping[str, Array]:
    """Runs both; gives the reference's values by name, while the interpreter keeps its own."""
    rng, inputs = np.random.default_rng(5), {}
    for name, told in zip(graph.inputs, interpreter.get_input_details(), strict=True):
        inputs[name] = rng.uniform(-128, 127, told["shape"]).astype(told["dtype"])
        interpreter.set_tensor(told["index"], inputs[name])
    interpreter.invoke()
    return run_all(graph, inputs)


def _results(graph: Graph, values: Mapping[str, Array]) -> dict[tuple[int, str], Array]:
    """By the operator's number and the name in its origin: what the last of its nodes gives."""
    found: dict[tuple[int, str], Array] = {}
    for node in graph.nodes:
        number, _, name = node.origin.partition(" #")[2].partition(" ")
        if number:  # the importer's own nodes have none
            found[int(number), name.strip('"')] = values[node.outputs[0]]
    return found


def _single_results(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Operator, tensor and its name in origins, of the operators with one result."""
    main = tflite.Model.GetRootAs(data, 0).Subgraphs(0)
    for number in range(main.OperatorsLength()):
        outputs = main.Operators(number).OutputsAsNumpy()
        if isinstance(outputs, np.ndarray) and len(outputs) == 1:
            index = int(outputs[0])
            yield number, index, short_name(tensor_name(main.Tensors(index), index), index)


def _is_equal(made: Array, wanted: Array) -> bool:
    if made.dtype == np.int8 and wanted.dtype == np.uint8:  # bytes are signed here, with another zero point
        wanted = (wanted.astype(np.int16) - 128).astype(np.int8)
    if made.dtype != wanted.dtype or made.shape != wanted.shape:
        return False
    if made.dtype.kind == "f":
        return np.allclose(made, wanted, rtol=1e-5, atol=1e-6)
    return np.array_equal(made, wanted)
