"""The page of this machine: compilers, emulators, boards ready for use, ports, packages."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from textwrap import wrap

from aot.distribution import pip_install
from boards.board_text import size_text
from codegen.version import VERSION
from deploy.cli.command_result import Answer
from deploy.cli.console import table
from deploy.cli.terminal_width import terminal_columns
from deploy.devices.buildable_boards import is_supported
from deploy.host_tools import tool_inventory as machine
from deploy.host_tools.install_hints import install_lines
from deploy.host_tools.tool_inventory import Ability, FirmwareCache, Port, Program
from platforms.board_files import all_boards, load_board

_LINE = 100  # maximum width of lists; a narrower terminal limits it further
_MOST_NAMED = 24  # of boards that lack the same tool
_OTHERS = (
    "Models can be compiled for every board of deploy boards; deploy doctor --board B shows what B needs."
)


def doctor(board: str | None = None, fix: bool = False) -> Answer:
    """Lists the compilers and emulators on this machine, and how to install missing ones.

    With a board, lists only its tools. With `fix`, returns the commands that install the missing tools.
    """
    if fix:
        lines = install_lines(machine.programs(), machine.packages())
        return Answer({"commands": list(lines)}, "\n".join(lines) or "nothing to install")
    return _of_board(board) if board else _of_machine()


def _of_machine() -> Answer:
    programs, known = machine.programs(), all_boards()
    abilities = [machine.ability(board) for board in known if is_supported(board)]
    ports, packages, cache = machine.ports(known), machine.packages(), machine.cache()
    clashes = machine.clashes()
    facts = {
        "solder": VERSION,
        "python": platform.python_version(),
        "programs": [asdict(program) for program in programs],
        "boards": [asdict(ability) for ability in abilities],
        "ports": [asdict(port) for port in ports],
        "packages": packages,
        "cache": asdict(cache),
        "clashes": clashes,
    }
    parts = (
        f"Solder {VERSION} on Python {platform.python_version()}",
        *(f"name clash: {clash}" for clash in clashes),
        _programs(programs),
        *_missing_runners(programs),
        *filter(None, _boards(abilities)),
        _OTHERS,
        "\n".join((_ports(ports), _packages(packages), _kept(cache))),
    )
    return Answer(facts, "\n\n".join(parts))


def _of_board(name: str) -> Answer:
    board = load_board(name)
    found, here = machine.ability(board), [p for p in machine.ports([board]) if p.boards]
    rows = [
        ("board", f"{board.name}: {board.title}"),
        ("platform", found.platform or "none that can be built here"),
        ("compiler", found.compiler or "none"),
        ("runner", found.runner or "none"),
        ("port", ", ".join(port.device for port in here) or "none with its USB ids"),
        *(("lacks", way) for way in found.lacks),
    ]
    facts = asdict(found) | {"ports": [asdict(port) for port in here]}
    return Answer(facts, "\n".join(f"{head:<9} {says}" for head, says in rows))


def _programs(programs: Sequence[Program]) -> str:
    """Lists the programs found. Missing compilers and builders are listed with the boards that need them."""
    return table(("what", "name", "found"), [(p.kind, p.name, p.says) for p in programs if p.found])


def _missing_runners(programs: Sequence[Program]) -> Iterator[str]:
    rows = [
        (program.name, program.says) for program in programs if program.kind == "runner" and not program.found
    ]
    if rows:
        yield table(("missing", "how to install"), rows)


def _boards(abilities: Sequence[Ability]) -> Iterator[str]:
    """Lists boards, grouped by the missing builder; --board shows everything that one board lacks."""
    yield _listed("ready", [a.board for a in abilities if not a.lacks])
    yield _listed(
        "can be built for, but no runner is installed",
        [a.board for a in abilities if a.compiler and not a.runner],
    )
    ways: dict[str, list[str]] = {}
    for each in abilities:
        if not each.compiler:
            ways.setdefault(each.lacks[0], []).append(each.board)
    alike: dict[str, dict[str, list[str]]] = {}  # by the remark after the command
    for way, names in ways.items():
        command, _, remark = way.partition("; ")
        alike.setdefault(remark, {})[command] = names
    for remark, commands in alike.items():
        yield _not_built(commands, remark)


def _not_built(commands: Mapping[str, Sequence[str]], remark: str) -> str:
    """Lists the commands that install missing builders, with a shared remark only once."""
    if len(commands) > 1:
        rows = [f"  {', '.join(names)}: {command}" for command, names in commands.items()]
        return "\n".join(["cannot be built for:", *rows, *([f"  {remark}"] if remark else [])])
    ((command, names),) = commands.items()
    return f"{_listed('cannot be built for', _some(names))}\n  {'; '.join(filter(None, (command, remark)))}"


def _some(names: Sequence[str]) -> list[str]:
    """Shortens a long list of names, so that the commands after it stay visible."""
    if len(names) <= _MOST_NAMED:
        return list(names)
    return [*names[:_MOST_NAMED], f"and {len(names) - _MOST_NAMED} more (deploy boards list)"]


def _ports(ports: Sequence[Port]) -> str:
    if not ports:
        return "serial ports   none on the USB"
    rows = [(p.device, p.usb, p.serial or "none", ", ".join(p.boards) or "not known") for p in ports]
    return table(("serial port", "USB", "serial number", "board"), rows)


def _packages(packages: dict[str, bool]) -> str:
    there = [name for name, is_there in packages.items() if is_there]
    absent = [name for name, is_there in packages.items() if not is_there]
    says = f"packages       {', '.join(there) or 'no optional ones'}"
    return f"{says}\n  missing:     {', '.join(absent)} ({pip_install('NAME')})" if absent else says


def _kept(cache: FirmwareCache) -> str:
    return f"kept firmware  {cache.builds} builds, {size_text(cache.bytes)} in {cache.folder}"


def _listed(head: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    width = min(_LINE, terminal_columns() or _LINE)
    return "\n".join(
        wrap(f"{head}: {', '.join(names)}", width, subsequent_indent="  ", break_on_hyphens=False)
    )
