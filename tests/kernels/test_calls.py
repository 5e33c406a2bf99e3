"""A kernel that is a call of a C function: planned like loops, called by the generated C, with its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from model_checks import PLAIN
from poisoned import Poisoned

from aot.errors import BoardError, InputError, ModelError
from aot.extensions import ISAS, register, unregister
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, TensorType
from aot.ops.combine import Combination, Combine
from aot.plan.check import PlanError, check_plan
from aot.target import Feature, Optimize, Region, Target
from artifact.artifact import artifact_of
from codegen.compile import compile_job
from codegen.formats import RowFormat, RowRequest, whole
from codegen.isa.isa import Isa
from codegen.job import ImportedModel, Job
from codegen.kernels.c_function import CFile, CFunction, CLibrary
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.memory_demand import ANYWHERE, MemoryDemand
from codegen.kernels.schedule import Condition, Schedule
from codegen.loops.ir import Buffer, Proc, Role
from codegen.model import CompiledModel
from codegen.options import CompileOptions
from platforms.project import project_source, share_firmware
from platforms.shared_library import build

HEADER = """\
#include <stdint.h>

struct larger_shape {
    int32_t elements;
};

/* The larger of two, for each element. All memory begins at a multiple of 16. */
void larger(
    const int8_t *a, const int8_t *b, const int8_t *offset, int8_t *y, int8_t *scratch,
    const struct larger_shape *shape);
"""
SOURCE = """\
#include "larger.h"

static int is_misplaced(const void *pointer)
{
    return ((uintptr_t)pointer & (ALIGN - 1)) != 0;
}

void larger(
    const int8_t *a, const int8_t *b, const int8_t *offset, int8_t *y, int8_t *scratch,
    const struct larger_shape *shape)
{
    const int is_any = is_misplaced(a) || is_misplaced(b) || is_misplaced(y);
    if (is_any || is_misplaced(offset) || is_misplaced(scratch)) {
        return;
    }
    for (int32_t i = 0; i < shape->elements; ++i) {
        scratch[i] = a[i] > b[i] ? a[i] : b[i];
    }
    for (int32_t i = 0; i < shape->elements; ++i) {
        y[i] = (int8_t)(scratch[i] + offset[i]);
    }
}
"""
SHAPE = (1, 4, 5, 3)
FAST, SLOW = Region("DTCM", 0, 64 * 1024, "ram"), Region("SRAM", 1 << 20, 256 * 1024, "ram", speed=1)
TWO_MEMORIES = Target("host", regions=(FAST, SLOW), pointer_bytes=8)
ALIGNED = MemoryDemand(align=16)


def library(align: int, needs: frozenset[Feature]) -> CLibrary:
    source = CFile("larger.c", SOURCE.replace("ALIGN", str(align)))
    return CLibrary(CFile("larger.h", HEADER), (source,), 5_000, needs)


@dataclass(frozen=True)
class Larger:
    """Makes the schedule: a tensor at a time, or a row."""

    demand: MemoryDemand
    by_rows: bool = False
    needs: frozenset[Feature] = frozenset()

    def requests(self, site: Site) -> tuple[RowRequest, ...]:
        request = RowRequest() if self.by_rows else whole(site.outputs[0])
        return (request, request)

    def lower(self, site: Site, _inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        elements = output.width * output.channels if self.by_rows else site.outputs[0].elements
        roles = (Role.ROWS, Role.ROWS, Role.CONSTANT, Role.OUTPUT, Role.SCRATCH)
        names = ("a", "b", "offset", "y", "scratch")
        params = (Buffer(n, DType.I8, elements, role) for n, role in zip(names, roles, strict=True))
        source = library(1 if self.demand == ANYWHERE else self.demand.align, self.needs)
        return Kernel(
            schedule="larger",
            why="a test wants it",
            proc=Proc("larger", tuple(params), ()),
            summary="",
            access=(RowAccess(stride=1, first=0, count=1),) * 2,
            constants={"offset": np.zeros(elements, np.int8)},
            whole=not self.by_rows,
            calls=CFunction("larger", source, (("elements", elements),), 3_000),
        )

    @property
    def schedule(self) -> Schedule:
        return Schedule("larger", self.requests, self.lower, demand=self.demand)


Use = Callable[[Larger], None]


@pytest.fixture
def use() -> Iterator[Use]:
    """Puts the schedule before all others, for the time of a test."""
    used: list[str] = []

    def register_for_now(larger: Larger) -> None:
        name = f"larger{len(used)}"
        register(ISAS, name, Isa(name, frozenset(), {"combine": (larger.schedule,)}))
        used.append(name)

    yield register_for_now
    for name in used:
        unregister(ISAS, name)


def graph() -> Graph:
    """The largest of inputs and of minima, which loops compute."""
    kind = TensorType(DType.I8, SHAPE)
    largest, least = Combine(Combination.MAXIMUM), Combine(Combination.MAXIMUM)
    nodes = (
        Node("first", largest, ("a", "b"), ("m",)),
        Node("second", least, ("m", "a"), ("n",)),
        Node("third", largest, ("n", "m"), ("y",)),
    )
    return Graph("net", ("a", "b"), ("y",), nodes, dict.fromkeys(("a", "b", "m", "n", "y"), kind))


def model(target: Target = PLAIN, name: str = "net", **options: object) -> CompiledModel:
    imported = ImportedModel(graph(), "net.tflite", "00" * 32, name)
    return compile_job(Job(imported, target, replace(CompileOptions(), **options)))  # type: ignore[arg-type]


def random_inputs() -> dict[str, Array]:
    chance = np.random.default_rng(1)
    return {name: chance.integers(-128, 128, SHAPE).astype(np.int8) for name in "ab"}


def assert_right(made: CompiledModel, folder: Path) -> None:
    """The reference's bits, while all memory that is free is filled with garbage."""
    inputs = random_inputs()
    poisoned = Poisoned(made, folder)
    assert np.array_equal(poisoned.run(inputs)["y"], run_graph(made.graph, inputs)["y"])
    assert poisoned.poisoned_bytes > 0


@pytest.mark.cc
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("optimize", [Optimize.SPEED, Optimize.SIZE, Optimize.RAM])
def test_a_call_gives_the_reference_s_bits(
    use: Use, tmp_path: Path, by_rows: bool, optimize: Optimize
) -> None:
    use(Larger(ANYWHERE, by_rows))
    made = model(optimize=optimize)
    assert [layer.kernel for layer in made.layers] == ["larger"] * 3
    assert_right(made, tmp_path)


@pytest.mark.cc
def test_what_the_caller_keeps_apart_is_copied_for_a_call_that_demands_memory(
    use: Use, tmp_path: Path
) -> None:
    use(Larger(ALIGNED))
    made = model(io_apart=True)
    inputs = random_inputs()
    assert np.array_equal(build(made.sources, tmp_path).run(inputs)["y"], run_graph(made.graph, inputs)["y"])


@pytest.mark.cc
def test_memory_begins_where_the_call_demands(use: Use, tmp_path: Path) -> None:
    """The function does nothing where any of its memory does not; what lies at the caller's is copied."""
    use(Larger(ALIGNED))
    made = model()
    assert [layer.op for layer in made.layers].count("relayout") == 3, "two inputs and the output"
    assert "#define NET_ARENA_ALIGN 16u" in made.sources["net.h"]
    assert_right(made, tmp_path)


def test_the_generated_c_calls_the_function_and_brings_its_files(use: Use) -> None:
    use(Larger(ALIGNED))
    sources = model().sources
    text = sources["net.c"]
    assert '#include "larger.h"\n' in text
    assert "static const struct larger_shape shape = {\n        .elements = 60,\n    };" in text
    assert re.search(
        r"    larger\(row_of_n\(run, row\), row_of_m\(run, row\), \w+_offset, y, scratch, &shape\);", text
    )
    assert "the functions of larger.h" in re.sub(r"\s+", " ", text)
    assert "__attribute__((aligned(16))) const int8_t net_layer" in sources["net_weights.h"]
    assert set(sources) >= {"larger.h", "larger.c"}


def test_the_head_says_what_the_library_needs_of_the_core(use: Use) -> None:
    use(Larger(ANYWHERE, needs=frozenset({Feature.DSP})))
    assert "#ifndef __ARM_FEATURE_DSP" in model().sources["net.c"]


def test_archives_hold_the_files(use: Use) -> None:
    use(Larger(ANYWHERE))
    artifact = artifact_of(model())
    assert "larger.c" in artifact.sources
    assert "larger.h" in artifact.headers


def test_estimates_count_the_library_once_and_its_hungriest_function(use: Use) -> None:
    without = model()
    use(Larger(ANYWHERE))
    made = model()
    assert made.code_bytes_estimate > 5_000
    assert made.code_bytes_estimate < without.code_bytes_estimate + 5_000
    assert made.stack_bytes_estimate - without.stack_bytes_estimate > 2_900


def test_tensors_and_scratch_lie_in_memory_that_the_function_reaches(use: Use) -> None:
    use(Larger(MemoryDemand(memories=frozenset({"SRAM", "NO_SUCH"}))))
    made = model(TWO_MEMORIES)
    places = {name: buffer.pool for name, buffer in made.plan.buffers.items()}
    assert {places[name] for name in ("m", "n", "first.scratch", "third.scratch")} == {"SRAM"}
    moved = replace(made.plan.buffers["m"], pool="DTCM")
    wrong = replace(made.plan, buffers={**made.plan.buffers, "m": moved})
    with pytest.raises(PlanError, match="buffer 'm' is in pool 'DTCM'"):
        check_plan(made.request, wrong)


def test_the_check_sees_scratch_that_begins_elsewhere(use: Use) -> None:
    use(Larger(ALIGNED))
    made = model()
    name = "first.scratch"
    moved = replace(made.plan.buffers[name], offset=made.plan.buffers[name].offset + 4)
    pools = {pool: size + 16 for pool, size in made.plan.pool_bytes.items()}
    wrong = replace(made.plan, buffers={**made.plan.buffers, name: moved}, pool_bytes=pools)
    with pytest.raises(PlanError, match=r"'first.scratch' at \d+ is not aligned to 16"):
        check_plan(made.request, wrong)


def test_memory_that_does_not_exist_is_named_with_the_node(use: Use) -> None:
    use(Larger(MemoryDemand(memories=frozenset({"NPU_RAM"}))))
    with pytest.raises(BoardError) as caught:
        model(TWO_MEMORIES)
    assert str(caught.value) == (
        'error: combine "first" (larger) works in NPU_RAM, which this board does not have\n'
        "  hint: there is DTCM, SRAM"
    )
    with pytest.raises(BoardError, match="which this board does not have"):
        model()


def test_two_functions_that_reach_no_memory_in_common_are_named(use: Use) -> None:
    fast = Larger(MemoryDemand(memories=frozenset({"DTCM"}))).schedule
    slow = Larger(MemoryDemand(memories=frozenset({"SRAM"}))).schedule
    assert fast.demand != slow.demand
    register(ISAS, "both", Isa("both", frozenset(), {"combine": (_only("second", slow), fast)}))
    try:
        with pytest.raises(ModelError) as caught:
            model(TWO_MEMORIES)
    finally:
        unregister(ISAS, "both")
    assert caught.value.what == (
        'combine "first" (larger) and combine "second" (larger) reach no memory in common'
    )


def test_alignment_is_a_power_of_two() -> None:
    with pytest.raises(ValueError, match="a power of two from 4 on, not 12"):
        MemoryDemand(align=12)


def test_a_model_may_not_be_called_as_the_library_is(use: Use) -> None:
    use(Larger(ANYWHERE))
    with pytest.raises(ModelError, match=r"two different files larger.h beside larger.c"):
        _ = model(name="larger").sources


def test_models_of_one_firmware_share_the_files(use: Use) -> None:
    use(Larger(ANYWHERE))
    one, other = (project_source(artifact_of(model(name=name))) for name in ("one", "other"))
    both = share_firmware(one, (other,))
    assert set(both.sources) >= {"one.c", "other.c", "larger.c"}
    changed = replace(other, sources={**other.sources, "larger.c": "/* newer */"})
    with pytest.raises(InputError, match=r"two of the models come with different files larger\.c"):
        share_firmware(one, (changed,))


def _only(node: str, schedule: Schedule) -> Schedule:
    return replace(schedule, fits=(Condition("that node", lambda site: site.node.name == node),))
