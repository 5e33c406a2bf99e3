"""--accelerator gemm-npu: layers as programs of the device, in C, behind registers and in time."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from conv2d_cases import CASES as CONVOLUTIONS
from dense_cases import CASES as DENSE
from depthwise_conv2d_cases import CASES as DEPTHWISE
from error_facts import refused
from gemm_npu_programs import FOLDER, in_c, in_python, made_of, model_in_c, outside
from op_case import random_values

from aot.errors import CheckError
from aot.interpret import run_graph
from aot.ir.text import parse_graph
from benchmarks.gemm_npu_picture import LAYER, TILING, draw
from codegen.compile import CompiledModel
from extensions.gemm_npu import device, window_tiles
from extensions.gemm_npu.assembly import assembled, disassembled
from extensions.gemm_npu.device import NpuDevice
from extensions.gemm_npu.encoding import (
    FIELDS,
    OPERATIONS,
    EncodingError,
    NpuCommand,
    binary,
    decode,
    encode,
    fields_of,
    program_in,
)
from extensions.gemm_npu.header import page_tables
from extensions.gemm_npu.packing import (
    tiles_of,
    window_constants,
)
from extensions.gemm_npu.tiles import Tiling, misfit
from extensions.gemm_npu.timing import neighbour, timed
from extensions.gemm_npu.window import Clip, NpuWindow
from platforms.poisoned import Poisoned

DIGITS = Path("deploy/demo/digits.tflite")
POOL = 'input "x": i8[1,{0},{1},{2}] {{0.05, 3}}\n"p" = {3}(size=[{0}, {1}], stride=[1, 1]) "x" '
POOL += '-> "y": i8[1,1,1,{2}] {{0.05, 3}}'
PADDED = (
    'input "x": i8[1,9,7,40] {{0.05, 3}}\n"p" = {}(size=[3, 3], stride=[2, 2], padding=[[1, 1], [1, 1]]) "x" '
)
PADDED += '-> "y": i8[1,5,4,40] {{0.05, 3}}'
POOLS = ("average_pool2d", "max_pool2d")
SUM = 'input "x": i8[1,{0}] {{0.05, 3}}\ninput "z": i8[1,{0}] {{0.02, -9}}\n'
SUM += '"s" = add(activation=relu) "x", "z" -> "y": i8[1,{0}] {{0.06, -5}}'
# Sizes beside those of vectors and memories: one element, one too many, several tiles.
SMALL = [
    *(POOL.format(*sizes, op) for sizes in ((3, 3, 5), (8, 8, 64), (25, 5, 17), (1, 1, 16)) for op in POOLS),
    *map(PADDED.format, POOLS),
    *(SUM.format(size) for size in (1, 16, 4097, 9000)),
]
# Each would be wrong if a queue ran ahead of its tokens: several tiles, odd sizes, both kinds of padding.
WINDOWS = {
    "tiles of rows": (
        NpuWindow((9, 7, 20), (9, 7, 33), (3, 3), before=(1, 1), fill=5),
        Tiling(2, 7, 1, True),
    ),
    "tiles of columns": (
        NpuWindow((8, 9, 3), (4, 4, 18), (3, 2), (2, 2), before=(1, 0), fill=-7),
        Tiling(3, 2, 2, False),
    ),
    "one pixel": (NpuWindow((1, 1, 130), (1, 1, 40)), Tiling(1, 1, 1, True)),
}


def is_taken(made: CompiledModel) -> bool:
    return any(layer.device == "gemm-npu" for layer in made.layers)


def test_fields_of_an_operation_share_no_bit():
    for operation in OPERATIONS:
        taken = [(f.word, bit) for f in fields_of(operation) for bit in range(f.low, f.low + f.bits)]
        assert len(taken) == len(set(taken)), operation
        assert all(word < 8 and bit < 32 for word, bit in taken)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_instructions_survive_words_and_text(operation):
    known = [each for each in fields_of(operation) if each.name != "operation"]
    most = NpuCommand(operation, {f.name: len(f.names) - 1 if f.names else f.most for f in known})
    least = NpuCommand(operation, {f.name: f.least for f in known if f.least})
    assert [decode(encode(each)) for each in (most, least)] == [most, least]
    assert assembled(disassembled([most, least])) == (most, least)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("LOAD rows=65536", "line 1: rows of LOAD is 65536, not from 0 to 65535"),
        ("\nGEMM rows=1", 'line 2: GEMM has no field "rows"'),
        ("MUL", 'line 1: "MUL" is not one of LOAD, STORE, GEMM, ALU'),
        ("ALU alu=SQUARE", 'line 1: alu is "SQUARE"'),
        ("ALU alu=6", "line 1: alu of ALU is 6, not from 0 to 5"),
    ],
)
def test_wrong_assembly_is_named_with_its_line(text, says):
    with pytest.raises(EncodingError, match=f"^{says}$"):
        assembled(text)


def test_words_with_bits_beside_the_fields_are_not_an_instruction():
    with pytest.raises(EncodingError, match="bits beside the fields of GEMM"):
        decode([OPERATIONS.index("GEMM"), 0, 0, 0, 0, 0, 0, 1])
    with pytest.raises(EncodingError, match="no instruction"):
        decode([7, 0, 0, 0, 0, 0, 0, 0])


def test_the_page_has_the_table_of_the_code(repo_root):
    assert page_tables() in (repo_root / "docs" / "gemm-npu.md").read_text(encoding="utf-8")


def test_the_picture_is_what_the_command_draws(repo_root):
    picture = repo_root / "docs" / "pictures" / "gemm-npu-queues.svg"
    assert picture.read_text(encoding="utf-8") == draw()


def test_the_picture_ends_below_its_last_line():
    lowest = max(float(y) for y in re.findall(r'<text [^>]*y="([0-9.]+)"', draw()))
    (height,) = re.findall(r'<svg [^>]* height="([0-9]+)"', draw())
    assert 0 < int(height) - lowest < 20


def test_two_virtual_threads_load_while_they_compute():
    runs = [timed(window_tiles.instructions(LAYER, TILING, threads)) for threads in (1, 2)]
    assert runs[1].cycles < 0.9 * runs[0].cycles


@pytest.mark.parametrize("threads", [1, 2])
def test_every_token_that_is_given_is_taken(threads):
    """One that is left over would let an instruction of the next program begin too soon."""
    given, taken = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in window_tiles.instructions(LAYER, TILING, threads):
        for side in ("previous", "next"):
            other = neighbour(one.queue, side)
            given[one.queue, other] += one[f"push_{side}"]
            taken[other, one.queue] += one[f"pop_{side}"]
    assert given.total() > 0
    assert +given == +taken


def test_a_queue_that_waits_for_ever_is_named():
    program = assembled(
        """
        LOAD memory=INPUT rows=1 columns=1 bytes=16 push_next
        GEMM count=1 outer=1 inner=1 pop_previous
        GEMM count=1 outer=1 inner=1 pop_previous
        STORE rows=1 columns=1 bytes=16 pop_previous
        """
    )
    refused(
        lambda: timed(program),
        "gemm-npu deadlock queue continue EXECUTE 2 LOAD GEMM pop_previous count=1 outer=1 inner=1 "
        "waits instruction STORE 3 rows=1 columns=1 bytes=16 token earlier named",
        CheckError,
    )


def test_an_instruction_that_leaves_the_memory_is_named():
    (program,) = (assembled("GEMM count=1 outer=2 inner=1 from_base=1023 from_outer=1"),)
    with pytest.raises(CheckError) as caught:
        NpuDevice(outside(lambda _at, size: bytes(size), lambda _at, _data: None)).run(program, [0] * 4)
    assert caught.value.what == "gemm-npu: instruction 0 of queue EXECUTE leaves the device's memory"


def test_a_pixel_that_does_not_fit_is_refused_in_numbers():
    window = NpuWindow((3, 3, 512), (1, 1, 8), (3, 3))
    assert misfit(window, 2) == (
        "a tile of one pixel needs 288 entries of WEIGHT, which has 128 for each of 2 virtual threads"
    )
    assert misfit(NpuWindow((3, 3, 128), (1, 1, 8), (3, 3)), 2) == ""


@pytest.fixture(scope="module")
def model(tmp_path_factory, request):
    request.getfixturevalue("require_tool")("gcc")
    return model_in_c(tmp_path_factory.mktemp("model"))


@pytest.mark.cc
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", WINDOWS)
def test_c_and_python_compute_the_sums_of_a_window(name, threads, model):
    """Against a convolution by NumPy alone, whose sums are stored as they are."""
    window, tiling = WINDOWS[name]
    rng = np.random.default_rng(len(name))
    x = rng.integers(-128, 128, window.x).astype(np.int8)
    w = rng.integers(-3, 4, (window.y[2], *window.taps, window.x[2])).astype(np.int8)
    channels = window.y[2]
    scales = {"bias": np.arange(channels), "mult": np.full(channels, 1 << 30), "right": np.full(channels, 3)}
    constants = window_constants(window, tiling, scales, tiles_of(w))
    program = window_tiles.instructions(window, tiling, threads)
    around = [(b, 9) for b in window.before]
    padded = np.pad(x.astype(int), (*around, (0, 0)), constant_values=window.fill)
    wanted = np.empty(window.y, np.int8)
    for i, j in np.ndindex(*window.y[:2]):
        top, left = i * window.stride[0], j * window.stride[1]
        sums = np.tensordot(w, padded[top : top + window.taps[0], left : left + window.taps[1]], 3)
        halved = (sums + np.arange(channels) + 1) >> 1
        away = np.sign(halved) * ((np.abs(halved) + 4) >> 3)
        wanted[i, j] = np.clip(away, -128, 127)
    y = np.zeros(window.y, np.int8)
    assert in_c(model, program, [constants, x, x, y]) == (0, -1, -1)
    assert np.array_equal(y, wanted)
    assert np.array_equal(in_python(program, [constants, x, x, np.zeros_like(y)]).reshape(y.shape), wanted)


@pytest.mark.cc
def test_the_model_in_c_says_where_it_stopped(model):
    arrays = [np.zeros(64, np.int8)] * 4
    waits = assembled("GEMM count=1 outer=1 inner=1\nSTORE base=3 pop_previous")
    leaves = assembled("LOAD memory=INPUT index=1020 rows=5 columns=1 bytes=1")
    elsewhere = assembled("STORE base=0 rows=1 columns=1 bytes=16")
    assert in_c(model, waits, arrays) == (1, 2, 1)
    assert in_c(model, leaves, arrays) == (2, 0, 0)
    assert in_c(model, elsewhere, arrays) == (2, 2, 0)


LATE = """
#include "gemm_npu_device.h"
#include <stdio.h>
#include <sys/mman.h>
int main(void)
{
    void *place = mmap((void *)0x4F000000, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    const struct gemm_npu_job job = { 0 };
    if (place == MAP_FAILED) {
        return 1;
    }
    gemm_npu_begin(&job);
    printf("%d", gemm_npu_end(&job).status == GEMM_NPU_LATE);
    ((volatile uint32_t *)place)[0] = 1;
    printf("%d\\n", gemm_npu_end(&job).status == GEMM_NPU_OK);
    return 0;
}
"""


@pytest.mark.cc
def test_a_device_that_never_finishes_meets_a_deadline(tmp_path):
    (tmp_path / "late.c").write_text(LATE)
    sources = [str(tmp_path / "late.c"), str(FOLDER / "gemm_npu_registers.c"), f"-I{FOLDER}"]
    options = ["-DGEMM_NPU_MOST_POLLS=1000", "-w", "-o", str(tmp_path / "late")]
    subprocess.run(["gcc", "-O1", *sources, *options], check=True)
    done = subprocess.run([tmp_path / "late"], capture_output=True, text=True, check=True)
    assert done.stdout == "11\n"


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("cases", [CONVOLUTIONS, DEPTHWISE, DENSE], ids=["conv2d", "depthwise", "dense"])
def test_layers_of_all_shapes_keep_their_bits(cases, tmp_path):
    rng = np.random.default_rng(2)
    taken = [case for case in cases if is_taken(made_of(case.graph))][:6]
    assert len(taken) == 6
    for case in taken:
        inputs = {name: random_values(rng, case.graph.types[name]) for name in case.graph.inputs}
        outputs = Poisoned(made_of(case.graph), tmp_path / case.name).run(inputs)
        assert np.array_equal(outputs["y"], run_graph(case.graph, inputs)["y"]), case.name


@pytest.mark.cc
@pytest.mark.slow
def test_pools_and_sums_keep_their_bits(tmp_path):
    for number, lines in enumerate(SMALL):
        graph = parse_graph(f'graph "net"\n{lines}\noutput "y"\n')
        made, rng = made_of(graph), np.random.default_rng(number)
        assert is_taken(made), lines
        inputs = {name: random_values(rng, graph.types[name]) for name in graph.inputs}
        outputs = Poisoned(made, tmp_path / str(number)).run(inputs)
        assert np.array_equal(outputs["y"], run_graph(graph, inputs)["y"]), lines


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
def test_every_layer_is_verified_on_host_qemu_and_behind_registers(
    board, runner, word, repo_root, run_deploy, require_tool, require_package
):
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    require_package("unicorn")
    words = ["verify", repo_root / DIGITS, "--board", board, "--layers", "--accelerator", word]
    done = run_deploy(*words, *(["--runner", runner] if runner else []))
    assert "equal to the reference in every bit" in done.out, done.err


BESIDE = """graph "net"
input "x": i8[1,4,4,8] {0.05, 3}
"npu" = average_pool2d(size=[2, 2], stride=[1, 1]) "x" -> "y": i8[1,3,3,8] {0.05, 3}
"one" = tanh() "x" -> "a": i8[1,4,4,8] {0.0078125, 0}
"two" = logistic() "a" -> "z": i8[1,4,4,8] {0.00390625, -128}
output "y"
output "z"
"""


@pytest.mark.cc
def test_the_core_computes_while_the_device_does(tmp_path):
    graph = parse_graph(BESIDE)
    made = made_of(graph)
    names = [made.layers[number].name for number in made.plan.order]
    start, wait = names.index("npu"), len(names) - names[::-1].index("npu") - 1
    assert "two" in names[start + 1 : wait]
    inputs = {"x": random_values(np.random.default_rng(4), graph.types["x"])}
    found, wanted = Poisoned(made, tmp_path).run(inputs), run_graph(graph, inputs)
    assert all(np.array_equal(found[name], wanted[name]) for name in graph.outputs)


def test_the_driver_and_the_emulated_device_have_the_same_registers():
    text = (FOLDER / "gemm_npu_registers.c").read_text(encoding="utf-8")
    assert "enum { STATUS, PROGRAM, COUNT, START, CYCLES, BASES = 8 }; /* words */" in text
    words = (device.STATUS, device.PROGRAM, device.COUNT, device.START, device.CYCLES, device.BASES)
    assert words == tuple(4 * n for n in (0, 1, 2, 3, 4, 8))


def test_a_program_is_the_same_after_its_words():
    program = window_tiles.instructions(LAYER, TILING, 2)
    assert program_in(binary(program)) == program
    assert {each.name for each in FIELDS} >= {name for one in program for name in one.fields}
    assert LAYER.clip == Clip(-128)
