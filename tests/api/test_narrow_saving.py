"""Weights of four bits stay only where the board's kernels then take less flash, code included."""

from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file

from codegen.options import CompileOptions
from deploy.quantization.calibration import Calibration
from deploy.quantization.narrow_saving import with_less_flash
from deploy.quantization.onnx_quantizer import quantize
from deploy.quantization.weight_widths import Bound
from platforms.board_files import load_board


def classifier(path: Path, length: int, classes: int) -> Path:
    """One dense layer, named as PyTorch names it."""
    weights = np.random.default_rng(3).normal(size=(length, classes)).astype(np.float32)
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="node_linear")
    named = {"w": weights, "b": np.zeros(classes, np.float32)}
    path.write_bytes(onnx_file([node], {"x": (1, length)}, {"y": (1, classes)}, named, 13, 7))
    return path


@pytest.mark.parametrize(
    ("length", "board", "layers"),
    [
        (640, "mps2-an386", 1),  # 40,960 weights: half their bytes outweigh the code
        (16, "mps2-an386", 0),  # the code costs more than 32 bytes
        (640, "qemu-microbit", 0),  # no kernel of this core stores two in a byte
    ],
)
def test_four_bits_stay_where_they_save_flash(length, board, layers, tmp_path, require_package):
    require_package("onnxruntime")
    path = classifier(tmp_path / "net.onnx", length, 64 if length > 100 else 4)
    rows = np.random.default_rng(4).normal(size=(8, 1, length)).astype(np.float32)
    samples = Calibration(tuple({"x": row} for row in rows), None)
    made = quantize(path, samples, "minmax", {}, "mixed", Bound(signal_to_noise_db=5), refine=True)
    assert {each.bits for each in made.widths} == {4}
    kept, saving = with_less_flash(made, (path, load_board(board), CompileOptions()), samples, 5)
    assert saving.layers == layers
    if layers:
        assert kept.data == made.data
        assert saving.after_bytes < saving.before_bytes - 15_000
        assert str(saving) == (
            "weights       of four bits in 1 of 1 layer, "
            f"flash {saving.before_bytes:,} -> {saving.after_bytes:,} bytes"
        )
    else:
        assert kept.widths == ()
        assert str(saving) == (
            f"weights       of eight bits: four would not reduce the flash of {saving.before_bytes:,} bytes"
        )
