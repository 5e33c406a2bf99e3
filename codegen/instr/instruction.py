"""An instruction or scalar function: its C text and its executable meaning, in one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from aot.ir.types import DType
from codegen.loops.ir import Buffer, Stmt


@dataclass(frozen=True)
class Instruction:
    """Replaces the loop nest `body` over `params`; `call` is a format string over the parameters.

    In `call`, a parameter held in registers stands as {name[0]}, {name[1]}, ..., any other as a
    pointer {name}; a number of the body that the function is told, and not written for, as {its name}.
    `definition` is the C function that the call uses, printed once per file.
    """

    name: str
    params: tuple[Buffer, ...]
    body: tuple[Stmt, ...]
    call: str
    definition: str
    includes: tuple[str, ...] = ()
    # What the definition calls; it does so by name, and two of one name are the same.
    needs: tuple[Instruction | Function, ...] = field(default=(), compare=False)
    machine_instructions: int = 0  # that one call puts into the code, for estimates
    numbers: tuple[tuple[str, int], ...] = ()

    def with_numbers(
        self, numbers: tuple[tuple[str, int], ...], params: tuple[Buffer, ...], body: tuple[Stmt, ...]
    ) -> Instruction:
        """The same instruction told other numbers, which its body and parameters must have, too."""
        return replace(self, numbers=numbers, params=params, body=body)


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
