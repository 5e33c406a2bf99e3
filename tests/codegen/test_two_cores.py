"""--cores 2: halves of steps in C for each kind of kernel, apart in every byte, and the same bits as ever."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file
from tflite_builder import ModelBuilder
from tiny_models import random_weights

import deploy
from aot.errors import BoardError, InputError
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O1", "-g")
ONE_BY_ONE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
AT_ONCE = ("-fsanitize=thread", "-DSOLDER_TWO_CORES", "-pthread")
# Halves in two threads, which meet at the end of each step: ThreadSanitizer tells bytes that both touch.
THREADS = """
#include <pthread.h>
#include <stdlib.h>

#include "solder_cores.h"

struct work {
    solder_half *step;
    const void *context;
    uint32_t row;
};

static void *second(void *given)
{
    const struct work *work = given;
    work->step(work->context, work->row, 1);
    return NULL;
}

void solder_on_both_cores(solder_half *step, const void *context, uint32_t row)
{
    struct work work = {step, context, row};
    pthread_t thread;
    if (pthread_create(&thread, NULL, second, &work) != 0) {
        abort();
    }
    step(context, row, 0);
    (void)pthread_join(thread, NULL);
}
"""


def convolution(channels: int, size: int, stride: int) -> bytes:
    build = ModelBuilder("conv")
    x = build.input("image", (1, 7, 9, 5), scale=0.05, zero_point=-5)
    weights, bias, scales = random_weights(channels, (channels, size, size, 5))
    return build.finish(
        build.conv2d(
            x, weights, bias, weight_scales=scales, scale=0.1, stride=(stride, stride), activation="RELU"
        )
    )


def depthwise() -> bytes:
    build = ModelBuilder("depthwise")
    x = build.input("image", (1, 6, 7, 9), scale=0.05, zero_point=3)
    weights, bias, scales = random_weights(3, (1, 3, 3, 9), axis=3)
    return build.finish(build.depthwise_conv2d(x, weights, bias, weight_scales=scales, scale=0.1))


def dense() -> bytes:
    build = ModelBuilder("dense")
    x = build.input("features", (1, 60), scale=0.05, zero_point=10)
    weights, bias, scales = random_weights(1, (9, 60))
    return build.finish(build.fully_connected(x, weights, bias, weight_scales=scales[:1], scale=0.2))


def addition() -> bytes:
    build = ModelBuilder("add")
    shape = (1, 3, 9, 32)
    one, other = (build.input(name, shape, scale=0.05, zero_point=2) for name in ("one", "other"))
    return build.finish(build.add(one, other, scale=0.08, zero_point=-3))


def pooling() -> bytes:
    build = ModelBuilder("pool")
    x = build.input("image", (1, 6, 10, 24), scale=0.05, zero_point=1)
    return build.finish(build.pool2d("MAX", x, (2, 2)))


def matrices() -> bytes:
    node = helper.make_node("MatMul", ["a", "b"], ["y"])
    return onnx_file([node], {"a": [1, 6, 9], "b": [1, 9, 8]}, {"y": [1, 6, 8]})


def floats() -> bytes:
    rng = np.random.default_rng(1)
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    weights = rng.standard_normal((7, 3, 3, 3))
    return onnx_file([node], {"x": [1, 3, 6, 6]}, {"y": [1, 7, 6, 6]}, {"w": weights})


def planes() -> bytes:
    """Rows of 256 numbers that go to their places in 32 planes."""
    rng = np.random.default_rng(1)
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    weights = rng.standard_normal((32, 2, 1, 1))
    return onnx_file([node], {"x": [1, 2, 8, 8]}, {"y": [1, 32, 8, 8]}, {"w": weights})


KINDS = {
    "convolution": lambda: convolution(8, 3, 1),
    "channels without a partner": lambda: convolution(7, 3, 2),
    "pointwise": lambda: convolution(10, 1, 1),
    "depthwise": depthwise,
    "dense": dense,
    "addition": addition,
    "pooling": pooling,
}
FLOATS = {"matrices": matrices, "convolution of reals": floats, "planes": planes}


def export(folder: Path, data: bytes, ending: str) -> str:
    """The C of a model in that folder, with the program that checks it."""
    file = folder / f"tiny.{ending}"
    file.write_bytes(data)
    deploy.compile(file, target="cortex-m33,ram=256K,flash=1M", cores=2).save(folder / "c")
    return (folder / "c" / "tiny.c").read_text(encoding="utf-8")


def program(folder: Path, flags: Sequence[str], *sources: str) -> subprocess.CompletedProcess[str]:
    """Builds the C and runs it; it tells whether its outputs are the reference's."""
    (folder / "threads.c").write_text(THREADS, encoding="utf-8")
    argv = ["gcc", *STRICT, *flags, "solder_cores.c", "tiny.c", "tiny_weights.c", "test_tiny.c", *sources]
    built = subprocess.run(
        [*argv, "-o", "program", "-lm"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return subprocess.run([folder / "program"], capture_output=True, text=True, check=False)


@pytest.mark.cc
@pytest.mark.parametrize("kind", [*KINDS, *FLOATS])
def test_each_kind_of_kernel_is_right_in_halves(kind, tmp_path):
    is_real = kind in FLOATS
    made = FLOATS[kind]() if is_real else KINDS[kind]()
    text = export(tmp_path, made, "onnx" if is_real else "tflite")
    assert "_half(const void *context" in text
    for flags, sources in ((ONE_BY_ONE, ()), (AT_ONCE, ("threads.c",))):
        ran = program(tmp_path / "c", flags, *sources)
        assert (ran.returncode, ran.stdout) == (0, "tiny: right\n"), ran.stderr


@pytest.mark.cc
def test_threads_that_touch_the_same_bytes_are_found(tmp_path):
    text = export(tmp_path, convolution(8, 3, 1), "tflite")
    loop = "for (int32_t ob = half * 2; ob < half * 2 + 2; ++ob)"
    assert loop in text
    (tmp_path / "c" / "tiny.c").write_text(text.replace(loop, loop.replace("half * 2;", "half;", 1)))
    ran = program(tmp_path / "c", AT_ONCE, "threads.c")
    assert ran.returncode != 0
    assert "data race" in ran.stderr


@pytest.mark.cc
def test_a_whole_model_is_right_in_halves(shared_dir, tmp_path):
    data = (shared_dir / "models" / "tiny_ic_resnet8_int8" / "model.tflite").read_bytes()
    text = export(tmp_path, data, "tflite")
    assert len(re.findall(r"^static LAYER void \w+_half", text, re.MULTILINE)) == 13
    for flags, sources in ((ONE_BY_ONE, ()), (AT_ONCE, ("threads.c",))):
        ran = program(tmp_path / "c", flags, *sources)
        assert (ran.returncode, ran.stdout) == (0, "tiny: right\n"), ran.stderr


def test_halves_in_c(tmp_path, golden):
    golden("dense.c.txt", _from_kernels(export(tmp_path, dense(), "tflite")))


def _from_kernels(text: str) -> str:
    return text[text.index("/* ---- kernels") :]


def test_one_core_has_the_c_it_had(tmp_path):
    file = tmp_path / "conv.tflite"
    file.write_bytes(convolution(8, 3, 1))
    target = Target("cortex-m33")
    plain, one = (
        compile_job(read_job(file, target, options)).sources
        for options in (CompileOptions(), CompileOptions(cores=1))
    )
    assert plain == one
    assert not any("cores" in name or "half" in text for name, text in one.items())


def test_each_layer_says_why_it_has_halves_or_none(tmp_path):
    build = ModelBuilder("tiny")
    x = build.input("image", (1, 8, 8, 16), scale=0.05)
    weights, bias, scales = random_weights(1, (8, 3, 3, 16))
    y = build.conv2d(x, weights, bias, weight_scales=scales, scale=0.1)
    y = build.reshape(build.pool2d("AVERAGE", y, (8, 8)), (1, 8))
    weights, bias, scales = random_weights(1, (4, 8))
    y = build.fully_connected(y, weights, bias, weight_scales=scales[:1], scale=0.2)
    file = tmp_path / "tiny.tflite"
    file.write_bytes(build.finish(y))
    model = compile_job(read_job(file, Target("cortex-m33"), CompileOptions(cores=2)))
    why = {layer.op: layer.why for layer in model.layers}
    assert "; half of it on each core" in why["conv2d"]
    assert "; on one core: each step depends on the previous one" in why["average_pool2d"]
    assert "; on one core: half of a step saves 28 statements, a handover pays off from 100" in why["dense"]


@pytest.mark.parametrize(
    ("board", "why"),
    [
        ("mps2-an386", "its file lists one core, a cortex-m4"),
        ("nrf5340dk", "its second, a cortex-m33, has separate flash and RAM"),
        (
            "rpi-pico2",
            "its second is not started: the boot ROM hands it over by the FIFOs between the cores, "
            "which no firmware here does",
        ),
    ],
)
def test_a_board_without_a_second_core_that_is_started_says_so(board, why, tmp_path):
    file = tmp_path / "dense.tflite"
    file.write_bytes(dense())
    for command in (deploy.compile, deploy.inspect):
        with pytest.raises(BoardError) as caught:
            command(file, board, cores=2)
    error = caught.value
    assert error.what == f"--cores 2: {board} has one core"
    assert (error.where, error.hint) == (why, "use --cores 1, or a board with two: host, mps2-an521")


@pytest.mark.parametrize(
    ("tables", "what"),
    [
        (
            True,
            "--tables is not possible: a table runs whole kernels, and --cores 2 splits them",
        ),
        (False, "cartridges run on one core, but this model was compiled with --cores 2"),
    ],
)
def test_cartridges_are_for_one_core(tables, what, tmp_path):
    file = tmp_path / "dense.tflite"
    file.write_bytes(dense())
    with pytest.raises(InputError) as caught:
        deploy.compile(file, "mps2-an521", cores=2, tables=tables).save_cartridge(tmp_path / "out.cart")
    assert caught.value.what == what


def test_both_cores_have_a_stack_in_the_boards_ram(tmp_path):
    file = tmp_path / "dense.tflite"
    file.write_bytes(dense())
    made = [deploy.compile(file, "mps2-an521", cores=cores) for cores in (1, 2)]
    one, two = ({name: size for use in each.report.memory for name, size in use.parts} for each in made)
    assert "stack of the second core, estimated" not in one
    assert two["stack of the second core, estimated"] == two["stack, estimated"] > one["stack, estimated"]
