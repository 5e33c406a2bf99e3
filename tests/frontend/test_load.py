"""What is no model file is refused with a text that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_models import TINY

from aot.errors import ModelError
from aot.frontend.load import load_model

KERAS = "convert it: tf.lite.TFLiteConverter.from_keras_model(model).convert() writes a .tflite file"
TORCH = 'export it to ONNX: torch.onnx.export(model, example_input, "model.onnx")'


@pytest.mark.parametrize(
    ("file_name", "hint"),
    [
        ("net.pt", TORCH),
        ("net.keras", KERAS),
        ("net.H5", KERAS),
        (
            "net.pb",
            "convert it: tf.lite.TFLiteConverter.from_saved_model(folder).convert() writes a .tflite file",
        ),
        ("net.tflite", "give a .tflite or .onnx file"),
    ],
)
def test_another_format_is_told_how_to_become_one_that_is_read(
    tmp_path: Path, file_name: str, hint: str
) -> None:
    path = tmp_path / file_name
    path.write_bytes(b"something else")
    with pytest.raises(ModelError) as caught:
        load_model(path)
    assert str(caught.value) == (
        f"error: this is neither a TFLite nor an ONNX model (14 bytes)\n  {file_name}\n  hint: {hint}"
    )


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(b"")
    with pytest.raises(ModelError) as caught:
        load_model(path)
    assert str(caught.value) == "error: the file is empty\n  net.tflite\n  hint: give a .tflite or .onnx file"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        load_model(tmp_path / "net.tflite")
    assert str(caught.value) == f"error: the model file does not exist\n  {tmp_path / 'net.tflite'}"


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        load_model(tmp_path)
    assert str(caught.value) == (
        f"error: a model file is needed, this is a folder\n  {tmp_path}\n  hint: give a .tflite or .onnx file"
    )


def test_the_content_decides_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "net.bin"
    path.write_bytes(TINY["dense"]())
    assert load_model(path).name == "net"
