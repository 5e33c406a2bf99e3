"""ONNX files of a few nodes."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from onnx import NodeProto, ValueInfoProto, helper, numpy_helper

from aot.ir.types import Array

Sizes = Sequence[int | str] | None
Values = Mapping[str, Sizes | Array] | Iterable[ValueInfoProto]
VERSIONS = {"ai.onnx.ml": 3}  # of other domains than ONNX's own, where it is not 1


def onnx_file(
    nodes: Sequence[NodeProto],
    inputs: Values,
    outputs: Values | Sequence[str] = ("y",),
    constants: Mapping[str, object] | None = None,
    opset: int = 17,
    ir_version: int = 8,
) -> bytes:
    """Values are sizes of float32, or arrays with the sizes and elements; of outputs names may be enough.

    Constants of float64 are stored as float32.
    """
    arrays = {name: np.asarray(array) for name, array in (constants or {}).items()}
    reals = {name: array.astype(np.float32) for name, array in arrays.items() if array.dtype == np.float64}
    held = [numpy_helper.from_array(array, name) for name, array in (arrays | reals).items()]
    domains = sorted({node.domain for node in nodes} - {""})
    sets = {"": opset, **{domain: VERSIONS.get(domain, 1) for domain in domains}}
    imports = [helper.make_opsetid(*each) for each in sets.items()]
    graph = helper.make_graph(nodes, "net", _infos(inputs), _infos(outputs), held)
    file: bytes = helper.make_model(graph, opset_imports=imports, ir_version=ir_version).SerializeToString()
    return file


def info(name: str, *sizes: int | str, element: int = 1) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, element, sizes)


def _infos(values: Values | Sequence[str]) -> list[ValueInfoProto]:
    if isinstance(values, Mapping):
        return [_of(name, each) for name, each in values.items()]
    return [helper.make_empty_tensor_value_info(v) if isinstance(v, str) else v for v in values]


def _of(name: str, given: Sizes | Array) -> ValueInfoProto:
    if isinstance(given, np.ndarray):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(given.dtype), given.shape)
    return helper.make_tensor_value_info(name, 1, given)
