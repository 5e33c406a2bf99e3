"""Real models through all of it, from the file to outputs over the line: golden in every bit."""

import numpy as np
import pytest

import deploy

MODELS = (
    "tflm_hello_world_int8",
    "tiny_ad_fc_int8",
    "tiny_kws_dscnn_int8",
    "tiny_ic_resnet8_int8",
    "tiny_vww_mbv1_int8",
    "tflm_person_detect_int8",
    "tflm_micro_speech_int8",
)
TOOLS = {"host": ("gcc",), "mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm")}
BOARDS = (
    pytest.param("host", marks=pytest.mark.cc),
    pytest.param("mps2-an386", marks=(pytest.mark.arm, pytest.mark.qemu)),
)
KEYWORD_SPOTTING = "tiny_kws_dscnn_int8"


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_the_golden_ones(name, board, shared_dir, require_tool):
    require_tool(*TOOLS[board])
    folder = shared_dir / "models" / name
    golden = np.load(folder / "golden.npz")
    result = deploy.run(folder / "model.tflite", golden["in_0"], board=board)
    (output,) = result.outputs.values()
    np.testing.assert_array_equal(output, golden["out_0"])


@pytest.mark.parametrize("board", BOARDS)
def test_keywords_are_spotted_as_the_reference_spots_them_sample_by_sample(board, shared_dir, require_tool):
    require_tool(*TOOLS[board])
    path = shared_dir / "models" / KEYWORD_SPOTTING / "model.tflite"
    data = np.load(shared_dir / "datasets" / "kws_500.npz")
    model = deploy.load(path)
    expected = np.concatenate([next(iter(model.run(x[None]).values())) for x in data["x_int8"]])
    (output,) = deploy.run(path, data["x_int8"][:, None], board=board).outputs.values()
    np.testing.assert_array_equal(output.reshape(expected.shape), expected)
    assert (expected.argmax(axis=1) == data["y"]).sum() == 449
