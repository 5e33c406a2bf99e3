"""How values of small networks lie in memory and which rows each step reads and writes: as it ever was."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from graphs import GRAPHS, Draft
from joins import JOINS
from model_checks import DSP, OPTIONS

from aot.ir.graph import Graph
from aot.ops.max_pool2d import MaxPool2d
from aot.passes.pipeline import run_meaning
from aot.plan.model import PlanTensor, Rows, Stage
from codegen.formats import RowFormat
from codegen.lower import stage_rows
from codegen.lower.lower import lower_graph
from codegen.lower.stage_rows import plan_stages, plan_tensors
from codegen.lower.stages import Lowered

MADE = {**GRAPHS, **JOINS}
NAMES = (
    "bytes_then_wide",
    "flattened_odd_rows",
    "heads_before_dense",
    "images_below_each_other",
    "many_formats",
    "pool_of_rows_before_rows_above",
    "reshape_between_rows",
    "reshaped_twice",
    "sums_and_pieces",
)


def lowered(graph: Graph, unpadded: frozenset[str] = frozenset()) -> Lowered:
    return lower_graph(run_meaning(graph).graph, DSP, OPTIONS["speed"], unpadded=unpadded)


def told(made: Lowered) -> Iterator[str]:
    """A line for each tensor, then one for each stage and its first and last steps."""
    for tensor, planned in zip(made.tensors.values(), plan_tensors(made, keeps_padding=True), strict=True):
        yield f"{_tensor(planned)}: {_format(tensor.format)}"
    for stage, planned_stage in zip(made.stages, plan_stages(made, _no_work(made)), strict=True):
        yield f"{stage.op} {' + '.join(planned_stage.reads)} -> {' + '.join(planned_stage.writes)}"
        yield from (f"  in the rows of {_format(r.view)}" for r in stage.reads if r.view is not None)
        yield f"  {stage.kernel.why}"
        yield from _steps(planned_stage)


def _no_work(made: Lowered) -> dict[str, int]:
    return {stage.node.name: 0 for stage in made.stages if stage.node is not None}


def _tensor(tensor: PlanTensor) -> str:
    words = (*["whole"] * tensor.whole, *["keeps padding"] * tensor.keeps_padding)
    kind = " ".join((tensor.kind.value, *words))
    return f"{tensor.name}, {kind}, {tensor.rows} rows of {tensor.row_bytes} bytes by {tensor.align}"


def _format(fmt: RowFormat) -> str:
    around = f"{fmt.top} above, {fmt.bottom} below, {fmt.left} before, {fmt.fill} in them"
    return f"{fmt.said} in {fmt.layout_said}, {fmt.row_elements} elements, {around}"


def _steps(stage: Stage) -> Iterator[str]:
    yield f"  {len(stage.steps)} steps, in place {list(stage.in_place)}"
    for step in (*stage.steps[:2], *stage.steps[-2:]):
        yield f"  {_rows(step.reads)} -> {_rows(step.writes)}"


def _rows(ranges: tuple[Rows, ...]) -> str:
    return ", ".join(f"{rows.first}:{rows.stop}" for rows in ranges) or "nothing"


@pytest.mark.parametrize("name", NAMES)
def test_rows_lie_as_ever(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}.txt", "".join(f"{line}\n" for line in told(lowered(MADE[name]()))))


def test_rows_without_padding_lie_as_ever(golden: Callable[[str, str], None]) -> None:
    graph = MADE["many_formats"]()
    made = lowered(graph, unpadded=frozenset(node.name for node in graph.nodes))
    golden("many_formats_unpadded.txt", "".join(f"{line}\n" for line in told(made)))


def test_the_steps_of_a_large_graph_are_made_once_for_its_variants() -> None:
    """Else each of hundreds of plans would make those of all layers anew."""
    d = Draft()
    x = d.input("x", 1, 3, 3, 1)
    for number in range(60):
        x = d.pool(f"p{number}", x, MaxPool2d((1, 1), (1, 1)))
    made = lower_graph(d.graph(x), DSP, OPTIONS["speed"])
    stage_rows._steps_by_rows.cache_clear()
    for _ in range(2):
        plan_stages(made, _no_work(made))
    assert stage_rows._steps_by_rows.cache_info().misses == len(made.stages) == 60
