"""Control flow that is decided at compile time: CALL, IF, WHILE and composites are inlined or unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tflite

from aot.frontend.tflite.importers.row_lists import keep_rows
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ops.reshape import Reshape

MOST_TURNS = 1000  # iterations of an unrolled loop
_STATIC = "convert the model so that no branch depends on its inputs"


def _import_call(node: TfliteOperator) -> None:
    _write_out(node, node.options(tflite.CallOptions).Subgraph(), _operands(node))


def _import_composite(node: TfliteOperator) -> None:
    """Inlines the subgraph that the composite names."""
    number = node.options(tflite.StableHLOCompositeOptions).DecompositionSubgraphIndex()
    _write_out(node, number, _operands(node))


def _import_if(node: TfliteOperator) -> None:
    options = node.options(tflite.IfOptions)
    is_true = _decided(node, node.operand(0, "the condition"))
    number = options.ThenSubgraphIndex() if is_true else options.ElseSubgraphIndex()
    _write_out(node, number, _operands(node)[1:])


def _import_while(node: TfliteOperator) -> None:
    options = node.options(tflite.WhileOptions)
    values: Sequence[str] = _operands(node)
    for _ in range(MOST_TURNS):
        (condition,) = node.read_subgraph(node, options.CondSubgraphIndex(), values)
        if not _decided(node, condition):
            _deliver(node, values)
            return
        values = node.read_subgraph(node, options.BodySubgraphIndex(), values)
    raise node.fail(f"its loop runs more than {MOST_TURNS} times", "make the loop shorter")


def _decided(node: TfliteOperator, condition: str) -> bool:
    value = node.draft.known(condition)
    if value is None:
        raise node.fail(f'its condition "{condition}" is known only when the model runs', _STATIC)
    if value.size != 1:
        raise node.fail(f'its condition "{condition}" has {value.size} elements, it must have one')
    return bool(value.reshape(-1)[0])


def _operands(node: TfliteOperator) -> tuple[str, ...]:
    return tuple(node.operand(n, "an argument") for n in range(len(node.inputs)))


def _write_out(node: TfliteOperator, number: int, values: Sequence[str]) -> None:
    _deliver(node, node.read_subgraph(node, number, values))


def _deliver(node: TfliteOperator, results: Sequence[str]) -> None:
    """Gives the results the names of the operator's outputs."""
    if len(results) != len(node.outputs):
        raise node.fail(
            f"its subgraph returns {len(results)} results, the operator has {len(node.outputs)} outputs"
        )
    for result, output in zip(results, node.outputs, strict=True):
        if result not in node.draft.types:
            raise node.fail(
                f'its subgraph returns "{result}", which is the handle of a variable, not a tensor'
            )
        if node.tensor(result).elements != node.tensor(output).elements:
            node.draft.types[output] = replace(node.tensor(output), shape=node.tensor(result).shape)
            node.draft.restated.add(output)
        node.add_node(Reshape(node.tensor(output).shape), (result,), output)
        if node.tensor(result).shape == node.tensor(output).shape:
            keep_rows(node, result, output)


CONTROL_FLOW: dict[str, Importer] = {
    "CALL": _import_call,
    "IF": _import_if,
    "STABLEHLO_COMPOSITE": _import_composite,
    "WHILE": _import_while,
}
