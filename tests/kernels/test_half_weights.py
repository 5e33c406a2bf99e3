"""--half-weights: constants of half precision take 16 bits, others stay, and no bit of a result moves."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file
from row_machine import run_lowered

import deploy
from aot.frontend.load import parse_model
from aot.interpret import run_graph
from aot.ir.types import DType
from aot.passes.pipeline import run_meaning
from aot.target import Feature, Target
from codegen.kernels.half_weights import _BY_FPU, _IN_WHOLE_NUMBERS, _OF_WORD, is_half
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions

FINITE = np.array([bits for bits in range(1 << 16) if (bits >> 10) & 31 != 31], np.uint16).view(np.int16)
CORES = {
    "plain": Target("cortex-m3"),
    "fpu": Target("cortex-m4", frozenset({Feature.FPU, Feature.DSP, Feature.UNALIGNED})),
    "host": Target("host"),
}
_PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
{definition}
int main(void)
{{
    int16_t bits;
    while (fread(&bits, sizeof bits, 1, stdin) == 1) {{
        const float real = real_of_half(bits);
        fwrite(&real, sizeof real, 1, stdout);
    }}
    return 0;
}}
"""


def network(half: bool = True) -> bytes:
    """Convolutions, depthwise too, and a dense layer, with weights that float16 has, or has not.

    Windows of 27 weights begin in either half of a word, those of 8 in the first.
    """
    rng = np.random.default_rng(2)
    step = np.float16 if half else np.float32

    def weights(*shape: int) -> Any:
        return (rng.standard_normal(shape) / 3).astype(step).astype(np.float32)

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], group=8, pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["c", "w4"], ["e"]),
        helper.make_node("Flatten", ["e"], ["d"]),
        helper.make_node("Gemm", ["d", "w3", "b3"], ["y"], transB=1),
    ]
    constants = {
        **{"w1": weights(8, 3, 3, 3), "b1": weights(8), "w2": weights(8, 1, 3, 3)},
        **{"w4": weights(8, 8, 1, 1), "w3": weights(5, 288), "b3": weights(5)},
    }
    return onnx_file(nodes, {"x": [1, 3, 6, 6]}, {"y": [1, 5]}, constants)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "half.onnx"
    path.write_bytes(network())
    return path


def inputs() -> dict[str, Any]:
    return {"x": np.random.default_rng(4).standard_normal((1, 3, 6, 6)).astype(np.float32)}


def test_the_meaning_is_numpys():
    found = np.array([_IN_WHOLE_NUMBERS.meaning(bits) for bits in FINITE], np.float32)
    assert np.array_equal(found.view(np.int32), FINITE.view(np.float16).astype(np.float32).view(np.int32))
    assert _BY_FPU.compute is _IN_WHOLE_NUMBERS.compute


def test_both_halves_of_a_word_are_numbers():
    halves = np.array([[1.5, -2.25], [-0.0, 65504.0], [-1e-7, 2.0**-24]], np.float16)
    for word, each in zip(halves.view(np.int32).reshape(-1).tolist(), halves.tolist(), strict=True):
        assert [function.meaning(word) for function in _OF_WORD] == each


def test_each_number_of_half_precision_is_converted_exactly_in_c(require_tool, tmp_path):
    require_tool("cc")
    (tmp_path / "program.c").write_text(_PROGRAM.format(definition=_IN_WHOLE_NUMBERS.definition))
    program = tmp_path / "program"
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
    subprocess.run(["cc", *flags, tmp_path / "program.c", "-o", program], check=True)
    made = subprocess.run([program], input=FINITE.tobytes(), check=True, capture_output=True).stdout
    wanted = FINITE.view(np.float16).astype(np.float32)
    assert np.array_equal(np.frombuffer(made, np.int32), wanted.view(np.int32))


@pytest.mark.parametrize(
    ("values", "is_it"),
    [
        (np.full(16, 0.5, np.float32), True),
        (np.full(15, 0.5, np.float32), False),
        (np.full(16, 0.1, np.float32), False),
        (np.full(16, 65504.0, np.float32), True),
        (np.full(16, 65536.0, np.float32), False),
        (np.full(16, 2.0**-24, np.float32), True),
        (np.full(16, 2.0**-25, np.float32), False),
        (np.full(16, np.inf, np.float32), False),
        (np.full(16, np.nan, np.float32), False),
        (np.full(16, -0.0, np.float32), True),
        (np.full(16, 1, np.int8), False),
    ],
)
def test_constants_that_half_precision_holds_are_found(values, is_it):
    assert is_half(values) == is_it


@pytest.mark.parametrize("core", CORES)
def test_loops_compute_the_same_bits(core):
    graph = run_meaning(parse_model(network(), "half.onnx"), frozenset()).graph
    found = [
        run_lowered(lower_graph(graph, CORES[core], options), inputs())
        for options in (CompileOptions(), CompileOptions(half_weights=True))
    ]
    (plain,), (half,) = (list(each.values()) for each in found)
    assert np.array_equal(plain.view(np.int32), half.view(np.int32))
    (wanted,) = run_graph(graph, inputs()).values()
    assert np.allclose(half.reshape(-1), wanted.reshape(-1), rtol=1e-5, atol=1e-5)


def constants_bytes(file: Path) -> list[int]:
    """Without and with the option."""
    made = (deploy.compile(file, "mps2-an386", half_weights=asked) for asked in (False, True))
    return [each.constants_bytes for each in made]


def test_constants_take_half_the_bytes_and_others_stay(file, tmp_path):
    sizes = [
        deploy.compile(file, "mps2-an386", half_weights=asked).constants_bytes for asked in (False, True)
    ]
    assert sizes[1] < 0.52 * sizes[0]
    other = tmp_path / "single.onnx"
    other.write_bytes(network(half=False))
    sizes = [
        deploy.compile(other, "mps2-an386", half_weights=asked).constants_bytes for asked in (False, True)
    ]
    assert sizes[0] == sizes[1]


def test_an_fpu_converts_and_other_cores_compute(file):
    for board, word in (
        ("mps2-an386", "vcvtb.f32.f16"),
        ("mps2-an385", "5192296858534827628530496329220096.0f"),
    ):
        text = "".join(deploy.compile(file, board, half_weights=True).artifact.sources.values())
        assert word in text
        assert text.count("static inline float real_of_half(") == 1
        assert "const int16_t half_" in text


def test_an_fpu_takes_words_of_two_where_loops_say_which_half(file):
    graph = run_meaning(parse_model(network(), "half.onnx"), frozenset()).graph
    stages = lower_graph(graph, CORES["fpu"], CompileOptions(half_weights=True)).stages
    kernels = {s.node.outputs[0]: s.kernel for s in stages if s.node is not None}
    types = {
        name: kernel.proc.param("w").dtype for name, kernel in kernels.items() if "w" in kernel.constants
    }
    assert types.pop("e") is DType.I32
    assert set(types.values()) == {DType.I16}
    text = "".join(deploy.compile(file, "mps2-an386", half_weights=True).artifact.sources.values())
    assert text.count("vcvtt.f32.f16") == 1


@pytest.mark.parametrize(
    "board",
    [
        pytest.param("host", marks=pytest.mark.cc),
        pytest.param("mps2-an385", marks=(pytest.mark.arm, pytest.mark.qemu)),
        pytest.param("mps2-an386", marks=(pytest.mark.arm, pytest.mark.qemu)),
    ],
)
def test_boards_give_the_same_bits(board, file, require_tool):
    require_tool("gcc", *(() if board == "host" else ("arm-none-eabi-gcc", "qemu-system-arm")))
    plain, half = (
        deploy.run(file, inputs(), board, half_weights=asked).outputs["y"] for asked in (False, True)
    )
    assert np.array_equal(plain.view(np.int32), half.view(np.int32))


def test_a_head_says_it(file):
    compiled = deploy.compile(file, "host", half_weights=True)
    assert "--half-weights" in compiled.artifact.sources["half.c"]
