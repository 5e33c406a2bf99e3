"""The platform "baremetal": firmware without an operating system, with startup code and linker script.

Supports emulated boards (with a table [uart] and semihosting) and boards whose chip is known (bare_board.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aot.errors import BoardError, FitError
from aot.target import MemoryRegion
from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, text
from codegen.c.arenas import Arena
from platforms.arena_words import variable
from platforms.bare_board import GUARD_BYTES as CHIP_GUARD_BYTES
from platforms.bare_board import bare_board, chip_files, chip_words, is_bare_board, lacks_for_chip
from platforms.base import BuildChoices, CompilerPlatform
from platforms.build import OnCommand
from platforms.folder import write_project
from platforms.layout import PlatformFiles, project_files, tensor_words
from platforms.pack_cache import header_options
from platforms.project import App, ProjectSource
from platforms.runners.runner import reaches_memory
from platforms.second_core import second_core_files
from platforms.templates import c_files, filled, template_text
from platforms.toolchains import GCC, Toolchain

SERVER_STACK_BYTES = 1536  # the server's calls and an interrupt frame, in addition to the model's stack
CARTRIDGE_STACK_BYTES = 4096  # minimum for models that are not known yet
SERVER_RAM_BYTES = (
    2048  # upper bound for the server's variables; boards/base_firmware.json has measured values
)
GUARD_BYTES = 0x1_0000  # below the stack of emulated boards
FREESTANDING_HEADERS = ("math.h", "string.h")
_ABILITIES = ("-DSOLDER_RATE",)
_SLOTS, _KIB = "slots for cartridges", 1024
_TELLS_ADDRESSES = ("-DSOLDER_INPUT_ADDRESS",)
_TAKES_CODE = ("-DSOLDER_SLOT",)  # RAM is executable on all of these boards
_WITHOUT_END = """\
Runs the model on zeros once a second and sleeps in between: a starting point for your own program.
Your functions in `src/` replace the weak ones: `app_inputs` (for a streamed model `app_row`),
`app_outputs`, `app_error` and `app_sleep` of `src/main.c`, `board_interrupt` and `board_on_fault`."""
_PROCESSOR = {"arm": "cortex_m", "riscv": "riscv"}  # template folder by Core.machine
_ZIG = "python -m ziglang cc"
# The stack is never unwound: unwind tables would occupy a tenth of the flash of small firmware.
_ZIG_FLAGS = ("-Ifreestanding", "-fno-sanitize=all", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables")


def _lacks(board: Board) -> Iterator[str]:
    if is_bare_board(board):
        yield from lacks_for_chip(board)
        return
    if board.core.machine not in _PROCESSOR:
        yield f"a core of a supported architecture ({', '.join(_PROCESSOR)}), not {board.core.name}"
    if board.own_counter is None or board.own_counter.driver != "register":
        yield 'a [counter] with driver = "register"'
    if board.uart is None:
        yield "a table [uart]"
    elif board.uart.driver not in (known := _uart_drivers()):
        yield f'a [uart] with a supported driver ({", ".join(known)}), not "{board.uart.driver}"'


SECTION = Section({key: Key(text, "") for key in ("chip", "uart", "tx", "rx")}, _lacks)


class Baremetal(CompilerPlatform):
    name = "baremetal"
    program_name = "firmware.elf"

    def files(self, source: ProjectSource, board: Board, app: App) -> Mapping[str, str]:
        accepts_code = source.accepts_code or source.accepts_code_in_cartridges
        files = _board_files(board, app) | (_slot_files(board) if accepts_code else {})
        if source.on_two_cores:
            files |= second_core_files(board)
        if source.cartridges:
            files["cartridge_slots.c"] = template_text("baremetal", "cartridge_slots.c")
        own = {f"src/board/{name}": text for name, text in files.items()}
        own["src/board/errno.c"] = template_text("baremetal", "errno.c")
        own["board.ld"] = _linker_script(source, board)
        own |= {f"freestanding/{name}": template_text("baremetal", name) for name in FREESTANDING_HEADERS}
        if app is App.RPC:
            own["src/main.c"] = template_text("baremetal", "main_rpc.c")
        if source.functions:
            own["src/board/heap.c"] = template_text("baremetal", "heap.c")
        runs_without_end = is_bare_board(board) and app is App.STANDALONE
        if runs_without_end:
            own["src/main.c"] = filled("chips", "main.c.jinja", **tensor_words(source))
        abilities = _ABILITIES + (_TELLS_ADDRESSES if reaches_memory(board) else ())
        abilities += _TAKES_CODE if source.accepts_code else ()
        cc = GCC[board.core.machine] if "gcc" in board.core.options else _ZIG
        platform_files = replace(
            self._platform_files(own, abilities, cc),
            purpose=_WITHOUT_END if runs_without_end else "",
            entropy=bare_board(board).family.entropy if is_bare_board(board) else "semihosting",
        )
        return project_files(source, board, app, platform_files)

    def generate(self, source: ProjectSource, directory: Path, board: Board, app: App) -> None:
        """Writes the project, using the chip vendor's headers if an unpacked CMSIS pack has them."""
        files = dict(self.files(source, board, app))
        if is_bare_board(board) and (makers := bare_board(board).chip.makers) is not None:
            files["flags/compile"] += "".join(f"{option}\n" for option in header_options(makers))
        write_project(directory, files)

    def make(
        self,
        directory: Path,
        board: Board,
        toolchain: Toolchain,
        choices: BuildChoices,
        on_command: OnCommand,
    ) -> Path:
        program = super().make(directory, board, toolchain, choices, on_command)
        if "uf2" in board.runners:  # the bootloader cannot read ELF files
            from platforms.uf2_file import write_uf2  # reading a board file needs no ELF reader

            write_uf2(program, board.runners["uf2"]["family"])
        return program

    def _platform_files(
        self, files: Mapping[str, str], abilities: tuple[str, ...], default_cc: str
    ) -> PlatformFiles:
        link = ("-T", "board.ld", "-Wl,--gc-sections", "-Wl,-e,Reset_Handler")
        return PlatformFiles(
            platform=self.name,
            program=self.program_name,
            default_cc=default_cc,
            other_cc=_ZIG,
            files=files,
            folders={
                "src/board/": "this board: startup, faults, UART",
                "board.ld": "the memory layout, for the linker",
                "freestanding/": "headers for compilers without a C library",
            },
            compile_flags={"gcc": abilities, "zig": (*abilities, *_ZIG_FLAGS)},
            link_flags={"gcc": ("-nostartfiles", *link, "-Wl,-Map=build/firmware.map", "-lm"), "zig": link},
            link_needs=("board.ld",),
            has_two_cores=True,
        )


def _board_files(board: Board, app: App) -> dict[str, str]:
    if is_bare_board(board):
        board_h = _board_h(board, CHIP_GUARD_BYTES, chip_words(board))
        startup = template_text("cortex_m", "startup.c")
        return {"board.h": board_h, "startup.c": startup, **chip_files(board, app)}
    processor = _PROCESSOR[board.core.machine]
    rpc = {
        "fault.c": template_text(processor, "fault_rpc.c"),
        "deadline.c": template_text(processor, "deadline.c"),
        **{name: text for name, text in c_files(processor) if name.startswith("last_call.")},
        "rate.c": template_text("baremetal", "rate.c"),
    }
    standalone = {"fault.c": template_text("baremetal", "fault_standalone.c")}
    return {
        "board.h": _board_h(board, GUARD_BYTES, {"board": board, "chip": None}),
        "port.c": template_text("baremetal", "port.c"),
        **{name: template_text(processor, name) for name in ("startup.c", "ending.c")},
        **(rpc if app is App.RPC else standalone),
        **_uart_file(board),
    }


def _slot_files(board: Board) -> dict[str, str]:
    return {"slot.c": template_text(_PROCESSOR[board.core.machine], "slot.c")}


def _uart_file(board: Board) -> dict[str, str]:
    assert board.uart is not None  # required by SECTION
    return {f"uart_{board.uart.driver}.c": _uart_drivers()[board.uart.driver]}


def _uart_drivers() -> dict[str, str]:
    """Returns the C text of each driver by name."""
    files = {name: text for name, text in c_files("baremetal") if name.startswith("uart_")}
    return {name.removeprefix("uart_").removesuffix(".c"): text for name, text in files.items()}


def _board_h(board: Board, guard_bytes: int, words: Mapping[str, Any]) -> str:
    return filled("baremetal", "board.h.jinja", guard_bytes=_guard_bytes(board, guard_bytes), **words)


def _guard_bytes(board: Board, wanted: int) -> int:
    """Returns `wanted` if the MPU can protect that many bytes below the stack with one region, else 0."""
    origin = board.region("ram").origin
    low = origin - wanted
    fits = low >= 0 and origin % wanted == 0
    free = all(r.origin >= origin or r.origin + r.bytes <= low for r in board.regions)
    return wanted if fits and free else 0


def _linker_script(source: ProjectSource, board: Board) -> str:
    are_unknown = source.cartridges is not None and not source.accepts_weights
    models_bytes = max(source.stack_bytes, CARTRIDGE_STACK_BYTES if are_unknown else 0)
    stack_bytes = SERVER_STACK_BYTES + models_bytes
    regions = _arena_regions(source, board, models_bytes + source.second_stack_bytes)
    return filled(
        "baremetal",
        "board.ld.jinja",
        board=board,
        is_chip=is_bare_board(board),
        access={"flash": "rx", "ram": "rwx"},
        flash=board.region("flash").name,
        ram=board.region("ram").name,
        arenas=[
            {"variable": variable(number, arena), "region": region.name}
            for number, (arena, region) in enumerate(zip(source.arenas, regions, strict=True))
        ],
        constants=[_constant_place(source, board, region) for region in source.constants_in],
        stack_bytes=(stack_bytes + 7) // 8 * 8,
        second_stack_bytes=(source.second_stack_bytes + 7) // 8 * 8,
    )


def _constant_place(source: ProjectSource, board: Board, name: str) -> dict[str, object]:
    """Describes a region for constants. Constants in RAM are copied from flash before the model runs."""
    region = next((r for r in board.regions if r.name == name), None)
    if region is None:
        raise BoardError(
            f"constants of {source.name} were planned for {name}, which {board.name} does not have",
            f"its memories: {', '.join(r.name for r in board.regions)}",
            f"deploy compile MODEL --board {board.name}",
        )
    return {"region": name, "is_copied": region.role == "ram"}


def _arena_regions(source: ProjectSource, board: Board, models_stack: int) -> list[MemoryRegion]:
    """Returns the region of each arena. Stack and variables reserve space in the fastest memory."""
    base = board.base_firmware
    takers = {
        "server": base.ram_bytes if base and base.platform == "baremetal" else SERVER_RAM_BYTES,
        "stack of the server": SERVER_STACK_BYTES,
        "stack of the model": models_stack,
        _SLOTS: 2 * source.cartridges.slot_bytes if source.cartridges else 0,
    }
    taken = {name: {"constants of the model": size} for name, size in source.constants_in.items()}
    fastest = board.region("ram").name
    taken[fastest] = {**taken.get(fastest, {}), **{name: size for name, size in takers.items() if size}}
    return [_arena_region(source, arena, board, taken) for arena in source.arenas]


def _arena_region(
    source: ProjectSource, arena: Arena, board: Board, taken: Mapping[str, Mapping[str, int]]
) -> MemoryRegion:
    """Returns the region the arena was planned for, or else the fastest with enough space.

    Raises BoardError if the board has no such region, and FitError if the arena does not fit.
    """
    by_speed = board.target.by_speed("ram")
    offered = [region for region in by_speed if arena.region in ("", region.name)]
    if not offered:
        raise BoardError(
            f"{arena.name} of {source.name} was planned for {arena.region}, which {board.name} does not have",
            f"its RAM: {', '.join(region.name for region in by_speed)}",
            f"deploy compile MODEL --board {board.name}",
        )
    for region in offered:
        if arena.bytes + sum(taken.get(region.name, {}).values()) <= region.bytes:
            return region
    raise FitError(
        f"{arena.name} of {source.name} needs {arena.bytes:,} bytes, more than {board.name} has free",
        "\n".join(_taken_text(region, taken.get(region.name, {})) for region in offered),
        _room_text(arena, offered, taken),
    )


def _room_text(arena: Arena, offered: Sequence[MemoryRegion], taken: Mapping[str, Mapping[str, int]]) -> str:
    """Returns the hint: smaller slots, if the arena fits with these, otherwise another board."""
    for region in offered:
        takers = taken.get(region.name, {})
        room = region.bytes - arena.bytes - sum(takers.values()) + takers.get(_SLOTS, 0)
        most = room // 2 // _KIB
        if _SLOTS in takers and most > 0:
            return f"--slots {most}K or less: both slots are in RAM, and a .cart file must fit into one"
    return "deploy boards list --fits MODEL   lists the boards with enough memory"


def _taken_text(region: MemoryRegion, takers: Mapping[str, int]) -> str:
    parts = ", ".join(f"{name} {size:,}" for name, size in takers.items())
    left = max(region.bytes - sum(takers.values()), 0)
    return f"{region.name}: {left:,} of {region.bytes:,} bytes free{f'; taken: {parts}' if parts else ''}"


PLATFORM = Baremetal()
