"""Limits unrolling so that loops fit the flash prefetch cache.

A loop slightly longer than the cache is fetched from flash again on every iteration, which costs more than
unrolling saves. Loops inside inline assembly are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from codegen.c.kernel_function import kernel_function
from codegen.c.tree import ForLoop, Number, Stmt
from codegen.kernels.default_points import with_default
from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import Point
from codegen.lower.statement_size import statement_bytes

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
