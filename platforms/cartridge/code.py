"""Compiles a model's C into position-independent code, and verifies this by linking it at two addresses.

The two images may differ only in pointers of the model's description, which the loader relocates in RAM.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from aot.errors import ToolError
from aot.target import Target
from boards.board import Board
from platforms.cartridge.header import HEADER, Image
from platforms.elf import Symbol, image, symbols
from platforms.project import ProjectSource
from platforms.templates import template_text
from platforms.toolchains import cpu_flags, find_toolchain, spelling_of

# Link addresses. Near 0, a RISC-V linker would use absolute instead of PC-relative addressing.
_FIRST = 0x1000_0000
_ELSEWHERE = 0x2_0000  # offset of the second address
_HIDDEN = "hidden.h"
_SCRIPT = "image.ld"
_COMPILE = ("-std=c99", "-ffunction-sections", "-fdata-sections", "-fpic", "-include", _HIDDEN)
# With these macros, kernels leave registers free for shared libraries, which a single image does not need.
_ALL_REGISTERS = ("-U__PIC__", "-U__pic__")
_LINK = ("-nostartfiles", "-static", "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,--nmagic")
_MESSAGE_LINES = 12


def cartridge_image(source: ProjectSource, board: Board, folder: Path, prefer: str | None = None) -> Image:
    """Compiles in `folder`. Raises ToolError if code needs a fixed address or does not compile."""
    first, second = cartridge_programs(source, board, folder, (_FIRST, _FIRST + _ELSEWHERE), prefer)
    return compared(source.name, first, second)


def cartridge_programs(
    source: ProjectSource,
    board: Board,
    folder: Path,
    starts: Sequence[int],
    prefer: str | None = None,
    more_flags: tuple[str, ...] = (),
) -> list[Path]:
    """Returns the model's code, linked for cartridges that start at each of these addresses."""
    script = template_text("cartridge", "cartridge.ld").replace("MODEL", f"{source.name}_model")
    described = {"solder_model.h": template_text("common", "solder_model.h")}
    files = {**source.sources, **source.headers, **described}
    bases = [start + HEADER.size for start in starts]
    return linked(files, (*source.c_flags, *more_flags), board.target, folder, bases, script, prefer)


def linked(
    files: Mapping[str, str],
    c_flags: Sequence[str],
    target: Target,
    folder: Path,
    bases: Sequence[int],
    script: str,
    prefer: str | None = None,
    libraries: Sequence[str] = ("-lm",),
) -> list[Path]:
    """Returns the C files, compiled and linked by the script with BASE at each of these addresses."""
    chain = find_toolchain(target, prefer)
    if chain.family == "zig":
        raise ToolError(
            "position-independent code needs the GNU linker, which zig does not have",
            f"found for {target.core}: {chain}",
            "install gcc-arm-none-eabi, gcc-riscv64-unknown-elf or gcc",
        )
    own = {_HIDDEN: template_text("cartridge", _HIDDEN), _SCRIPT: script}
    for name, text in {**files, **own}.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    cpu = cpu_flags(target, spelling_of(chain.family))
    compiled = [name for name in files if name.endswith(".c")]
    _compile((*chain.argv, *cpu, *_COMPILE, *c_flags, "-c", *compiled), folder)
    objects = [f"{Path(name).stem}.o" for name in compiled]
    programs = [folder / f"{base:x}.elf" for base in bases]
    for program, base in zip(programs, bases, strict=True):
        place = ("-T", _SCRIPT, f"-Wl,--defsym=BASE={base:#x}")
        _run((*chain.argv, *cpu, *objects, *_LINK, *place, *libraries, "-o", program.name), folder)
    return programs


def compared(name: str, first: Path, second: Path) -> Image:
    """Returns the image of two programs that differ only in their address."""
    known = {symbol.name: symbol for symbol in symbols(first)}
    (low, data), (elsewhere, other) = image(first), image(second)
    if low != _FIRST + HEADER.size or elsewhere != low + _ELSEWHERE or len(data) != len(other):
        raise _fixed(name, "its parts")
    start = known["description_low"].address - low
    placed = bytearray(data)
    offsets = [n for n in range(0, len(data), 4) if data[n : n + 4] != other[n : n + 4]]
    for offset in offsets:
        if offset < start:
            raise _fixed(name, _holder(known.values(), low + offset))
        word, moved = (int.from_bytes(each[offset : offset + 4], "little") for each in (data, other))
        if moved - word != _ELSEWHERE:
            raise _fixed(name, "its description")
        placed[offset : offset + 4] = (word - _FIRST).to_bytes(4, "little")  # from the cartridge's start
    if known["variables_low"].address != known["variables_high"].address:
        raise _fixed(name, "variables (a library keeps data between calls)")
    model = known[f"{name}_model"].address - low - start
    return Image(bytes(placed), len(data) - start, model, tuple(offset - start for offset in offsets))


def _compile(argv: tuple[str, ...], folder: Path) -> None:
    """Compiles with all registers, or without the reserved ones if the compiler needs them."""
    try:
        _run((*argv, *_ALL_REGISTERS), folder)
    except ToolError as error:
        if "impossible constraint" not in error.where:
            raise
        _run(argv, folder)


def _holder(known: Iterable[Symbol], address: int) -> str:
    for symbol in known:
        if symbol.address & ~1 <= address < symbol.address + max(symbol.bytes, 1) and symbol.bytes:
            return symbol.name
    return f"the data at {address:#x}"


def _fixed(name: str, what: str) -> ToolError:
    return ToolError(
        f"{name} cannot be a cartridge: {what} would need a fixed address",
        hint="floats need these parts of the C library: quantize the model, or build it into firmware",
    )


def _run(argv: Sequence[str], folder: Path) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()[:_MESSAGE_LINES]
        raise ToolError(
            f"the compiler failed with exit status {done.returncode}", "\n".join((shlex.join(argv), *lines))
        )
