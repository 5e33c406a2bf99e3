"""Loads weights that PyTorch's exporter stores in separate files into the ONNX model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import ModelProto, TensorProto
from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

from aot.errors import ModelError
from aot.frontend.onnx.supported import nodes_of

_KEY = b"location"  # key of a tensor's file name


def with_weights_beside(data: bytes, folder: Path, file_name: str) -> bytes:
    """Returns the model with all weights inside; other data is unchanged. ModelError names missing files."""
    if _KEY not in data:
        return data
    try:
        model = onnx.load_model_from_string(data)
    except Exception:  # google.protobuf's own error: the reader reports the problem
        return data
    outside = [tensor for tensor in _tensors(model) if uses_external_data(tensor)]
    missing = sorted({name for name in map(_file_of, outside) if not (folder / name).is_file()})
    if missing:
        raise ModelError(
            f"the model stores its weights in separate files, which are missing: {', '.join(missing)}",
            str(folder / file_name),
            "copy them to the model's folder, or export it as one file (external_data=False in PyTorch)",
        )
    for tensor in outside:
        try:
            load_external_data_for_tensor(tensor, str(folder))
        except Exception as error:  # the library raises several kinds: outside the folder, outside the file
            raise ModelError(
                f'the weights "{tensor.name}" cannot be read from {_file_of(tensor)}: {error}',
                str(folder / file_name),
                "get or export the model again, together with its weight files",
            ) from None
    return model.SerializeToString() if outside else data


def _tensors(model: ModelProto) -> Iterator[TensorProto]:
    yield from model.graph.initializer
    for node in nodes_of(model.graph):
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            yield from attribute.g.initializer


def _file_of(tensor: TensorProto) -> str:
    return next((str(entry.value) for entry in tensor.external_data if entry.key == "location"), "")
