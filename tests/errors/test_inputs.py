"""Wrong .npz and WAV files: name, shape, element type, rate; reported before anything is built."""

import wave
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aot.errors import InputError
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import DType, Quant, TensorType
from deploy.inputs.input_options import DataOptions, read_data
from deploy.inputs.quantized_values import as_integers
from deploy.inputs.recordings import read_wav
from deploy.inputs.samples import make_samples

IMAGE = np.zeros((1, 8, 8, 1), np.int8)
TAKES = ("in.npz", '"image" or "input_0"', "int8[1, 8, 8, 1]")  # what the model takes
WRONG_ARRAYS: dict[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "misspelt name": ({"imgae": IMAGE}, ('"imgae"', 'did you mean "image"?', *TAKES)),
    "other name": ({"in_0": IMAGE}, ('"in_0"', 'did you mean "input_0"?', *TAKES)),
    "no arrays": ({}, ('"image" is missing', *TAKES)),
    "given twice": ({"image": IMAGE, "input_0": IMAGE}, ("twice", '"image", "input_0"', "in.npz")),
    "wrong shape": (
        {"image": IMAGE[0]},
        ('"image" has shape [8, 8, 1]', "[1, 8, 8, 1]", "in.npz", "[N, 8, 8, 1]"),
    ),
    "batch of other images": (
        {"image": np.zeros((5, 8, 9, 1), np.int8)},
        ('"image" has shape [5, 8, 9, 1]', "[1, 8, 8, 1]", "in.npz", "[N, 8, 8, 1]"),
    ),
    "batch of nothing": ({"image": np.zeros((0, 8, 8, 1), np.int8)}, ("0 samples", "in.npz", "at least 1")),
    "series of nothing": (
        {"image": np.zeros((0, 1, 8, 8, 1), np.int8)},
        ("0 samples", "in.npz", "at least 1"),
    ),
    "floats": (
        {"image": IMAGE.astype(np.float32)},
        (
            "float32",
            "int8[1, 8, 8, 1]",
            "in.npz",
            "--quantize (quantize=True in Python)",
            "np.clip(np.round(x / 0.0625) + -128, -128, 127).astype(np.int8)",
        ),
    ),
    "wider integers": (
        {"image": IMAGE.astype(np.int64)},
        ("int64", "int8[1, 8, 8, 1]", "in.npz", "x.astype(np.int8)"),
    ),
}


@pytest.fixture
def refuse(model, complaint, monkeypatch):
    """refuse(FILE): the error of `deploy run` for a file of inputs; nothing may be built for it."""

    def must_not_build(*_: object) -> None:
        raise AssertionError("the inputs are looked at first")

    monkeypatch.setattr("deploy.cli.commands.run.ready_for", must_not_build)
    return lambda inputs: complaint("run", model, "--board", "host", "--inputs", inputs)


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_wrong_arrays_are_named_with_what_the_model_takes(name, refuse, tmp_path):
    arrays, facts = WRONG_ARRAYS[name]
    np.savez(tmp_path / "in.npz", **arrays)
    refuse(tmp_path / "in.npz").names("E102", *facts)


HOW = "np.savez(file, input_0=array)"


def test_a_missing_file_of_inputs(refuse, tmp_path):
    refuse(tmp_path / "in.npz").names("E102", "does not exist", "FOLDER/in.npz", HOW)


def test_a_single_array_has_no_name(refuse, tmp_path):
    np.save(tmp_path / "in.npy", IMAGE)
    refuse(tmp_path / "in.npy").names("E102", "array without a name", "FOLDER/in.npy", HOW)


@pytest.mark.parametrize(
    ("given", "taken", "hint"),
    [
        (np.uint8, DType.I8, "(x.astype(np.int16) - 128).astype(np.int8)"),
        (np.int8, DType.U8, "(x.astype(np.int16) + 128).astype(np.uint8)"),
    ],
)
def test_pixels_of_the_other_sign_are_moved_and_not_wrapped(given, taken, hint):
    spec = TensorSpec("x", TensorType(taken, (1, 4), Quant((0.5,), (0,))))
    with pytest.raises(InputError) as caught:
        make_samples({"x": np.zeros((1, 4), given)}, [spec], "in.npz")
    assert caught.value.hint == f"if these are pixels, only the zero point differs: {hint}"


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_becomes_no_integer(odd):
    spec = TensorSpec("x", TensorType(DType.I8, (1, 4), Quant((0.5,), (0,))))
    with pytest.raises(InputError) as caught:
        as_integers({"x": np.array([[0, 1, odd, 2]], np.float32)}, [spec])
    assert caught.value.what == '1 of 4 values of the input "x" are NaN or infinite and cannot be quantized'


def test_a_wav_file_for_a_model_without_a_front_end_is_sent_there(tmp_path):
    spec = TensorSpec("x", TensorType(DType.I8, (1, 49, 10, 1), Quant((0.5,), (0,))))
    with wave.open(str(tmp_path / "in.wav"), "wb") as file:
        file.setparams((1, 2, 16_000, 4, "NONE", ""))
        file.writeframes(bytes(8))
    with pytest.raises(InputError) as caught:
        read_data(tmp_path / "in.wav", DataOptions(), [spec], 1)
    assert caught.value.what == "a WAV file has int16 samples, the model needs int8[1, 49, 10, 1]"
    assert "--front NAME" in caught.value.hint


NOT_NPZ = ("E102", "is not an .npz file", "FOLDER/in.npz", HOW)


@pytest.mark.parametrize("data", [b"", b"text", b"PK\x03\x04 and then nonsense"])
def test_what_is_not_an_npz_file_is_refused_with_the_way_to_make_one(data, refuse, tmp_path):
    (tmp_path / "in.npz").write_bytes(data)
    refuse(tmp_path / "in.npz").names(*NOT_NPZ)


def test_pickled_objects_are_not_loaded(refuse, tmp_path):
    np.savez(tmp_path / "in.npz", image=np.array([{"a": 1}], dtype=object))
    refuse(tmp_path / "in.npz").names(*NOT_NPZ)


def test_a_damaged_npz_file(refuse, tmp_path):
    noise = np.random.default_rng(0).integers(0, 128, (20, *IMAGE.shape)).astype(np.int8)
    np.savez_compressed(tmp_path / "in.npz", image=noise)
    data = bytearray((tmp_path / "in.npz").read_bytes())
    data[300:400] = bytes(100)
    (tmp_path / "in.npz").write_bytes(data)
    refuse(tmp_path / "in.npz").names(*NOT_NPZ)


def test_series_of_different_lengths():
    taken = [TensorSpec(name, TensorType(DType.I8, (1, 4))) for name in ("a", "b")]
    series = {"a": np.zeros((2, 1, 4), np.int8), "b": np.zeros((3, 1, 4), np.int8)}
    with pytest.raises(InputError) as caught:
        make_samples(series, taken, "in.npz")
    assert '"a" has 2, "b" has 3' in str(caught.value)


@pytest.mark.parametrize("shape", [(8, 8, 8, 1), (8, 64), (8, 8, 8)])
def test_a_batch_is_a_series_whose_outputs_are_a_batch(shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(np.int8)
    image = TensorSpec("image", TensorType(DType.I8, IMAGE.shape))
    samples = make_samples({"image": array}, [image], "in.npz")
    assert [each.shape for (each,) in samples.each] == [IMAGE.shape] * 8
    assert samples.stacked([np.zeros((1, 10))] * 8).shape == (8, 10)
    assert samples.stacked([np.zeros(3)] * 8).shape == (8, 3)


@pytest.mark.parametrize("element", [np.float64, np.float16])
def test_floats_of_another_precision_are_taken(element):
    """NumPy makes float64 of everything, and nobody means it."""
    image = TensorSpec("image", TensorType(DType.F32, IMAGE.shape))
    ((taken,),) = make_samples({"image": IMAGE.astype(element)}, [image], "in.npz").each
    assert taken.dtype == np.float32


@pytest.mark.parametrize("shape", [(1, 64), (1, 8, 8), (1, 8, 1, 8, 1), (2, 1, 64)])
def test_the_same_elements_may_be_grouped_otherwise(shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(np.int8)
    samples = make_samples(
        {"image": array}, [TensorSpec("image", TensorType(DType.I8, IMAGE.shape))], "in.npz"
    )
    assert all(image.shape == IMAGE.shape for (image,) in samples.each)
    assert np.array_equal(np.concatenate([image.reshape(-1) for (image,) in samples.each]), array.reshape(-1))


def test_channels_first_is_no_other_grouping():
    planes = np.zeros((1, 3, 8, 8), np.int8)
    with pytest.raises(InputError, match=r"has shape \[1, 3, 8, 8\], the model needs \[1, 8, 8, 3\]"):
        make_samples({"image": planes}, [TensorSpec("image", TensorType(DType.I8, (1, 8, 8, 3)))], "in.npz")


def wav(path: Path, rate: int = 16000, channels: int = 1, bits: int = 16) -> None:
    with wave.open(str(path), "wb") as file:
        file.setframerate(rate)
        file.setnchannels(channels)
        file.setsampwidth(bits // 8)
        file.writeframes(bytes(4 * channels * bits // 8))


HINT = "sox in.wav -r 16000 -c 1 -b 16 out.wav"
WRONG: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {
    "another rate": (lambda path: wav(path, rate=44100), ("44100", "16000", HINT)),
    "two channels": (lambda path: wav(path, channels=2), ("2 channels", "1", HINT)),
    "bytes": (lambda path: wav(path, bits=8), ("8-bit", "16", HINT)),
    "no WAV file": (lambda path: path.write_bytes(b"ID3 something else"), ("not a WAV file",)),
    "cut short": (lambda path: path.write_bytes(b"RIFF"), ("not a WAV file",)),
    "no file": (lambda path: None, ("does not exist",)),
    "a folder": (lambda path: path.mkdir(), ("Is a directory",)),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_reported(name, tmp_path):
    make, facts = WRONG[name]
    path = tmp_path / "in.wav"
    make(path)
    with pytest.raises(InputError) as caught:
        read_wav(path, 16000)
    assert all(fact in str(caught.value) for fact in (*facts, str(path)))


def test_without_a_front_end_any_rate_will_do(tmp_path):
    path = tmp_path / "in.wav"
    wav(path, rate=8000)
    assert np.array_equal(read_wav(path, None), np.zeros((1, 4), np.int16))
