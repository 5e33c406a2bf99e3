"""The operators that are listed for a file are those whose importers it has."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import pytest

from aot.frontend.onnx.importers import FILES as ONNX
from aot.frontend.tflite.importers import FILES as TFLITE

_PACKAGES: Mapping[str, Mapping[str, str]] = {
    "aot.frontend.tflite.importers": TFLITE,
    **{f"aot.frontend.onnx.importers:{domain}": files for domain, files in ONNX.items()},
}


@pytest.mark.parametrize("package", _PACKAGES)
def test_a_file_has_the_importers_that_are_listed_for_it(package: str) -> None:
    seen: list[str] = []
    for file, listed in _PACKAGES[package].items():
        stem, _, table = file.partition(".")
        module = import_module(f"{package.partition(':')[0]}.{stem}")
        assert sorted(getattr(module, table or stem.upper())) == sorted(listed.split(", ")), file
        seen += listed.split(", ")
    assert len(seen) == len({*seen}), "an operator has one importer"
