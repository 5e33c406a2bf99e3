"""Functions of bfloat16: each step of their bodies is rounded, so that ONNX's reference has the same bits."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference.ops.op_attention import _compute_attention

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

BFLOAT16 = TensorProto.BFLOAT16


def attention(rows: int, keys: int) -> bytes:
    infos = {"Q": [1, 2, rows, 4], "K": [1, 2, keys, 4], "V": [1, 2, keys, 4], "Y": [1, 2, rows, 4]}
    *inputs, output = [helper.make_tensor_value_info(n, BFLOAT16, sizes) for n, sizes in infos.items()]
    graph = helper.make_graph([helper.make_node("Attention", ["Q", "K", "V"], ["Y"])], "a", inputs, [output])
    data: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)]).SerializeToString()
    return data


@pytest.mark.parametrize(("rows", "keys"), [(3, 5), (1, 1), (2, 17)])
def test_attention_has_the_bits_of_onnxs_reference(rows, keys):
    rng = np.random.default_rng(rows)
    sizes = {"Q": rows, "K": keys, "V": keys}
    given = {n: rng.uniform(-1, 1, (1, 2, size, 4)).astype(ml_dtypes.bfloat16) for n, size in sizes.items()}
    wanted = _compute_attention(*given.values())[0]
    graph = read_onnx(attention(rows, keys), "attention.onnx")
    made = run_graph(graph, {n: array.astype(np.float32) for n, array in given.items()})["Y"]
    np.testing.assert_array_equal(made, wanted.astype(np.float32))


def test_a_sum_of_very_many_is_refused():
    with pytest.raises(ModelError) as caught:
        read_onnx(attention(1, 65), "attention.onnx")
    assert str(caught.value).splitlines() == [
        "error: Softmax of 65 numbers in bfloat16 is not supported, the limit is 64",
        '  at Attention #0 "Y", in "Y/AttnWeightSoftmax" (attention.onnx)',
        "  hint: export the model in float32",
    ]
