"""States that an ONNX file declares itself: which input becomes which output, and the first values.

The format has no states. A file's metadata pairs them: the key "solder.state.h" with the value "hn". An
unused constant "h/initial" is the first value of the input "h"; without one it begins at zero.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx

from aot.frontend.onnx.elements import array_of
from aot.ir.types import Array

_KEY, _INITIAL = "solder.state.", "/initial"


def declared_states(model: onnx.ModelProto, file_name: str) -> tuple[Mapping[str, str], Mapping[str, Array]]:
    """Returns the output that each declared state becomes, and the first values that the file has."""
    pairs = {
        each.key.removeprefix(_KEY): each.value
        for each in model.metadata_props
        if each.key.startswith(_KEY) and each.value
    }
    names = {name + _INITIAL: name for name in pairs}
    initial = {
        names[each.name]: array_of(each, f'constant "{each.name}" ({file_name})')
        for each in model.graph.initializer
        if each.name in names
    }
    return pairs, initial


def with_declared_states(data: bytes, initial: Mapping[str, Array]) -> bytes:
    """Returns the file with these inputs declared as states.

    The last outputs are their next values, in this order.
    """
    model = onnx.load_model_from_string(data)
    outputs = model.graph.output[-len(initial) :]
    for (name, array), output in zip(initial.items(), outputs, strict=True):
        declare_state(model, name, output.name, array)
    more: bytes = model.SerializeToString()
    return more


def declare_state(model: onnx.ModelProto, name: str, becomes: str, first: Array) -> None:
    """Declares an input as a state with a first value, in place of an earlier declaration."""
    for parts, key in ((model.metadata_props, "key"), (model.graph.initializer, "name")):
        for each in [part for part in parts if getattr(part, key) in (_KEY + name, name + _INITIAL)]:
            parts.remove(each)
    model.metadata_props.add(key=_KEY + name, value=becomes)
    if np.any(first) or first.dtype.kind != "f":
        model.graph.initializer.append(onnx.numpy_helper.from_array(first, name + _INITIAL))
