"""Firmware on both cores of mps2-an521 in QEMU: the reference's bits, in turn and at once, and counts."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tflite_builder import ModelBuilder
from tiny_models import random_weights

import deploy
from aot.errors import BoardError
from aot.target import Optimize
from codegen.options import CompileOptions
from deploy.benchmark.bench_model import BenchChoices, BoardCost, Modelled, measure_file
from deploy.devices.connection_options import LineOptions
from platforms.baremetal import PLATFORM
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.project import App, project_source
from platforms.second_core import COUNTED

Deploy = Callable[..., Any]
HANDED_OVER = range(80, 250)  # instructions that a hand-over takes, all in all


@pytest.fixture
def tools(require_tool):
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")


@pytest.fixture
def network(tmp_path):
    """A convolution with halves of one size, and a dense layer of 3 and 2 pairs of results."""
    build = ModelBuilder("network")
    x = build.input("image", (1, 8, 8, 8), scale=0.05, zero_point=3)
    weights, bias, scales = random_weights(1, (8, 3, 3, 8))
    image = build.conv2d(x, weights, bias, weight_scales=scales, scale=0.1)
    x = build.input("features", (1, 128), scale=0.05, zero_point=3)
    weights, bias, scales = random_weights(2, (10, 128))
    classes = build.fully_connected(x, weights, bias, weight_scales=scales[:1], scale=0.2)
    path = tmp_path / "network.tflite"
    path.write_bytes(build.finish(image, classes))
    return path


def cost(model: Path, cores: int, layers: bool = False) -> BoardCost:
    """One run on the board, without the cycles of a model, which take longer.

    One core computes 3x3 convolutions by Winograd's products if RAM is not the goal; two cores do not.
    """
    choices = BenchChoices(
        CompileOptions(Optimize.RAM, cores=cores), BuildChoices(), LineOptions(), 1, layers, Modelled.NONE
    )
    return measure_file(model, load_board("mps2-an521"), choices)


def project(run_deploy: Deploy, model: Path, folder: Path) -> Path:
    """A project of the model for both cores, whose files a test may change."""
    archive = folder / "model.tar"
    assert run_deploy("compile", model, "--board", "mps2-an521", "--cores", 2, "-o", archive).status == 0
    assert run_deploy("new", archive, folder / "project", "--board", "mps2-an521").status == 0
    return folder / "project"


def outputs(run_deploy: Deploy, what: Path, folder: Path, *words: str) -> list[Any]:
    file = folder / "out.npz"
    ran = run_deploy("run", what, *words, "--fill", "random", "--output", file)
    assert ran.status == 0, ran.err
    with np.load(file) as arrays:
        return [arrays[name].tolist() for name in arrays.files]


@pytest.mark.arm
@pytest.mark.qemu
def test_the_longer_of_a_steps_halves_is_counted(network, run_deploy, tools):
    """A layer's share of what it takes on one core: 1/2 of each of 8 rows, 3/5 of the dense layer."""
    one, two = ({each.layer.op: each.count for each in cost(network, n, layers=True).layers} for n in (1, 2))
    assert round((two["conv2d"] - one["conv2d"] / 2) / 8) in HANDED_OVER
    assert round(two["dense"] - one["dense"] * 3 / 5) in HANDED_OVER


@pytest.mark.arm
@pytest.mark.qemu
def test_both_cores_compute_the_same_in_turn_and_at_once(network, tmp_path, run_deploy, tools):
    made = project(run_deploy, network, tmp_path)
    wanted = outputs(run_deploy, network, tmp_path, "--board", "mps2-an521")
    assert outputs(run_deploy, made, tmp_path) == wanted
    header = made / "src" / "board" / "second_core.h"
    text = header.read_text()
    assert "#define BOARD_CORES_IN_TURN\n" in text
    header.write_text(text.replace("#define BOARD_CORES_IN_TURN\n", ""))
    assert outputs(run_deploy, made, tmp_path) == wanted


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("half", [0, 1])
def test_a_fault_of_either_core_is_reported_with_its_place(half, network, tmp_path, run_deploy, tools):
    made = project(run_deploy, network, tmp_path)
    source = made / "src" / "model" / "network.c"
    begins = "    const struct run *run = context;\n"
    wrong = f"    if (half == {half}) {{ *(volatile uint32_t *)0xF0000000u = 1; }}\n"
    source.write_text(source.read_text().replace(begins, begins + wrong))
    ran = run_deploy("run", made, "--fill", "random")
    assert ran.status != 0
    assert re.search(r"bus fault in \w+_half \(network\.c:\d+\)", ran.err)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_image_classification_gives_the_references_bits_in_at_most_five_ninths(shared_dir, run_deploy, tools):
    model = shared_dir / "models" / "tiny_ic_resnet8_int8" / "model.tflite"
    ran = run_deploy("verify", model, "--board", "mps2-an521", "--cores", 2)
    assert ran.status == 0, ran.err
    assert "outputs equal to the reference in every bit" in ran.out
    one, two = (cost(model, cores) for cores in (1, 2))
    assert (one.cores, two.cores) == (1, 2)
    assert one.count is not None
    assert two.count is not None
    assert one.count / two.count >= 1.8
    assert one.arena_bytes == two.arena_bytes


@pytest.mark.arm
@pytest.mark.qemu
def test_the_page_says_what_is_counted(network, run_deploy, tools):
    ran = run_deploy("bench", network, "--board", "mps2-an521", "--cores", 2, "--median-of", 1)
    assert f"cycles on mps2-an521: {COUNTED}\n" in ran.out


@pytest.mark.arm
def test_an_emulator_of_one_core_refuses_firmware_for_two(network, run_deploy, require_package):
    require_package("unicorn")
    asked = ("run", network, "--board", "mps2-an521", "--cores", 2, "--runner", "unicorn", "--fill", "random")
    ran = run_deploy(*asked)
    assert ran.status != 0
    assert "this firmware uses 2 cores, but unicorn emulates 1" in ran.err
    assert "use --runner qemu, or compile with --cores 1" in ran.err


def test_other_platforms_use_one_core(network, tmp_path, run_deploy):
    archive = tmp_path / "model.tar"
    assert run_deploy("compile", network, "--board", "mps2-an521", "--cores", 2, "-o", archive).status == 0
    ran = run_deploy("new", archive, tmp_path / "zephyr", "--board", "mps2-an521", "--platform", "zephyr")
    assert ran.status != 0
    assert "network was compiled for 2 cores, but programs of the platform zephyr use 1" in ran.err
    assert "compile with --cores 1, or use" in ran.err


def test_a_board_with_one_core_takes_no_firmware_for_two(network, tmp_path):
    source = project_source(deploy.compile(network, "mps2-an521", cores=2).artifact)
    with pytest.raises(BoardError) as caught:
        PLATFORM.files(source, load_board("mps2-an505"), App.RPC)
    assert caught.value.what == "firmware for mps2-an505 starts one core, but the model was compiled for 2"
    assert caught.value.hint == "compile again with --cores 1"


def test_the_project_has_a_stack_for_the_second_core(network, tmp_path, run_deploy):
    made = project(run_deploy, network, tmp_path)
    script = (made / "board.ld").read_text()
    assert ".second_stack" in script
    assert "-DSOLDER_TWO_CORES\n" in (made / "flags" / "compile").read_text()
    others = tmp_path / "one"
    archive = tmp_path / "one.tar"
    assert run_deploy("compile", network, "--board", "mps2-an521", "-o", archive).status == 0
    assert run_deploy("new", archive, others, "--board", "mps2-an521").status == 0
    assert ".second_stack" not in (others / "board.ld").read_text()
    assert not list(others.rglob("second_core*"))
    assert "SOLDER_TWO_CORES" not in (others / "flags" / "compile").read_text()
