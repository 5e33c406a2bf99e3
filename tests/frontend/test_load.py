"""What is a model file: told by its content, also as a C array; all else is refused with the fix."""

import pytest
from error_facts import refused, require_facts
from tiny_models import TINY

from aot.errors import ModelError
from aot.frontend.load import load_model, model_in_c, read_model
from aot.ir.text import print_graph

KERAS = (
    'convert it: model = keras.models.load_model("{name}"), then\n'
    "        tf.lite.TFLiteConverter.from_keras_model(model).convert() returns the bytes of a .tflite file"
    "   (deploy docs exporting)"
)
TORCH = (
    'export it to ONNX: model = torch.load("{name}", weights_only=False).eval(), then\n'
    '        torch.onnx.export(model, (example_input,), dynamo=True).save("model.onnx");\n'
    "        a state_dict holds weights only: build the model, then model.load_state_dict(...)   "
    "(deploy docs exporting)"
)
FROZEN = (
    "convert its folder: tf.lite.TFLiteConverter.from_saved_model(folder).convert() gives\n"
    "        the bytes of a .tflite file   (deploy docs exporting)"
)
CORE_ML = "convert the original model: Core ML models cannot be converted back   (deploy docs exporting)"
FORMATS = {
    "net.pt": TORCH,
    "net.pth": TORCH,
    "net.keras": KERAS,
    "net.H5": KERAS,
    "net.pb": FROZEN,
    "net.mlmodel": CORE_ML,
    "net.tar": "an archive of deploy compile is compiled already: give the model file that it was made from",
    "net.tflite": "give a .tflite or .onnx file",
}


@pytest.mark.parametrize("file_name", FORMATS)
def test_another_format_is_told_how_to_become_one_that_is_read(tmp_path, file_name):
    path = tmp_path / file_name
    path.write_bytes(b"something else")
    with pytest.raises(ModelError) as caught:
        load_model(path)
    hint = FORMATS[file_name].format(name=file_name)
    require_facts(caught.value, f"TFLite ONNX 14 bytes {file_name} {hint}")


def test_a_saved_model_is_known_by_what_is_in_the_folder(tmp_path):
    (tmp_path / "saved_model.pb").touch()
    refused(
        lambda: load_model(tmp_path),
        f"TensorFlow SavedModel model file {tmp_path} "
        f'tf.lite.TFLiteConverter.from_saved_model("{tmp_path}").convert convert deploy',
        ModelError,
    )


def test_an_empty_file_is_called_empty(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(b"")
    with pytest.raises(ModelError) as caught:
        load_model(path)
    assert str(caught.value) == "error: the file is empty\n  net.tflite\n  hint: give a .tflite or .onnx file"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError) as caught:
        load_model(tmp_path / "net.tflite")
    assert str(caught.value) == f"error: the model file does not exist\n  {tmp_path / 'net.tflite'}"


def test_a_folder_is_not_a_model(tmp_path):
    refused(lambda: load_model(tmp_path), f"model file needed {tmp_path} tflite", ModelError)


def test_the_content_decides_not_the_name(tmp_path):
    path = tmp_path / "net.bin"
    path.write_bytes(TINY["dense"]())
    assert load_model(path).name == "net"


MODEL = TINY["conv"]()


def as_c(data: bytes, name: str = "g_model", numbers: str = "0x{:02x}") -> str:
    return f"const unsigned char {name}[] = {{{', '.join(numbers.format(byte) for byte in data)}}};\n"


SPELLINGS = {
    "xxd": as_c(MODEL) + f"unsigned int g_model_len = {len(MODEL)};\n",
    "aligned": as_c(MODEL).replace("[] =", "[] __attribute__((aligned(16))) ="),
    "alignas": "#include <cstdint>\nalignas(8) " + as_c(MODEL).replace("[]", f"[{len(MODEL)}]"),
    "a macro": "DATA_ALIGN_ATTRIBUTE " + as_c(MODEL).replace("[] =", "[] DATA_ALIGN =").replace("{", "{\n"),
    "decimal, commented": "// {0x01}\n/* x[] = {1, 2} */ " + as_c(MODEL, numbers="{}"),
    "beside labels": 'const char* labels[] = {"yes", "no"};\n' + as_c(b"\x01\x02", "other") + as_c(MODEL),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_bytes_are_those_of_the_model(name):
    assert model_in_c(SPELLINGS[name].encode(), "model_data.cc") == MODEL


def test_a_source_is_read_like_the_model(tmp_path):
    path = tmp_path / "Model_Data.CC"
    path.write_text(SPELLINGS["xxd"])
    (tmp_path / "conv.tflite").write_bytes(MODEL)
    assert read_model(path) == MODEL
    graph, same = load_model(path), load_model(tmp_path / "conv.tflite")
    assert print_graph(graph).partition("\n")[2] == print_graph(same).partition("\n")[2]


def test_a_source_without_a_model_says_which_arrays_it_has():
    refused(
        lambda: model_in_c(as_c(b"\x01\x02\x03", "table").encode(), "table.h"),
        "C TFLite source holds array table.h 3 arrays bytes model.tflite create",
        ModelError,
    )


def test_a_source_with_two_models_names_them():
    source = as_c(MODEL, "first") + as_c(MODEL, "second")
    with pytest.raises(ModelError) as caught:
        model_in_c(source.encode(), "models.cc")
    size = f"{len(MODEL):,} bytes"
    require_facts(caught.value, f"2 {size}) {size} file holds models models.cc")


def test_a_source_that_ends_in_the_middle_has_no_array():
    with pytest.raises(ModelError, match="holds no array of bytes"):
        model_in_c(as_c(MODEL)[:-5].encode(), "model.cc")
