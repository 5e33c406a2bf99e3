"""--accelerator strawberry: a convolution and its pool are one call, weights are packed, no bit changes."""

import json
from pathlib import Path

import numpy as np
import pytest
from op_case import random_values

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.region import DeviceRegion, subgraphs_of
from aot.ir.text import external_constants, parse_graph, print_graph
from aot.ir.verify import verify
from aot.target import Target
from artifact.archive import read_archive
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from extensions.strawberry.packing import packed
from platforms.poisoned import Poisoned

DIGITS = Path("deploy/demo/digits.tflite")
# Sizes of the image, channels, padding and stride of the convolution, and of a pool: size, stride, padding.
CASES = {
    "pool": ((9, 7, 3), 5, "[[1, 1], [1, 1]]", "[1, 1]", ("[2, 2]", "[2, 2]", "[[0, 0], [0, 0]]")),
    "padded": (
        (8, 8, 4),
        8,
        "[[0, 1], [0, 1]]",
        "[2, 1]",
        ("[3, 3]", "[3, 2]", "[[1, 1], [1, 1]]"),
    ),
    "alone": ((6, 5, 2), 9, "[[1, 1], [0, 0]]", "[1, 2]", None),
}
_TYPES = {"i8": (" {0.05, 3}", " {0.02, 0}", "i8", "i32", " {0.001, 0}"), "f32": ("", "", "f32", "f32", "")}


def size_of(size: int, pad: list[int], kernel: int, stride: int) -> int:
    return (size + sum(pad) - kernel) // stride + 1


def graph_of(name: str, kind: str) -> Graph:
    """A convolution of 3x3 with relu, and the pool of the case behind it."""
    (rows, columns, depth), channels, padding, stride, pool = CASES[name]
    x, w, dtype, bias, of_bias = _TYPES[kind]
    pads, strides = json.loads(padding), json.loads(stride)
    h, v = (size_of(n, pads[i], 3, strides[i]) for i, n in enumerate((rows, columns)))
    made = f"{dtype}[1,{h},{v},{channels}]{x}"
    lines = [
        'graph "net"',
        f'input "x": {dtype}[1,{rows},{columns},{depth}]{x}',
        f'constant "w": {dtype}[{channels},3,3,{depth}]{w} = external',
        f'constant "b": {bias}[{channels}]{of_bias} = external',
        f'"conv" = conv2d(stride={stride}, padding={padding}, activation=relu) "x", "w", "b" -> "c": {made}',
    ]
    last = "c"
    if pool is not None:
        sizes, steps, around = map(json.loads, pool)
        a, b = (size_of(n, around[i], sizes[i], steps[i]) for i, n in enumerate((h, v)))
        attributes = f"size={pool[0]}, stride={pool[1]}, padding={pool[2]}"
        lines.append(f'"pool" = max_pool2d({attributes}) "c" -> "y": {dtype}[1,{a},{b},{channels}]{x}')
        last = "y"
    rng = np.random.default_rng(len(name))
    weights = rng.integers(-100, 100, (channels, 3, 3, depth)).astype(np.int8)
    start = rng.integers(-900, 900, channels).astype(np.int32)
    if kind == "f32":
        weights, start = (weights / 100).astype(np.float32), (start / 900).astype(np.float32)
    return parse_graph("\n".join([*lines, f'output "{last}"']), {"w": weights, "b": start})


def made_of(graph: Graph, *words: str) -> CompiledModel:
    model = ImportedModel(graph, "net.tflite", "00" * 32, "net")
    return compile_job(Job(model, Target("host", pointer_bytes=8), CompileOptions(accelerators=words)))


@pytest.mark.cc
@pytest.mark.parametrize("kind", _TYPES)
@pytest.mark.parametrize("name", CASES)
def test_what_it_computes_is_the_reference(name, kind, tmp_path):
    graph, rng = graph_of(name, kind), np.random.default_rng(4)
    made = made_of(graph, f"strawberry:lanes={4 if name == 'pool' else 8}")
    assert all(layer.device == "strawberry" for layer in made.layers if layer.op != "relayout")
    inputs = {"x": random_values(rng, graph.types["x"])}
    found, wanted = Poisoned(made, tmp_path).run(inputs), run_graph(graph, inputs)
    (result,) = graph.outputs
    if kind == "i8":
        assert np.array_equal(found[result], wanted[result])
    else:
        assert np.allclose(found[result], wanted[result], rtol=1e-5, atol=1e-5)


@pytest.mark.cc
def test_floats_may_be_infinite(tmp_path):
    graph = parse_graph(print_graph(graph_of("pool", "f32"), 1 << 20).replace(", activation=relu", ""))
    inputs = {"x": np.full(graph.types["x"].shape, -3e38, np.float32)}
    found = Poisoned(made_of(graph, "strawberry"), tmp_path).run(inputs)["y"]
    with np.errstate(over="ignore"):
        wanted = run_graph(graph, inputs)["y"]
    assert np.isinf(wanted).any()
    assert np.array_equal(found[np.isinf(wanted)], wanted[np.isinf(wanted)])


def test_the_image_between_is_nowhere():
    """One row of windows lies in scratch: 2 x 7 pixels of 5 channels, not 9 x 7."""
    made = made_of(graph_of("pool", "i8"), "strawberry")
    assert "c" not in made.plan.buffers
    assert made.plan.buffers["conv..pool.scratch"].bytes == 72  # 70, up to where the device loads 8
    assert made.plan.buffers["conv..pool.scratch"].offset % 8 == 0


def test_weights_are_packed_for_the_lanes():
    w = np.arange(3 * 2).reshape(3, 1, 1, 2)
    assert packed(w, 2).tolist() == [0, 2, 1, 3, 4, 0, 5, 0]


@pytest.mark.parametrize(
    ("before", "after", "node", "why"),
    [
        ("conv2d(", "conv2d(dilation=[2, 2], ", "conv", "only for windows without dilation"),
        (
            "conv2d(",
            "conv2d(rounding=single, ",
            "conv",
            "only for results that are rounded twice, as by --rounding tflm",
        ),
        (
            "max_pool2d(",
            "max_pool2d(stride=[1, 2], ",
            "pool",
            "only for pools whose windows share no rows: it would compute shared rows twice",
        ),
        ("max_pool2d(", "max_pool2d(activation=relu, ", "pool", "only for pools without an activation"),
    ],
)
def test_what_it_cannot_do_stays_on_the_cpu_and_says_why(before, after, node, why):
    graph = graph_of("pool", "i8")
    text = print_graph(graph, 0)
    assert before in text
    text = text.replace(before, after)
    if "dilation" in after:
        text = text.replace("[1,9,7,5]", "[1,7,5,5]").replace("[1,4,3,5]", "[1,3,2,5]")
    if "[1, 2]" in after:
        text = text.replace("[1,4,3,5]", "[1,8,3,5]")
    made = made_of(parse_graph(text, external_constants(graph, 0)), "strawberry")
    assert next(layer.stays for layer in made.layers if layer.name == node) == (f"strawberry: {why}",)


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "runner"), [("host", ""), ("mps2-an386", "qemu"), ("mps2-an386", "unicorn")]
)
def test_every_layer_is_verified_on_host_qemu_and_unicorn(
    board, runner, repo_root, run_deploy, require_tool, require_package
):
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    require_package("unicorn")
    words = ["verify", repo_root / DIGITS, "--board", board, "--accelerator", "strawberry", "--layers"]
    done = run_deploy(*words, *(["--runner", runner] if runner else []))
    assert "outputs and 7 layers equal to the reference in every bit" in done.out, done.err


def test_an_archive_keeps_regions(repo_root, run_deploy, tmp_path):
    words = ("compile", repo_root / DIGITS, "--board", "host", "--accelerator", "strawberry:lanes=8")
    assert run_deploy(*words, "-o", tmp_path / "digits.tar").status == 0
    page = run_deploy("inspect", tmp_path / "digits.tar").out
    assert "3 of 6 nodes run on accelerators" in page
    graph = read_archive(tmp_path / "digits.tar").graph
    devices = [op.device for op in subgraphs_of(graph) if isinstance(op, DeviceRegion)]
    assert devices == ["strawberry", "strawberry"]
    verify(graph)
