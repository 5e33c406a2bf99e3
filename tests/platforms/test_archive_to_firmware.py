"""An archive of a real compiled model becomes firmware: the joint between compiler and platforms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tiny_models import TINY

from aot.interpret import run_graph
from artifact.archive import read_archive, write_archive
from artifact.artifact import Artifact, artifact_of
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.base import BuildChoices, platform_of
from platforms.board_files import load_board
from platforms.elf import symbols
from platforms.project import App, project_source
from platforms.rpc.messages import Expected
from platforms.rpc.session import Session

AN386 = load_board("mps2-an386")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    folder = tmp_path_factory.mktemp("model")
    (folder / "classifier.tflite").write_bytes(TINY["classifier"]())
    compiled = compile_job(read_job(folder / "classifier.tflite", AN386.target, CompileOptions()))
    write_archive(artifact_of(compiled), folder / "classifier.tar")
    return read_archive(folder / "classifier.tar")


def test_a_project_holds_what_its_archive_says(archive: Artifact) -> None:
    source = project_source(archive)
    assert {"classifier.c", "classifier_weights.c", "classifier_describe.c"} <= source.sources.keys()
    assert "classifier.h" in source.headers
    facts = archive.facts
    assert (source.inputs, source.outputs, source.callers) == (facts.inputs, facts.outputs, ())
    assert (source.arena_bytes, source.model_hash) == (facts.arena_bytes, facts.model_hash)


@pytest.mark.arm
@pytest.mark.qemu
def test_firmware_of_an_archive_computes_what_the_reference_computes(
    archive: Artifact, tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    platform = platform_of(AN386)
    platform.generate(project_source(archive), tmp_path / "p", AN386, App.RPC)
    firmware = platform.build(tmp_path / "p", AN386, BuildChoices("arm-none-eabi-gcc"))
    given = archive.facts.inputs[0]
    data = np.random.default_rng(7).integers(-128, 128, given.type.shape, dtype=np.int8)
    expected = run_graph(archive.graph, {given.name: data})[archive.facts.outputs[0].name]
    device = Session(platform.open_line(firmware, AN386, "qemu"))
    try:
        device.hello()
        model = device.find_model(Expected(archive.name, bytes.fromhex(archive.facts.model_hash)))
        device.write_input(model, 0, data.tobytes())
        device.run(model)
        assert device.read_output(model, 0) == expected.tobytes()
    finally:
        device.close()


@pytest.mark.arm
def test_firmware_has_as_many_bytes_of_constants_as_its_artifact_says(
    tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    """So what is left of read-only memory is code."""
    require_tool("arm-none-eabi-gcc")
    (tmp_path / "classifier.tflite").write_bytes(TINY["classifier"]())
    model = compile_job(read_job(tmp_path / "classifier.tflite", AN386.target, CompileOptions()))
    artifact, platform = artifact_of(model), platform_of(AN386)
    platform.generate(project_source(artifact), tmp_path / "p", AN386, App.STANDALONE)
    elf = platform.build(tmp_path / "p", AN386, BuildChoices("arm-none-eabi-gcc")).elf
    held = {symbol.name: symbol.bytes for symbol in symbols(elf) if symbol.name in model.parameters}
    assert sum(held.values()) == artifact.facts.constants_bytes
    assert held.keys() == model.parameters.keys()
