"""Turns pairs of an input and an output into states, which persist between runs.

Exporters know no states: a hidden vector or a cache is an input, and its next value an output. As a state it
begins at zero or at its initial value, stays in the arena, and the caller copies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from aot.errors import ModelError, did_you_mean
from aot.ir.graph import Graph, State
from aot.ir.text import type_text
from aot.ir.types import Array, TensorType

# What exporters call the two: a part of the input's name, and the output's in its place.
_USUAL = (
    ("past_key_values", "present"),
    ("past", "present"),
    ("state_in", "state_out"),
    ("_in", "_out"),
    ("in_", "out_"),
    ("input_", "output_"),
    ("h0", "hn"),
    ("c0", "cn"),
)
_USUAL_ENDS = ("n", "_n", "N", "_out", "_next", "_new")
_USUAL_BEGINS = ("new_", "next_", "updated_", "out_")
_AT_ZERO: Mapping[str, Array] = {}
AUTO, NONE = STATE_WORDS = ("auto", "none")  # all pairs with usual names; none of them


def with_states(graph: Graph, pairs: Mapping[str, str], initial: Mapping[str, Array] = _AT_ZERO) -> Graph:
    """Returns the graph with a state for each pair of an input and the output it becomes.

    States begin at zero if they have no initial value. The name "auto" stands for all pairs with usual names.
    Raises ModelError if there are none, if a name is unknown or used twice, if the types of a pair or of an
    initial value differ, or if no input or output is left.
    """
    pairs = _resolved(graph, pairs)
    if not pairs:
        return graph
    for name, becomes in pairs.items():
        _require(name, graph.inputs, "input", graph)
        _require(becomes, graph.outputs, "output", graph)
        x, y = graph.types[name], graph.types[becomes]
        if x != y:
            raise ModelError(
                f'the input "{name}" cannot become the output "{becomes}": it is {type_text(x)}, '
                f"the output {type_text(y)}",
                hint=_possible(graph),
            )
    if len(set(pairs.values())) < len(pairs):
        raise ModelError("several states become the same output", hint="pair each input with its own output")
    inputs = tuple(name for name in graph.inputs if name not in pairs)
    outputs = tuple(name for name in graph.outputs if name not in pairs.values())
    if not inputs or not outputs:
        what = "output" if inputs else "input"
        raise ModelError(f"no {what} is left if all are states", hint=f"leave an {what} out of --state")
    states = tuple(
        State(name, becomes, _first_value(name, graph.types[name], initial))
        for name, becomes in pairs.items()
    )
    return replace(graph, inputs=inputs, outputs=outputs, states=(*graph.states, *states))


def _resolved(graph: Graph, pairs: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the pairs with the usual ones if "auto" is among them."""
    named = {name: becomes for name, becomes in pairs.items() if becomes}
    if AUTO not in pairs or AUTO in named:
        return named
    found = dict(usual_pairs(graph))
    if not found and not graph.states:
        raise ModelError("no input and output have names that states usually have", hint=_possible(graph))
    return {**{n: b for n, b in found.items() if b not in named.values()}, **named}


def open_question(graph: Graph, pairs: Mapping[str, str]) -> str:
    """Returns the question whether inputs with usual names are states; empty if answered or not needed."""
    found = () if pairs else tuple(usual_pairs(graph))
    if not found:
        return ""
    names = ", ".join(f"{name}={becomes}" for name, becomes in found)
    return f"are these inputs states? {names}: --state auto keeps them from run to run, --state none does not"


def usual_pairs(graph: Graph) -> Iterator[tuple[str, str]]:
    """Yields pairs of an input and an output of one type with names that exporters give to states."""
    for name in graph.inputs:
        parts = [name.replace(old, new) for old, new in _USUAL if old in name]
        candidates = [
            *parts,
            *(name + end for end in _USUAL_ENDS),
            *(begin + name for begin in _USUAL_BEGINS),
        ]
        found = (n for n in candidates if n in graph.outputs and graph.types[n] == graph.types[name])
        becomes = next(found, None)
        if becomes is not None:
            yield name, becomes


def _require(name: str, known: tuple[str, ...], what: str, graph: Graph) -> None:
    if name not in known:
        raise ModelError(
            f'the model has no {what} "{name}"{did_you_mean(name, known)}', hint=_possible(graph)
        )


def _possible(graph: Graph) -> str:
    """Returns the pairs with usual names, else all inputs and outputs with their types."""
    pairs = [f"--state {name}={becomes}" for name, becomes in usual_pairs(graph)]
    if pairs:
        return f"going by names: {' '.join(pairs)}"
    sides = (("inputs", graph.inputs), ("outputs", graph.outputs))
    lists = (
        f"{what}: {', '.join(f'{n} {type_text(graph.types[n])}' for n in names)}" for what, names in sides
    )
    return "\n".join(lists)


def _first_value(name: str, tensor: TensorType, initial: Mapping[str, Array]) -> Array:
    """Returns the state's value in the first run: the given one, or zero."""
    if name not in initial:
        return _zero(tensor)
    array = initial[name]
    if array.shape != tensor.shape or array.dtype != tensor.dtype.numpy:
        raise ModelError(
            f'the state "{name}" is {type_text(tensor)}, its initial value {array.dtype}{list(array.shape)}',
            hint="give both the same type and shape",
        )
    return array


def _zero(tensor: TensorType) -> Array:
    zero_point = 0 if tensor.quant is None else tensor.quant.zero_point
    return np.full(tensor.shape, zero_point, tensor.dtype.numpy)
