"""Reads model files: finds the format of a file and calls its reader."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aot.errors import ModelError, NoModelFileError, did_you_mean
from aot.frontend.declared import NO_OVERRIDES, InputOverrides
from aot.ir.graph import Graph

# Reads a TFLite model from a C array, a common form: `const unsigned char model[] = {0x20, ...};`.

SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".ino")
_IDENTIFIER = b"TFL3"
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ARRAY = re.compile(r"(\w+)\s*\[[^\]]*\][^;={}]*=\s*\{([^{}]*)\}")
_MAKE = "create one with: xxd -i model.tflite"


def model_in_c(data: bytes, file_name: str) -> bytes:
    """Returns the bytes of the only array in the source that is a TFLite model. Raises ModelError."""
    text = _COMMENT.sub(" ", data.decode("utf-8", "replace"))
    found = {name: array for name, numbers in _ARRAY.findall(text) if (array := _bytes(numbers))}
    models = {name: array for name, array in found.items() if array[4:8] == _IDENTIFIER}
    if len(models) > 1:
        names = ", ".join(f"{name} ({len(array):,} bytes)" for name, array in models.items())
        raise NoModelFileError(
            f"the file holds {len(models)} models: {names}", file_name, "keep only one of them in the file"
        )
    if not models:
        arrays = ", ".join(f"{name} ({len(array):,} bytes)" for name, array in found.items())
        raise NoModelFileError(
            "this C source holds no array of bytes that is a TFLite model",
            f"{file_name}: arrays of bytes: {arrays or 'none'}",
            _MAKE,
        )
    (model,) = models.values()
    return model


def _bytes(numbers: str) -> bytes | None:
    """Returns the bytes, or None if the text is not a list of bytes."""
    try:
        return bytes(
            int(number, 0) & 0xFF for number in numbers.replace("u", "").split(",") if number.strip()
        )
    except ValueError:
        return None


_TFLITE_IDENTIFIER = b"TFL3"
_ONNX_BEGINNING = b"\x08"  # the tag of the format's version, which comes first
_FROM_KERAS = (
    'convert it: model = keras.models.load_model("{name}"), then\n'
    "tf.lite.TFLiteConverter.from_keras_model(model).convert() returns the bytes of a .tflite file"
    "   (deploy docs exporting)"
)
_FROM_TORCH = (
    'export it to ONNX: model = torch.load("{name}", weights_only=False).eval(), then\n'
    'torch.onnx.export(model, (example_input,), dynamo=True).save("model.onnx");\n'
    "a state_dict holds weights only: build the model, then model.load_state_dict(...)"
    "   (deploy docs exporting)"
)
_CONVERT = {
    ".h5": _FROM_KERAS,
    ".keras": _FROM_KERAS,
    ".mlmodel": "convert the original model: Core ML models cannot be converted back   (deploy docs "
    "exporting)",
    ".pb": "convert its folder: tf.lite.TFLiteConverter.from_saved_model(folder).convert() gives\n"
    "the bytes of a .tflite file   (deploy docs exporting)",
    ".pt": _FROM_TORCH,
    ".pth": _FROM_TORCH,
    ".tar": "an archive of deploy compile is compiled already: give the model file that it was made from",
}
_FROM_FOLDER = (
    'convert it: tf.lite.TFLiteConverter.from_saved_model("{name}").convert()\n'
    "returns the bytes of a .tflite file   (deploy docs exporting)"
)
_OTHERWISE = "give a .tflite or .onnx file"


def load_model(path: Path, rounding: str = "tflm", overrides: InputOverrides = NO_OVERRIDES) -> Graph:
    """Returns the model in a file as a verified graph. `rounding` is a mode of aot.ops.rounding."""
    return parse_model(read_model(path), path.name, rounding, overrides)


def parse_model(
    data: bytes, file_name: str, rounding: str = "tflm", overrides: InputOverrides = NO_OVERRIDES
) -> Graph:
    """Returns the model in a file's bytes; the content decides the format, not the name."""
    if is_tflite(data):
        if overrides != NO_OVERRIDES:
            raise ModelError(
                "--shape and --value apply to ONNX models only",
                file_name,
                "a .tflite file has fixed shapes; omit the option",
            )
        if rounding == "onnx":
            raise ModelError(
                "--rounding onnx applies to ONNX models only",
                file_name,
                "use tflm or litert-ref for a .tflite file",
            )
        from aot.frontend.tflite.read import read_tflite  # `deploy --help` must not load the schema

        return read_tflite(data, file_name, rounding)
    if is_onnx(data, Path(file_name).suffix.lower()):
        from aot.frontend.onnx.read import read_onnx

        values = {name: np.asarray(numbers) for name, numbers in overrides.values.items()}
        return read_onnx(data, file_name, rounding, overrides.shapes, values)
    hint = _CONVERT.get(Path(file_name).suffix.lower(), _OTHERWISE)
    raise NoModelFileError(_what_it_is(data), file_name, hint.format(name=file_name))


def usual_rounding(data: bytes, file_name: str) -> str:
    """Returns the rounding mode of the runtime that usually runs such files. Raises BrokenFileError."""
    if is_tflite(data):
        from aot.frontend.tflite.read import computes_unsigned

        return "litert-ref" if computes_unsigned(data, file_name) else "tflm"
    if is_onnx(data, Path(file_name).suffix.lower()):
        from aot.frontend.onnx.read import is_quantised

        return "onnx" if is_quantised(data, file_name) else "tflm"
    return "tflm"


def open_batches(data: bytes, file_name: str, overrides: InputOverrides) -> tuple[str, ...]:
    """Returns the inputs whose batch the file leaves open; the model was read with a batch of 1."""
    if not is_onnx(data, Path(file_name).suffix.lower()):
        return ()
    from aot.frontend.onnx.inputs import open_batches as of_onnx

    return of_onnx(data, {*overrides.shapes, *overrides.values})


def is_tflite(data: bytes) -> bool:
    return data[4:8] == _TFLITE_IDENTIFIER


def require_onnx(data: bytes, file_name: str) -> None:
    """Raises ModelError if the file is certainly not an ONNX model."""
    suffix = Path(file_name).suffix.lower()
    if not data or suffix in _CONVERT:
        hint = _CONVERT.get(suffix, "give a float .onnx file")
        raise NoModelFileError(_what_it_is(data), file_name, hint.format(name=file_name))


def read_model(path: Path) -> bytes:
    """Returns the bytes of a model: a file, a C source's array, or an ONNX file with external weights."""
    data = read_file(path)
    if path.suffix.lower() in SUFFIXES:
        return model_in_c(data, path.name)
    if not is_onnx(data, path.suffix.lower()):
        return data
    from aot.frontend.onnx.beside import with_weights_beside

    return with_weights_beside(data, path.parent, path.name)


def is_onnx(data: bytes, suffix: str) -> bool:
    is_other = is_tflite(data) or suffix in _CONVERT
    return suffix == ".onnx" or (data[:1] == _ONNX_BEGINNING and not is_other)


def read_file(path: Path) -> bytes:
    if path.is_dir():
        if (path / "saved_model.pb").exists():
            raise NoModelFileError(
                "this is a TensorFlow SavedModel, not a model file", str(path), _FROM_FOLDER.format(name=path)
            )
        raise NoModelFileError("a model file is needed, this is a folder", str(path), _OTHERWISE)
    if path.is_char_device() or path.is_block_device():  # may never end
        raise NoModelFileError("a model file is needed, this is a device", str(path), _OTHERWISE)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NoModelFileError(
            f"the model file does not exist{did_you_mean(path.name, _models_in(path.parent))}", str(path)
        ) from None
    except OSError as error:
        raise NoModelFileError(f"the model file cannot be read: {error.strerror}", str(path)) from None


def _models_in(folder: Path) -> list[str]:
    """Returns the names of possible models in the folder, to suggest one for a mistyped name."""
    try:
        return sorted(path.name for path in folder.iterdir() if path.suffix in (".tflite", ".onnx"))
    except OSError:  # the folder does not exist or is not readable
        return []


def _what_it_is(data: bytes) -> str:
    if not data:
        return "the file is empty"
    return f"this is neither a TFLite nor an ONNX model ({len(data):,} bytes)"


# Counts the operators of a model file and which of them are supported, even if the model is not.


@dataclass(frozen=True, slots=True)
class FileOperator:
    """An operator of a file, by its name in the file's format."""

    name: str
    nodes: int
    is_read: bool


def file_operators(data: bytes, file_name: str) -> Sequence[FileOperator]:
    """Returns the operators in a file's bytes, most frequent first. Raises ModelError if not a model."""
    if is_tflite(data):
        from aot.frontend.tflite.read import operators_of_tflite

        return _counted(operators_of_tflite(data, file_name))
    if is_onnx(data, Path(file_name).suffix.lower()):
        from aot.frontend.onnx.read import operators_of_onnx

        return _counted(operators_of_onnx(data, file_name))
    return ()


def _counted(found: Iterable[tuple[str, bool]]) -> tuple[FileOperator, ...]:
    counts = Counter(found)
    return tuple(
        FileOperator(name, nodes, is_read)
        for (name, is_read), nodes in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    )
