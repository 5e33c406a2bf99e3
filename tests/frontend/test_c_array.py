"""A model that is shipped as a C array is the model that it was made from."""

from __future__ import annotations

from pathlib import Path

import pytest
from error_facts import refused, require_facts
from tiny_models import TINY

from aot.errors import ModelError
from aot.frontend.load import load_model, model_in_c, read_model
from aot.ir.text import print_graph

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
def test_the_bytes_are_those_of_the_model(name: str) -> None:
    assert model_in_c(SPELLINGS[name].encode(), "model_data.cc") == MODEL


def test_a_source_is_read_like_the_model(tmp_path: Path) -> None:
    path = tmp_path / "Model_Data.CC"
    path.write_text(SPELLINGS["xxd"])
    (tmp_path / "conv.tflite").write_bytes(MODEL)
    assert read_model(path) == MODEL
    graph, same = load_model(path), load_model(tmp_path / "conv.tflite")
    assert print_graph(graph).partition("\n")[2] == print_graph(same).partition("\n")[2]


def test_a_source_without_a_model_says_which_arrays_it_has() -> None:
    refused(
        lambda: model_in_c(as_c(b"\x01\x02\x03", "table").encode(), "table.h"),
        "C TFLite source holds array table.h 3 arrays bytes model.tflite create",
        ModelError,
    )


def test_a_source_with_two_models_names_them() -> None:
    source = as_c(MODEL, "first") + as_c(MODEL, "second")
    with pytest.raises(ModelError) as caught:
        model_in_c(source.encode(), "models.cc")
    size = f"{len(MODEL):,} bytes"
    require_facts(caught.value, f"2 {size}) {size} file holds models models.cc")


def test_a_source_that_ends_in_the_middle_has_no_array() -> None:
    with pytest.raises(ModelError, match="holds no array of bytes"):
        model_in_c(as_c(MODEL)[:-5].encode(), "model.cc")
