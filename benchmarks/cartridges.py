"""Cartridges against the same models built into the firmware: bytes, RAM, instructions of a run."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import deploy
from benchmarks.fault_table import RUNTIME
from benchmarks.line import FLAGS
from benchmarks.shared import model_file
from deploy.compiler.compile_model import Compiled
from platforms.cartridge.code import cartridge_programs
from platforms.elf import image
from platforms.project import project_source

BOARDS = ("mps2-an386", "mps2-an383", "mps3-an547", "qemu-riscv32")
MODELS = ("tiny_ic_resnet8_int8", "tiny_kws_dscnn_int8", "tiny_vww_mbv1_int8", "tiny_ad_fc_int8")
LOADER_BYTES = 1740  # of code, at most
LOADER_RAM = 528  # variables of solder_cartridge.c, the largest description among them
HEAD = (
    "| board | model | code and constants, built in | cartridge | | RAM beside the arena "
    "| instructions, built in | cartridge | |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n"
)


def rows() -> Iterator[str]:
    for board in BOARDS:
        for name in MODELS:
            yield _row(board, name)


def _row(board: str, name: str) -> str:
    compiled = deploy.compile(model_file(name), board=board)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        compiled.save_cartridge(place / "model.cart")
        size = (place / "model.cart").stat().st_size
        built_in = _built_in_bytes(compiled, place / "plain")
        share = 100 * (size / built_in - 1)
        begun = f"| {board} | {name} | {built_in:,} | {size:,} | {share:+.1f} % | {LOADER_RAM} "
        try:
            deploy.new(compiled, place / "project", slots=-(-size // 64) * 64)
            with deploy.connect(place / "project") as device:
                before = device.time().count.mean
                device.load(place / "model.cart")
                after = device.time().count.mean
        except deploy.DeployError as error:
            return (
                f"{begun}| two slots do not fit: {str(error).splitlines()[0].removeprefix('error: ')} | | |\n"
            )
    return f"{begun}| {before:,.0f} | {after:,.0f} | {100 * (after / before - 1):+.2f} % |\n"


def _built_in_bytes(compiled: Compiled, folder: Path) -> int:
    """The bytes of the model's code, constants and description where it is linked for a fixed place."""
    folder.mkdir()
    source = project_source(compiled.artifact)
    (program,) = cartridge_programs(source, compiled.board, folder, (0,), more_flags=("-fno-pic",))
    return len(image(program)[1])


def loader_bytes(folder: Path, *more: str) -> int:
    """The loader's instructions on a Cortex-M4, without the constants of SHA-256 (288 bytes)."""
    sources = [str(RUNTIME / name) for name in ("solder_cartridge.c", "solder_sha256.c")]
    flags = [*FLAGS.split(), "-Os", "-DSOLDER_CARTRIDGES", *more]
    subprocess.run(["arm-none-eabi-gcc", *flags, "-c", *sources], cwd=folder, check=True)
    argv = ["arm-none-eabi-size", "-A", "solder_cartridge.o", "solder_sha256.o"]
    listed = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True).stdout
    return sum(int(line.split()[1]) for line in listed.splitlines() if line.startswith(".text"))
