"""Loops: diagonal and dense recurrences, states that change places, initial states, tables."""

from collections.abc import Sequence

import numpy as np
from drawing import Draw
from op_case import OpCase, Weights, float32, op_case

from aot.ir.text import parse_graph
from aot.ops.step_loop import StepLoop


def weights(*shape: int) -> Weights:
    """Factors below 1, so that states do not grow."""
    values = np.random.default_rng(len(shape)).uniform(-0.9, 0.9, shape).astype(np.float32)
    return Weights(float32(*shape), values)


def case(
    name: str,
    body: str,
    steps: int,
    rows: Sequence[int],
    same: Sequence[Weights] = (),
    states: Sequence[int | Weights] = (),
    per_step: int = 1,
) -> OpCase:
    """Rows and states are sizes of inputs; states may be constants, which come before the inputs."""
    op = StepLoop(len(states), per_step, parse_graph('graph "body"\n' + body))
    given = [float32(1, 1, 1, state) for state in states if isinstance(state, int)]
    constants = [*same, *(state for state in states if isinstance(state, Weights))]
    inputs = [float32(1, steps, 1, size) for size in rows]
    return op_case(name, op, inputs, float32(), constants, given)


DIAGONAL = """
input "x": f32[2]
input "a": f32[2,3]
input "b": f32[2,3]
input "h": f32[2,3]
"column" = reshape(shape=[2, 1]) "x" -> "column": f32[2,1]
"in" = mul() "column", "b" -> "in": f32[2,3]
"kept" = mul() "h", "a" -> "kept": f32[2,3]
"next" = add() "kept", "in" -> "next": f32[2,3]
"y" = reduce(axes=[1]) "next" -> "y": f32[2,1]
output "next"
output "y"
"""
DENSE = """
input "x": f32[1,3]
input "w": f32[4,7]
input "h": f32[1,4]
"both" = concat(axis=1) "x", "h" -> "both": f32[1,7]
"sum" = dense() "both", "w" -> "sum": f32[1,4]
"next" = tanh() "sum" -> "next": f32[1,4]
"y" = softmax() "next" -> "y": f32[1,4]
output "next"
output "y"
output "x"
"""
SWAPPED = """
input "x": f32[2]
input "p": f32[2]
input "q": f32[2]
input "r": f32[2]
"sum" = add() "x", "q" -> "sum": f32[2]
output "q"
output "p"
output "r"
output "sum"
output "r"
"""
TABLE = """
input "x": f32[2]
input "t": f32[2]
input "h": f32[2]
"next" = mul() "x", "t" -> "next": f32[2]
"y" = add() "next", "h" -> "y": f32[2]
output "next"
output "y"
"""
WITHOUT_STATES = """
input "x": f32[1,2,2,3]
"y" = mean() "x" -> "y": f32[1,1,1,3]
output "y"
"""

CASES = (
    case("loop_diagonal", DIAGONAL, 5, [2], [weights(2, 3), weights(2, 3)], [6]),
    case(
        "loop_diagonal_from_zero",
        DIAGONAL,
        3,
        [2],
        [weights(2, 3), weights(2, 3)],
        [Weights(float32(1, 1, 1, 6), np.zeros((1, 1, 1, 6), np.float32))],
    ),
    case("loop_dense", DENSE, 4, [3], [weights(4, 7)], [weights(1, 1, 1, 4)]),
    case("loop_swapped", SWAPPED, 4, [2], [], [2, 2, 2]),
    case("loop_one_step", SWAPPED, 1, [2], [], [2, 2, 2]),
    case("loop_with_a_table", TABLE, 6, [2], [weights(1, 6, 1, 2)], [2], per_step=2),
    case("loop_without_states", WITHOUT_STATES, 3, [12]),
)


def _loop(draw: Draw) -> OpCase:
    steps = draw.upto(6)
    return case("any", DIAGONAL, steps, [2], [weights(2, 3), weights(2, 3)], [6])


SHAPES = {"loop": _loop}
