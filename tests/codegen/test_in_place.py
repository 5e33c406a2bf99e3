"""Results are written where their operands lie, if that is one row or one piece which nobody else reads."""

import numpy as np
import pytest
from c_checks import failures_on_host
from model_checks import PLAIN, check_of
from op_case import float32, int8

from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.binary import Add, Mul
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from platforms.poisoned import Poisoned


def chain(kind: TensorType) -> Graph:
    """a = 2x * 2x, y = a + a * a"""
    nodes = (
        Node("twice", Add(), ("x", "x"), ("n",)),
        Node("product", Mul(), ("n", "n"), ("a",)),
        Node("square", Mul(), ("a", "a"), ("s",)),
        Node("sum", Add(), ("s", "a"), ("y",)),
    )
    return Graph("chain", ("x",), ("y",), nodes, dict.fromkeys(("x", "n", "a", "s", "y"), kind), {})


def compiled(graph: Graph) -> CompiledModel:
    return compile_job(Job(ImportedModel(graph, "t", "0" * 64, "net"), PLAIN, CompileOptions()))


KINDS = {
    "a float vector": float32(1, 64),
    "a vector of integers": int8(1, 64),
    "many rows in one piece": float32(1, 80, 3),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_two_tensors_are_all_that_is_there_at_once(kind):
    model = compiled(chain(kind))
    assert model.plan.arena_bytes == model.plan.bound_bytes == 2 * kind.bytes
    assert model.whole_tensor_bound_bytes == 3 * kind.bytes


@pytest.mark.cc
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_bits_are_the_same(kind, compiler, require_tool, tmp_path):
    require_tool(compiler)
    graph = chain(kind)
    model, chance = compiled(graph), np.random.default_rng(1)
    given = [{"x": chance.integers(-9, 9, kind.shape).astype(kind.dtype.numpy)} for _ in range(3)]
    wanted = [run_graph(graph, sample) for sample in given]
    assert not failures_on_host([check_of("net", model, given, wanted)], tmp_path / "c", compiler)
    poisoned = Poisoned(model, tmp_path / "p")
    for sample, outputs in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(poisoned.run(sample)["y"], outputs["y"])


def test_an_operand_that_is_read_later_is_not_written_over():
    kind = float32(1, 64)
    nodes = (
        Node("twice", Add(), ("x", "x"), ("n",)),
        Node("product", Mul(), ("n", "n"), ("a",)),
        Node("sum", Add(), ("a", "n"), ("y",)),
    )
    graph = Graph("late", ("x",), ("y",), nodes, dict.fromkeys(("x", "n", "a", "y"), kind), {})
    model = compiled(graph)
    assert model.plan.buffers["n"].offset != model.plan.buffers["a"].offset


def test_images_keep_their_rows_apart():
    model = compiled(chain(int8(1, 6, 4, 3)))
    assert all(not stage.in_place for stage in model.planned.request.stages)
    assert "restrict y" in model.sources["net.c"]
