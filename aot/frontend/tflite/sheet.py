"""The TFLite file being written, as the writers of operators see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from aot.ir.graph import Array, Node
from aot.ir.types import TensorType

Fields = float | str


class Sheet(Protocol):
    """What aot.frontend.tflite.write gives them."""

    def type(self, name: str) -> TensorType: ...
    def array(self, name: str) -> Array | None: ...
    def value(self, name: str) -> int: ...
    def tensor(self, name: str, tensor: TensorType, data: Array | None = None) -> int: ...
    def integers(self, name: str, values: Sequence[int] | Array) -> int: ...
    def operator(
        self, code: str, version: int, inputs: Sequence[int], output: int, options: str = "", **fields: Fields
    ) -> None: ...


Writer = Callable[[Sheet, Node], str | None]  # a text says why the node cannot be written


def input_of(node: Node, number: int = 0) -> str:
    name = node.inputs[number]
    assert name is not None, f"{node.name} has no input {number}"
    return name


def view(sheet: Sheet, source: int, target: int, shape: tuple[int, ...]) -> None:
    wanted = sheet.integers(f"shape_{target}", shape)
    sheet.operator("RESHAPE", 1, (source, wanted), target, "ReshapeOptions")
