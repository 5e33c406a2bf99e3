"""Adds the command-line options that several commands share; the compiler's come from its table."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable
from pathlib import Path

from aot.errors import InputError
from codegen.option_entry import Option
from codegen.option_kinds import WrongValueError, read_size
from codegen.option_reading import read_given
from codegen.options import OPTIONS, CompileOptions, read_options
from deploy.data import DATA, DataOptions
from deploy.line import LINE, LineOptions
from deploy.pass_page import known_names

_UNSET = argparse.SUPPRESS  # the default of an inner parser would undo what stood before its word
_DEST = "option_"  # so that no other argument of a command has the name of a compile option


def size(text: str) -> int:
    """Reads a number of bytes as people write it: 65536, 64K, 1MB."""
    try:
        return read_size(text)
    except WrongValueError as error:
        raise argparse.ArgumentTypeError(error.what) from None


def count(text: str) -> int:
    """Reads a count, which is 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def percent(text: str) -> float:
    """Reads a percentage of 0 or more, with or without its sign."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage of 0 or more")
    return value


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", type=Path, help="a .tflite or .onnx file")


def add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path, help="a project folder, made by deploy new")


def add_identity(parser: argparse._ActionsContainer, when: str = "") -> None:
    parser.add_argument(
        "--product", metavar="NAME", default="", help=f"{when}the product that the model is for: door-sensor"
    )
    parser.add_argument(
        "--model-version",
        metavar="N",
        type=int,
        default=0,
        help=f"{when}a number that grows with each model of the product: firmware refuses a smaller one than "
        "that of the model that runs (default: 0)",
    )


def add_board(parser: argparse._ActionsContainer, required: bool = True, instead: str = "") -> None:
    help_text = "a board's name, as in deploy boards, or a board file"
    parser.add_argument("--board", metavar="B", required=required, help=f"{help_text}{instead}")


def add_boards(parser: argparse.ArgumentParser, default: str = "") -> None:
    """Adds --board for several names, together or each behind its own; without a default it is required."""
    parser.add_argument(
        "--board",
        metavar="B",
        nargs="+",
        action="extend",
        required=not default,
        help=f"names of boards{f' (default: {default})' if default else ', as in deploy boards'}",
    )


def add_board_or_target(parser: argparse.ArgumentParser, required: bool = True, instead: str = "") -> None:
    """Adds --board and, for what needs no hardware, --target, of which one may be given."""
    # Boards take their time, and most commands that read options have none.
    from boards.target_text import FORM

    group = parser.add_mutually_exclusive_group(required=required)
    add_board(group, required=False, instead=instead)
    group.add_argument(
        "--target",
        metavar="T",
        help=f"in place of a board: {FORM}, such as cortex-m4+fpu,ram=256K,flash=1M; "
        "or in a compiler's words, such as --target='-mcpu=cortex-m33 -mattr=+dsp'",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_compile_options(parser: argparse.ArgumentParser, without: Collection[str] = ()) -> None:
    """Adds the compiler's options, which `compile_options` reads, except those named in `without`."""
    for name, option in OPTIONS.items():
        if name not in without:
            add_option(parser, option)


def add_option(parser: argparse.ArgumentParser, option: Option, more_help: str = "") -> None:
    """Adds an option of a table. Its value is checked here, and read later with the others of its table."""
    dest, kind = f"{_DEST}{option.name}", option.kind
    if not kind.metavar:
        parser.add_argument(option.flag, dest=dest, action="store_true", default=_UNSET, help=option.help)
        return

    def checked(word: str) -> str:
        try:
            kind.check(word)
        except WrongValueError as error:
            raise argparse.ArgumentTypeError("\n".join((error.what, error.hint)).strip()) from None
        return word

    action = "append" if kind.is_repeated else "store"
    parser.add_argument(
        *filter(None, (option.short, option.flag)),
        dest=dest,
        metavar=kind.metavar,
        type=checked,
        action=action,
        default=_UNSET,
        help=f"{option.help}{more_help}",
    )


def compile_options(arguments: argparse.Namespace) -> CompileOptions:
    """The options that `add_compile_options` and `add_option` added to the parser."""
    return read_options(_given(arguments, OPTIONS))


def require_no_options(options: CompileOptions, where: str | Path) -> None:
    """Raises InputError if options are given for a model that is compiled already."""
    if options != CompileOptions():
        raise InputError(
            "options of deploy compile are given, but this model is compiled already",
            str(where),
            "leave them out here, or give the model file",
        )


def add_print_after(parser: argparse.ArgumentParser) -> None:
    _add_passes(
        parser, "--print-after", "print the graph as it is after a pass, or after all of them, on stderr"
    )


def add_explain(parser: argparse.ArgumentParser) -> None:
    _add_passes(
        parser, "--explain", "also show what a pass rewrote, or all of them, and why it left the rest alone"
    )


def _add_passes(parser: argparse.ArgumentParser, flag: str, help_text: str) -> None:
    parser.add_argument(
        flag, metavar="PASS", choices=known_names(), action="append", default=[], help=help_text
    )


def add_toolchain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--toolchain", metavar="NAME", help="a compiler, as in deploy doctor (default: the first found)"
    )


def add_line(parser: argparse.ArgumentParser, names: Collection[str] = LINE, can_attach: bool = True) -> None:
    """Adds the options that say how a board is reached, which `line_options` reads."""
    for name in names:
        add_option(
            parser,
            LINE[name],
            "; attach: the firmware runs already" if can_attach and name == "runner" else "",
        )


def line_options(arguments: argparse.Namespace) -> LineOptions:
    """The options that `add_line` added to the parser."""
    return read_given(LineOptions(), LINE, _given(arguments, LINE))


def add_data(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say what inputs are, which `data_options` reads."""
    for option in DATA.values():
        add_option(parser, option)


def data_options(arguments: argparse.Namespace) -> DataOptions:
    """The options that `add_data` added to the parser."""
    return read_given(DataOptions(), DATA, _given(arguments, DATA))


def given_options(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, object]:
    """Collects the options that the command line gives, by keyword, as Python functions take them."""
    return {name: value for name, value in _given(arguments, names).items() if value is not None}


def _given(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, object]:
    return {name: getattr(arguments, f"{_DEST}{name}", None) for name in names}


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="print the command lines instead of running them"
    )
