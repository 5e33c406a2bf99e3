"""The bound of whole tensors counts what lives in memory: nothing that is computed from constants alone."""

from __future__ import annotations

from aot.ir.text import parse_graph
from aot.plan.whole_bound import whole_tensor_bound

GRAPH = """\
graph "g"
input "x": i8[1,2] {1.0, 0}
constant "a": i8[2] {0.5, 0} = [3, -4]
"flat" = reshape(shape=[1, 2]) "a" -> "b": i8[1,2] {0.5, 0}
"twice" = add() "b", "b" -> "c": i8[1,2] {0.5, 0}
"sum" = add() "x", "c" -> "y": i8[1,2] {1.0, 0}
output "y"
"""


def test_what_is_computed_from_constants_alone_takes_no_memory() -> None:
    assert whole_tensor_bound(parse_graph(GRAPH)) == 4
