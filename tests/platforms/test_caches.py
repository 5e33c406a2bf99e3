"""Before loaded code runs, its lines leave the data cache and the instruction cache forgets the old ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from platforms.base import platform_of
from platforms.board_files import load_board
from platforms.elf import symbols
from platforms.project import App, ProjectSource

pytestmark = pytest.mark.arm

SCS, PAGE = 0xE000E000, 0x1000
CLIDR, CTR, ICIALLU, DCCMVAU = 0xD78, 0xD7C, 0xF50, 0xF64  # offsets: Arm DDI 0403, B3.2
LINE_BYTES = 32
CTR_VALUE = (LINE_BYTES // 4).bit_length() - 1 << 16
CODE, CODE_BYTES = 0x20010000, 3 * LINE_BYTES + 4
RETURN = 0x20020000


@pytest.mark.parametrize(
    ("board_name", "has_caches"), [("mps2-an500", True), ("mps2-an500", False), ("mps2-an386", False)]
)
def test_every_line_of_the_code_is_cleaned_before_the_instructions_are_forgotten(
    board_name: str,
    has_caches: bool,
    tiny: ProjectSource,
    require_tool: Callable[..., None],
    require_package: Callable[..., None],
    tmp_path: Path,
) -> None:
    require_tool("arm-none-eabi-gcc")
    require_package("unicorn")
    board = load_board(board_name)
    platform = platform_of(board)
    platform.generate(replace(tiny, accepts_code=True), tmp_path / "project", board, App.RPC)
    elf = platform.build(tmp_path / "project", board).elf
    written = _written(elf, 0x09000003 if has_caches else 0)
    lines = [(DCCMVAU, CODE + n * LINE_BYTES) for n in range(4)]
    assert written == ([*lines, (ICIALLU, 0)] if has_caches else [])


def _written(elf: Path, clidr: int) -> list[tuple[int, int]]:
    """To the system control space, by solder_port_sync_code on a processor that describes its caches so."""
    import unicorn
    from unicorn import arm_const as arm

    uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M7)
    uc.mem_map(0, 0x400000)
    uc.mem_map(0x20000000, 0x100000)
    written: list[tuple[int, int]] = []
    registers = {CLIDR: clidr, CTR: CTR_VALUE}
    uc.mmio_map(
        SCS,
        PAGE,
        lambda _uc, offset, _size, _data: registers.get(offset, 0),
        None,
        lambda _uc, offset, _size, value, _data: written.append((offset, value)),
        None,
    )
    _load(uc, elf)
    (entry,) = (s.address for s in symbols(elf) if s.name == "solder_port_sync_code")
    uc.reg_write(arm.UC_ARM_REG_SP, 0x20080000)
    uc.reg_write(arm.UC_ARM_REG_LR, RETURN | 1)
    uc.reg_write(arm.UC_ARM_REG_R0, CODE)
    uc.reg_write(arm.UC_ARM_REG_R1, CODE_BYTES)
    uc.emu_start(entry | 1, RETURN)
    return written


def _load(uc: object, elf: Path) -> None:
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        for segment in ELFFile(file).iter_segments():
            if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
                uc.mem_write(segment["p_paddr"], segment.data())  # type: ignore[attr-defined]
