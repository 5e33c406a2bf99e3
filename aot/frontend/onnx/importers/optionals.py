"""Optional values; whether they are present is known at compile time."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import TensorProto

from aot.frontend.onnx.draft import AbsentValue, Item, Value
from aot.frontend.onnx.operation import Importer, OnnxOperator


def _has_element(node: OnnxOperator) -> Value:
    return node.number(node.has(0), TensorProto.BOOL)


def _element(node: OnnxOperator) -> Item:
    if not node.has(0):
        raise node.fail("it reads an optional value that is absent", "check OptionalHasElement first")
    return node.item(0)


def _optional(node: OnnxOperator) -> Item:
    return node.item(0) if node.has(0) else AbsentValue()


OPTIONALS: Mapping[str, Importer] = {
    "Optional": _optional,
    "OptionalGetElement": _element,
    "OptionalHasElement": _has_element,
}
