"""A user may name what is generated; a name that C or a file forbids is refused with one that can be."""

from __future__ import annotations

from pathlib import Path

import pytest
from error_facts import refused
from tiny_models import TINY

from aot.errors import InputError
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import import_data, read_job
from codegen.options import CompileOptions


def test_files_and_global_names_begin_with_it(tmp_path: Path) -> None:
    (path := tmp_path / "export_v12_final.tflite").write_bytes(TINY["classifier"]())
    compiled = compile_job(read_job(path, Target("c"), CompileOptions(name="kws")))
    assert {"kws.c", "kws.h"} <= set(compiled.sources)
    assert not [name for name, text in compiled.sources.items() if "export_v12_final_" in name + text]
    assert "int32_t kws_run(" in compiled.sources["kws.h"]


@pytest.mark.parametrize(
    ("word", "possible"),
    [("My-Model", "my_model"), ("string", "model_string"), ("while", "model_while"), ("8bit", "model_8bit")],
)
def test_a_name_that_cannot_be_is_refused(word: str, possible: str) -> None:
    refused(
        lambda: import_data(TINY["classifier"](), Path("m.tflite"), CompileOptions(name=word)),
        f'"{word}" C name generated --name {possible}',
        InputError,
    )
