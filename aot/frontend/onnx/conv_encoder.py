"""Writes an encoder of two convolutions as an ONNX model: rows of features to one row of scores for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

_OPSET, _IR_VERSION = 17, 8
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ConvEncoder:
    """The weights. A row's scores depend on it and on the rows before."""

    first: Floats  # [rows, features, inner]
    first_bias: Floats
    last: Floats  # [inner, labels]
    last_bias: Floats

    def model(self, rows: int, keeps_state: bool) -> bytes:
        """Returns the model of [1, rows, features] to [1, rows, labels].

        With state, the rows before the first are those of the previous run; without, they are zeros.
        """
        seen, features, _ = self.first.shape
        constants = {
            "first": np.ascontiguousarray(self.first.transpose(2, 1, 0)),
            "first_bias": self.first_bias,
            "last": np.ascontiguousarray(self.last.T[:, :, None]),
            "last_bias": self.last_bias,
        }
        heard, pads = "features", [seen - 1, 0]
        nodes: list[onnx.NodeProto] = []
        inputs = [_tensor(heard, [1, rows, features])]
        outputs = [_tensor("scores", [1, rows, self.last.shape[1]])]
        if keeps_state:
            heard, pads = "all_features", [0, 0]
            nodes = [
                helper.make_node("Concat", ["past", "features"], [heard], axis=1),
                helper.make_node("Slice", [heard, "begin", "end", "axis"], ["present"]),
            ]
            places = {"begin": rows, "end": rows + seen - 1, "axis": 1}
            constants |= {name: np.array([place], np.int64) for name, place in places.items()}
            inputs.append(_tensor("past", [1, seen - 1, features]))
            outputs.append(_tensor("present", [1, seen - 1, features]))
        nodes += [
            helper.make_node("Transpose", [heard], ["channels"], perm=[0, 2, 1]),
            helper.make_node("Conv", ["channels", "first", "first_bias"], ["hidden"], pads=pads),
            helper.make_node("Relu", ["hidden"], ["positive"]),
            helper.make_node("Conv", ["positive", "last", "last_bias"], ["labels"]),
            helper.make_node("Transpose", ["labels"], ["scores"], perm=[0, 2, 1]),
        ]
        stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
        graph = helper.make_graph(nodes, "encoder", inputs, outputs, stored)
        opsets = [helper.make_opsetid("", _OPSET)]
        made = helper.make_model(graph, producer_name="solder", opset_imports=opsets)
        made.ir_version = _IR_VERSION
        if keeps_state:
            made.metadata_props.add(key="solder.state.past", value="present")
        written: bytes = made.SerializeToString()
        return written


def _tensor(name: str, shape: Sequence[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
