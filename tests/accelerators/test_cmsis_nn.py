"""--accelerator cmsis-nn: which files are taken, what is refused and, where the library is, equal bits."""

import os
import subprocess
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from average_pool2d_cases import CASES as AVERAGE_CASES
from binary_cases import CASES as BINARY_CASES
from conv2d_cases import CASES
from dense_cases import CASES as DENSE_CASES
from depthwise_conv2d_cases import CASES as DEPTHWISE_CASES
from max_pool2d_cases import CASES as MAX_CASES
from onnx import helper
from onnx_files import onnx_file
from op_case import OpCase, int16, op_case, random_values
from recurrent_cases import CASES as RECURRENT_CASES
from recurrent_cases import integers as recurrent_integers
from softmax_cases import CASES as SOFTMAX_CASES
from tflite_builder import ModelBuilder
from tiny_models import random_weights

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write import write_model
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph, run_series
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.binary import Add, Mul
from aot.ops.curves_16 import exp_16, reciprocal_16
from aot.ops.max_pool2d import MaxPool2d
from aot.target import Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from deploy.benchmark.run_series import run_series as run_on_board
from deploy.compiler.compile_model import compile_for
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import prepare_compiled, ready_for
from deploy.devices.session import open_device
from deploy.inputs.samples import Samples
from extensions.cmsis_nn.library import cmsis_nn
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.poisoned import Poisoned

DIGITS = Path("deploy/demo/digits.tflite")
HINT = "git clone https://github.com/ARM-software/CMSIS-NN, and give that folder: cmsis-nn:path=CMSIS-NN"
CALLED = {
    "arm_convolve_wrapper_s8": "arm_nn_inner",
    "arm_depthwise_conv_wrapper_s8": "",
    "arm_fully_connected_wrapper_s8": "",
    "arm_avgpool_s8": "",
    "arm_max_pool_s8": "",
    "arm_softmax_s8": "",
    "arm_elementwise_add_s8": "",
    "arm_elementwise_mul_s8": "",
    "arm_nn_lstm_step_s8": "",
    "arm_nn_lstm_step_s16": "",
    "arm_convolve_wrapper_s16": "",
    "arm_depthwise_conv_wrapper_s16": "",
    "arm_fully_connected_s16": "",
    "arm_avgpool_s16": "",
    "arm_max_pool_s16": "",
    "arm_elementwise_add_s16": "",
    "arm_elementwise_mul_s16": "",
    "arm_softmax_s16": "",
    "arm_softmax_s8_s16": "",
    "arm_svdf_s8": "",
    "arm_svdf_state_s16_s8": "",
}
DECLARED, SUPPORT = (
    Path(__file__).with_name(name).read_text(encoding="utf-8")
    for name in ("cmsis_nn_declared.h", "cmsis_nn_support_declared.h")
)
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only")
WIDE_PAIRS = [
    op_case(f"{op.name}_{number}", op, [int16(*shape), int16(*shape, scale=0.0003)], int16(scale=scale))
    for number, (shape, scale) in enumerate([((3, 7), 0.001), ((1, 16), 0.00002)])
    for op in (Add(), Mul(activation=Activation.RELU))
]
WIDE_POOLS = [
    op_case(f"{op.name}_even", op, [int16(1, 6, 8, 5)], int16()) for op in (AveragePool2d(), MaxPool2d())
]


def each_layer() -> bytes:
    """A layer of each kind that the library computes."""
    build = ModelBuilder("each_layer")
    image = build.input("image", (1, 9, 8, 3), scale=0.05, zero_point=-5)
    w, b, s = random_weights(1, (6, 3, 3, 3))
    x = build.conv2d(
        image, w, b, weight_scales=s, scale=0.04, zero_point=-20, stride=(2, 1), activation="RELU"
    )
    w, b, s = random_weights(2, (1, 3, 3, 6), axis=3)
    first = build.depthwise_conv2d(x, w, b, weight_scales=s, scale=0.03, zero_point=7)
    second = build.pool2d("MAX", x, (3, 3), stride=(1, 1), padding="SAME")
    x = build.add(first, second, scale=0.05, zero_point=-11, activation="RELU")
    product = FileTensor("product", (1, 5, 8, 6), "int8", (0.02,), (3,))
    x = build.operator("MUL", 2, (x, first), [product], "MulOptions", FusedActivationFunction=0)
    x = build.reshape(build.pool2d("AVERAGE", x, (2, 3)), (1, 24))
    w, b, s = random_weights(10, (5, 24))
    x = build.fully_connected(x, w, b // 8, weight_scales=s[:1], scale=0.05, zero_point=0)
    return build.finish(build.softmax(x))


def svdf(width: str, rank: int = 1, **changed: float) -> bytes:
    """Three units that remember four steps of five bytes."""
    rng, filters, units, steps = np.random.default_rng(7), 3 * rank, 3, 4
    build = ModelBuilder("net")
    x = build.input("x", (1, 5), scale=0.05, zero_point=-5)
    features = build.constant("f", rng.integers(-127, 128, (filters, 5)).astype(np.int8), [0.02])
    times = build.constant("t", rng.integers(-127, 128, (filters, steps)).astype(width), [0.01])
    bias = build.constant("b", rng.integers(-500, 500, units).astype(np.int32), [0.01 * 0.03])
    zero = int(changed.get("zero", 0))
    build.tensors["memory"] = FileTensor("memory", (1, filters * steps), width, (0.03,), (zero,))
    y = FileTensor("y", (1, units), "int8", (0.02,), (7,))
    build.operator("SVDF", 1, (x, features, times, bias, "memory"), [y], "SVDFOptions", Rank=rank)
    return build.finish("y")


def of_svdf(folder: Path, model: bytes) -> CompiledModel:
    imported = ImportedModel(read_tflite(model, "net.tflite"), "net.tflite", "00" * 32, "net")
    options = CompileOptions(accelerators=(f"cmsis-nn:path={folder}",))
    return compile_job(Job(imported, Target("host", pointer_bytes=8), options))


def function(name: str, body: str = "") -> str:
    return f'#include "arm_nnfunctions.h"\n\nint {name}(int a,\n    int b)\n{{\n    {body}\n}}\n'


@pytest.fixture
def folder(tmp_path):
    """A library with the functions that are called, none of which computes anything."""
    path = tmp_path / "library"
    files = {
        "Include/arm_nnfunctions.h": f'/* $Revision: V.1.2.3 */\n#include "Internal/arm_inner.h"\n{DECLARED}',
        "Include/arm_nnsupportfunctions.h": SUPPORT,
        "Include/Internal/arm_inner.h": '#ifdef FLOATS\n    #include "arm_floats.h"\n#endif\n',
        "Include/arm_floats.h": "",
        "Source/arm_said.h": "/* \xe9 */",
        "Source/arm_nn_inner.c": function("arm_nn_inner", "// arm_not_called()"),
        "Source/arm_not_called.c": function("arm_not_called"),
        **{f"Source/{name}.c": function(name, f"return {calls}(a, b);") for name, calls in CALLED.items()},
    }
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="latin-1")  # as some of the library's files may be
    return path


def compiled(case: OpCase, folder: Path, target: Target) -> CompiledModel:
    model = ImportedModel(case.graph, "net.tflite", "00" * 32, "net")
    return compile_job(Job(model, target, CompileOptions(accelerators=(f"cmsis-nn:path={folder}",))))


def taken(model: CompiledModel) -> bool:
    return any(layer.kernel == "cmsis-nn" for layer in model.layers)


def test_files_are_taken_that_a_function_reaches_and_no_others(folder):
    assert cmsis_nn(str(folder)).needed_for("arm_convolve_wrapper_s8") == (
        "arm_convolve_wrapper_s8.c",
        "arm_inner.h",
        "arm_nn_inner.c",
        "arm_nnfunctions.h",
    )
    assert cmsis_nn(str(folder)).needed_for("arm_max_pool_s8") == (
        "arm_inner.h",
        "arm_max_pool_s8.c",
        "arm_nnfunctions.h",
    )


def test_the_c_says_which_library_it_comes_with(folder, run_deploy, repo_root, tmp_path):
    made = tmp_path / "made"
    asked = ("--board", "host", "--accelerator", f"cmsis-nn:path={folder}")
    done = run_deploy("compile", repo_root / DIGITS, *asked, "-o", made)
    assert done.status == 0, done.err
    head, _ = (made / "cmsis_nn_conv2d.h").read_text(encoding="utf-8").split("\n", 1)
    assert head.startswith("/* CMSIS-NN V.1.2.3, sha256 of the files taken: ")
    text = (made / "arm_nnfunctions.h").read_text(encoding="utf-8")
    assert text.startswith("/* From CMSIS-NN. Changed by Solder")
    assert '#include "arm_inner.h"' in text
    assert not (made / "arm_not_called.c").exists()


def test_inspect_says_what_is_taken_and_why_the_rest_is_not(folder, run_deploy, repo_root):
    asked = ("--board", "mps2-an386", "--accelerator", f"cmsis-nn:path={folder}", "--layers")
    text = run_deploy("inspect", repo_root / DIGITS, *asked, "--rounding", "litert-ref").out
    why = "cmsis-nn: only for results that are rounded twice, as by --rounding tflm"
    wide = "cmsis-nn: only for inputs and results of 16 bits"
    assert "5 of 6 nodes run on accelerators\n" in text
    assert f'4  dense             CPU       FULLY_CONNECTED #5 "dense_5" ({why}; {wide})' in text


def quantized_onnx(path: Path) -> Path:
    """A convolution whose sums ONNX Runtime rounds once."""
    held = {
        "one": np.float32(0.5),
        "zero": np.uint8(3),
        "w": np.arange(16, dtype=np.int8).reshape(2, 8, 1, 1),
        "low": np.int8(0),
        "wide": np.float32(9),
    }
    names = ["x", "one", "zero", "w", "one", "low", "wide", "zero"]
    x = np.zeros((1, 8, 4, 4), np.uint8)
    node = helper.make_node("QLinearConv", names, ["y"])
    path.write_bytes(onnx_file([node], {"x": x}, {"y": x[:, :2]}, held, opset=13))
    return path


@pytest.mark.parametrize("accelerator", ["cmsis-nn", "gemm-npu"])
def test_a_quantized_onnx_model_is_taken_with_the_rounding_that_inspect_names(
    accelerator, folder, tmp_path, run_deploy
):
    model = quantized_onnx(tmp_path / "net.onnx")
    option = f"cmsis-nn:path={folder}" if accelerator == "cmsis-nn" else accelerator
    asked = ("inspect", model, "--board", "mps2-an386", "--accelerator", option, "--layers")
    said = run_deploy(*asked)
    assert "0 of " in said.out, said.err
    assert f"{accelerator}: only for results that are rounded twice, as by --rounding tflm" in said.out
    assert "1 of 5 nodes run on accelerators" in run_deploy(*asked, "--rounding", "tflm").out


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("add_channels_second", "two tensors of one shape"),
        ("add_same_constant", "two computed tensors, no constant"),
        ("mul_number_first", "two tensors of one shape"),
        ("add_i8", "integers with a scale"),
        ("add_int16", "two tensors of one shape"),
        ("mul_float32", "inputs and results of bytes"),
        ("softmax_16_1", "rows of 2 to 8 elements, for which the library need not saturate"),
        ("softmax_16_long_image", "rows of 2 to 8 elements, for which the library need not saturate"),
        ("softmax_float32", "inputs and results of bytes"),
        ("recurrent_lstm", "gates of 16 bits and hidden values of bytes"),
        ("recurrent_lstm", "gates and hidden values of 16 bits"),
    ],
)
def test_what_the_library_does_not_compute_says_why_it_stays(case, why, folder):
    known = {each.name: each for each in (*BINARY_CASES, *SOFTMAX_CASES, *RECURRENT_CASES)}
    (layer,) = (layer for layer in compiled(known[case], folder, Target("host")).layers if layer.stays)
    assert f"cmsis-nn: only for {why}" in layer.stays
    assert layer.kernel != "cmsis-nn"


def test_a_softmax_of_2_to_8_elements_needs_no_saturation():
    """The library's own arithmetic, from the sum on, without the places where it wraps."""
    least, largest = (int(exp_16(np.array(x), (1 << 30, 1))) for x in (-70000, 0))
    for elements, saturates in ((1, True), (2, False), (8, False), (9, True)):
        sums = np.arange(largest + (elements - 1) * least, elements * largest + 1)
        bits = 31 - np.frexp(sums.astype(np.float64))[1].astype(np.int64)
        above_one = (((sums << bits) + (1 << 13)) >> 14) - 98304
        shares = (largest * reciprocal_16(sums) + (np.int64(1) << (30 - bits - 1))) >> (30 - bits)
        assert bool((above_one > 32767).any() or (shares > 32767).any()) is saturates


@pytest.mark.parametrize(("width", "rank"), [("int8", 1), ("int16", 2)])
def test_the_nodes_of_an_svdf_are_one_call(width, rank, folder):
    made = of_svdf(folder, svdf(width, rank))
    (region,) = [layer for layer in made.layers if layer.device]
    ops = {part.op for part in region.parts}
    assert {"dense", "rearrange", "concat", "depthwise_conv2d"} <= ops
    assert f"arm_svdf_{'s8' if width == 'int8' else 'state_s16_s8'} of CMSIS-NN" in region.why


def test_an_svdf_that_the_library_has_not_says_why_it_stays(folder):
    made = of_svdf(folder, svdf("int8", zero=3))
    said = {why for layer in made.layers for why in layer.stays}
    assert "cmsis-nn: only for a memory whose zero point is 0" in said
    assert not any(layer.op == "region" for layer in made.layers)


def test_the_calls_are_those_of_the_golden_file(folder, golden):
    model = ImportedModel(
        read_tflite(each_layer(), "each_layer.tflite"), "each_layer.tflite", "0" * 64, "net"
    )
    made = compile_job(Job(model, Target("host"), CompileOptions(accelerators=(f"cmsis-nn:path={folder}",))))
    assert {layer.kernel for layer in made.layers} == {"cmsis-nn"}
    golden("calls.c", "\n".join(made.code_of(n).layer for n in range(len(made.layers))))


@pytest.mark.cc
def test_what_the_library_is_told_is_c_without_a_warning(folder):
    own = Path("extensions/cmsis_nn").resolve()
    sources = sorted(own.glob("*.c"))
    asked = ("gcc", *STRICT, f"-I{own}", f"-I{folder}/Include", *map(str, sources))
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(sources) == len(CALLED)


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (
            "Include/arm_nnfunctions.h",
            'error: --accelerator "cmsis-nn": the folder "{folder}" has no Include/arm_nnfunctions.h',
        ),
        (
            "Source/arm_avgpool_s8.c",
            "revision V.1.2.3 has no function arm_avgpool_s8, which average_pool2d needs",
        ),
        (
            "Include/Internal/arm_inner.h",
            "revision V.1.2.3 has no arm_inner.h, which its arm_nnfunctions.h includes",
        ),
    ],
)
def test_a_library_that_is_not_whole_is_refused_before_anything_is_compiled(
    damage, text, folder, run_deploy, repo_root
):
    (folder / damage).unlink()
    done = run_deploy("inspect", repo_root / DIGITS, "--accelerator", f"cmsis-nn:path={folder}")
    assert done.status == 2
    assert text.format(folder=folder) in done.err
    assert f"  hint: {HINT}\n" in done.err


def test_without_a_path_the_way_to_one_is_reported(run_deploy, repo_root):
    done = run_deploy("inspect", repo_root / DIGITS, "--accelerator", "cmsis-nn")
    assert done.status == 2
    assert '"cmsis-nn" needs path=FOLDER, the folder of your CMSIS-NN' in done.err
    assert f"  hint: {HINT}\n" in done.err


# With the library, which is the user's own


@pytest.fixture
def library():
    given = os.environ.get("CMSIS_NN_PATH")
    if not given:
        pytest.skip("CMSIS_NN_PATH does not say where CMSIS-NN is")
    return Path(given)


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("cases", "least"),
    [
        (CASES, 10),
        (DEPTHWISE_CASES, 6),
        (DENSE_CASES, 4),
        (AVERAGE_CASES, 8),
        (MAX_CASES, 6),
        (BINARY_CASES, 10),
        (WIDE_PAIRS, 4),
        (SOFTMAX_CASES, 12),
        (RECURRENT_CASES, 4),
    ],
    ids=[
        "conv2d",
        "depthwise_conv2d",
        "dense",
        "average_pool2d",
        "max_pool2d",
        "binary",
        "wide",
        "softmax",
        "lstm",
    ],
)
def test_layers_of_all_shapes_keep_their_bits(cases, least, library, tmp_path):
    rng, names = np.random.default_rng(2), []
    for case in cases:
        made = compiled(case, library, Target("host", pointer_bytes=8))
        if taken(made):
            names.append(case.name)
            inputs = {name: random_values(rng, case.graph.types[name]) for name in case.graph.inputs}
            outputs = Poisoned(made, tmp_path / case.name).run(inputs)
            assert np.array_equal(outputs["y"], run_graph(case.graph, inputs)["y"]), case.name
    assert len(names) >= least, names


@pytest.mark.cc
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize(
    "name",
    [
        *("conv2d_i16_wide_sums", "depthwise_i16", "dense_i16"),
        *("average_pool2d_even", "max_pool2d_even", "softmax_16_5", "add_0", "mul_1"),
    ],
)
def test_layers_of_16_bits_have_the_bits_of_the_reference_on_boards(
    name, board, library, run_deploy, tmp_path, require_tool
):
    require_tool("arm-none-eabi-gcc")
    cases = (CASES, DEPTHWISE_CASES, DENSE_CASES, WIDE_POOLS, SOFTMAX_CASES, WIDE_PAIRS)
    known = {each.name: each for each in chain(*cases)}
    file = tmp_path / "wide.tflite"
    file.write_bytes(write_model(known[name].graph, "wide.tflite"))
    asked = ("--board", board, "--accelerator", f"cmsis-nn:path={library}", "--layers")
    assert "1 of 1 nodes run on accelerators" in run_deploy("inspect", file, *asked).out
    done = run_deploy("verify", file, *asked)
    assert "equal to the reference in every bit" in done.out, done.err


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_an_lstm_of_16_bits_has_the_bits_of_the_reference_on_boards(board, library, require_tool):
    """No file has such a layer alone; the library adds with SMLAD and with Helium here."""
    require_tool("arm-none-eabi-gcc")
    case, rng = recurrent_integers("wide", 2, 2, 17, True), np.random.default_rng(3)
    options = CompileOptions(accelerators=(f"cmsis-nn:path={library}",))
    made = compile_for(ImportedModel(case.graph, "net.tflite", "00" * 32, "net"), load_board(board), options)
    assert [layer.kernel for layer in made.model.layers] == ["cmsis-nn"]
    inputs = {name: random_values(rng, case.graph.types[name]) for name in case.graph.inputs}
    firmware = ready_for(prepare_compiled(made), BuildChoices(), "qemu")
    with open_device(firmware, LineOptions(runner="qemu")) as device:
        samples = Samples((tuple(inputs.values()),), is_series=True)
        ((found,),) = run_on_board(device, samples).outputs
    assert np.array_equal(found.reshape(-1), run_graph(case.graph, inputs)["y"].reshape(-1))


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("width", ["int8", "int16"])
@pytest.mark.parametrize("rank", [1, 3])
def test_an_svdf_keeps_its_bits_and_its_memory(width, rank, library, tmp_path):
    """With 16 bits, sums of its filters leave 32 bits and wrap."""
    made = of_svdf(library, svdf(width, rank))
    graph = read_tflite(svdf(width, rank), "net.tflite")
    rng, model = np.random.default_rng(3), Poisoned(made, tmp_path)
    series = [{"x": random_values(rng, graph.types["x"])} for _ in range(9)]
    for inputs, wanted in zip(series, run_series(graph, series), strict=True):
        assert np.array_equal(model.run(inputs)["y"], wanted["y"])


@pytest.mark.cc
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("board", ["host", "mps2-an386", "mps3-an547"])
def test_each_layer_of_a_model_has_the_bits_of_the_reference(
    board, library, run_deploy, tmp_path, require_tool
):
    require_tool("arm-none-eabi-gcc")
    file = tmp_path / "each_layer.tflite"
    file.write_bytes(each_layer())
    asked = ("--board", board, "--accelerator", f"cmsis-nn:path={library}", "--layers")
    done = run_deploy("verify", file, *asked)
    assert "outputs and 8 layers equal to the reference in every bit" in done.out, done.err
