"""Checks whether firmware has the kernels that a table cartridge needs."""

from __future__ import annotations

import json
from pathlib import Path

from aot.errors import InputError
from codegen.model import PackedTable
from platforms.cartridge.in_firmware import KERNELS_FILE

_MOST_NAMED = 8


def require_kernels(table: PackedTable, project: Path) -> None:
    """Raises InputError with the kernels of a table that a project's firmware lacks."""
    held = _held(project)
    lacks = [said for name, said in table.kernels.items() if name not in held]
    if lacks:
        more = [f"and {len(lacks) - _MOST_NAMED} more"] if len(lacks) > _MOST_NAMED else []
        raise InputError(
            f"the firmware lacks {len(lacks)} of the {len(table.kernels)} kernels that the model needs",
            "\n".join((str(project), *lacks[:_MOST_NAMED], *more)),
            "create firmware with them: deploy new --kernels THIS.tar; it accepts models whose layers have "
            "the same sizes",
        )


def _held(project: Path) -> frozenset[str]:
    path = project / KERNELS_FILE
    try:
        lenders = json.loads(path.read_text(encoding="utf-8"))["kernels"]
        return frozenset(name for each in lenders.values() for name in each)
    except FileNotFoundError as error:
        raise InputError(
            "this project's firmware does not support tables",
            str(path),
            "use deploy compile --tables -o OUT.tar, then deploy new OUT.tar DIR --slots 128K",
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError("the list of kernels cannot be read", str(path)) from error
