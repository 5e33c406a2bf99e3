"""Schedule primitives: each returns a faster proc with the same meaning.

A primitive names loops by their variable and changes every loop of that name, so that the main part and the
tail of a split are scheduled alike. No primitive changes the result; tests prove it by running both procs in
the loop interpreter. A primitive that cannot be applied soundly raises ScheduleError.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Body,
    Buffer,
    BufferPlace,
    Declare,
    For,
    Invoke,
    Load,
    Proc,
    Role,
    Stmt,
    Store,
    indices_of,
    loads_of,
    map_places,
    places_of,
    substitute,
    walk,
)


class ScheduleError(Exception):
    """Raised if a primitive cannot be applied. The mistake is in a kernel, not the user's."""


def split(proc: Proc, var: str, factor: int, outer: str, inner: str) -> Proc:
    """for var in E -> for outer in E // factor: for inner in factor.

    The remainder becomes a loop `<outer>_tail` with an inner loop of extent 1, so that later primitives find
    the same nest in both.
    """
    if factor < 1:
        raise ScheduleError(f"split of {var} by {factor}: the factor must be at least 1")

    def change(loop: For) -> Body:
        whole, rest = divmod(loop.extent, factor)
        main = substitute_loop(loop, variable(outer) * factor + variable(inner))
        tail = substitute_loop(loop, variable(f"{outer}_tail") + variable(inner) + whole * factor)
        body: Body = ()
        if whole:
            body += (For(outer, whole, (For(inner, factor, main),)),)
        if rest:
            body += (For(f"{outer}_tail", rest, (For(inner, 1, tail),)),)
        return body

    return change_loops(proc, var, change, (outer, f"{outer}_tail", inner))


def partition(proc: Proc, var: str, at: int, first: str, second: str) -> Proc:
    """for var in E -> for first in at; for second in E - at."""

    def change(loop: For) -> Body:
        if not 0 < at < loop.extent:
            raise ScheduleError(f"partition of {var} at {at} must be inside its {loop.extent} values")
        head = For(first, at, substitute_loop(loop, variable(first)))
        rest = For(second, loop.extent - at, substitute_loop(loop, variable(second) + at))
        return (head, rest)

    return change_loops(proc, var, change, (first, second))


def fuse(proc: Proc, outer: str, inner: str, fused: str) -> Proc:
    """Fuses two perfectly nested loops. Every index must have outer step = inner step * inner extent."""

    def change(loop: For) -> Body:
        nested = _only_child(loop, inner)
        body = substitute_loop(nested, variable(fused) - variable(outer) * nested.extent)
        stuck = next((name for name, index in indices_of(body) if index.coefficient(outer)), None)
        if stuck is not None:
            raise ScheduleError(f"{stuck} does not walk {outer} and {inner} as one loop")
        return (For(fused, loop.extent * nested.extent, body),)

    return change_loops(proc, outer, change, (fused,))


def reorder(proc: Proc, outer: str, inner: str) -> Proc:
    """Swaps two perfectly nested loops. The order of integer sums does not matter."""

    def change(loop: For) -> Body:
        if not (len(loop.body) == 1 and isinstance(loop.body[0], For) and loop.body[0].var == inner):
            return (loop,)  # a tail without the inner loop is unchanged
        nested = loop.body[0]
        _require_own_stores(nested.body, (loop, nested))
        return (replace(nested, body=(replace(loop, body=nested.body),)),)

    return change_loops(proc, outer, change)


def unroll(proc: Proc, var: str) -> Proc:
    """Marks the loop to be unrolled in C."""
    return change_loops(proc, var, lambda loop: (replace(loop, unrolled=True),))


def annotate(proc: Proc, var: str, note: str) -> Proc:
    """Adds a comment above the loop in C."""
    if any(mark in note for mark in ("*/", "/*", "\n")):
        raise ScheduleError(f"the note {note!r} does not fit a one-line C comment")
    return change_loops(proc, var, lambda loop: (replace(loop, note=note),))


def unroll_by(proc: Proc, var: str, times: int) -> Proc:
    """Repeats the loop's body `times` times per iteration."""
    if times == 1:
        return proc
    return unroll(split(proc, var, times, f"{var}_by_{times}", f"{var}_one"), f"{var}_one")


def privatize(proc: Proc, locals_: Sequence[str], var: str, together: int = 1) -> Proc:
    """Creates private copies of locals for each iteration, and runs the statements one after another.

    for v: declare a; s1; s2  ->  declare a[E]; for v: s1; for v: s2

    The first `together` statements stay in one loop. This is sound because iterations share nothing except
    the locals, which become private, and outputs, which each iteration writes at different places.
    """

    def change(loop: For) -> Body:
        old = {
            s.buffer: replace(s.buffer, elements=s.buffer.elements * loop.extent)
            for s in _declared(loop, locals_)
        }
        if not old:
            return (loop,)
        require_own_outputs(loop)
        shared = [b.name for b in _declared_in(loop.body) if b not in old]
        if shared:
            raise ScheduleError(f"loop {var} also declares {shared[0]}, which would be shared")

        def widen(place: BufferPlace) -> BufferPlace:
            new = old.get(place.buffer)
            if new is None:
                return place
            return replace(place, buffer=new, index=place.index + variable(var) * place.buffer.elements)

        rest = [map_places(s, widen) for s in loop.body if not (isinstance(s, Declare) and s.buffer in old)]
        groups = [tuple(rest[:together]), *((s,) for s in rest[together:])]
        return (*(Declare(b) for b in old.values()), *(replace(loop, body=group) for group in groups))

    return change_loops(proc, var, change)


def decompose_reduction(proc: Proc, var: str, first: str) -> Proc:
    """for v: declare a; a = 0; for k: a += x; y = a -> declare a[E]; for first: a = 0; for v: for k: ...

    Moves the initialization of a loop's sums to a separate loop before it. Each iteration then has private
    sums.
    """

    def change(loop: For) -> Body:
        begins, rest = _begun(loop)
        if not begins:
            raise ScheduleError(f"loop {var} does not start with a value that it continues")
        require_own_outputs(loop)
        old = {
            s.buffer: replace(s.buffer, elements=s.buffer.elements * loop.extent)
            for s in loop.body
            if isinstance(s, Declare)
        }

        def widen(place: BufferPlace) -> BufferPlace:
            new = old.get(place.buffer)
            own = place.index + variable(var) * place.buffer.elements
            return place if new is None else replace(place, buffer=new, index=own)

        starts = tuple(substitute(map_places(s, widen), {var: variable(first)}) for s in begins)
        turns = tuple(map_places(s, widen) for s in rest)
        declared = tuple(Declare(buffer) for buffer in old.values())
        return (*declared, For(first, loop.extent, starts), replace(loop, body=turns))

    return change_loops(proc, var, change, (first,))


def _begun(loop: For) -> tuple[Body, Body]:
    """Returns the stores that begin a loop's body, and the rest, which continues from the stored values."""
    stmts = [stmt for stmt in loop.body if not isinstance(stmt, Declare)]
    count = next((n for n, stmt in enumerate(stmts) if not isinstance(stmt, Store)), len(stmts))
    begins, rest = tuple(stmts[:count]), tuple(stmts[count:])
    begun = {stmt.place.buffer: stmt.place for stmt in begins if isinstance(stmt, Store)}
    later = [place for stmt in rest for place in places_of(stmt)]
    own = {s.buffer for s in loop.body if isinstance(s, Declare)}
    if not begun.keys() <= {place.buffer for place in later}:
        return (), rest
    changed = {s.place.buffer for s in walk(rest) if isinstance(s, Store | Accumulate)} | begun.keys()
    read = {e.place.buffer for s in begins if isinstance(s, Store) for e in loads_of(s.value)}
    if read & changed:
        raise ScheduleError(f"loop {loop.var} starts with a value that its iterations write")
    if any(place != begun.get(place.buffer, place) for place in later if place.buffer not in own):
        raise ScheduleError(f"iterations of {loop.var} continue values of other iterations")
    return begins, rest


def unroll_within(proc: Proc, var: str, statements: int) -> Proc:
    """Unrolls the loop as far as the body stays within that many statements."""
    loops = [s for s in walk(proc.body) if isinstance(s, For) and s.var == var]
    if not loops:
        raise ScheduleError(f"{proc.name} has no loop {var}")
    size = max(written_out(loop.body) for loop in loops)
    times = statements // max(size, 1)
    extent = max(loop.extent for loop in loops)
    if times < 1:
        raise ScheduleError(f"an iteration of {var} has {size} statements, more than {statements}")
    return unroll(proc, var) if times >= extent else unroll_by(proc, var, times)


def written_out(body: Body) -> int:
    """Returns the number of C statements after unrolling."""
    count = 0
    for stmt in body:
        match stmt:
            case For(_, extent, inner, is_unrolled):
                count += written_out(inner) * (extent if is_unrolled else 1)
            case Store() | Accumulate() | Invoke():
                count += 1
    return count


def _declared(loop: For, names: Sequence[str]) -> list[Declare]:
    return [s for s in loop.body if isinstance(s, Declare) and s.buffer.name in names]


def pad_reduction(proc: Proc, var: str, multiple: int, zeros: str) -> Proc:
    """Lengthens a reduction to a multiple. Sound because buffer `zeros` is packed with zeros there.

    The other factor is then read past its end, which its row format must permit. Multiplied by zero, it adds
    nothing.
    """

    def change(loop: For) -> Body:
        for stmt in walk(loop.body):
            if isinstance(stmt, Store | Declare):
                raise ScheduleError(f"loop {var} must only accumulate to be extended")
            if isinstance(stmt, Accumulate) and zeros not in {
                e.place.buffer.name for e in loads_of(stmt.value)
            }:
                raise ScheduleError(f"a sum in loop {var} does not read {zeros}")
        return (replace(loop, extent=-(-loop.extent // multiple) * multiple),)

    return change_loops(proc, var, change)


def substitute_loop(loop: For, value: Affine) -> Body:
    """Returns the loop's body with its variable replaced."""
    return tuple(substitute(stmt, {loop.var: value}) for stmt in loop.body)


def require_own_outputs(loop: For) -> None:
    for stmt in walk(loop.body):
        if isinstance(stmt, Store | Accumulate) and stmt.place.buffer.role is not Role.LOCAL:
            _require_own_place(stmt.place, loop)


def _require_own_stores(body: Body, loops: Sequence[For]) -> None:
    """Raises ScheduleError if iterations of a loop store to the same place outside the body's locals.

    A running minimum or maximum of integers is allowed, since its order does not matter.
    """
    own = [s.buffer for s in walk(body) if isinstance(s, Declare)]
    for stmt in walk(body):
        if isinstance(stmt, Store) and stmt.place.buffer not in own and not _is_extreme(stmt):
            for loop in loops:
                _require_own_place(stmt.place, loop)


def _is_extreme(store: Store) -> bool:
    buffer = store.place.buffer
    match store.value:
        case Binary("min" | "max", Load(place), other) if place == store.place and buffer.dtype.is_integer:
            return buffer not in {each.place.buffer for each in loads_of(other)}
    return False


def _require_own_place(place: BufferPlace, loop: For) -> None:
    if loop.extent > 1 and not place.index.coefficient(loop.var):
        raise ScheduleError(
            f"loop {loop.var} writes {place.buffer.name} at the same position in all iterations"
        )


def _declared_in(body: Body) -> list[Buffer]:
    return [s.buffer for s in body if isinstance(s, Declare)]


def _only_child(loop: For, var: str) -> For:
    match loop.body:
        case (For() as nested,) if nested.var == var:
            return nested
    raise ScheduleError(f"loop {var} must be the only statement of loop {loop.var}")


def change_loops(proc: Proc, var: str, change: Callable[[For], Body], new: Sequence[str] = ()) -> Proc:
    """Applies `change` to every loop named `var`. `new` names the new loops, which must not shadow others."""
    found: list[For] = []
    body = _changed(proc, proc.body, var, change, new, found, frozenset())
    if not found:
        raise ScheduleError(f"{proc.name} has no loop {var}")
    return replace(proc, body=body)


def _changed(
    proc: Proc,
    body: Body,
    var: str,
    change: Callable[[For], Body],
    new: Sequence[str],
    found: list[For],
    around: frozenset[str],
) -> Body:
    """Returns the statements inside the loops `around` with every loop `var` changed and added to `found`.

    This is not nested in change_loops: a recursive closure references itself, so Python would free it, and
    the proc that it holds, late.
    """
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and stmt.var == var:
            found.append(stmt)
            _require_free(proc, new, around | {s.var for s in walk(stmt.body) if isinstance(s, For)})
            result.extend(change(stmt))
        elif isinstance(stmt, For):
            inside = _changed(proc, stmt.body, var, change, new, found, around | {stmt.var})
            result.append(stmt if inside is stmt.body else replace(stmt, body=inside))
        else:
            result.append(stmt)
    is_as_it_was = len(result) == len(body) and all(map(operator.is_, result, body))
    return body if is_as_it_was else tuple(result)


def _require_free(proc: Proc, new: Sequence[str], taken: frozenset[str]) -> None:
    hidden = next((name for name in new if name in taken), None)
    if hidden is not None:
        raise ScheduleError(f"{proc.name} already has a loop {hidden}")


# Expands loops marked as unrolled. The result matches the C code.


def expand_unrolled(
    body: tuple[Stmt, ...], values: Mapping[str, Affine] = MappingProxyType({})
) -> tuple[Stmt, ...]:
    """Expands unrolled loops and loops of extent 1. `values` has the variables of expanded outer loops."""
    result: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, For):
            result.append(substitute(stmt, values))
        elif stmt.unrolled or stmt.extent == 1:
            for value in range(stmt.extent):
                once = expand_unrolled(stmt.body, {**values, stmt.var: to_affine(value)})
                declares = any(isinstance(s, Declare) for s in once)
                result.extend((For(stmt.var, 1, once),) if declares else once)
        else:
            result.append(replace(stmt, body=expand_unrolled(stmt.body, values)))
    match result:
        case [For(_, 1, alone)]:  # a block with one statement needs no block of this loop
            return alone
    return tuple(result)
