"""Adds command-line options shared by several commands; compiler options come from their table."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aot.errors import InputError
from codegen.option_entry import Option, read_given
from codegen.option_kinds import WrongValueError, read_size
from codegen.options import OPTIONS, CompileOptions, read_options
from deploy.cli.help_page import GENERAL as GENERAL
from deploy.cli.help_page import add_json as add_json
from deploy.cli.help_page import as_detail
from deploy.cli.help_page import group as group
from deploy.devices.connection_options import LINE, LineOptions
from deploy.inputs.input_options import DATA, DataOptions
from deploy.inspection.pass_page import known_names

if TYPE_CHECKING:
    from platforms.base import BuildChoices

_UNSET = argparse.SUPPRESS  # a subparser's default would override an option before its verb
ANY_MODEL = "MODEL|ARCHIVE|PROJECT"
CONNECTION, EXPERT = "Board and connection", "Debugging and expert options"
_DEST = "option_"  # avoids name clashes between compile options and a command's arguments


def size(text: str) -> int:
    """Parses a size in bytes: 65536, 64K, 1MB."""
    try:
        return read_size(text)
    except WrongValueError as error:
        raise argparse.ArgumentTypeError(error.what) from None


def count(text: str) -> int:
    """Parses a count of 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of 1 or more, not {text}")
    return int(text)


def percent(text: str) -> float:
    """Parses a percentage of 0 or more, with or without "%"."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a percentage of 0 or more, not {text}")
    return value


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", type=Path, help="A .tflite or .onnx file")


def add_model_or_archive(parser: argparse.ArgumentParser, dest: str = "model") -> None:
    help_text = "A model file, or a result of 'deploy compile'"
    parser.add_argument(dest, metavar="MODEL|ARCHIVE", type=Path, help=help_text)


def add_model_archive_or_project(
    parser: argparse.ArgumentParser, dest: str = "model", more_help: str = "", **more: Any
) -> None:
    help_text = f"A model file, or a result of 'deploy compile' or 'new'{more_help}"
    parser.add_argument(dest, metavar=ANY_MODEL, type=Path, help=help_text, **more)


def add_model_name(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--model", metavar="NAME", help="Which model of a project with several [the first]")


def add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="PROJECT", type=Path, help="A folder made by 'deploy new'")


def add_identity(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--product", metavar="NAME", default="", help="Product that the cartridge is for: door-sensor"
    )
    parser.add_argument(
        "--model-version",
        metavar="N",
        type=int,
        default=0,
        help="Version of the model, growing with each one [0]. Firmware refuses a smaller one than it runs",
    )


def add_board(parser: argparse._ActionsContainer, required: bool = True, instead: str = "") -> None:
    """Adds --board; in a parser, to the group of connection options."""
    if isinstance(parser, argparse.ArgumentParser):
        parser = group(parser, CONNECTION)
    help_text = "Board name (see 'deploy boards') or board file"
    parser.add_argument("--board", metavar="B", required=required, help=f"{help_text}{instead}")


def add_emulated(parser: argparse.ArgumentParser) -> None:
    group(parser, CONNECTION).add_argument(
        "--emulated", action="store_true", help="Emulate the core of a board that is not here"
    )


def add_boards(parser: argparse.ArgumentParser, default: str = "", required: bool = True) -> None:
    """Adds --board for several names, after one or several flags. A default makes it optional, too."""
    group(parser, CONNECTION).add_argument(
        "--board",
        metavar="B",
        nargs="+",
        action="extend",
        required=required and not default,
        help=f"Board names (see 'deploy boards'){f' [{default}]' if default else ''}",
    )


def add_board_or_target(parser: argparse.ArgumentParser, required: bool = True, instead: str = "") -> None:
    """Adds --board and --target, which are mutually exclusive; a target needs no hardware."""
    # Boards are slow to load, and most commands that read options need none.
    from boards.target_text import FORM

    either = group(parser, CONNECTION).add_mutually_exclusive_group(required=required)
    add_board(either, required=False, instead=instead)
    either.add_argument(
        "--target",
        metavar="T",
        help=f"Core and memory instead of a board: cortex-m4+fpu,ram=256K,flash=1M. The form is {FORM}, "
        "or compiler options: --target='-mcpu=cortex-m33 -mattr=+dsp'",
    )


def add_output(
    parser: argparse._ActionsContainer,
    metavar: str,
    help_text: str,
    dest: str = "output",
    required: bool = False,
) -> None:
    """Adds -o, --output, which all commands that write a file have."""
    parser.add_argument(
        "-o", "--output", metavar=metavar, dest=dest, type=Path, required=required, help=help_text
    )


def add_compile_options(parser: argparse.ArgumentParser, without: Collection[str] = ()) -> None:
    """Adds the compiler options for `compile_options`, except those in `without`."""
    for name, option in OPTIONS.items():
        if name not in without:
            add_option(parser, option)


def add_option(parser: argparse.ArgumentParser, option: Option, more_help: str = "") -> None:
    """Adds an option of a table. Its value is checked now, and read later with the table's other options."""
    action = _add_option(group(parser, option.group), option, more_help)
    if not option.is_main:
        as_detail(action)


def _add_option(parser: argparse._ActionsContainer, option: Option, more_help: str) -> argparse.Action:
    dest, kind = f"{_DEST}{option.name}", option.kind
    if not kind.metavar:
        return parser.add_argument(
            option.flag, dest=dest, action="store_true", default=_UNSET, help=option.help
        )

    def checked(word: str) -> str:
        try:
            kind.check(word)
        except WrongValueError as error:
            raise argparse.ArgumentTypeError("\n".join((error.what, error.hint)).strip()) from None
        return word

    action = "append" if kind.is_repeated else "store"
    return parser.add_argument(
        *filter(None, (option.short, option.flag)),
        dest=dest,
        metavar=kind.metavar,
        type=checked,
        action=action,
        default=_UNSET,
        help=f"{option.help}{more_help}",
    )


def compile_options(arguments: argparse.Namespace) -> CompileOptions:
    """Returns the options added by `add_compile_options` and `add_option`."""
    return read_options(_given(arguments, OPTIONS))


def require_no_options(options: CompileOptions, where: str | Path) -> None:
    """Raises InputError if compile options are given for a compiled model."""
    if options != CompileOptions():
        raise InputError(
            "compile options have no effect: this model is compiled already",
            str(where),
            "give the model file instead, or omit these options",
        )


def add_print_after(parser: argparse.ArgumentParser) -> None:
    _add_passes(parser, "--print-after", "Print the graph after this pass (or 'all') on stderr")


def add_explain(parser: argparse.ArgumentParser) -> None:
    _add_passes(parser, "--explain", "Show what this pass (or 'all') rewrote, and why not the rest")


def _add_passes(parser: argparse.ArgumentParser, flag: str, help_text: str) -> None:
    action = group(parser, EXPERT).add_argument(
        flag, metavar="PASS", choices=known_names(), action="append", default=[], help=help_text
    )
    as_detail(action)


def add_toolchain(parser: argparse.ArgumentParser) -> None:
    action = group(parser, CONNECTION).add_argument(
        "--toolchain", metavar="NAME", help="C compiler [first found, see 'deploy doctor']"
    )
    as_detail(action)


def add_build(parser: argparse.ArgumentParser) -> None:
    """Adds the build options for `build_choices`."""
    action = group(parser, CONNECTION).add_argument(
        "--platform", metavar="NAME", help="Platform to build for [the board's first that builds here]"
    )
    as_detail(action)
    add_toolchain(parser)


def build_choices(arguments: argparse.Namespace) -> BuildChoices:
    """Returns the options added by `add_build`."""
    from platforms.base import BuildChoices  # platforms are slow to load, and most commands build nothing

    return BuildChoices(arguments.toolchain, platform=arguments.platform)


def add_line(parser: argparse.ArgumentParser, names: Collection[str] = LINE, can_attach: bool = True) -> None:
    """Adds the connection options for `line_options`."""
    for name in names:
        add_option(
            parser,
            LINE[name],
            "; 'attach' if running" if can_attach and name == "runner" else "",
        )


def line_options(arguments: argparse.Namespace) -> LineOptions:
    """Returns the options added by `add_line`."""
    return read_given(LineOptions(), LINE, _given(arguments, LINE))


def add_data(parser: argparse.ArgumentParser) -> None:
    """Adds the input options for `data_options`."""
    for option in DATA.values():
        add_option(parser, option)


def data_options(arguments: argparse.Namespace) -> DataOptions:
    """Returns the options added by `add_data`."""
    return read_given(DataOptions(), DATA, _given(arguments, DATA))


def given_options(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, object]:
    """Returns the given options by keyword, for Python functions."""
    return {name: value for name, value in _given(arguments, names).items() if value is not None}


def _given(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, object]:
    return {name: getattr(arguments, f"{_DEST}{name}", None) for name in names}


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="Print the commands instead of running them")
