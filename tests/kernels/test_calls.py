"""A kernel that is a call of a C function: planned like loops, called by the generated C, with its files."""

import re
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from calls import ALIGNED, Larger, maxima, random_inputs, used_for
from error_facts import refused
from model_checks import PLAIN

from aot.errors import BoardError, InputError, ModelError
from aot.interpret import run_graph
from aot.plan.check import PlanError, check_plan
from aot.target import Feature, MemoryRegion, Optimize, Target
from artifact.artifact import artifact_of
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.kernels.kernel import ANYWHERE, MemoryDemand
from codegen.kernels.strategy import Condition, Strategy
from codegen.options import CompileOptions
from platforms.poisoned import Poisoned
from platforms.project import project_source, share_firmware
from platforms.shared_library import build

FAST, SLOW = (
    MemoryRegion("DTCM", 0, 64 * 1024, "ram"),
    MemoryRegion("SRAM", 1 << 20, 256 * 1024, "ram", speed=1),
)
TWO_MEMORIES = Target("host", regions=(FAST, SLOW), pointer_bytes=8)


@pytest.fixture
def use():
    """Puts the strategy before all others, for the time of a test."""
    with ExitStack() as stack:
        yield lambda larger: stack.enter_context(used_for("combine", larger.strategy))


def model(target: Target = PLAIN, name: str = "net", **options: object) -> CompiledModel:
    imported = ImportedModel(maxima(), "net.tflite", "00" * 32, name)
    return compile_job(Job(imported, target, replace(CompileOptions(), **options)))  # type: ignore[arg-type]


def assert_right(made: CompiledModel, folder: Path) -> None:
    """The reference's bits, while all memory that is free is filled with garbage."""
    inputs = random_inputs()
    poisoned = Poisoned(made, folder)
    assert np.array_equal(poisoned.run(inputs)["y"], run_graph(made.graph, inputs)["y"])
    assert poisoned.poisoned_bytes > 0


@pytest.mark.cc
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("optimize", [Optimize.SPEED, Optimize.SIZE, Optimize.RAM])
def test_a_call_gives_the_reference_s_bits(use, tmp_path, by_rows, optimize):
    use(Larger(ANYWHERE, by_rows))
    made = model(optimize=optimize)
    assert [layer.kernel for layer in made.layers] == ["larger"] * 3
    assert_right(made, tmp_path)


@pytest.mark.cc
def test_what_the_caller_keeps_apart_is_copied_for_a_call_that_demands_memory(use, tmp_path):
    use(Larger(ALIGNED))
    made = model(caller_owns_io=True)
    inputs = random_inputs()
    assert np.array_equal(build(made.sources, tmp_path).run(inputs)["y"], run_graph(made.graph, inputs)["y"])


@pytest.mark.cc
def test_memory_begins_where_the_call_demands(use, tmp_path):
    """The function does nothing where any of its memory does not; what lies at the caller's is copied."""
    use(Larger(ALIGNED))
    made = model()
    assert [layer.op for layer in made.layers].count("relayout") == 3, "two inputs and the output"
    assert "#define NET_ARENA_ALIGN 16u" in made.sources["net.h"]
    assert_right(made, tmp_path)


def test_the_generated_c_calls_the_function_and_brings_its_files(use):
    use(Larger(ALIGNED))
    sources = model().sources
    text = sources["net.c"]
    assert '#include "larger.h"\n' in text
    assert "static const struct larger_shape shape = {.elements = 60};" in text
    assert re.search(
        r"    larger\(row_of_n\(run, row\), row_of_m\(run, row\), \w+_offset, y, scratch, &shape\);", text
    )
    assert "the functions of larger.h" in re.sub(r"\s+", " ", text)
    assert "__attribute__((aligned(16))) const int8_t net_" in sources["net_weights.h"]
    assert set(sources) >= {"larger.h", "larger.c"}


def test_the_head_says_what_the_library_needs_of_the_core(use):
    use(Larger(ANYWHERE, needs=frozenset({Feature.DSP})))
    assert "#ifndef __ARM_FEATURE_DSP" in model().sources["net.c"]


def test_archives_hold_the_files(use):
    use(Larger(ANYWHERE))
    artifact = artifact_of(model())
    assert "larger.c" in artifact.sources
    assert "larger.h" in artifact.headers


def test_estimates_count_the_library_once_and_its_hungriest_function(use):
    without = model()
    use(Larger(ANYWHERE))
    made = model()
    assert 5_000 < made.code_bytes_estimate < 2 * 5_000
    assert made.planned.stack_bytes - without.planned.stack_bytes > 2_900


def test_tensors_and_scratch_lie_in_memory_that_the_function_reaches(use):
    use(Larger(MemoryDemand(memories=frozenset({"SRAM", "NO_SUCH"}))))
    made = model(TWO_MEMORIES)
    places = {name: buffer.pool for name, buffer in made.plan.buffers.items()}
    assert {places[name] for name in ("m", "n", "first.scratch", "third.scratch")} == {"SRAM"}
    moved = replace(made.plan.buffers["m"], pool="DTCM")
    wrong = replace(made.plan, buffers={**made.plan.buffers, "m": moved})
    with pytest.raises(PlanError, match="buffer 'm' is in pool 'DTCM'"):
        check_plan(made.planned.request, wrong)


def test_the_check_sees_scratch_that_begins_elsewhere(use):
    use(Larger(ALIGNED))
    made = model()
    name = "first.scratch"
    moved = replace(made.plan.buffers[name], offset=made.plan.buffers[name].offset + 4)
    pools = {pool: size + 16 for pool, size in made.plan.pool_bytes.items()}
    wrong = replace(made.plan, buffers={**made.plan.buffers, name: moved}, pool_bytes=pools)
    with pytest.raises(PlanError, match=r"'first.scratch' at \d+ is not aligned to 16"):
        check_plan(made.planned.request, wrong)


def test_memory_that_does_not_exist_is_named_with_the_node(use):
    use(Larger(MemoryDemand(memories=frozenset({"NPU_RAM"}))))
    refused(lambda: model(TWO_MEMORIES), '"first" NPU_RAM combine larger needs DTCM SRAM there', BoardError)
    with pytest.raises(BoardError, match="which this board does not have"):
        model()


def test_two_functions_that_reach_no_memory_in_common_are_named(use):
    fast = Larger(MemoryDemand(memories=frozenset({"DTCM"}))).strategy
    slow = Larger(MemoryDemand(memories=frozenset({"SRAM"}))).strategy
    assert fast.demand != slow.demand
    with used_for("combine", _only("second", slow), fast), pytest.raises(ModelError) as caught:
        model(TWO_MEMORIES)
    assert caught.value.what == (
        'combine "first" (larger) and combine "second" (larger) cannot share a tensor: they reach different '
        "memories"
    )


def test_alignment_is_a_power_of_two():
    for wrong in (12, 2, 0, 128):
        with pytest.raises(ValueError, match=f"a power of two from 4 to 64, not {wrong}"):
            MemoryDemand(align=wrong)


def test_a_model_may_not_be_called_as_the_library_is(use):
    use(Larger(ANYWHERE))
    with pytest.raises(ModelError, match=r"two different files are called larger.h"):
        _ = model(name="larger").sources


def test_models_of_one_firmware_share_the_files(use):
    use(Larger(ANYWHERE))
    one, other = (project_source(artifact_of(model(name=name))) for name in ("one", "other"))
    both = share_firmware(one, (other,))
    assert set(both.sources) >= {"one.c", "other.c", "larger.c"}
    changed = replace(other, sources={**other.sources, "larger.c": "/* newer */"})
    with pytest.raises(InputError, match=r"two of the models come with different files larger\.c"):
        share_firmware(one, (changed,))


def _only(node: str, strategy: Strategy) -> Strategy:
    return replace(strategy, fits=(Condition("that node", lambda site: site.node.name == node),))
