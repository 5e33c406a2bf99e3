"""Helium without an FPU computes models: the start code switches the registers of vectors on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_models import TINY

from aot.target import Feature
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.compiler.compile_model import compile_for
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import prepare_compiled
from deploy.inputs.samples import random_samples
from deploy.verification.verify_model import verify_model
from platforms.base import BuildChoices
from platforms.board_files import load_board

BOARD = load_board("mps3-an547")
WITHOUT_FPU = replace(BOARD, features=BOARD.features - {Feature.FPU})


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "zig"])
def test_helium_without_an_fpu_computes_the_references_bits(
    compiler: str,
    tmp_path: Path,
    require_tool: Callable[..., None],
    require_package: Callable[..., None],
) -> None:
    require_tool("qemu-system-arm")
    if compiler == "zig":
        require_package("ziglang")
    else:
        require_tool(compiler)
    path = tmp_path / "conv.tflite"
    path.write_bytes(TINY["conv"]())
    options = CompileOptions()
    compiled = compile_for(import_model(path, options), WITHOUT_FPU, options)
    assert any("vmladav" in text for text in compiled.model.write_sources().values())
    verdict = verify_model(
        prepare_compiled(compiled),
        random_samples(compiled.artifact.facts.inputs, 2),
        layers=False,
        build=BuildChoices(compiler),
        line=LineOptions(),
    )
    assert verdict.equal, verdict
