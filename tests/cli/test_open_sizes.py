"""Sizes that a file leaves open: a batch is 1; several sizes share one firmware, arena and constants."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from error_facts import require_facts
from onnx import helper
from onnx_files import onnx_file
from open_models import open_convolutions

import deploy
from artifact.archive import read_archive
from codegen.axis_sizes import axis_word, each_shapes, read_axis_size

SHAPE = "x=1..2,4,8/16"
NAMES = ["net", "net_2_8", "net_1_16", "net_1_8"]
SIZES = [(2, 16), (2, 8), (1, 16), (1, 8)]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(open_convolutions())
    return path


def inputs_of(batch: int, length: int) -> dict[str, Any]:
    rng = np.random.default_rng(batch * length)
    return {"x": rng.standard_normal((batch, 4, length)).astype(np.float32)}


def wanted(file: Path, inputs: dict[str, Any]) -> Any:
    """The meaning of the model at one size alone."""
    return deploy.load(file, shape={"x": inputs["x"].shape}).run(inputs)["y"]


@pytest.mark.parametrize(
    ("given", "meant", "word"),
    [
        ("4", 4, "4"),
        ("1..4", (1, 2, 3, 4), "1..4"),
        ("64/16/32", (16, 32, 64), "16/32/64"),
        (range(2, 4), (2, 3), "2..3"),
        ([5], 5, "5"),
        ("3..3", 3, "3"),
    ],
)
def test_an_axis_has_a_size_or_several(given, meant, word):
    assert read_axis_size(given) == meant
    assert axis_word(meant) == word
    assert read_axis_size(word) == meant


@pytest.mark.parametrize("given", ["", "4..1", "0..2", "1..", "a", "1/", -1, [], None])
def test_what_is_not_a_size_of_an_axis_is_refused(given):
    with pytest.raises((ValueError, TypeError)):
        read_axis_size(given)


def test_a_batch_is_one_over_all_inputs_and_axes_of_one_input_are_not():
    two = each_shapes({"x": ((1, 2), 4), "y": ((1, 2),)})
    assert two == [("2", {"x": (2, 4), "y": (2,)}), ("1", {"x": (1, 4), "y": (1,)})]
    assert [word for word, _ in each_shapes({"x": (1, (8, 9), (8, 9))})] == ["9_9", "9_8", "8_9", "8_8"]


@pytest.mark.parametrize(
    "board",
    [
        pytest.param("host", marks=pytest.mark.cc),
        pytest.param("mps2-an386", marks=(pytest.mark.arm, pytest.mark.qemu)),
    ],
)
def test_each_size_is_verified_in_one_firmware(board, file, run_deploy, require_tool):
    require_tool("gcc", *(() if board == "host" else ("arm-none-eabi-gcc", "qemu-system-arm")))
    outcome = run_deploy("verify", file, "--board", board, "--shape", SHAPE)
    assert outcome.status == 0, outcome.err
    for name in NAMES:
        assert f"{name} on {board}: 3 samples, outputs equal to the reference" in outcome.out


@pytest.mark.cc
def test_an_archive_runs_at_the_size_of_its_inputs(file, tmp_path, run_deploy):
    archive, given, made = (tmp_path / name for name in ("net.tar", "in.npz", "out.npz"))
    outcome = run_deploy("compile", file, "--board", "host", "--shape", SHAPE, "-o", archive)
    assert outcome.status == 0, outcome.err
    for (batch, length), name in zip(SIZES, NAMES, strict=True):
        inputs = inputs_of(batch, length)
        np.savez(given, **inputs)
        outcome = run_deploy("run", archive, "--board", "host", "--inputs", given, "--output", made)
        assert outcome.out.startswith(f"{name} on host: 1 sample"), outcome.err
        np.testing.assert_allclose(np.load(made)["output_0"], wanted(file, inputs), atol=1e-6)
    np.savez(given, x=np.zeros((3, 4, 8), np.float32))
    refused = run_deploy("run", archive, "--board", "host", "--inputs", given)
    assert refused.status == 1
    require_facts(
        refused.err, "sizes: x [3, 4, 8] it has: x [2, 4, 16]; x [1, 4, 16]; x [1, 4, 8]; x [2, 4, 8]"
    )


@pytest.mark.cc
def test_an_open_line_takes_one_size_after_the_other(file):
    compiled = deploy.compile(file, "host", shape=SHAPE)
    with deploy.connect(compiled) as device:
        for size in (*SIZES, *SIZES):
            inputs = inputs_of(*size)
            assert np.allclose(device.run(inputs).outputs["y"], wanted(file, inputs), atol=1e-6)
        series = np.stack([inputs_of(2, 8)["x"]] * 3)
        assert device.run({"x": series}).outputs["y"].shape == (3, 2, 5)


PROGRAM = """
#include <stdio.h>
#include "net_sizes.h"
static uint8_t arena[NET_SIZED_ARENA_BYTES + 1] NET_ALIGN;
int main(void)
{
    static float x[2 * 4 * 16], y[2 * 5];
    const struct net_inputs in = {x};
    const struct net_outputs out = {y};
    struct net_sizes sizes;
    while (scanf("%u %u %u", &sizes.x[0], &sizes.x[1], &sizes.x[2]) == 3) {
        for (unsigned i = 0; i < 2 * 4 * 16; i++) {
            x[i] = (float)(i % 7) - 3.0f;
        }
        printf("%ld", (long)net_run_sized(&sizes, &in, &out, arena));
        for (unsigned i = 0; i < sizes.x[0] * 5 && i < 10; i++) {
            printf(" %.7g", (double)y[i]);
        }
        printf("\\n");
    }
    sizes = (struct net_sizes){.x = {1, 4, 8}};
    printf("%ld\\n", (long)net_run_sized(&sizes, NULL, &out, arena));
    printf("%ld\\n", (long)net_run_sized(&sizes, &in, &out, arena + 1));
    return 0;
}
"""


@pytest.mark.cc
def test_the_c_function_chooses_and_refuses(file, tmp_path, run_deploy):
    folder = tmp_path / "net"
    outcome = run_deploy("compile", file, "--board", "host", "--shape", SHAPE, "-o", folder)
    assert outcome.status == 0, outcome.err
    assert "`net_sizes.h` chooses one of them" in (folder / "README.md").read_text()
    (folder / "test_net.c").unlink()
    (folder / "main.c").write_text(PROGRAM)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=address,undefined", "-O1"]
    program = tmp_path / "program"
    subprocess.run(["gcc", *flags, *folder.glob("*.c"), "-lm", "-o", program], check=True)
    asked = "".join(f"{batch} 4 {length}\n" for batch, length in [*SIZES, (3, 16), (2, 9), (0, 0)])
    done = subprocess.run([program], input=asked, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == [*"0000", *"444", "1", "2"]
    for (batch, length), line in zip(SIZES, lines, strict=False):
        numbers = (np.arange(batch * 4 * length) % 7 - 3).astype(np.float32).reshape(batch, 4, length)
        expected = wanted(file, {"x": numbers}).reshape(-1)
        np.testing.assert_allclose([float(word) for word in line[1:]], expected, atol=1e-5)


@pytest.mark.slow
def test_constants_that_are_equal_are_one(file):
    compiled = deploy.compile(file, "mps2-an386", shape=SHAPE)
    own = [cost.facts.constants_bytes for cost in compiled.costs]
    shared = [cost.shared_bytes for cost in compiled.costs]
    alone = [
        deploy.compile(file, "mps2-an386", shape={"x": (batch, 4, length)}).constants_bytes
        for batch, length in SIZES
    ]
    assert [o + s for o, s in zip(own, shared, strict=True)] == alone
    assert own[1] < alone[1] / 10
    assert own[3] == 0
    text = "".join(compiled.artifact.sources.values())
    assert text.count("_w[40] = {") == 1
    assert f"{sum(own):,}" in str(compiled)


def test_an_archive_holds_every_size(file, tmp_path):
    compiled = deploy.compile(file, "host", shape=SHAPE)
    compiled.save(tmp_path / "net.tar")
    read = read_archive(tmp_path / "net.tar")
    assert read.facts == compiled.artifact.facts
    made = {each.artifact.name: each.artifact.facts for each in compiled.others}
    assert {each.name: each.facts for each in read.sizes} == made
    assert list(made) == NAMES[1:]
    assert all(each.graph.inputs == ("x",) for each in read.sizes)


ONE = " --shape x=1,3,32,32; deploy compile, run, verify connect several"
COMPILE = ("compile", "FILE", "--board", "host", "-o", "a.tar", "--shape")
WRONG = {
    "too many": ((*COMPILE, "x=1..17,4,8"), "--shape 17 sizes, 16, 16/32/64 16..64"),
    "weights elsewhere": ((*COMPILE, SHAPE, "--weights", "external"), "--weights external: one size" + ONE),
    "tables": ((*COMPILE, SHAPE, "--tables"), "--tables: table one size" + ONE),
    "a cartridge": ((*COMPILE, SHAPE, "--cartridge"), "cartridge one --shape several x=1,3,32,32"),
    "inspect": (("inspect", "FILE", "--board", "host", "--shape", SHAPE), "one size --shape several" + ONE),
    "quantize": (
        ("quantize", "FILE", "--data", "x.npz", "-o", "q.onnx", "--shape", SHAPE),
        "deploy quantize one size --shape several" + ONE,
    ),
    "placed constants": (
        ("compile", "FILE", "--board", "nucleo-l4r5zi", "--place", "-o", "n.tar", "--shape", SHAPE),
        "--place one --shape several --constants LAYERS=REGION, x=1,3,32,32",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_takes_one_size_says_so(name, file, tmp_path, monkeypatch, run_deploy):
    words, facts = WRONG[name]
    monkeypatch.chdir(tmp_path)
    outcome = run_deploy(*(file if word == "FILE" else word for word in words))
    assert outcome.status == 1
    require_facts(outcome.err, facts)


def test_no_firmware_is_made_where_all_sizes_have_no_room(file):
    place = "cortex-m4+fpu,ram=64K,flash=9K"
    deploy.compile(file, target=place, shape={"x": (2, 4, 16)})
    with pytest.raises(deploy.DeployError, match="bytes of flash"):
        deploy.compile(file, target=place, shape=SHAPE)


def test_a_model_that_keeps_a_state_has_one_size(tmp_path):
    path = tmp_path / "sum.onnx"
    ends = {"x": [1, "classes"]}, {"y": [1, "classes"]}
    path.write_bytes(onnx_file([onnx.helper.make_node("Softmax", ["x"], ["y"])], *ends))
    with pytest.raises(deploy.DeployError, match="keeps state between runs, which sizes cannot share"):
        deploy.compile(path, "host", shape="x=1,4/5", back="classes:average=4,threshold=0.5,hold=2")


def test_a_sequence_has_one_length(tmp_path):
    plain = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2])
    given = onnx.helper.make_value_info("x", onnx.helper.make_sequence_type_proto(plain))
    node = onnx.helper.make_node("ConcatFromSequence", ["x"], ["y"], axis=0)
    path = tmp_path / "joined.onnx"
    path.write_bytes(onnx_file([node], [given], {"y": ["n"]}))
    with pytest.raises(
        deploy.DeployError, match="the inputs are x_0, x_1 at one size and x_0 at another"
    ) as told:
        deploy.compile(path, "host", shape="x=1..2")
    assert told.value.hint == "give each sequence one length, for example --shape x=3"


TOLD = 'the file leaves the batch of "x" open: 1 is used (--shape sets all sizes)'


@pytest.fixture
def open_batch(tmp_path):
    shape = ["batch", 8]
    path = tmp_path / "net.onnx"
    path.write_bytes(onnx_file([helper.make_node("Relu", ["x"], ["y"])], {"x": shape}, {"y": shape}))
    return path


def test_compile_and_inspect_say_it(open_batch, tmp_path, run_deploy):
    compiled = run_deploy("compile", open_batch, "--board", "host", "-o", tmp_path / "net.tar")
    assert compiled.status == 0, compiled.err
    assert TOLD in compiled.out
    inspected = run_deploy("inspect", open_batch)
    assert TOLD in " ".join(inspected.out.split())
    assert "float32[1, 8]" in inspected.out


def test_a_shape_that_is_given_is_not_news(open_batch, run_deploy):
    inspected = run_deploy("inspect", open_batch, "--shape", "x=3,8")
    assert "batch" not in inspected.out
    assert "float32[3, 8]" in inspected.out


@pytest.mark.cc
def test_a_series_of_samples_runs(open_batch, run_deploy):
    outcome = run_deploy("verify", open_batch, "--board", "host", "--fill", "random")
    assert outcome.status == 0, outcome.err
