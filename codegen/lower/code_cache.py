"""Limits unrolling so that loops fit the flash prefetch cache.

A loop slightly longer than the cache is fetched from flash again on every iteration, which costs more than
unrolling saves. Loops inside inline assembly are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from codegen.c.kernel_function import kernel_function
from codegen.c.tree import ForLoop, FunctionCall, InstructionCall, Number, Stmt
from codegen.c.tree_walk import Node, statements_of, walk
from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import Point
from codegen.kernels.tuning_records import with_default
from codegen.loops.ir import ScalarFunction

# Estimates the code bytes of statements on a Cortex-M4, for the flash prefetch cache.
#
# Every statement counts, because unrolled loops are compared with each other. `part_sizes.py` estimates
# whole functions.

_BYTES_PER_INSTRUCTION = 4.0
_BYTES_PER_STATEMENT = 9.6


def statement_bytes(node: Node) -> float:
    """Returns the code bytes of a function, a statement or several statements."""
    statements = sum(1 for _ in statements_of(node))
    instructions = sum(_instructions(part) for part in walk(node))
    return instructions * _BYTES_PER_INSTRUCTION + statements * _BYTES_PER_STATEMENT


def _instructions(part: Node) -> int:
    """Returns the machine instructions of one use of an instruction, or of one call of a function."""
    is_scalar = isinstance(part, FunctionCall) and isinstance(part.helper, ScalarFunction)
    is_told = is_scalar or isinstance(part, InstructionCall)
    return part.helper.machine_instructions if is_told else 0


_FETCH_TOLERANCE = 2  # times the fewest bytes fetched; code fetched once costs little


def within_cache(
    kernel: Kernel, point: Point, cache_bytes: int, made_at: Callable[[Point], Kernel]
) -> Kernel:
    """Returns the kernel at `point`, or the most unrolled one that fetches nearly as little code as any."""
    if kernel.space is None or not cache_bytes:
        return kernel
    others = (_as_default(made_at(shorter), shorter) for shorter in kernel.space.shorter(point))
    reads: list[tuple[float, Kernel]] = []
    for tried in chain([kernel], others):
        body = kernel_function(tried.proc, "").function.body
        reads.append((code_read(body, cache_bytes), tried))
        if statement_bytes(body) <= cache_bytes:
            break
    most = _FETCH_TOLERANCE * min(read for read, _ in reads)
    return next(tried for read, tried in reads if read <= most)


def code_read(body: tuple[Stmt, ...], cache_bytes: int) -> float:
    """Returns the bytes of code fetched from flash when the statements run once."""
    return sum(_read_by(stmt, cache_bytes) for stmt in body)


def _read_by(stmt: Stmt, cache_bytes: int) -> float:
    """Counts one statement: a loop that fits is fetched once, a longer one on every iteration."""
    whole = statement_bytes(stmt)
    if not isinstance(stmt, ForLoop) or whole <= cache_bytes:
        return whole
    assert isinstance(stmt.count, Number)  # only functions shared by several layers have others
    head = whole - statement_bytes(stmt.body)
    return head + stmt.count.value * code_read(stmt.body, cache_bytes)


def _as_default(kernel: Kernel, point: Point) -> Kernel:
    assert kernel.space is not None  # it was created at a point
    return with_default(kernel, {kernel.space.task: point})
