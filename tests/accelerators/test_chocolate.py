"""--accelerator chocolate: weights arrive by DMA while other layers run, and no bit changes."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conv2d_cases import CASES as CONVOLUTIONS
from dense_cases import CASES as DENSE
from halves_device import HALVES
from op_case import OpCase, random_values

from aot.extensions import ACCELERATORS, register, unregister
from aot.frontend.load import parse_model
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.text import parse_graph
from aot.target import Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import read_options
from platforms.poisoned import Poisoned

DIGITS = Path("deploy/demo/digits.tflite")


def made_of(graph: Graph, word: str, **options: Any) -> CompiledModel:
    model = ImportedModel(graph, "net.tflite", "00" * 32, "net")
    chosen = read_options({"accelerator": word, **options})
    return compile_job(Job(model, Target("host", pointer_bytes=8), chosen))


def is_taken(made: CompiledModel) -> bool:
    return any(layer.device == "chocolate" for layer in made.layers)


def some(cases: Sequence[OpCase]) -> list[OpCase]:
    return [case for case in cases if is_taken(made_of(case.graph, "chocolate"))][:6]


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("cases", [CONVOLUTIONS, DENSE], ids=["conv2d", "dense"])
def test_layers_of_all_shapes_keep_their_bits(cases, tmp_path):
    rng, taken = np.random.default_rng(2), some(cases)
    assert len(taken) == 6
    for case in taken:
        inputs = {name: random_values(rng, case.graph.types[name]) for name in case.graph.inputs}
        made = made_of(case.graph, "chocolate:tile=32")
        outputs = Poisoned(made, tmp_path / case.name).run(inputs)
        assert np.array_equal(outputs["y"], run_graph(case.graph, inputs)["y"]), case.name


def test_weights_arrive_while_other_layers_run(repo_root):
    made = made_of(parse_model((repo_root / DIGITS).read_bytes(), "digits.tflite"), "chocolate:tile=64")
    numbers = {layer.index for layer in made.layers if layer.device == "chocolate"}
    starts = [made.plan.order.index(number) for number in sorted(numbers)]
    ends = [len(made.plan.order) - made.plan.order[::-1].index(number) - 1 for number in sorted(numbers)]
    between = [end - start - 1 for start, end in zip(starts, ends, strict=True)]
    assert between[0] > 0, "the first tile comes while the input is copied"
    assert any(start < end for (_, end), (start, _) in pairwise(zip(starts, ends, strict=True)))


def test_where_memory_is_short_a_transfer_starts_early_only_where_that_is_free(repo_root):
    graph = parse_model((repo_root / DIGITS).read_bytes(), "digits.tflite")
    free, large = (made_of(graph, "chocolate:tile=64", **more) for more in ({"ram": "2200"}, {}))
    assert (free.plan.arena_bytes, large.plan.arena_bytes) == (2176, 2944)
    assert free.plan.order[0] == large.plan.order[0] == 1, "the first tile comes before anything else"


@pytest.mark.slow
def test_tiles_fill_lines_of_the_cache():
    case = some(CONVOLUTIONS)[0]
    made = made_of(case.graph, "chocolate:tile=32")
    (stage,) = (stage for stage in made.planned.request.stages if stage.starts)
    buffer = made.plan.buffers[f"{stage.name}.state"]
    assert (buffer.offset % 32, buffer.bytes % 32) == (0, 0)


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "runner"), [("host", ""), ("mps2-an386", "qemu"), ("mps2-an386", "unicorn")]
)
def test_every_layer_is_verified_on_host_qemu_and_unicorn(
    board, runner, repo_root, run_deploy, require_tool, require_package
):
    """Beside another device, so that two of them and the core compute one model."""
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    require_package("unicorn")
    words = ["verify", repo_root / DIGITS, "--board", board, "--layers"]
    words += ["--accelerator", "strawberry", "--accelerator", "chocolate:tile=64"]
    done = run_deploy(*words, *(["--runner", runner] if runner else []))
    assert "equal to the reference in every bit" in done.out, done.err


@pytest.fixture
def halves():
    register(ACCELERATORS, "halves", HALVES)
    yield
    unregister(ACCELERATORS, "halves")


BESIDE = parse_graph(
    """graph "net"
input "x": f32[1,4,4,8]
"t" = tanh() "x" -> "t": f32[1,4,4,8]
"sum" = add() "t", "t" -> "s": f32[1,4,4,8]
"one" = logistic() "t" -> "a": f32[1,4,4,8]
"two" = tanh() "a" -> "b": f32[1,4,4,8]
"all" = mul() "b", "s" -> "y": f32[1,4,4,8]
output "y"
"""
)


@pytest.mark.cc
@pytest.mark.parametrize("optimize", ["speed", "ram"])
def test_the_core_computes_while_a_device_has_its_inputs_and_its_result(optimize, halves, tmp_path):
    made = made_of(BESIDE, "halves", optimize=optimize)
    names = [made.layers[number].name for number in made.plan.order]
    start, wait = names.index("sum"), len(names) - names[::-1].index("sum") - 1
    assert set(names[start + 1 : wait]) >= ({"one", "two"} if optimize == "speed" else set())
    inputs = {"x": np.random.default_rng(1).normal(size=(1, 4, 4, 8)).astype(np.float32)}
    found, wanted = Poisoned(made, tmp_path).run(inputs), run_graph(BESIDE, inputs)
    assert np.allclose(found["y"], wanted["y"], rtol=1e-5)
