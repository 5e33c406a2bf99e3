"""Tables that run the firmware's kernels against the same models built in: bytes, instructions of a run."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import deploy
from benchmarks.cartridges import BOARDS, MODELS, loader_bytes
from benchmarks.fault_table import RUNTIME
from benchmarks.line import FLAGS
from benchmarks.shared import model_file
from deploy.compiler.compile_model import Compiled
from platforms.elf import symbols

EXECUTOR_BYTES = 1792  # of code, at most
TABLES_RAM = 1080  # variables of solder_table.c and solder_cartridge.c
_CALLERS = "table_"  # what the names of functions and limits begin with by which tables run kernels
HEAD = (
    "| board | model | cartridge | of it the table | callers in the firmware | RAM beside the arena "
    "| instructions, built in | table | |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n"
)


def table_rows() -> Iterator[str]:
    for board in BOARDS:
        for name in MODELS:
            yield _row(board, name)


def _row(board: str, name: str) -> str:
    model = model_file(name)
    compiled = deploy.compile(model, board=board, tables=True)
    table = compiled.model.table
    assert table is not None
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        compiled.save_cartridge(place / "model.cart")
        size = (place / "model.cart").stat().st_size
        built_in = _counted(deploy.compile(model, board=board))
        begun = f"| {board} | {name} | {size:,} | {len(table.data) - compiled.constants_bytes:,} "
        try:
            deploy.new(compiled, place / "project", slots=-(-size // 64) * 64)
            with deploy.connect(place / "project") as device:
                device.load(place / "model.cart")
                found = device.time().count.mean
            callers = _callers(place / "project")
        except deploy.DeployError as error:
            said = str(error).splitlines()[0].removeprefix("error: ")
            return f"{begun}| | {TABLES_RAM:,} | {built_in:,.0f} | two slots do not fit: {said} | |\n"
    share = 100 * (found / built_in - 1)
    return f"{begun}| {callers:,} | {TABLES_RAM:,} | {built_in:,.0f} | {found:,.0f} | {share:+.2f} % |\n"


def _counted(compiled: Compiled) -> float:
    with deploy.connect(compiled) as device:
        return device.time().count.mean


def _callers(project: Path) -> int:
    """The bytes of the functions and limits by which tables run the model's kernels."""
    (program,) = project.glob("build/**/*.elf")
    return sum(each.bytes for each in symbols(program) if each.name.startswith(_CALLERS))


def executor_bytes(folder: Path) -> tuple[int, int]:
    """The code of the executor with its checks on a Cortex-M4, and the loader's beside it."""
    flags = [*FLAGS.split(), "-Os", "-DSOLDER_TABLES", "-c", str(RUNTIME / "solder_table.c")]
    subprocess.run(["arm-none-eabi-gcc", *flags], cwd=folder, check=True)
    argv = ["arm-none-eabi-size", "-A", "solder_table.o"]
    listed = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True).stdout
    code = sum(int(line.split()[1]) for line in listed.splitlines() if line.startswith(".text"))
    return code, loader_bytes(folder, "-DSOLDER_TABLES")
