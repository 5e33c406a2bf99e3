"""Memories: each arena in the fastest with room, callers' inputs and outputs outside; the same bits."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from c_checks import failures_on_host
from model_checks import PLAIN, Sample, check_of
from op_case import int8

import deploy.demo
from aot.errors import BoardError, FitError
from aot.frontend.load import load_model
from aot.interpret import run_graph, run_series
from aot.ir.graph import Graph, Node, State
from aot.ops.binary import Add
from aot.ops.concat import Concat
from aot.plan.model import Kind, PlanTensor, Pool, Rows, Stage, Step
from aot.target import FIRMWARE_RAM_BYTES, MemoryRegion, Optimize, Target
from artifact.artifact import artifact_of
from codegen.c.arenas import Arena, arenas_of, chosen_pools, line_bytes, pools_for
from codegen.compile import CompiledModel, compile_job
from codegen.fit.variant import pools_demanded, without_io
from codegen.job import ImportedModel, Job, read_job
from codegen.kernels.kernel import ANYWHERE, MemoryDemand
from codegen.lower.stages import LoweredStage
from codegen.options import CompileOptions
from platforms.base import platform_of
from platforms.board_files import load_board
from platforms.poisoned import Poisoned
from platforms.project import App, project_source
from platforms.shared_library import build

FAST, SLOW = (
    MemoryRegion("DTCM", 0, 64 * 1024, "ram"),
    MemoryRegion("SRAM", 1 << 20, 256 * 1024, "ram", speed=1),
)
TARGET = Target("host", regions=(SLOW, FAST), pointer_bytes=8)
FEW = (Pool("DTCM", 200), Pool("SRAM"))


@pytest.fixture
def residual(tiny_file):
    return load_model(tiny_file("residual", "residual.tflite"))


def spread(graph: Graph, pools: tuple[Pool, ...] = FEW, **options: Any) -> CompiledModel:
    return compile_job(
        Job(ImportedModel(graph, "t", "0" * 64, "net"), TARGET, CompileOptions(pools=pools, **options))
    )


def samples(graph: Graph, count: int = 3) -> list[Sample]:
    chance = np.random.default_rng(1)
    return [
        {name: chance.integers(-128, 128, graph.types[name].shape).astype(np.int8) for name in graph.inputs}
        for _ in range(count)
    ]


def test_one_pool_is_the_arena_several_are_named():
    assert arenas_of({"arena": 9}) == (Arena("arena", "", 9),)
    assert arenas_of({"SRAM": 9}) == (Arena("arena", "SRAM", 9),)
    assert [a.name for a in arenas_of({"DTCM": 1, "AXI SRAM": 2})] == ["dtcm_arena", "axi_sram_arena"]


def test_an_arena_that_the_fastest_memory_has_room_for_is_one_piece():
    room = FAST.bytes - FIRMWARE_RAM_BYTES
    assert pools_for(TARGET, room) == ()
    assert pools_for(TARGET, room + 1) == (Pool("DTCM", room), Pool("SRAM", SLOW.bytes))
    assert pools_for(Target("cortex-m4", regions=(FAST,)), room + 1) == ()


def test_named_memories_come_fastest_first_and_are_no_larger_than_they_are():
    wished = (Pool("SRAM", 1 << 30), Pool("DTCM", 100))
    assert chosen_pools(TARGET, wished) == (Pool("DTCM", 100), Pool("SRAM", SLOW.bytes))


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (
            TARGET,
            ' - did you mean "SRAM"?\n  hint: --pool accepts: DTCM, SRAM',
        ),
        (
            Target("host"),
            "\n  hint: --pool accepts: nothing without a board",
        ),
    ],
)
def test_a_memory_that_is_not_there_is_reported(target, says):
    with pytest.raises(BoardError) as refused:
        chosen_pools(target, (Pool("SRAN"),))
    assert str(refused.value) == f'error: "SRAN" is not a RAM region of this board{says}'


def test_memories_that_are_too_small_say_by_how_much(residual):
    with pytest.raises(FitError) as refused:
        spread(residual, (Pool("DTCM", 40), Pool("SRAM", 376)))
    text = str(refused.value)
    assert "more bytes needed, pool 'DTCM' has 40, pool 'SRAM' has 376" in text
    assert text.endswith("hint: enlarge the pool, add another --pool, or use --optimize ram")


def test_what_is_used_most_for_its_size_lies_in_the_fast_memory(residual):
    model = spread(residual)
    assert 0 < model.plan.pool_bytes["DTCM"] <= 200 < sum(model.plan.pool_bytes.values())
    used = {"DTCM": 0, "SRAM": 0}
    for stage in model.planned.request.stages:
        for name, rows in zip(stage.reads, zip(*(f.reads for f in stage.steps), strict=True), strict=True):
            buffer = model.plan.buffers[name]
            used[buffer.pool] += max(stage.work, sum(map(len, rows)) * buffer.row_bytes)
    size = model.plan.pool_bytes
    assert used["DTCM"] / size["DTCM"] > used["SRAM"] / size["SRAM"]


def test_a_memory_that_nothing_lies_in_is_not_a_parameter(residual):
    assert tuple(spread(residual, (Pool("DTCM"), Pool("SRAM"))).plan.pool_bytes) == ("DTCM",)


def test_the_header_names_every_memory_and_where_inputs_and_outputs_lie(residual):
    model = spread(residual)
    header = model.sources["net.h"]
    sizes = model.plan.pool_bytes
    assert (
        f"#define NET_DTCM_ARENA_BYTES {sizes['DTCM']}u\n#define NET_SRAM_ARENA_BYTES {sizes['SRAM']}u\n"
        in header
    )
    assert "void *dtcm_arena, void *sram_arena);" in header
    assert "; its offset is in sram_arena */" in header
    assert "NET_DTCM_ARENA_BYTES and NET_SRAM_ARENA_BYTES of working memory" in header


def test_the_serial_line_sends_arenas_and_a_streamed_input_behind_them(residual):
    for is_streamed in (False, True):
        model = spread(residual, stream=is_streamed)
        fast, slow = model.plan.pool_bytes.values()
        behind = model.inputs[0].bytes if is_streamed else 0
        sent = line_bytes(arenas_of(model.plan.pool_bytes), (*model.inputs, *model.outputs))
        assert sent[0] == fast
        assert slow + behind <= sent[1] < slow + behind + 8, "it begins at a word"


@pytest.mark.cc
@pytest.mark.parametrize("optimize", [Optimize.RAM, Optimize.SPEED])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_bits_are_those_of_one_memory(optimize, compiler, residual, tmp_path, require_tool):
    require_tool(compiler)
    model, given = spread(residual, optimize=optimize), samples(residual)
    assert len(model.plan.pool_bytes) == 2
    check = check_of("net", model, given, [run_graph(residual, sample) for sample in given])
    assert not failures_on_host([check], tmp_path, compiler)


@pytest.mark.cc
def test_garbage_in_free_memory_of_each_changes_nothing(residual, tmp_path):
    poisoned = Poisoned(spread(residual), tmp_path)
    for sample in samples(residual):
        made, wanted = poisoned.run(sample), run_graph(residual, sample)
        assert all(np.array_equal(made[name], wanted[name]) for name in wanted)
    assert poisoned.poisoned_bytes > 0


def held_rows() -> Graph:
    """y is x behind what is kept, which is what x was in the last run; another state only waits."""
    row, rows = int8(1, 1, 2, 3), int8(1, 1, 4, 3)
    types = {"held": row, "x": row, "waits": rows, "y": rows}
    states = (
        State("held", "x", np.full((1, 1, 2, 3), 9, np.int8)),
        State("waits", "y", np.zeros((1, 1, 4, 3), np.int8)),
    )
    return Graph("held", ("x",), ("y",), (Node("join", Concat(2), ("held", "x"), ("y",)),), types, {}, states)


@pytest.mark.cc
def test_states_in_several_memories_are_reset_and_kept(tmp_path):
    graph = held_rows()
    model = spread(graph, (Pool("DTCM", 16), Pool("SRAM")))
    assert {model.plan.buffers[state.name].pool for state in graph.states} == {"DTCM", "SRAM"}
    given = samples(graph, 4)
    host = build(model.sources, tmp_path)
    for _ in range(2):
        host.reset()
        for sample, wanted in zip(given, run_series(graph, given), strict=True):
            made = host.run(sample)
            assert all(np.array_equal(made[name], wanted[name]) for name in wanted)


@pytest.mark.cc
def test_a_streamed_input_comes_in_behind_the_slowest(residual, tmp_path):
    model = spread(residual, stream=True)
    assert model.inputs[0].arena == len(model.plan.pool_bytes) - 1 == 1
    host = build(model.sources, tmp_path)
    for sample in samples(residual):
        made, wanted = host.run(sample), run_graph(residual, sample)
        assert all(np.array_equal(made[name], wanted[name]) for name in wanted)


DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
HOST = load_board("host").target


def digits(apart: bool, optimize: Optimize = Optimize.RAM) -> CompiledModel:
    return compile_job(read_job(DIGITS, HOST, CompileOptions(optimize=optimize, caller_owns_io=apart)))


def test_the_arena_has_no_room_for_them():
    inside, apart = digits(apart=False), digits(apart=True)
    assert apart.plan.arena_bytes < inside.plan.arena_bytes
    assert apart.whole_tensor_bound_bytes <= inside.whole_tensor_bound_bytes
    (image,), (digit,) = apart.inputs, apart.outputs
    assert (
        apart.plan.arena_bytes <= image.arena_offset < image.arena_offset + image.bytes <= digit.arena_offset
    )


def test_the_header_gives_no_offsets_that_are_not_there():
    inside, apart = (digits(each).sources["digits.h"] for each in (False, True))
    assert "#define DIGITS_IMAGE_OFFSET" in inside
    assert "_OFFSET" not in apart
    assert "The arena has no room for inputs and outputs: they lie in memory of yours" in apart


def test_only_inside_the_arena_a_result_is_written_where_its_operand_lies():
    kinds = {"x": Kind.INPUT, "a": Kind.INNER, "b": Kind.INNER, "y": Kind.OUTPUT}
    tensors = [PlanTensor(name, 1, 8, kind) for name, kind in kinds.items()]
    step, pairs = Step((Rows(0, 1),), (Rows(0, 1),)), (("x", "a"), ("a", "b"), ("b", "y"))
    stages = [Stage(read + write, (read,), (write,), (step,), in_place=((0, 0),)) for read, write in pairs]
    apart, within = without_io(tensors, stages)
    assert [tensor.row_bytes for tensor in apart] == [0, 8, 8, 0]
    assert [stage.in_place for stage in within] == [(), ((0, 0),), ()]


@pytest.mark.cc
@pytest.mark.parametrize("optimize", Optimize, ids=lambda o: o.value)
def test_the_bits_are_the_same(optimize, tmp_path):
    graph, model = load_model(DIGITS), build(digits(True, optimize).sources, tmp_path)
    (name,) = graph.inputs
    for image in np.random.default_rng(5).integers(-128, 128, (5, *graph.types[name].shape), np.int8):
        expected = run_graph(graph, {name: image})
        np.testing.assert_array_equal(model.run({name: image})["digit"], expected["digit"])


@pytest.mark.parametrize(("apart", "arena_bytes"), [(False, 128), (True, 64)])
def test_what_goes_element_by_element_writes_over_no_input_of_the_caller(apart, arena_bytes):
    """a = x + x; b = a + a; y = b + b: in the arena two vectors, the caller's own leave one."""
    nodes = tuple(Node(f"twice {y}", Add(), (x, x), (y,)) for x, y in ("xa", "ab", "by"))
    graph = Graph("chain", ("x",), ("y",), nodes, dict.fromkeys("xaby", int8(1, 64)), {})
    model = compile_job(
        Job(ImportedModel(graph, "t", "0" * 64, "net"), PLAIN, CompileOptions(caller_owns_io=apart))
    )
    assert model.plan.arena_bytes <= arena_bytes
    inputs = {t.name for t in model.planned.request.tensors if t.name in graph.inputs}
    written_over = {s.reads[read] for s in model.planned.request.stages for read, _ in s.in_place}
    assert bool(inputs & written_over) is not apart
    assert "a" in written_over


def test_a_program_that_calls_the_model_has_arrays_of_its_own_for_them():
    model, board = digits(apart=True), load_board("host")
    files = platform_of(board).files(project_source(artifact_of(model)), board, App.STANDALONE)
    main = files["src/main.c"]
    assert "static int8_t tensor_image[64];" in main
    assert ".image = (void *)tensor_image," in main
    assert "_OFFSET" not in main


DTCM, SRAM = MemoryRegion("DTCM", 0, 1 << 16, "ram"), MemoryRegion("SRAM", 1 << 20, 1 << 18, "ram", speed=1)
M55 = Target("cortex-m55", regions=(DTCM, SRAM))
ALL = (Pool("DTCM", (1 << 16) - FIRMWARE_RAM_BYTES), Pool("SRAM", 1 << 18))


def stage(*memories: str) -> LoweredStage:
    demand = MemoryDemand(memories=frozenset(memories))
    kernel = SimpleNamespace(demand=demand, device="NPU", strategy="npu")
    made = SimpleNamespace(op="conv2d", name="c", kernel=kernel)
    return cast(LoweredStage, made)


def test_where_any_memory_will_do_nothing_is_spread():
    assert stage().kernel.demand == ANYWHERE
    assert pools_demanded([stage(), stage()], M55, (Pool("SRAM"),)) == ()


def test_one_that_demands_a_memory_spreads_over_all_of_the_board():
    assert pools_demanded([stage(), stage("SRAM")], M55, ()) == ALL


def test_what_the_user_names_is_all_that_is_offered():
    assert pools_demanded([stage("SRAM")], M55, (Pool("SRAM", 100),)) == (Pool("SRAM", 100),)


@pytest.mark.parametrize(
    ("target", "chosen", "why", "hint"),
    [
        (M55, (Pool("DTCM", 100),), "which --pool or --ram excludes", "there is DTCM"),
        (Target("cortex-m55", regions=(DTCM,)), (), "which this board does not have", "there is DTCM"),
        (Target("cortex-m55"), (), "which this board does not have", "there is none: name a board"),
    ],
)
def test_a_memory_that_is_not_offered_is_reported(target, chosen, why, hint):
    with pytest.raises(BoardError) as refused:
        pools_demanded([stage("SRAM", "AXI")], target, chosen)
    assert refused.value.what == f'conv2d "c" (NPU) needs memory in AXI or SRAM, {why}'
    assert refused.value.hint == hint
