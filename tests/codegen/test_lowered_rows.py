"""How values of small networks lie in memory and which rows each step reads and writes: as it ever was."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from calls import ALIGNED, Larger, maxima, used_for
from graphs import GRAPHS, Draft
from joins import JOINS, joined
from model_checks import DSP, OPTIONS
from op_case import OpCase
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ops.combine import Combine
from aot.ops.max_pool2d import MaxPool2d
from aot.passes.pipeline import run_meaning
from aot.plan.model import PlanTensor, Rows, Stage
from aot.target import Optimize
from codegen.formats import RowFormat
from codegen.kernels.kernel import RowAccess
from codegen.lower import stage_rows
from codegen.lower.decisions import decisions_for
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
    meant = run_meaning(graph).graph
    decided = replace(decisions_for(meant, Optimize.SPEED), unpadded=unpadded)
    return lower_graph(meant, DSP, OPTIONS["speed"], decided)


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
    return f"{fmt.said} in {fmt.layout_text}, {fmt.row_elements} elements, {around}"


def _steps(stage: Stage) -> Iterator[str]:
    yield f"  {len(stage.steps)} steps, in place {list(stage.in_place)}"
    for step in (*stage.steps[:2], *stage.steps[-2:]):
        yield f"  {_rows(step.reads)} -> {_rows(step.writes)}"


def _rows(ranges: tuple[Rows, ...]) -> str:
    return ", ".join(f"{rows.first}:{rows.stop}" for rows in ranges) or "nothing"


@pytest.mark.parametrize("name", NAMES)
def test_rows_lie_as_ever(name, golden):
    golden(f"{name}.txt", "".join(f"{line}\n" for line in told(lowered(MADE[name]()))))


def test_rows_without_padding_lie_as_ever(golden):
    graph = MADE["many_formats"]()
    made = lowered(graph, unpadded=frozenset(node.name for node in graph.nodes))
    golden("many_formats_unpadded.txt", "".join(f"{line}\n" for line in told(made)))


def test_the_steps_of_a_large_graph_are_made_once_for_its_variants():
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


def flattened_for_two() -> Graph:
    """A dense layer could take the image's rows, of 15 elements with a gap behind; a softmax could not."""
    d = Draft()
    flat = d.reshape("flat", d.conv("image", d.input("x", 1, 4, 5, 2), 3), 1, 60)
    return d.graph(d.dense("y", flat, 4), d.softmax("z", flat))


def flattened_and_kept() -> Graph:
    """The image is an output, in which rows of 15 elements have no gap that a dense layer could read."""
    d = Draft()
    image = d.conv("image", d.input("x", 1, 4, 5, 2), 3)
    return d.graph(image, d.dense("y", d.reshape("flat", image, 1, 60), 4))


def reshaped_and_joined() -> Graph:
    """A part of a join whose rows are shorter than those it is made in: it is copied to where it belongs."""
    d = Draft()
    part = d.reshape("part", d.conv("image", d.input("x", 1, 4, 6, 3), 3), 1, 8, 3, 3)
    both = joined(d, "both", 1, part, d.conv("other", d.input("z", 1, 2, 3, 3), 3, seed=2))
    return d.graph(d.conv("y", both, 2, seed=3))


def assert_like_the_reference(graph: Graph, made: Lowered) -> None:
    inputs = OpCase("drawn", graph).inputs()
    found, wanted = run_lowered(made, inputs), run_graph(graph, inputs)
    assert {name: a.tolist() for name, a in found.items()} == {name: a.tolist() for name, a in wanted.items()}


@pytest.mark.parametrize("maker", [flattened_for_two, flattened_and_kept])
def test_what_somebody_wants_flat_lies_in_one_piece_for_all(maker):
    graph = maker()
    made = lowered(graph)
    assert made.tensors["image"].whole
    assert_like_the_reference(graph, made)


def test_a_part_in_other_rows_than_it_is_made_in_is_copied():
    graph = reshaped_and_joined()
    made = lowered(graph)
    assert [stage.values for stage in made.stages if stage.op == "concat"] == [("part",)]
    assert_like_the_reference(graph, made)


@pytest.mark.parametrize(("channels", "copied"), [(4, []), (3, [("below",)])])
def test_a_part_of_one_row_is_written_where_it_belongs_if_that_is_at_a_word(channels, copied):
    d = Draft()
    x = d.input("x", 1, 1, 3, 2)
    parts = (d.conv("above", x, channels, 1), d.conv("below", x, channels, 1, seed=2))
    made = lowered(d.graph(joined(d, "both", 1, *parts)))
    assert [stage.values for stage in made.stages if stage.op == "concat"] == copied


def test_a_kernel_that_demands_memory_gets_copies_of_what_is_the_callers():
    with used_for(Combine.name, Larger(ALIGNED).strategy):
        made = lower_graph(maxima(), DSP, OPTIONS["speed"])
    copied = [stage.name for stage in made.stages if stage.op == "relayout"]
    assert copied == ["relayout a", "relayout b", "deliver y"]


def test_what_is_read_by_rows_and_as_a_whole_is_needed_whole_in_each_step():
    """Made by hand: a sum whose second operand is all rows of the first."""
    d = Draft()
    x = d.input("x", 1, 4, 3, 2)
    made = lowered(d.graph(d.add("twice", x, x)))
    (stage,) = made.stages
    by_rows, again = stage.reads
    every = replace(again, access=RowAccess(0, 0, 4))
    made = replace(made, stages=(replace(stage, reads=(by_rows, every)),))
    (planned,) = plan_stages(made, _no_work(made))
    assert [step.reads for step in planned.steps] == [(Rows(0, 4),)] * 4


def test_what_is_read_from_nowhere_is_a_constant_and_no_streamed_input():
    made = lowered(MADE["images_below_each_other"]())
    assert any(not stage.reads for stage in made.stages)
    assert made.receiver is None
