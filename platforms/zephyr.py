"""The platform "zephyr": an out-of-tree application that contains the model as a reusable module."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from aot.errors import MissingToolError, ToolError
from aot.target import Feature, Target
from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, matching
from platforms.arena_words import arena_words
from platforms.base import AS_FOUND, BuildChoices, ToolPlatform
from platforms.build import Commands, build_folder
from platforms.layout import PURPOSE, TRY_IT, app_files, lock_files, model_files, project_json, runtime_files
from platforms.project import App, ProjectSource, SensorKind, require_no_cartridges, require_one_core
from platforms.runners.runner import reaches_memory
from platforms.templates import c_files, filled, template_text
from platforms.toolchains import Toolchain, cmake_flags

# Finds west, which builds and flashes Zephyr applications, and the Zephyr tree.

BASE_VARIABLE = "ZEPHYR_BASE"
OLDEST = (3, 7)
RENAMED = (4, 0)
HINT = (
    "pip install west; get Zephyr 3.7 or newer and a toolchain: docs.zephyrproject.org, Getting Started\n"
    f"and set its path: export {BASE_VARIABLE}=.../zephyr"
)


def find_west(prefer: str | None = None) -> Toolchain:
    """Finds west and the version of its Zephyr tree. Zephyr selects the compiler."""
    if prefer not in (None, "west"):
        what = f'toolchain "{prefer}" does not build Zephyr applications'
        raise ToolError(what, hint="known for Zephyr: west")
    west, base = shutil.which("west"), os.environ.get(BASE_VARIABLE)
    if west is None or not base:
        lacks = "west was not found" if west is None else f"{BASE_VARIABLE} is not set"
        raise MissingToolError("cannot build for Zephyr", lacks, HINT)
    version = tree_version(Path(base))
    if version < OLDEST:
        shown = ".".join(map(str, version))
        raise MissingToolError(f"Zephyr {shown} is older than 3.7, the oldest supported version", base, HINT)
    variant = os.environ.get("ZEPHYR_TOOLCHAIN_VARIANT", "the Zephyr SDK")
    return Toolchain("west", "zephyr", (west,), f"Zephyr {'.'.join(map(str, version))} at {base}, {variant}")


def has_new_names() -> bool:
    """Returns whether the installed Zephyr version has renamed some boards."""
    base = os.environ.get(BASE_VARIABLE)
    return base is not None and tree_version(Path(base)) >= RENAMED


def tree_version(base: Path) -> tuple[int, ...]:
    """Returns the version of a Zephyr tree as numbers, such as (3, 7, 1), so that 4.10 is newer than 4.9."""
    try:
        text = (base / "VERSION").read_text(encoding="utf-8")
    except OSError as error:
        raise MissingToolError(
            "there is no Zephyr tree", str(base), f"{BASE_VARIABLE} points there"
        ) from error
    found = dict(re.findall(r"^(\w+) *= *(\d+)", text, re.MULTILINE))
    return tuple(int(found.get(part, 0)) for part in ("VERSION_MAJOR", "VERSION_MINOR", "PATCHLEVEL"))


SERVER_STACK_BYTES = 2048  # the server's calls and an interrupt frame, in addition to the model's stack
_USB_STACK = ("CONFIG_USB_DEVICE_STACK=y", "CONFIG_USB_DEVICE_INITIALIZE_AT_BOOT=y")
USB_BYTES = 4096  # larger than the longest reply with the notices before it
HOOK_HEADER = "solder_model.h"  # included by models that report their layers
NATIVE_PROGRAM, PROGRAM = "zephyr.exe", "zephyr.elf"


ZEPHYR_BOARD = r"[a-z0-9_]+(@[\w.]+)?(/[a-z0-9_]+)*"  # name@revision/soc/cpucluster


def _lacks(board: Board) -> list[str]:
    return [] if board.own_counter else ["a table [counter]"]


SECTION = Section(
    {
        "board": Key(matching(ZEPHYR_BOARD, "a Zephyr board such as mps2/an385")),
        "board_since_4_0": Key(matching(ZEPHYR_BOARD, "a Zephyr board such as mps3/corstone300/an547"), ""),
    },
    _lacks,
)


class Zephyr(ToolPlatform):
    name = "zephyr"

    def files(self, source: ProjectSource, board: Board, app: App) -> Mapping[str, str]:
        require_no_cartridges(source, self.name)
        require_one_core(source, self.name)
        return {
            **_application(source, board, app),
            **{f"model/{name}": text for name, text in module_files(source, app, board.target).items()},
            "README.md": _readme(source, board, app),
            ".gitignore": "build/\n",
            "project.json": project_json(source, board, app, self.name),
        }

    def toolchain(self, board: Board, prefer: str | None = None) -> Toolchain:
        return find_west(prefer)

    def program(self, directory: Path, profile: bool = False) -> Path:
        folder = directory / build_folder(profile) / "zephyr"
        native = folder / NATIVE_PROGRAM
        return native if native.is_file() else folder / PROGRAM

    def commands(self, directory: Path, board: Board, choices: BuildChoices = AS_FOUND) -> Commands:
        name, profile = _zephyr_board(board, has_new_names()), choices.profile
        return Commands((west_build(name, build_folder(profile), profile),))

    def built(self, directory: Path, board: Board, profile: bool) -> Path:
        return directory / build_folder(profile) / "zephyr" / _program_name(board)


def west_build(board: str, build: str, profile: bool) -> tuple[str, ...]:
    """Returns the build command for the project folder; a build folder from elsewhere is recreated."""
    hook = ("--", "-DCONFIG_SOLDER_LAYER_HOOK=y") if profile else ()
    return ("west", "build", "--pristine", "auto", "--board", board, "--build-dir", build, ".", *hook)


def _zephyr_board(board: Board, is_new: bool = False) -> str:
    """Returns Zephyr's name for the board; with `is_new`, its name since 4.0."""
    names = board.platforms["zephyr"]
    return str((is_new and names["board_since_4_0"]) or names["board"])


def _is_native(board: Board) -> bool:
    """Returns whether Zephyr runs as a process on this computer."""
    return board.core.machine == "host"


def _program_name(board: Board) -> str:
    return NATIVE_PROGRAM if _is_native(board) else PROGRAM


def module_option(source: ProjectSource) -> str:
    """Returns the Kconfig option that enables the model, without CONFIG_."""
    return f"MODEL_{source.name.upper()}"


def _application(source: ProjectSource, board: Board, app: App) -> dict[str, str]:
    names = {"name": source.name, "option": module_option(source)}
    return {
        **{f"src/runtime/{name}": text for name, text in runtime_files(app).items() if name != HOOK_HEADER},
        **{f"src/{name}": text for name, text in model_files(source, app).items() if _describes(name)},
        **app_files(source, app, board, Zephyr.name),
        **({"src/main.c": template_text("zephyr", "main_rpc.c")} if app is App.RPC else {}),
        **(_fault_files(board) if app is App.RPC else {}),
        **({"src/rate.c": template_text("zephyr", "rate.c")} if _can_change_rate(board, app) else {}),
        **(_function_files(source) if source.functions else {}),
        **_constants_file(source, board),
        **lock_files(source, "zephyr"),
        "src/port.c": _port(board),
        "src/port.h": template_text("zephyr", "port.h"),
        "CMakeLists.txt": filled(
            "zephyr",
            "CMakeLists.txt.jinja",
            zephyr_board=_zephyr_board(board),
            abilities=_abilities(source, board, app),
            has_functions=bool(source.functions),
            has_constants_in_ram=bool(_constants_file(source, board)),
            **names,
        ),
        "Kconfig": template_text("zephyr", "Kconfig.app"),
        "sample.yaml": filled("zephyr", "sample.yaml.jinja", zephyr_board=_zephyr_board(board), **names),
        "prj.conf": filled(
            "zephyr", "prj.conf.jinja", title=board.title, settings=_settings(source, board, app), **names
        ),
    }


def _abilities(source: ProjectSource, board: Board, app: App) -> str:
    rate = "SOLDER_RATE " if _can_change_rate(board, app) else ""
    told = {
        "SOLDER_INPUT_ADDRESS": reaches_memory(board),
        "SOLDER_LOCK": source.line_key,
        "SOLDER_FUNCTIONS": source.functions,
        "SOLDER_OBSERVED": source.reports_counters,
        "SOLDER_STATES": source.saves_states,
    }
    return rate + "".join(f"{name} " for name, is_there in told.items() if is_there)


def _function_files(source: ProjectSource) -> dict[str, str]:
    """Returns the user's C files, the linker script for them, and a heap for arrays."""
    return {
        **{f"src/{name}": text for name, text in source.functions.items()},
        "src/heap.c": template_text("zephyr", "heap.c"),
        "functions.ld": template_text("zephyr", "functions.ld"),
    }


def _constants_file(source: ProjectSource, board: Board) -> dict[str, str]:
    """Returns linker input for constants in RAM. Zephyr has one RAM, so the region's name does not matter."""
    rams = {region.name for region in board.target.by_speed("ram")}
    regions = [region for region in source.constants_in if region in rams]
    return {"constants.ld": filled("zephyr", "constants.ld.jinja", regions=regions)} if regions else {}


def _port(board: Board) -> str:
    own = {"dwt": "and the core's cycle counter", "register": "and a counter of the chip"}
    says = own.get(board.counter.driver, "and the kernel's cycle counter")
    return filled(
        "zephyr", "port.c.jinja", counter=board.counter, counter_says=says, is_native=_is_native(board)
    )


def _is_usb(board: Board) -> bool:
    """Returns whether Zephyr's console is the chip's USB port."""
    return board.console is not None and board.console.line == "usb"


def _can_change_rate(board: Board, app: App) -> bool:
    """Returns whether the line is a UART, which can try to change its baud rate."""
    return app is App.RPC and not _is_native(board) and not _is_usb(board)


def _fault_files(board: Board) -> dict[str, str]:
    is_arm = board.core.machine == "arm"
    files = {"src/fault.c": filled("zephyr", "fault.c.jinja", is_arm=is_arm)}
    if is_arm:
        files["src/deadline.c"] = template_text("zephyr", "deadline_cortex_m.c")
        files |= {f"src/{name}": text for name, text in c_files("cortex_m") if name.startswith("last_call.")}
    return files


_LINE = (
    "The console's UART is the line: nothing else may use it.",
    ["CONFIG_SERIAL=y", "CONFIG_UART_CONSOLE=n", "CONFIG_PRINTK=n", "CONFIG_BOOT_BANNER=n"],
)
_CONSOLE = (
    "The program uses the console's UART: printk() writes there.",
    ["CONFIG_SERIAL=y", "CONFIG_PRINTK=y"],
)


def _settings(source: ProjectSource, board: Board, app: App) -> list[tuple[str, list[str]]]:
    """Returns the lines of prj.conf in groups, each with a reason."""
    stack_bytes = SERVER_STACK_BYTES + source.stack_bytes
    settings = [
        _CONSOLE if app is App.STANDALONE else _LINE,
        ("The model runs on the main thread.", [f"CONFIG_MAIN_STACK_SIZE={(stack_bytes + 63) // 64 * 64}"]),
        ("Lets the program query how much of that stack is used.", ["CONFIG_THREAD_STACK_INFO=y"]),
        ("A reset on request, and after a fault.", ["CONFIG_REBOOT=y"]),
    ]
    if _is_usb(board):
        settings.append(
            (
                "The console is a USB port; data waiting to be sent must not be dropped.",
                [*_USB_STACK, f"CONFIG_USB_CDC_ACM_RINGBUF_SIZE={USB_BYTES}"],
            )
        )
    if source.line_key:
        settings.append(("Challenges of the line's lock are random.", ["CONFIG_ENTROPY_GENERATOR=y"]))
    settings += _sensor_settings(source)
    if "math.h" in source.c_headers:
        settings.append(
            (
                "The model includes math.h, of which Zephyr's minimal C library has very little.",
                ["CONFIG_REQUIRES_FULL_LIBC=y"],
            )
        )
    if Feature.FPU in board.features:
        settings.append(("Floats are computed in hardware.", ["CONFIG_FPU=y"]))
    return settings


_DRIVERS = {
    SensorKind.SOUND: ("The microphone, by the DMIC interface.", ["CONFIG_AUDIO=y", "CONFIG_AUDIO_DMIC=y"]),
    SensorKind.NUMBERS: ("The inertial sensor.", ["CONFIG_SENSOR=y"]),
}


def _sensor_settings(source: ProjectSource) -> list[tuple[str, list[str]]]:
    """Returns prj.conf lines for the app's sensor driver; empty for a recording."""
    if source.pipeline is None or source.pipeline.recording is not None:
        return []
    kind = source.pipeline.sensor
    return [_DRIVERS[kind]] if kind in _DRIVERS else []


def _describes(file: str) -> bool:
    """Returns whether a file describes the model to the server; such files are not part of the module."""
    return file.endswith("_describe.c")


def module_files(source: ProjectSource, app: App, target: Target) -> dict[str, str]:
    """Returns the files of a Zephyr module that works without Solder; it shares only its Kconfig option."""
    files = {name: text for name, text in model_files(source, app).items() if not _describes(name)}
    files[HOOK_HEADER] = runtime_files(app)[HOOK_HEADER]
    names = {"name": source.name, "option": module_option(source), "arena_bytes": source.arena_bytes}
    public = {HOOK_HEADER, *(f"{model}.h" for model in source.models)}
    places = {name: f"include/{name}" if name in public else f"src/{name}" for name in files}
    sources = sorted(place for place in places.values() if place.endswith(".c"))
    own = [flag for flag in source.c_flags if not flag.startswith("-std=")]  # Zephyr sets a newer standard
    return {
        **{places[name]: text for name, text in files.items()},
        "zephyr/module.yml": filled("zephyr", "module.yml.jinja", **names),
        "CMakeLists.txt": filled(
            "zephyr", "module_CMakeLists.txt.jinja", sources=sources, flags=cmake_flags(own, target), **names
        ),
        "Kconfig": filled("zephyr", "module_Kconfig.jinja", **names),
    }


def _readme(source: ProjectSource, board: Board, app: App) -> str:
    build = " ".join(west_build(_zephyr_board(board), "build", profile=False)[:2])
    return filled(
        "zephyr",
        "README.md.jinja",
        name=source.name,
        macro=source.name.upper(),
        option=module_option(source),
        board=board,
        purpose=PURPOSE[app],
        build=f"{build} -b {_zephyr_board(board)}",
        renamed=board.platforms["zephyr"]["board_since_4_0"],
        try_it=TRY_IT[app],
        serves=app is App.RPC,
        **arena_words(source),
    )


PLATFORM = Zephyr()
