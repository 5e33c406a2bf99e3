"""Weights in their slot against the same models built in: bytes of a cartridge, instructions of a run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import deploy
from benchmarks.cartridges import BOARDS, MODELS
from benchmarks.shared import model_file
from deploy.compiler.compile_model import Compiled

WEIGHTS_RAM = 16  # variables of solder_cartridge.c
_SAME = "remove-dead-channels"  # what is left out where weights are external
HEAD = (
    "| board | model | cartridge | RAM beside the arena | instructions, built in "
    "| with all channels | weights in their slot | |\n|---|---|---:|---:|---:|---:|---:|---:|\n"
)


def weight_rows() -> Iterator[str]:
    for board in BOARDS:
        for name in MODELS:
            yield _row(board, name)


def _row(board: str, name: str) -> str:
    model = model_file(name)
    compiled = deploy.compile(model, board=board, weights="external")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        compiled.save_cartridge(place / "model.cart")
        size = (place / "model.cart").stat().st_size
        built_in = _counted(deploy.compile(model, board=board))
        same = _counted(deploy.compile(model, board=board, disable=[_SAME]))
        begun = f"| {board} | {name} | {size:,} | {WEIGHTS_RAM} | {built_in:,.0f} | {same:,.0f} "
        try:
            deploy.new(compiled, place / "project", slots=-(-size // 64) * 64)
            with deploy.connect(place / "project") as device:
                device.load(place / "model.cart")
                found = device.time().count.mean
        except deploy.DeployError as error:
            said = str(error).splitlines()[0].removeprefix("error: ")
            return f"{begun}| two slots do not fit: {said} | |\n"
    return f"{begun}| {found:,.0f} | {100 * (found / same - 1):+.2f} % |\n"


def _counted(compiled: Compiled) -> float:
    with deploy.connect(compiled) as device:
        return device.time().count.mean
