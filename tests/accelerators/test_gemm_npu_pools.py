"""Pools on gemm-npu: maxima by its ALU, means that are scaled by the number of pixels under the window."""

import numpy as np
import pytest
from average_pool2d_cases import CASES as MEANS
from gemm_npu_programs import in_c, in_python, made_of, model_in_c
from max_pool2d_cases import CASES as MAXIMA
from op_case import OpCase, random_values
from tflite_builder import ModelBuilder

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.text import parse_graph
from aot.ir.types import DType
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.target import Optimize, Target
from codegen.isa.plain.scalar_math import PORTABLE
from codegen.kernels.kernel import Site
from extensions.gemm_npu import window_tiles
from extensions.gemm_npu.assembly import assembled
from extensions.gemm_npu.encoding import ALU_OPERATIONS, MEMORY_NAMES, micro
from extensions.gemm_npu.layers import POOL
from extensions.gemm_npu.packing import has_exact_means, window_constants
from extensions.gemm_npu.tiles import fitting_tilings, misfit

LINE = 'graph "net"\ninput "x": i8[1,{}] {{0.05, 3}}\n"p" = {} "x" -> "y": i8[1,{}] {{0.05, 3}}\noutput "y"\n'
DEEP = "size=[5, 4], stride=[2, 1], padding=[[3, 2], [2, 1]]"
SAME = "size=[3, 3], stride=[1, 1], padding=[[1, 1], [1, 1]]"
# Windows that leave the image at every edge, also by more than a row; more channels than a vector has.
EDGES = {
    f"{op}_{name}": LINE.format(x, f"{op}({attributes})", y)
    for op in ("max_pool2d", "average_pool2d")
    for name, x, attributes, y in (("deep", "6,5,40", DEEP, "4,5,40"), ("same", "9,9,17", SAME, "9,9,17"))
}
HALVES = "only for means with halves away from 0 or up"
ROOM = "a tile of one pixel needs 273 entries of ACCUMULATOR, which has 256 for each of 2 virtual threads"


def is_taken(case: OpCase) -> bool:
    op = case.node.op
    halves = op.halves if isinstance(op, AveragePool2d) else Halves.AWAY
    return case.graph.types["x0"].dtype is DType.I8 and halves in (Halves.AWAY, Halves.UP)


GRAPHS = {case.name: case.graph for case in (*MEANS, *MAXIMA) if is_taken(case)}
GRAPHS |= {name: parse_graph(text) for name, text in EDGES.items()}


@pytest.fixture(scope="module")
def model(tmp_path_factory, request):
    request.getfixturevalue("require_tool")("gcc")
    return model_in_c(tmp_path_factory.mktemp("model"))


def site_of(graph: Graph) -> Site:
    (node,) = graph.nodes
    types = ((graph.types[node.inputs[0] or ""],), (graph.types["y"],))
    return Site(node, *types, {}, Target("host"), PORTABLE, Optimize.SPEED, True, {})


@pytest.mark.cc
@pytest.mark.parametrize("name", GRAPHS)
def test_every_way_to_cut_a_pool_keeps_its_bits(name, model):
    graph, rng = GRAPHS[name], np.random.default_rng(7)
    site, (given,) = site_of(graph), graph.inputs
    window = POOL.window(site)
    x = random_values(rng, graph.types[given])
    wanted = run_graph(graph, {given: x})["y"]
    ways = [(tiling, threads) for threads in (1, 2) for tiling in fitting_tilings(window, threads)]
    assert len(ways) > 1
    for tiling, threads in ways:
        constants = window_constants(window, tiling, POOL.scales(site), POOL.weights(site))
        program = window_tiles.instructions(window, tiling, threads)
        y = np.zeros(wanted.shape, np.int8)
        assert in_c(model, program, [constants, x, x, y]) == (0, -1, -1)
        assert np.array_equal(y, wanted), tiling
        found = in_python(program, [constants, x, x, np.zeros_like(y)])
        assert np.array_equal(found, wanted.reshape(-1)), tiling


def test_means_are_cut_where_the_number_of_pixels_changes():
    window = POOL.window(site_of(GRAPHS["average_pool2d_deep"]))
    assert window.seen == ((2, 4, 5, 3), (2, 3, 4, 4, 3))
    assert window.counts == (4, 6, 8, 9, 10, 12, 15, 16, 20)
    assert window.scale_vectors == 3 * len(window.counts)


def test_a_largest_pixel_needs_no_scale_and_no_room_for_one():
    window = POOL.window(site_of(GRAPHS["max_pool2d_deep"]))
    program = window_tiles.instructions(window, fitting_tilings(window, 2)[0], 2)
    loaded = [MEMORY_NAMES[each["memory"]] for each in program if each.operation == "LOAD"]
    assert window.scale_vectors == 0
    assert "ACCUMULATOR" not in loaded


def test_the_image_of_a_largest_pixel_must_fit_the_accumulators():
    window = POOL.window(site_of(parse_graph(LINE.format("16,15,8", "max_pool2d(size=[16, 15])", "1,1,8"))))
    assert misfit(window, 1) == ""
    window = POOL.window(site_of(parse_graph(LINE.format("17,16,8", "max_pool2d(size=[17, 16])", "1,1,8"))))
    assert misfit(window, 2) == ROOM


def test_means_are_exact_for_all_windows_of_models():
    for halves in (Halves.AWAY, Halves.UP):
        assert all(has_exact_means(pixels, halves) for pixels in (1, 2, 4, 6, 9, 49, 64, 125))
    assert not has_exact_means(2, Halves.TO_EVEN)


PROLOGUE = """
LOAD memory=MICROCODE rows=1 columns=8 column_stride=4 bytes=4
LOAD memory=ACCUMULATOR offset=32 rows=1 columns=16 column_stride=64 bytes=64
LOAD memory=INPUT base=1 rows=1 columns=16 column_stride=16 bytes=16
LOAD memory=WEIGHT base=1 rows=1 columns=4 column_stride=16 bytes=16 diagonal push_next
"""
EPILOGUE = """
ALU alu=CLIP first=0 count=1 outer=16 inner=1 to_outer=1 from_outer=1 least=-120 greatest=111 push_next
STORE base=3 rows=1 columns=16 column_stride=16 bytes=16 pop_previous
"""


def random_line(rng: np.random.Generator) -> str:
    """An instruction of the execute queue whose places may meet, within the first 16 accumulators."""
    outer, inner, count = (int(rng.integers(1, 4)) for _ in range(3))
    names = ("to_outer", "to_inner", "from_outer", "from_inner", "to_base", "from_base")
    loops = {name: int(rng.integers(0, 3)) for name in names}
    fields = {
        "first": int(rng.integers(0, 9 - count)),
        "count": count,
        "outer": outer,
        "inner": inner,
        **loops,
    }
    words = " ".join(f"{name}={value}" for name, value in {**fields, **loops}.items())
    kind = rng.integers(0, 8)
    if kind >= len(ALU_OPERATIONS):
        return f"GEMM {words} tile_base={rng.integers(0, 2)}"
    value = f" immediate value={rng.integers(-(2**31), 2**31)}" if kind != 4 and rng.integers(0, 2) else ""
    return f"ALU alu={ALU_OPERATIONS[kind]} {words}{value} least=-100 greatest=90"


@pytest.mark.cc
def test_both_models_agree_on_programs_that_no_compiler_would_make(model):
    """Operands that are results of turns before, and places that several turns write."""
    rng = np.random.default_rng(11)
    for _ in range(150):
        words = [0, *(micro(*(int(rng.integers(0, most)) for most in (4, 4, 2))) for _ in range(7))]
        sums = (rng.integers(-(2**31), 2**31, (16, 16)) >> rng.integers(0, 32, (16, 1))).astype(np.int32)
        constants = np.concatenate([np.array(words, np.uint32).view(np.int8), sums.reshape(-1).view(np.int8)])
        x = rng.integers(-128, 128, 256).astype(np.int8)
        lines = [random_line(rng) for _ in range(6)]
        lines[0] += " pop_previous"
        program = assembled("\n".join([PROLOGUE, *lines, EPILOGUE]))
        y = np.zeros(256, np.int8)
        assert in_c(model, program, [constants, x, x, y]) == (0, -1, -1), lines
        assert np.array_equal(in_python(program, [constants, x, x, np.zeros_like(y)]), y), lines


def padded_pools() -> bytes:
    build = ModelBuilder("pools")
    x = build.input("image", (1, 11, 8, 18), scale=0.05, zero_point=-5)
    x = build.pool2d("MAX", x, (3, 3), stride=(2, 2), padding="SAME")
    return build.finish(build.pool2d("AVERAGE", x, (3, 2), stride=(1, 1), padding="SAME", activation="RELU"))


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "runner", "word"),
    [
        ("host", "", "gemm-npu:threads=1"),
        ("mps2-an386", "qemu", "gemm-npu"),
        ("mps2-an386", "unicorn", "gemm-npu:device=registers"),
    ],
)
def test_padded_pools_are_verified_on_host_qemu_and_behind_registers(
    board, runner, word, tmp_path, run_deploy, require_tool, require_package
):
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    require_package("unicorn")
    model = tmp_path / "pools.tflite"
    model.write_bytes(padded_pools())
    words = [model, "--board", board, "--accelerator", word]
    assert "2 of 2 nodes run on accelerators" in run_deploy("inspect", *words).out
    done = run_deploy("verify", *words, "--layers", *(["--runner", runner] if runner else []))
    assert "equal to the reference in every bit" in done.out, done.err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (LINE.format("4,4,8", 'average_pool2d(halves="to even")', "2,2,8"), HALVES),
        (LINE.format("17,16,8", "max_pool2d(size=[17, 16])", "1,1,8"), ROOM),
    ],
)
def test_a_pool_that_stays_says_why(line, says):
    (layer,) = made_of(parse_graph(line)).layers
    assert layer.stays == (f"gemm-npu: {says}",)
