"""The platform "arduino": a library for the Arduino tools, with a sketch that calls or serves the model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from aot.errors import FitError, InputError
from aot.fronts.picture import PixelForm
from aot.target import Target
from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, matching
from platforms.arduino_tools import ArduinoTool, find_arduino_tool
from platforms.base import AS_FOUND, BuildChoices, Firmware, ToolPlatform
from platforms.build import Commands, build_folder
from platforms.cpp_header import cpp_header, cpp_words
from platforms.elf import sizes
from platforms.folder import read_project
from platforms.layout import (
    TRY_IT,
    app_files,
    model_files,
    model_table,
    project_json,
    runtime_files,
)
from platforms.project import (
    App,
    ProjectSource,
    require_no_cartridges,
    require_no_functions,
    require_no_line_key,
    require_one_core,
)
from platforms.sensor_app import SENSOR_APPS, sensor_words
from platforms.templates import filled, template_text
from platforms.toolchains import Toolchain

DEFAULT_BAUD = 115_200
NEAR_FLASH_BYTES = 0xF000  # flash reachable with 16-bit addresses on AVR, minus the core's tables
AVR_STACK_BYTES = 160  # for the server above one dense layer, the smallest useful model; 172 bytes were seen
_CHIP_FILES = {  # by Core.machine
    "arm": ("port_cortex_m.c.jinja",),
    "avr": ("port_avr.c", "deadline_avr.c"),
    "xtensa": ("port_xtensa.c",),
}
_FILES_SAID = {
    "deadline_avr.c": "ends a run that exceeds its deadline"
}  # their descriptions in the file list
_COUNTERS = {"arm": ("dwt", "register"), "avr": ("timer1",), "xtensa": ("ccount",)}  # supported by them
ONCE = "examples/once/once.ino"
SKETCHES = {App.RPC: "server", App.STANDALONE: "once", **{app: app.value for app in SENSOR_APPS}}
_PURPOSE = {
    App.RPC: "The firmware answers `deploy run`, `verify` and `bench` over the serial port.",
    App.STANDALONE: "It is a starting point for your own program.",
    **{app: f"{each.summary} continuously and reports its decisions." for app, each in SENSOR_APPS.items()},
}
# Arduino_OV767X's constants for picture sizes.
_CAMERA_SIZES = {
    (640, 480): "VGA",
    (352, 288): "CIF",
    (320, 240): "QVGA",
    (176, 144): "QCIF",
    (160, 120): "QQVGA",
}
_CAMERA_FORMS = {PixelForm.GRAY: "GRAYSCALE", PixelForm.RGB565_HIGH_FIRST: "RGB565"}


FQBN = r"[\w.-]+:\w+:\w+(:\w+=\w+(,\w+=\w+)*)?"  # Arduino's fully qualified board name, with options


def _lacks(board: Board) -> Iterator[str]:
    machine = board.core.machine
    if machine not in _COUNTERS:
        yield f"a core of a supported architecture ({', '.join(_COUNTERS)}), not {board.core.name}"
    elif board.own_counter is None or board.own_counter.driver not in _COUNTERS[machine]:
        yield f"a [counter] with driver = {' or '.join(map(json.dumps, _COUNTERS[machine]))}"


SECTION = Section({"fqbn": Key(matching(FQBN, "package:architecture:board"))}, _lacks)

_NO_HOME_YET = "https://example.com"  # the default URL of `deploy export`; arduino-lint requires one


class Arduino(ToolPlatform):
    name = "arduino"

    def files(self, source: ProjectSource, board: Board, app: App) -> Mapping[str, str]:
        require_no_functions(source, self.name)
        require_no_cartridges(source, self.name)
        require_no_line_key(source, self.name)
        require_one_core(source, self.name)
        require_near_flash(source, board.target, board.name)
        own = {**model_files(source, app), **(_server_files(source, board) if app is App.RPC else {})}
        if app in SENSOR_APPS:
            own |= {**runtime_files(app), **_port_files(board)}
        return {
            **{f"src/{name}": text for name, text in own.items()},
            f"src/{source.name}.hpp": cpp_header(source),
            **(app_files(source, app, board, self.name) if app in SENSOR_APPS else {}),
            **_sketches(source, board, app),
            "library.properties": _properties(source, board),
            "LICENSE": _license(source, app),
            "README.md": _readme(source, board, app),
            ".gitignore": "build/\n",
            "project.json": project_json(source, board, app, self.name),
        }

    def toolchain(self, board: Board, prefer: str | None = None) -> Toolchain:
        return find_arduino_tool(_core(board), prefer).toolchain

    def program(self, directory: Path, profile: bool = False) -> Path:
        sketch = SKETCHES[read_project(directory).app]
        return directory / build_folder(profile) / f"{sketch}.ino.elf"

    def commands(self, directory: Path, board: Board, choices: BuildChoices = AS_FOUND) -> Commands:
        return _commands(
            find_arduino_tool(_core(board), choices.toolchain), directory, board, choices.profile
        )

    def built(self, directory: Path, _board: Board, profile: bool) -> Path:
        return self.program(directory, profile)

    def require_sound(self, firmware: Firmware, board: Board) -> None:
        _CHECKS.get(board.core.machine, _nothing_to_check)(firmware.elf, board)


def _core(board: Board) -> str:
    """Returns the Arduino core that builds for the board, as "package:architecture"."""
    return ":".join(board.platforms["arduino"]["fqbn"].split(":")[:2])


def _commands(tool: ArduinoTool, directory: Path, board: Board, profile: bool) -> Commands:
    info = read_project(directory)
    sketch = f"examples/{SKETCHES[info.app]}"
    build = (directory / build_folder(profile)).resolve()  # arduino-builder needs an absolute path
    return tool.commands(info.name, board.platforms["arduino"]["fqbn"], sketch, str(build), profile)


def require_near_flash(source: ProjectSource, target: Target, where: str) -> None:
    """Raises FitError if an AVR cannot address all constants."""
    if target.constant_space and source.constants_bytes > NEAR_FLASH_BYTES:
        raise FitError(
            f"the constants of {source.name} need {source.constants_bytes:,} bytes, "
            f"but an AVR's 16-bit addresses reach only {NEAR_FLASH_BYTES:,} of its flash",
            where,
            "use a smaller model, or a board with a 32-bit core",
        )


def _require_stack(program: Path, board: Board) -> None:
    """Raises FitError if variables leave an AVR too little stack, which its linker does not check."""
    taken, there = sizes(program).ram, board.region("ram").bytes
    if there - taken < AVR_STACK_BYTES:
        raise FitError(
            f"the firmware's variables take {taken:,} of the {there:,} bytes of RAM of {board.name}, "
            f"{there - taken:,} are left to a stack of {AVR_STACK_BYTES} at least",
            program.name,
            "use deploy new --app standalone, which omits the server and its buffers, or a board with "
            "more RAM",
        )


def _nothing_to_check(_program: Path, _board: Board) -> None:
    """Does nothing: other linkers check the stack."""


_CHECKS = {"avr": _require_stack}  # by Core.machine; check the built program


def _server_files(source: ProjectSource, board: Board) -> dict[str, str]:
    return {
        **runtime_files(App.RPC),
        "models.c": model_table(source),
        **_port_files(board),
    }


def _port_files(board: Board) -> dict[str, str]:
    return {
        "port.h": template_text("arduino", "port.h"),
        "port_serial.cpp": template_text("arduino", "port_serial.cpp"),
        **_chip_file(board),
    }


def _chip_file(board: Board) -> dict[str, str]:
    return {
        name.removesuffix(".jinja"): filled("arduino", name, board=board)
        for name in _CHIP_FILES[board.core.machine]
    }


def once_sketch(source: ProjectSource, baud: int = DEFAULT_BAUD) -> str:
    """Returns the sketch that calls the model once per second."""
    return filled("arduino", "once.ino.jinja", baud=baud, **cpp_words(source))


def _sketches(source: ProjectSource, board: Board, app: App) -> dict[str, str]:
    """Returns the sketch that calls the model and, for the app rpc, the one that serves it."""
    baud = board.console.baud if board.console else DEFAULT_BAUD
    if app in SENSOR_APPS:
        return {f"examples/{app.value}/{app.value}.ino": _sensor_sketch(source, board, app, baud)}
    sketches = {ONCE: once_sketch(source, baud)}
    if app is App.RPC:
        sketches["examples/server/server.ino"] = filled(
            "arduino", "server.ino.jinja", name=source.name, baud=baud
        )
    return sketches


def _sensor_sketch(source: ProjectSource, board: Board, app: App, baud: int) -> str:
    """Returns the sketch that reads the sensor. Raises InputError for picture formats its library lacks."""
    pipeline = source.pipeline
    assert pipeline is not None  # checked by deploy new
    camera = {}
    if pipeline.camera is not None and pipeline.recording is None:
        size = _CAMERA_SIZES.get((pipeline.camera.width, pipeline.camera.height))
        form = _CAMERA_FORMS.get(pipeline.camera.form)
        if size is None or form is None:
            sizes = ", ".join(f"{width}x{height}" for width, height in _CAMERA_SIZES)
            raise InputError(
                f"the front end needs images of {pipeline.camera.width}x{pipeline.camera.height}, "
                f"{pipeline.camera.form.value}; Arduino's camera gives {sizes}, gray or rgb565_high_first",
                hint="deploy compile --front tf.image:width=160,height=120,format=rgb565_high_first,...",
            )
        camera = {"camera_size": size, "camera_form": form}
    words = sensor_words(source, pipeline, app, board, Arduino.name)
    return filled("arduino", "sensor.ino.jinja", baud=baud, name=source.name, **words, **camera)


def _properties(source: ProjectSource, board: Board) -> str:
    return library_properties(
        source,
        "1.0.0",
        f"Solder {source.tool_version}",
        _NO_HOME_YET,
        board.platforms["arduino"]["fqbn"].split(":")[1],
    )


def library_properties(source: ProjectSource, version: str, author: str, url: str, architecture: str) -> str:
    """Returns library.properties, the metadata of the library for the Arduino tools."""
    return filled(
        "arduino",
        "library.properties.jinja",
        name=source.name,
        version=version,
        author=author,
        url=url,
        arena_bytes=source.arena_bytes,
        architecture=architecture,
    )


def _license(source: ProjectSource, app: App) -> str:
    """Returns the license of each generated part. The user chooses the license of the library."""
    return filled(
        "arduino",
        "LICENSE.jinja",
        ours=", ".join(f"src/{name}*" for name in source.models),
        tool=source.tool_version,
        has_runtime=app is not App.STANDALONE,
        model_hash=source.model_hash,
    )


def _readme(source: ProjectSource, board: Board, app: App) -> str:
    fqbn = board.platforms["arduino"]["fqbn"]
    sketch = SKETCHES[app]
    return filled(
        "arduino",
        "README.md.jinja",
        board=board,
        purpose=_PURPOSE[app],
        says_sketches="two sketches" if app is App.RPC else "a sketch",
        build=f"arduino-cli compile --fqbn {fqbn} --library . --build-path build examples/{sketch}",
        try_it=TRY_IT[app],
        in_flash=", which stay in flash (`__flash`)" if board.target.constant_space else "",
        places=_places(board, app),
        **cpp_words(source),
    )


def _places(board: Board, app: App) -> list[tuple[str, str]]:
    if app in SENSOR_APPS:
        return [
            (f"examples/{app.value}/", "reads rows from the sensor; change it as you like"),
            ("src/decision.c", "your reaction to a decision"),
            ("src/app_main.c, src/sensor.c", "the queue of rows, and the loop around the model"),
        ]
    once = ("examples/once/", "calls the model once a second and prints its outputs; change it as you like")
    if app is App.STANDALONE:
        return [once]
    return [
        once,
        ("examples/server/", "serves the model over the serial port"),
        ("src/solder_*.c", "the server: frames, session, requests"),
        ("src/port_*", f"access to the serial port and the counter of {board.mcu}"),
        *(
            (f"src/{name}", said)
            for name, said in _FILES_SAID.items()
            if name in _CHIP_FILES[board.core.machine]
        ),
    ]


PLATFORM = Arduino()
