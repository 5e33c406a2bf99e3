"""An instruction or scalar function: its C text and its executable meaning, in one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aot.ir.types import DType
from codegen.loops.ir import Buffer, Stmt


@dataclass(frozen=True)
class Instruction:
    """Replaces the loop nest `body` over `params`; `call` is a format string over the parameters.

    In `call`, a parameter held in registers stands as {name[0]}, {name[1]}, ..., any other as a
    pointer {name}. `definition` is the C function that the call uses, printed once per file.
    """

    name: str
    params: tuple[Buffer, ...]
    body: tuple[Stmt, ...]
    call: str
    definition: str
    includes: tuple[str, ...] = ()
    needs: tuple[Instruction | Function, ...] = ()  # what the definition calls
    machine_instructions: int = 0  # that one call puts into the code, for estimates


@dataclass(frozen=True)
class Function:
    """A scalar function; two of one name are the same function."""

    name: str
    result: DType
    definition: str
    compute: Callable[..., Any] = field(compare=False)
    includes: tuple[str, ...] = ()
    needs: tuple[Function, ...] = ()  # functions that the definition calls

    def meaning(self, *arguments: float) -> Any:
        return self.compute(*arguments)
