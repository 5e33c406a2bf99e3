"""Inputs and outputs in memory of the caller's: no room for them in the arena, nothing written over them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from model_checks import PLAIN
from op_case import int8

import deploy.demo
from aot.frontend.load import load_model
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ops.binary import Add
from aot.plan.model import Kind, PlanTensor, Rows, Stage, Step
from aot.target import Optimize
from artifact.artifact import artifact_of
from codegen.compile import compile_job
from codegen.fit.variant import without_io
from codegen.job import ImportedModel, Job, read_job
from codegen.model import CompiledModel
from codegen.options import CompileOptions
from platforms.base import platform_of
from platforms.board_files import load_board
from platforms.project import App, project_source
from platforms.shared_library import build

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
HOST = load_board("host").target


def digits(apart: bool, optimize: Optimize = Optimize.RAM) -> CompiledModel:
    return compile_job(read_job(DIGITS, HOST, CompileOptions(optimize=optimize, caller_owns_io=apart)))


def test_the_arena_has_no_room_for_them() -> None:
    inside, apart = digits(apart=False), digits(apart=True)
    assert apart.plan.arena_bytes < inside.plan.arena_bytes
    assert apart.whole_tensor_bound_bytes <= inside.whole_tensor_bound_bytes
    (image,), (digit,) = apart.inputs, apart.outputs
    assert (
        apart.plan.arena_bytes <= image.arena_offset < image.arena_offset + image.bytes <= digit.arena_offset
    )


def test_the_header_gives_no_offsets_that_are_not_there() -> None:
    inside, apart = (digits(each).sources["digits.h"] for each in (False, True))
    assert "#define DIGITS_IMAGE_OFFSET" in inside
    assert "_OFFSET" not in apart
    assert "The arena has no room for inputs and outputs: they lie in memory of yours" in apart


def test_only_inside_the_arena_a_result_is_written_where_its_operand_lies() -> None:
    kinds = {"x": Kind.INPUT, "a": Kind.INNER, "b": Kind.INNER, "y": Kind.OUTPUT}
    tensors = [PlanTensor(name, 1, 8, kind) for name, kind in kinds.items()]
    step, pairs = Step((Rows(0, 1),), (Rows(0, 1),)), (("x", "a"), ("a", "b"), ("b", "y"))
    stages = [Stage(read + write, (read,), (write,), (step,), in_place=((0, 0),)) for read, write in pairs]
    apart, within = without_io(tensors, stages)
    assert [tensor.row_bytes for tensor in apart] == [0, 8, 8, 0]
    assert [stage.in_place for stage in within] == [(), ((0, 0),), ()]


@pytest.mark.cc
@pytest.mark.parametrize("optimize", Optimize, ids=lambda o: o.value)
def test_the_bits_are_the_same(optimize: Optimize, tmp_path: Path, require_tool: Callable[..., None]) -> None:
    require_tool("gcc")
    graph, model = load_model(DIGITS), build(digits(True, optimize).sources, tmp_path)
    (name,) = graph.inputs
    for image in np.random.default_rng(5).integers(-128, 128, (5, *graph.types[name].shape), np.int8):
        expected = run_graph(graph, {name: image})
        np.testing.assert_array_equal(model.run({name: image})["digit"], expected["digit"])


@pytest.mark.parametrize(("apart", "arena_bytes"), [(False, 128), (True, 64)])
def test_what_goes_element_by_element_writes_over_no_input_of_the_caller(
    apart: bool, arena_bytes: int
) -> None:
    """a = x + x; b = a + a; y = b + b: in the arena two vectors, the caller's own leave one."""
    nodes = tuple(Node(f"twice {y}", Add(), (x, x), (y,)) for x, y in ("xa", "ab", "by"))
    graph = Graph("chain", ("x",), ("y",), nodes, dict.fromkeys("xaby", int8(1, 64)), {})
    model = compile_job(
        Job(ImportedModel(graph, "t", "0" * 64, "net"), PLAIN, CompileOptions(caller_owns_io=apart))
    )
    assert model.plan.arena_bytes <= arena_bytes
    inputs = {t.name for t in model.request.tensors if t.name in graph.inputs}
    written_over = {s.reads[read] for s in model.request.stages for read, _ in s.in_place}
    assert bool(inputs & written_over) is not apart
    assert "a" in written_over


def test_a_program_that_calls_the_model_has_arrays_of_its_own_for_them() -> None:
    model, board = digits(apart=True), load_board("host")
    files = platform_of(board).files(project_source(artifact_of(model)), board, App.STANDALONE)
    main = files["src/main.c"]
    assert "static int8_t tensor_image[64];" in main
    assert ".image = (void *)tensor_image," in main
    assert "_OFFSET" not in main
