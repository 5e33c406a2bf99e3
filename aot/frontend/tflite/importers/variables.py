"""Variables: CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE become states of the graph."""

from __future__ import annotations

import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator, Variable
from aot.frontend.tflite.importers import attributes as read
from aot.ir.types import TensorType
from aot.ops.reshape import Reshape


def _import_call_once(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Reads the subgraph whose assignments are the variables' initial values."""
    number = operator.options(tflite.CallOnceOptions).InitSubgraphIndex()
    draft.is_initialising = True
    operator.read_subgraph(draft, operator, number, ())
    draft.is_initialising = False


def _import_var_handle(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.VarHandleOptions)
    container, name = (text or b"" for text in (options.Container(), options.SharedName()))
    key = f"{container.decode('utf-8', 'replace')}/{name.decode('utf-8', 'replace')}"
    draft.handles[read.the_output(operator)] = key
    draft.variables.setdefault(key, Variable())


def _variable(draft: TfliteDraft, operator: TfliteOperator) -> tuple[str, Variable]:
    handle = read.operand(operator, 0, "the variable")
    if handle not in draft.handles:
        raise operator.fail(f'its variable "{handle}" has no VAR_HANDLE before this operator')
    key = draft.handles[handle]
    return key, draft.variables[key]


def _import_read_variable(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Reads the value assigned earlier in this run, or the one left by the previous run."""
    key, variable = _variable(draft, operator)
    output = read.the_output(operator)
    wanted = draft.types[output]
    if variable.now is None:
        if variable.initial is not None and variable.initial.shape != wanted.shape:
            raise operator.fail(
                f"it reads shape {list(wanted.shape)}, "
                f"the variable's initial value has shape {list(variable.initial.shape)}"
            )
        variable.state = variable.now = draft.add_value(key.strip("/") or "variable", wanted)
        draft.made.add(variable.now)
    _require_same(operator, draft.types[variable.now], wanted, "it reads")
    draft.add_node(operator, Reshape(wanted.shape), (variable.now,), output)


def _import_assign_variable(draft: TfliteDraft, operator: TfliteOperator) -> None:
    key, variable = _variable(draft, operator)
    value = read.operand(operator, 1, "the value")
    if draft.is_initialising:
        variable.initial = draft.known(value)
        if variable.initial is None:
            raise operator.fail(f'the initial value "{value}" of variable "{key}" must be constant')
        return
    if value in draft.constants:
        raise operator.fail(
            f'it assigns the constant "{value}"', "assign it once, in the subgraph that CALL_ONCE names"
        )
    if value not in draft.made:
        raise operator.fail(f'it assigns "{value}", which no earlier operator computes')
    if variable.now is not None:
        _require_same(operator, draft.types[variable.now], draft.types[value], "it assigns")
    variable.now = value


def _require_same(operator: TfliteOperator, held: TensorType, other: TensorType, what: str) -> None:
    if (held.dtype, held.shape) != (other.dtype, other.shape):
        raise operator.fail(
            f"{what} {other.dtype.value}{list(other.shape)}, "
            f"the variable holds {held.dtype.value}{list(held.shape)}"
        )


# Operands that are handles, not tensors: how many of the first inputs and outputs.
_HANDLES = {"ASSIGN_VARIABLE": (1, 0), "READ_VARIABLE": (1, 0), "VAR_HANDLE": (0, 1)}
_PASSES_ON = ("CALL", "IF", "STABLEHLO_COMPOSITE", "WHILE")  # to a subgraph, by name


def require_tensors(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Raises ModelError for handles, unless the operator works on variables or passes them to a call."""
    inputs, outputs = _HANDLES.get(operator.code, (0, 0))
    read_as_tensors = () if operator.code in _PASSES_ON else operator.inputs[inputs:]
    for name in (*read_as_tensors, *operator.outputs[outputs:]):
        if name is not None and name not in draft.types:
            raise operator.fail(f'"{name}" is the handle of a variable, not a tensor')


VARIABLES: dict[str, Importer] = {
    "ASSIGN_VARIABLE": _import_assign_variable,
    "CALL_ONCE": _import_call_once,
    "READ_VARIABLE": _import_read_variable,
    "VAR_HANDLE": _import_var_handle,
}
