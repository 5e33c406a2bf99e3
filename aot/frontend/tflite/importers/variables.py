"""Variables: CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE become states of the graph."""

from __future__ import annotations

import tflite

from aot.frontend.tflite.draft import Variable
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import TensorType
from aot.ops.reshape import Reshape


def _import_call_once(node: TfliteOperator) -> None:
    """Reads the subgraph whose assignments are the variables' initial values."""
    number = node.options(tflite.CallOnceOptions).InitSubgraphIndex()
    node.draft.is_initialising = True
    node.read_subgraph(node, number, ())
    node.draft.is_initialising = False


def _import_var_handle(node: TfliteOperator) -> None:
    options = node.options(tflite.VarHandleOptions)
    container, name = (text or b"" for text in (options.Container(), options.SharedName()))
    key = f"{container.decode('utf-8', 'replace')}/{name.decode('utf-8', 'replace')}"
    node.draft.handles[node.the_output] = key
    node.draft.variables.setdefault(key, Variable())


def _variable(node: TfliteOperator) -> tuple[str, Variable]:
    handle = node.operand(0, "the variable")
    if handle not in node.draft.handles:
        raise node.fail(f'its variable "{handle}" has no VAR_HANDLE before this operator')
    key = node.draft.handles[handle]
    return key, node.draft.variables[key]


def _import_read_variable(node: TfliteOperator) -> None:
    """Reads the value assigned earlier in this run, or the one left by the previous run."""
    key, variable = _variable(node)
    output = node.the_output
    wanted = node.tensor(output)
    if variable.now is None:
        if variable.initial is not None and variable.initial.shape != wanted.shape:
            raise node.fail(
                f"it reads shape {list(wanted.shape)}, "
                f"the variable's initial value has shape {list(variable.initial.shape)}"
            )
        variable.state = variable.now = node.add_value(key.strip("/") or "variable", wanted)
        node.draft.made.add(variable.now)
    _require_same(node, node.tensor(variable.now), wanted, "it reads")
    node.add_node(Reshape(wanted.shape), (variable.now,), output)


def _import_assign_variable(node: TfliteOperator) -> None:
    key, variable = _variable(node)
    value = node.operand(1, "the value")
    if node.draft.is_initialising:
        variable.initial = node.draft.known(value)
        if variable.initial is None:
            raise node.fail(f'the initial value "{value}" of variable "{key}" must be constant')
        return
    if value in node.draft.constants:
        raise node.fail(
            f'it assigns the constant "{value}"', "assign it once, in the subgraph that CALL_ONCE names"
        )
    if value not in node.draft.made:
        raise node.fail(f'it assigns "{value}", which no earlier operator computes')
    if variable.now is not None:
        _require_same(node, node.tensor(variable.now), node.tensor(value), "it assigns")
    variable.now = value


def _require_same(node: TfliteOperator, held: TensorType, other: TensorType, what: str) -> None:
    if (held.dtype, held.shape) != (other.dtype, other.shape):
        raise node.fail(
            f"{what} {other.dtype.value}{list(other.shape)}, "
            f"the variable holds {held.dtype.value}{list(held.shape)}"
        )


# Operands that are handles, not tensors: how many of the first inputs and outputs.
_HANDLES = {"ASSIGN_VARIABLE": (1, 0), "READ_VARIABLE": (1, 0), "VAR_HANDLE": (0, 1)}
_PASSES_ON = ("CALL", "IF", "STABLEHLO_COMPOSITE", "WHILE")  # to a subgraph, by name


def require_tensors(node: TfliteOperator) -> None:
    """Raises ModelError for handles, unless the operator works on variables or passes them to a call."""
    inputs, outputs = _HANDLES.get(node.code, (0, 0))
    read_as_tensors = () if node.code in _PASSES_ON else node.inputs[inputs:]
    for name in (*read_as_tensors, *node.outputs[outputs:]):
        if name is not None and name not in node.draft.types:
            raise node.fail(f'"{name}" is the handle of a variable, not a tensor')


VARIABLES: dict[str, Importer] = {
    "ASSIGN_VARIABLE": _import_assign_variable,
    "CALL_ONCE": _import_call_once,
    "READ_VARIABLE": _import_read_variable,
    "VAR_HANDLE": _import_var_handle,
}
