"""Formats the help of a command for 80 columns: -h shows the main options, --help all of them."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any

MAX_COLUMNS = 80
_TEXT_AT = 25  # column of the descriptions
GENERAL = "General"
# Groups of options shared by many commands, shown in this order after the command's groups.
_LATE = (
    "Board and connection",
    "Goal",
    "Memory",
    "Model",
    "Kernels",
    "Debugging and expert options",
    GENERAL,
)
_DETAIL = "is_detail"


def as_detail(action: argparse.Action) -> None:
    """Marks an option to be shown only by --help."""
    setattr(action, _DETAIL, True)


def group(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Returns the group of options with this heading in the help, adding it if it is new."""
    found = (each for each in parser._action_groups if each.title == title)
    return next(found, None) or parser.add_argument_group(title)


def add_json(parser: argparse.ArgumentParser, what: str = "") -> None:
    group(parser, GENERAL).add_argument("--json", action="store_true", help=f"Print the result as JSON{what}")


def add_help(parser: argparse.ArgumentParser) -> None:
    """Adds -h and --help, which print the short and the complete help."""
    general = group(parser, GENERAL)
    general.add_argument("-h", action=_Help, is_complete=False, help="Show the main options")
    general.add_argument("--help", action=_Help, is_complete=True, help="Show every option")


class _Help(argparse.Action):
    """Prints a help page and exits."""

    def __init__(self, is_complete: bool, **more: Any) -> None:
        super().__init__(nargs=0, default=argparse.SUPPRESS, **{**more, "dest": "help"})
        self._is_complete = is_complete

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser._print_message(help_page(parser, self._is_complete), sys.stdout)
        parser.exit()


def as_details(parser: argparse.ArgumentParser, *flags: str) -> None:
    for flag in flags:
        as_detail(parser._option_string_actions[flag])


def help_page(parser: argparse.ArgumentParser, is_complete: bool) -> str:
    """Returns the help of a command, complete or with its main options only."""
    columns = min(MAX_COLUMNS, shutil.get_terminal_size().columns)
    parts = [f"Usage: {usage(parser)}", "\n".join(wrap(parser.description or "", columns))]
    for title, rows in help_rows(parser, is_complete):
        parts.append("\n".join((title, *(line for row in rows for line in _row(*row, columns)))))
    examples = (parser.epilog or "").splitlines()
    if examples:
        title = "Example" if len(examples) == 1 else "Examples"
        parts.append("\n".join((title, *(f"  {line}" for line in examples))))
    if not is_complete and any(getattr(each, _DETAIL, False) for each in parser._actions):
        parts.append(f"{parser.prog} --help shows all options.")
    return "\n\n".join(filter(None, parts)) + "\n"


def help_rows(
    parser: argparse.ArgumentParser, is_complete: bool
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yields each group of options: its title, and rows of an option as it is written and its meaning."""
    for title, actions in _groups(parser):
        visible = [each for each in actions if each.help is not argparse.SUPPRESS]
        shown = [each for each in visible if is_complete or not getattr(each, _DETAIL, False)]
        if shown:
            yield title, list(_rows(shown, is_complete))


def usage(parser: argparse.ArgumentParser) -> str:
    """Returns how the command is written: its name, and what it takes in order."""
    has_options = any(each.option_strings for each in parser._actions if each.dest != "help")
    words = [parser.prog, *(["[OPTIONS]"] if has_options else []), *map(_place, _places(parser))]
    return " ".join(words)


def _places(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    yield from (each for each in parser._actions if not each.option_strings)


def _place(action: argparse.Action) -> str:
    name = _metavar(action)
    if action.nargs in ("?", "*") or not action.required:
        return f"[{name}{'...' if action.nargs == '*' else ''}]"
    return f"{name}..." if action.nargs == "+" else name


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        metavar = action.metavar
        return metavar[1:-1].replace(",", "|") if metavar.startswith("{") else metavar
    return "|".join(map(str, action.choices)) if action.choices is not None else action.dest.upper()


def _groups(parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[argparse.Action]]]:
    places = [each for each in _places(parser) if each.help or isinstance(each, argparse._SubParsersAction)]
    if places:
        yield "Arguments", places
    titled = [
        ("Options" if group in (parser._optionals, parser._positionals) else str(group.title), group)
        for group in parser._action_groups
    ]
    for title, group in sorted(titled, key=lambda each: _LATE.index(each[0]) if each[0] in _LATE else -1):
        yield title, [each for each in group._group_actions if each.option_strings]


def _rows(actions: Iterable[argparse.Action], is_complete: bool) -> Iterator[tuple[str, str]]:
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from ((choice.dest, choice.help or "") for choice in action._choices_actions)
        else:
            text = action.help or ""
            yield _form(action), text if is_complete else _first_sentence(text)


def _form(action: argparse.Action) -> str:
    flags = ", ".join(action.option_strings)
    if action.nargs == 0 or not flags:
        return flags or _metavar(action)
    return f"{flags} {_metavar(action)}{'...' if action.nargs in ('+', '*') else ''}"


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0]


def _row(form: str, text: str, columns: int) -> Iterator[str]:
    lines = wrap(text, columns - _TEXT_AT, break_long_words=False, break_on_hyphens=False)
    head = f"  {form}"
    if len(head) > _TEXT_AT - 2 or not lines:
        yield head
    else:
        yield f"{head:{_TEXT_AT}}{lines.pop(0)}"
    yield from (f"{'':{_TEXT_AT}}{line}" for line in lines)
