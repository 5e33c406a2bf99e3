"""Checks written in C, many in one program: run here under the sanitizers, or on a board in QEMU."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from c_sheets import sheets
from processor_time import run_limited

from aot.ir.types import Array
from codegen.c.arenas import Arena
from codegen.isa.plain.f32 import literal
from platforms.baremetal import PLATFORM
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.folder import write_project
from platforms.project import App, ProjectSource
from platforms.runners import qemu, qemu_riscv32
from platforms.templates import template_text

DEVICE = Path(__file__).parent / "device"
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
LIMIT_S = 120  # of processor time, for all of them


@dataclass(frozen=True)
class Check:
    """`text` is C that defines uint32_t CHECK(void): 0 where everything is right (device/check.h)."""

    name: str
    text: str
    files: Mapping[str, str] = field(default_factory=dict)  # that the text includes


def failures_on_host(checks: Sequence[Check], directory: Path, compiler: str = "gcc") -> Mapping[str, int]:
    """Name -> number of each check that fails. What a sanitizer finds fails with its report."""
    files = {**check_files(checks), "host.c": device_file("host.c")}
    flags = (*WARNINGS, "-O1", "-g1", *SANITIZERS)
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    sources = [name for name in files if name.endswith(".c")]
    for source in sources:  # each by itself: ccache keeps single objects
        _require_built([compiler, *flags, "-c", source, "-o", f"{source}.o"], directory)
    objects = [f"{source}.o" for source in sources]
    _require_built([compiler, *SANITIZERS, *objects, "-o", "checks"], directory)
    return _failures([str(directory / "checks")], checks)


def _require_built(argv: Sequence[str], directory: Path) -> None:
    built = subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


def failures_on_board(
    checks: Sequence[Check],
    directory: Path,
    board_name: str = "mps2-an386",
    compiler: str = "",
) -> Mapping[str, int]:
    """The same on an emulated board, by gcc where no other compiler is named and it is one for Arm."""
    board = load_board(board_name)
    compiler = compiler or ("arm-none-eabi-gcc" if board.core.machine == "arm" else "zig")
    source = ProjectSource(
        name="checks",
        sources=_files(checks),
        headers=_headers(checks),
        arenas=(Arena("arena", "", 0),),
        is_streamed=False,
        keeps_state=False,
        constants_bytes=0,
        constants_in={},
        stack_bytes=4096,
        inputs=(),
        outputs=(),
        c_flags=("-O2", "-g0", "-Werror"),
        model_hash="0" * 64,
        tool_version="test",
    )
    files = {**PLATFORM.files(source, board, App.STANDALONE), "src/model/board.c": device_file("board.c")}
    del files["src/main.c"]
    write_project(directory, files)
    elf = PLATFORM.build(directory, board, BuildChoices(toolchain=compiler)).elf
    emulator = qemu if "qemu" in board.runners else qemu_riscv32
    return _failures(emulator.argv(elf, board), checks)


def check_files(checks: Sequence[Check]) -> dict[str, str]:
    """Everything of a program of checks but what the machine supplies."""
    return {**_files(checks), **_headers(checks)}


def _files(checks: Sequence[Check]) -> dict[str, str]:
    """Files of many checks each, the table of all, and main."""
    texts = [
        f'#define CHECK check_{i}\n#include "check.h"\nuint32_t CHECK(void);\n{check.text}\n'
        for i, check in enumerate(checks)
    ]
    made = sheets(texts, [check.files for check in checks])
    files = {f"checks_{i}.c": text for i, text in enumerate(made)}
    return {
        **files,
        "table.c": _table(checks),
        "main.c": device_file("main.c"),
        "model.c": device_file("model.c"),
    }


def _table(checks: Sequence[Check]) -> str:
    lines = ['#include "check.h"', *(f"uint32_t check_{i}(void);" for i in range(len(checks)))]
    lines += ["const struct check checks[] = {"]
    lines += [f'    {{"{check.name}", check_{i}}},' for i, check in enumerate(checks)]
    lines += ["};", f"const uint32_t check_count = {len(checks)};"]
    return "\n".join(lines) + "\n"


def _headers(checks: Sequence[Check]) -> dict[str, str]:
    included = {name: text for check in checks for name, text in check.files.items()}
    return {
        **included,
        "check.h": device_file("check.h"),
        "solder_model.h": template_text("common", "solder_model.h"),
    }


def device_file(name: str) -> str:
    return (DEVICE / name).read_text(encoding="utf-8")


def _failures(argv: Sequence[str], checks: Sequence[Check]) -> Mapping[str, int]:
    done = run_limited(argv, LIMIT_S)
    assert done.returncode == 0, f"{done.stdout[-300:]}\n{done.stderr[:3000]}"
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [name for name, _ in lines] == [check.name for check in checks]
    return {name: int(number) for name, number in lines if number != "0"}


def c_array(name: str, data: Array) -> str:
    """A constant array with those values, as weights and rows begin at multiples of four bytes."""
    c_type = {"float32": "float", "bool": "uint8_t"}.get(data.dtype.name, f"{data.dtype.name}_t")
    elements = np.asarray(data).reshape(-1)
    values = ", ".join(map(str if _is_written_as_it_is(elements) else _literal, elements.tolist()))
    size = max(1, data.size)
    return f"static const {c_type} {name}[{size}] __attribute__((aligned(4))) = {{{values or 0}}};\n"


def _is_written_as_it_is(elements: Array) -> bool:
    """True for whole numbers of 32 bits, but for the least: most of what tests give."""
    return elements.dtype.kind in "iu" and (
        elements.itemsize < 4 or -(2**31) < elements.min(initial=0) <= elements.max(initial=0) < 2**31
    )


def _literal(value: int | float) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value!r}f" if np.isfinite(value) else literal(value)
    if not -(2**31) <= value < 2**31:
        return "INT64_MIN" if value == -(2**63) else f"{value}{'ULL' if value >= 2**63 else 'LL'}"
    return "INT32_MIN" if value == -(2**31) else str(value)
