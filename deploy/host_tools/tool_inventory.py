"""Lists the tools on this computer for building, flashing and running firmware, and how to install others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path

from aot.distribution import DISTRIBUTION
from aot.errors import DeployError, ToolError
from boards.board import Board
from deploy.devices.build_cache import cache_folder
from deploy.devices.buildable_boards import platform_here
from platforms.arduino_tools import HINT, found_tools
from platforms.runners import RUNNERS
from platforms.runners.runner import choose_runner, runner_named
from platforms.toolchains import all_found
from platforms.transport.ports import boards_at, usb_ports
from platforms.zephyr import find_west

OUR_PACKAGES = (
    *(
        "aot",
        "artifact",
        "boards",
        "codegen",
        "deploy",
        "extensions",
        "platforms",
        "project_templates",
        "solder",
    ),
)
# Extras of `pip install 'solder-mcu[NAME]'`, and a module that identifies each.
PACKAGES = {
    "zig": "ziglang",
    "unicorn": "unicorn",
    "cycles": "capstone",
    "pyocd": "pyocd",
    "exact": "ortools",
    "ethosu": "ethosu",
    "oracle": "ai_edge_litert",
    "tflm": "tflite_micro",
    "quantize": "onnxruntime",
    "train": "sklearn",
    "tune": "lightgbm",
    "farm": "distributed",
    "sign": "cryptography",
    "torch": "torch",
    "keras": "tensorflow",
    "sklearn": "skl2onnx",
    "jax": "jax2onnx",
    "docs": "mkdocs",
    "release": "twine",
}


@dataclass(frozen=True, slots=True)
class Program:
    """A compiler or runner, installed or missing."""

    kind: str  # "compiler", "builder" or "runner"
    name: str
    found: bool
    says: str  # its version, or how to install it


@dataclass(frozen=True, slots=True)
class Ability:
    """The compiler and runner on this machine for one board."""

    board: str
    platform: str | None  # the first that can be built here
    compiler: str | None  # the one to use; None if there is none
    runner: str | None
    lacks: tuple[str, ...]  # how to install missing tools


@dataclass(frozen=True, slots=True)
class Port:
    """A serial port of a USB device, and the boards that it may belong to."""

    device: str
    usb: str  # for example "2341:0043"
    serial: str
    boards: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FirmwareCache:
    """The cache folder of built firmware."""

    folder: str
    builds: int
    bytes: int


def programs() -> tuple[Program, ...]:
    return (*_compilers(), *_runners())


def _compilers() -> Iterable[Program]:
    for name, chain in all_found():
        yield Program("compiler", name, chain is not None, chain.version if chain else "not found")
    for name, version in found_tools().items():
        yield Program("builder", name, bool(version), version or f"not found: {HINT.splitlines()[0]}")
    yield _west()


def _west() -> Program:
    """Looks for west, Zephyr's builder, which also needs a Zephyr tree."""
    try:
        return Program("builder", "west", True, find_west().version)
    except ToolError as error:
        return Program("builder", "west", False, f"{error.where or error.what}: {error.hint.splitlines()[0]}")


def _runners() -> Iterable[Program]:
    for name in RUNNERS:
        lack = runner_named(name).missing()
        yield Program("runner", name, not lack, lack or "ready")


def ability(board: Board) -> Ability:
    platform, _ = _tried(lambda: platform_here(board).name)
    compiler, no_compiler = _tried(lambda: platform_here(board).toolchain(board).name)
    runner, no_runner = _tried(lambda: choose_runner(board, platform=platform), lists_tools=True)
    lacks = tuple(filter(None, (no_compiler, no_runner)))
    return Ability(board.name, platform if compiler else None, compiler, runner, lacks)


def _tried(find: Callable[[], str], lists_tools: bool = False) -> tuple[str | None, str]:
    """Returns the tool found, or how to install it: the hint, or the place of the error if it lists tools."""
    try:
        return find(), ""
    except DeployError as error:
        ways = (error.hint.partition("\n")[0], error.where.replace("\n", ", "))
        return None, next(filter(None, ways[::-1] if lists_tools else ways), error.what)


def ports(boards: Iterable[Board]) -> tuple[Port, ...]:
    known = tuple(boards)
    return tuple(
        Port(port.device, f"{port.vid:04x}:{port.pid:04x}", port.serial, boards_at(port, known))
        for port in usb_ports()
    )


def clashes(here: Path | None = None) -> tuple[str, ...]:
    """Returns messages about modules that shadow this project's packages.

    PyPI's "deploy" and "solder" overwrite our files. A file or folder with such a name next to a notebook
    hides the installed package.
    """
    root = Path(__file__).parents[2]
    folders = {name: _folder_of(name) for name in OUR_PACKAGES}
    elsewhere = (f'"{name}" comes from {place}' for name, place in folders.items() if place != root)
    installed = [
        f'pip has installed the package "{name}", which overwrites ours: pip uninstall {name}, then '
        f"{DISTRIBUTION} again"
        for name in OUR_PACKAGES
        if any(map(_writes_over_ours, _distributions(name)))
    ]
    beside = (here or Path.cwd()).resolve()
    hiding = [
        f"{path} hides ours from Python programs started in this folder"
        for name in OUR_PACKAGES
        for path in (beside / f"{name}.py", beside / name / "__init__.py")
        if beside != root and path.exists()
    ]
    return (*installed, *elsewhere, *hiding)


def _folder_of(package: str) -> Path:
    """Returns the folder from which a package is imported."""
    return Path(str(resources.files(package))).parent


def _distributions(name: str) -> Iterable[metadata.Distribution]:
    return metadata.distributions(name=name)


def _writes_over_ours(other: metadata.Distribution) -> bool:
    ours = {f"{name}/__init__.py" for name in OUR_PACKAGES}
    return any(path.as_posix() in ours for path in other.files or ())


def packages() -> dict[str, bool]:
    """Returns whether each optional package is installed, by the name of pip's extra."""
    return {name: find_spec(module) is not None for name, module in PACKAGES.items()}


def cache() -> FirmwareCache:
    folder = cache_folder()
    builds = [path for path in folder.glob("*") if path.is_dir()] if folder.is_dir() else []
    files = (path for build in builds for path in build.rglob("*") if path.is_file())
    return FirmwareCache(str(folder), len(builds), sum(path.stat().st_size for path in files))
