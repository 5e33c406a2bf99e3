"""An archive of a real compiled model becomes firmware: the joint between compiler and platforms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tiny_models import TINY

from aot.interpret import run_graph
from boards.load import load_board
from codegen.archive import Archive, read_archive, write_archive
from codegen.compile import compile_model
from codegen.model import CompileOptions
from platforms.base import BuildChoices, platform_of
from platforms.project import App, ProjectTensor, project_source
from platforms.rpc.messages import Expected
from platforms.rpc.session import Session

AN386 = load_board("mps2-an386")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    folder = tmp_path_factory.mktemp("model")
    (folder / "classifier.tflite").write_bytes(TINY["classifier"]())
    compiled = compile_model(folder / "classifier.tflite", AN386.target, CompileOptions())
    write_archive(compiled, folder / "classifier.tar")
    return read_archive(folder / "classifier.tar")


def test_a_project_holds_what_its_archive_says(archive: Archive) -> None:
    source = project_source(archive)
    assert {"classifier.c", "classifier_weights.c", "classifier_describe.c"} <= source.sources.keys()
    assert "classifier.h" in source.headers
    assert source.outputs == (
        ProjectTensor(archive.outputs[0].c_name, "int8_t", archive.outputs[0].type.elements, 0),
    )
    assert (source.arena_bytes, source.model_hash) == (archive.arena_bytes, archive.model_hash)


@pytest.mark.arm
@pytest.mark.qemu
def test_firmware_of_an_archive_computes_what_the_reference_computes(
    archive: Archive, tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    platform = platform_of(AN386)
    platform.generate(project_source(archive), tmp_path / "p", AN386, App.RPC)
    firmware = platform.build(tmp_path / "p", AN386, BuildChoices("arm-none-eabi-gcc"))
    given = archive.inputs[0]
    data = np.random.default_rng(7).integers(-128, 128, given.type.shape, dtype=np.int8)
    expected = run_graph(archive.graph(), {given.name: data})[archive.outputs[0].name]
    device = Session(platform.open_line(firmware, AN386, "qemu"))
    try:
        device.hello()
        model = device.find_model(Expected(archive.name, bytes.fromhex(archive.model_hash)))
        device.write_input(model, 0, data.tobytes())
        device.run(model)
        assert device.read_output(model, 0) == expected.tobytes()
    finally:
        device.close()
