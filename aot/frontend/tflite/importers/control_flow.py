"""Control flow that is decided at compile time: CALL, IF, WHILE and composites are inlined or unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.row_lists import keep_rows
from aot.ops.reshape import Reshape

MOST_TURNS = 1000  # iterations of an unrolled loop
_STATIC = "convert the model so that no branch depends on its inputs"


def _import_call(draft: TfliteDraft, operator: TfliteOperator) -> None:
    _write_out(draft, operator, operator.options(tflite.CallOptions).Subgraph(), _operands(operator))


def _import_composite(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Inlines the subgraph that the composite names."""
    number = operator.options(tflite.StableHLOCompositeOptions).DecompositionSubgraphIndex()
    _write_out(draft, operator, number, _operands(operator))


def _import_if(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.IfOptions)
    is_true = _decided(draft, operator, read.operand(operator, 0, "the condition"))
    number = options.ThenSubgraphIndex() if is_true else options.ElseSubgraphIndex()
    _write_out(draft, operator, number, _operands(operator)[1:])


def _import_while(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.WhileOptions)
    values: Sequence[str] = _operands(operator)
    for _ in range(MOST_TURNS):
        (condition,) = operator.read_subgraph(draft, operator, options.CondSubgraphIndex(), values)
        if not _decided(draft, operator, condition):
            _deliver(draft, operator, values)
            return
        values = operator.read_subgraph(draft, operator, options.BodySubgraphIndex(), values)
    raise operator.fail(f"its loop runs more than {MOST_TURNS} times", "make the loop shorter")


def _decided(draft: TfliteDraft, operator: TfliteOperator, condition: str) -> bool:
    value = draft.known(condition)
    if value is None:
        raise operator.fail(f'its condition "{condition}" is known only when the model runs', _STATIC)
    if value.size != 1:
        raise operator.fail(f'its condition "{condition}" has {value.size} elements, it must have one')
    return bool(value.reshape(-1)[0])


def _operands(operator: TfliteOperator) -> tuple[str, ...]:
    return tuple(read.operand(operator, n, "an argument") for n in range(len(operator.inputs)))


def _write_out(draft: TfliteDraft, operator: TfliteOperator, number: int, values: Sequence[str]) -> None:
    _deliver(draft, operator, operator.read_subgraph(draft, operator, number, values))


def _deliver(draft: TfliteDraft, operator: TfliteOperator, results: Sequence[str]) -> None:
    """Gives the results the names of the operator's outputs."""
    if len(results) != len(operator.outputs):
        raise operator.fail(
            f"its subgraph returns {len(results)} results, the operator has {len(operator.outputs)} outputs"
        )
    for result, output in zip(results, operator.outputs, strict=True):
        if result not in draft.types:
            raise operator.fail(
                f'its subgraph returns "{result}", which is the handle of a variable, not a tensor'
            )
        if draft.types[result].elements != draft.types[output].elements:
            draft.types[output] = replace(draft.types[output], shape=draft.types[result].shape)
            draft.restated.add(output)
        draft.add_node(operator, Reshape(draft.types[output].shape), (result,), output)
        if draft.types[result].shape == draft.types[output].shape:
            keep_rows(draft, result, output)


CONTROL_FLOW: dict[str, Importer] = {
    "CALL": _import_call,
    "IF": _import_if,
    "STABLEHLO_COMPOSITE": _import_composite,
    "WHILE": _import_while,
}
