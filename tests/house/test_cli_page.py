"""docs/cli.md lists commands and options, from the tables of commands and of options."""

import argparse
from collections.abc import Iterator
from enum import Enum

from codegen.option_entry import Option, WrittenWhen
from codegen.options import OPTIONS
from deploy.cli.command import command_parser, load_command
from deploy.cli.commands import COMMANDS
from deploy.devices.connection_options import LINE
from deploy.inputs.input_options import DATA

INTRODUCTION = """\
# The command line

`deploy COMMAND -h` shows the main options of a command, `--help` all of them. This page lists commands and the options they share;
`make golden` writes it.

| command | what it does |
|---|---|
"""
FOR_PROGRAMS = """
## For programs

`--json` prints facts instead of a page. Results go to stdout, progress and errors to stderr. `docs/json` has a tested JSON schema
for each command. `-q` hides progress, `-v` shows every command that is run.

| exit status | meaning |
|---|---|
| 0 | success |
| 1 | an error you can fix: `deploy help CODE` explains it, as does [this page](errors.md) |
| 2 | wrong usage |
| 70 | a bug in Solder: `deploy bug-report` |
| 130, 141 | interrupted; the program that reads the output ended |
"""
OPTIONS_HEAD = """
## Options of the compiler

Commands that compile accept these options, and so do the Python functions, under the name in the second column:
`deploy.compile(model, board="host", ram="64KB", io="caller")`. A size is 65536, 65,536, 64K, 64KB or 64 KiB; K is 1024. If an option may
be repeated, Python accepts one value, a list or a mapping: `shape={"x": (1, 3, 32, 32)}`. The head of each generated file lists the
options used.

| option | in Python | meaning | default | in archives |
|---|---|---|---|---|
"""
VERBS_HEAD = """
## Which command accepts which

| command | options of the compiler |
|---|---|
"""
FUNCTIONS = """
In Python, `load` accepts the options that affect how it reads a model file: %s. `compile`, `run`, `verify`, `bench`, `inspect`
and `in_process` accept all options, `tune` all except `tuning_records`. A loaded model keeps its options; other functions use them
unless you pass others.
"""


DATA_HEAD = """
## Options for inputs

`run` and `verify` accept them, on the command line and in Python. Without inputs, `verify` uses random ones.

| option | in Python | meaning |
|---|---|---|
"""
LINE_HEAD = """
## Options for the connection to a board

`run`, `verify` and `bench` accept them, on the command line and in Python. `tune`, `flash` and `monitor` accept `--runner`,
`--serial` and `--port`. Use `--runner attach` if the firmware already runs.

| option | in Python | meaning |
|---|---|---|
"""


def cli_page() -> str:
    reading = ", ".join(f"`{name}`" for name, option in OPTIONS.items() if option.reads_model)
    parts = (
        INTRODUCTION,
        *(f"| `{name}` | {summary} |\n" for name, summary in COMMANDS.items()),
        FOR_PROGRAMS,
        OPTIONS_HEAD,
        *(option_row(option) for option in OPTIONS.values()),
        VERBS_HEAD,
        *verb_rows(),
        FUNCTIONS % reading,
        DATA_HEAD,
        *(f"| {_flag(option)} | `{option.name}` | {option.help} |\n" for option in DATA.values()),
        LINE_HEAD,
        *(f"| {_flag(option)} | `{option.name}` | {option.help} |\n" for option in LINE.values()),
    )
    return "".join(parts)


def option_row(option: Option) -> str:
    cells = (
        _flag(option),
        f"`{option.name}`",
        option.help,
        default_text(option),
        "no" if option.in_archive is WrittenWhen.NEVER else f"`{'.'.join(option.archive_path)}`",
    )
    return f"| {' | '.join(cells)} |\n"


def _flag(option: Option) -> str:
    times = ", several times" if option.kind.is_repeated else ""
    short = f"`{option.short}`, " if option.short else ""
    return f"{short}`{f'{option.flag} {option.kind.metavar}'.rstrip()}`{times}"


def default_text(option: Option) -> str:
    if isinstance(option.default, Enum) or (isinstance(option.default, int) and option.kind.metavar):
        return " ".join(option.kind.words(option.default))
    return "off" if option.default is False else "none"


def verb_rows() -> Iterator[str]:
    every = {option.flag for option in OPTIONS.values()}
    for name in COMMANDS:
        flags = compile_flags(command_parser(name, load_command(name)))
        without = sorted(every - flags)
        if flags and len(without) <= 1:
            yield f"| `{name}` | all{''.join(f' except `{flag}`' for flag in without)} |\n"
        elif flags:
            yield f"| `{name}` | {', '.join(f'`{flag}`' for flag in sorted(flags))} |\n"


def compile_flags(parser: argparse.ArgumentParser) -> set[str]:
    """The flags of a command that are options of the compiler, and not its own of the same name."""
    names = {f"option_{name}": option.flag for name, option in OPTIONS.items()}
    return {names[action.dest] for action in parser._actions if action.dest in names}


def test_the_page_is_what_the_tables_say(repo_root, generated):
    generated(repo_root / "docs" / "cli.md", cli_page())
