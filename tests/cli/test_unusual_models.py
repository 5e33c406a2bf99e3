"""Models with many inputs, counted outputs, ONNX quantization or constants in RAM, on devices."""

import json
from dataclasses import replace

import numpy as np
import pytest
from chosen_boxes import LISTED, file_of
from qdq_builder import QdqBuilder
from twins import network, onnx_twin, tflite_twin

from codegen.options import CDialect, CompileOptions
from deploy.compiler.compile_model import options_in_firmware
from platforms.board_files import load_board

INPUTS = 40


@pytest.mark.cc
def test_forty_inputs_are_summed(tmp_path, run_deploy):
    build = QdqBuilder("many")
    names = [build.real_input(f"x{number}", (1, 4)) for number in range(INPUTS)]
    (tmp_path / "many.onnx").write_bytes(build.finish(build.node("Sum", *names)))
    arrays = {name: np.full((1, 4), 2.0**number, np.float32) for number, name in enumerate(names)}
    np.savez(tmp_path / "x.npz", **arrays)  # type: ignore[arg-type]
    out = tmp_path / "out.npz"
    words = (
        "run",
        tmp_path / "many.onnx",
        "--board",
        "host",
        "--inputs",
        tmp_path / "x.npz",
        "--output",
        out,
    )
    outcome = run_deploy(*words)
    assert outcome.status == 0, outcome.err
    wanted = np.float32(0)
    for array in arrays.values():
        wanted = wanted + array
    np.testing.assert_array_equal(next(iter(np.load(out).values())), wanted)


@pytest.fixture
def detector(tmp_path):
    (path := tmp_path / "chosen.onnx").write_bytes(file_of(LISTED, 1, 2, 8))
    return path


def test_inspect_says_what_the_count_means(detector, run_deploy):
    outcome = run_deploy("inspect", detector)
    assert outcome.status == 0, outcome.err
    assert (
        '  count      "chosen_count" is the number of boxes that "nms" chooses, at most 6: later rows are 0'
        in outcome.out.splitlines()
    )


@pytest.mark.cc
@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_onnx_runtime_has_the_same_rows(board, detector, run_deploy, require_package, require_tool):
    require_package("onnxruntime")
    if board != "host":
        require_tool("arm-none-eabi-gcc")
        require_package("unicorn")
    outcome = run_deploy("verify", detector, "--board", board, "--oracle", "ort", "--rounding", "onnx")
    assert outcome.status == 0, outcome.err
    assert "returns the same outputs" in outcome.out


@pytest.mark.cc
def test_a_run_gives_rows_and_their_count(detector, tmp_path, run_deploy):
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [5, 5, 6, 6], *[[9, 9, 9, 9]] * 5]], np.float32)
    scores = np.zeros((1, 2, 8), np.float32)
    scores[0, 1, :3] = 0.6, 0.9, 0.7
    np.savez(given := tmp_path / "given.npz", boxes=boxes, scores=scores)
    outcome = run_deploy(
        "run", detector, "--board", "host", "--inputs", given, "--output", tmp_path / "made.npz"
    )
    assert outcome.status == 0, outcome.err
    made = np.load(tmp_path / "made.npz")
    assert made["output_1"].reshape(-1).tolist() == [2]
    wanted = np.zeros((6, 6), np.float32)
    wanted[:2] = [[0, 0, 0.5, 0.45, 1, 0.9], [2.5, 2.5, 3, 3, 1, 0.7]]
    np.testing.assert_array_equal(made["output_0"].reshape(6, 6), wanted)


@pytest.mark.arm
@pytest.mark.qemu
def test_a_model_costs_what_its_twin_of_the_other_format_costs(tmp_path, run_deploy):
    images = np.random.default_rng(0).integers(-128, 128, (3, 1, 12, 12, 3)).astype(np.int8)
    np.savez(tmp_path / "x.npz", image=images)
    found, outputs = [], []
    for name, data in (("twin.tflite", tflite_twin(network())), ("twin.onnx", onnx_twin(network()))):
        (tmp_path / name).write_bytes(data)
        words = ("--board", "mps2-an386", "--inputs", tmp_path / "x.npz", "--output", tmp_path / "out.npz")
        outcome = run_deploy("run", tmp_path / name, *words, "--rounding", "tflm", "--json")
        assert outcome.status == 0, outcome.err
        found.append(json.loads(outcome.out)["instructions"])
        outputs.append(next(iter(np.load(tmp_path / "out.npz").values())).tolist())
    assert found[0] == found[1]
    assert outputs[0] == outputs[1]


@pytest.mark.arm
@pytest.mark.qemu
def test_a_model_with_planes_equals_the_reference_layer_by_layer(tmp_path, run_deploy):
    path = tmp_path / "planes.onnx"
    path.write_bytes(onnx_twin(network(), channels_first=True))
    outcome = run_deploy("verify", path, "--board", "mps2-an386", "--layers")
    assert outcome.status == 0, outcome.err
    assert "layers equal to the reference in every bit" in outcome.out


@pytest.mark.parametrize(("board", "places"), [("nucleo-l4r5zi", True), ("mps2-an386", False)])
def test_constants_go_to_ram_where_flash_waits(board, places):
    assert options_in_firmware(load_board(board), CompileOptions()).place is places


@pytest.mark.parametrize(
    "options",
    [
        CompileOptions(tables=True),
        CompileOptions(dialect=CDialect.STRICT),
        CompileOptions(shapes={"x": ((1, 2), 4)}),
    ],
)
def test_what_forbids_that_is_left_as_it_is(options):
    assert options_in_firmware(load_board("nucleo-l4r5zi"), options) == options


def test_all_else_stays():
    options = CompileOptions(ram=9000)
    assert options_in_firmware(load_board("nucleo-l4r5zi"), options) == replace(options, place=True)
