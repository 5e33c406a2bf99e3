"""The order of a run in C: loops, tables that name the layer whose next row is due, and what walks them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from aot.records import dataclass
from codegen.c.tensor_rows import ROW_PARAMETER, RUN
from codegen.c.tree import (
    Assign,
    Define,
    DefineTable,
    Do,
    Expr,
    ForLoop,
    FunctionCall,
    FunctionDefinition,
    If,
    Infix,
    Literal,
    Name,
    Number,
    Postfix,
    Prefix,
    Return,
    Stmt,
    Subscript,
    SwitchStatement,
    TypedName,
    plus,
    times,
    unsigned,
)

_LONGEST_LOOP = 12  # calls; longer ones are tables
_LONGEST_PERIOD = 512  # steps: searching takes time for each
_ENTRIES_OF_A_LOOP = 16  # bytes of code that going back takes
_ROW = Name(ROW_PARAMETER.name)
_ADDRESS_OF_RUN = Prefix("&", Name(RUN.name))
_EVERY = "static LAYER"
_STEP = Name("i")


@dataclass(frozen=True, slots=True)
class Period:
    """Steps that come again and again: `length` of them from position `first` on, so often."""

    first: int
    length: int
    count: int

    @property
    def saved(self) -> int:
        """Entries that a table does without when it has the period once."""
        return self.length * (self.count - 1)


@dataclass(frozen=True)
class OrderTable:
    """A table of the layers that are due, step by step, and the function that computes their rows."""

    table: DefineTable
    walk: FunctionDefinition


@dataclass(frozen=True)
class Order:
    tables: tuple[OrderTable, ...]
    body: tuple[Stmt, ...]  # of <model>_run; empty where the input is streamed


def ordered_parts(order: Sequence[int]) -> list[tuple[int, ...]]:
    """The order cut wherever everything that has begun has also ended."""
    last = {stage: i for i, stage in enumerate(order)}
    parts, start, end = [], 0, 0
    for i, stage in enumerate(order):
        end = max(end, last[stage])
        if i == end:
            parts.append(tuple(order[start : i + 1]))
            start = i + 1
    return parts


def run_order(order: Sequence[int], run_once: AbstractSet[int]) -> Order:
    """Loops where the same layers come again, tables elsewhere; layers that are `run_once` take no row."""
    tables: list[OrderTable] = []
    body: list[Stmt] = []
    for part in ordered_parts(order):
        if is_loop(part):
            period = _period(part)
            body += _repeated(part[:period], len(part) // period, run_once)
        else:
            body.append(Do(FunctionCall(f"run_order_{len(tables)}", (_ADDRESS_OF_RUN,))))
            tables.append(_order_table(len(tables), part, run_once))
    return Order(tuple(tables), tuple(body))


def is_loop(part: tuple[int, ...]) -> bool:
    """Says of a part of the order that it is a loop or a single call; else it is a table."""
    period = _period(part)
    return period <= _LONGEST_LOOP and (period < len(part) or period == 1)


def streamed_order(
    order: Sequence[int], run_once: AbstractSet[int], receiver: int, rows: int, model: str
) -> Order:
    """The whole order in one table; it stops where a row is due that has not been pushed."""
    position, layer, is_taken = Name("stream->position"), Name("layer"), Name("is_taken")
    next_row = Subscript(Name("stream->next"), layer)
    is_due = Infix("&&", Infix("==", layer, unsigned(receiver)), Infix("<", _ROW, unsigned(rows)))
    step: tuple[Stmt, ...] = (
        Define(TypedName("const uint32_t", "layer"), Subscript(Name("order_0"), position)),
        Define(TypedName("const uint32_t", "row"), next_row),
        If(is_due, (If(is_taken, (Return(Name("false")),)), Assign(is_taken, Name("true")))),
        Do(Prefix("++", next_row)),
        _switch(layer, set(order), run_once),
    )
    walk = FunctionDefinition(
        kind=f"{_EVERY} bool",
        name="run_until_a_row_is_due",
        params=(RUN, TypedName(f"struct {model}_stream *", "stream")),
        body=(
            Define(TypedName("bool", "is_taken"), Name("false")),
            ForLoop("", "stream->position", unsigned(len(order)), step),
            Return(Name("true")),
        ),
        comment="Goes on until the next row of the input is due or all is done; true when all is done.",
    )
    return Order((OrderTable(_table(0, order), walk),), ())


def counter_type(part: Sequence[int]) -> str:
    """The C type of a counter of a layer's rows."""
    return "uint8_t" if max(part.count(stage) for stage in set(part)) < 256 else "uint16_t"


def _period(part: tuple[int, ...]) -> int:
    """The number of steps after which the layers come again in the same way."""
    whole = len(part)
    return next(n for n in range(1, whole + 1) if whole % n == 0 and part[:n] * (whole // n) == part)


def find_period(part: Sequence[int]) -> Period | None:
    """The repetition that saves most; None where a loop would take as much as it saves."""
    steps = np.asarray(part)
    best = Period(0, 0, 1)
    for length in range(1, min(len(part) // 2, _LONGEST_PERIOD) + 1):
        different = np.flatnonzero(steps[length:] != steps[:-length])
        edges = np.concatenate(([-1], different, [len(part) - length]))
        lengths = np.diff(edges) - 1  # of the stretches in which each step comes again after so many
        longest = int(np.argmax(lengths))
        found = Period(int(edges[longest]) + 1, length, int(lengths[longest]) // length + 1)
        best = found if found.saved > best.saved else best
    return best if best.saved > _ENTRIES_OF_A_LOOP else None


def _call(stage: int, run: Expr, row: Expr, run_once: AbstractSet[int]) -> Stmt:
    return Do(FunctionCall(f"layer_{stage}", (run,) if stage in run_once else (run, row)))


def _repeated(stages: tuple[int, ...], count: int, run_once: AbstractSet[int]) -> list[Stmt]:
    if count == 1:
        return [_call(stage, _ADDRESS_OF_RUN, Number(0), run_once) for stage in stages]
    calls = (_call(stage, _ADDRESS_OF_RUN, _row(stages, n), run_once) for n, stage in enumerate(stages))
    return [ForLoop("uint32_t", _ROW.name, unsigned(count), tuple(calls))]


def _row(stages: tuple[int, ...], position: int) -> Expr:
    """The row of its layer that is due there, where the loop counts the times that all of them have come."""
    each, before = stages.count(stages[position]), stages[:position].count(stages[position])
    return plus(_ROW if each == 1 else times(_ROW, each), before)


def _table(number: int, part: Sequence[int], notes: tuple[tuple[int, str], ...] = ()) -> DefineTable:
    return DefineTable("uint8_t" if max(part) < 256 else "uint16_t", f"order_{number}", tuple(part), notes)


def _order_table(number: int, part: Sequence[int], run_once: AbstractSet[int]) -> OrderTable:
    """Each entry of the table names the layer whose next row is computed."""
    period = find_period(part)
    first, last = min(part), max(part)
    layer = Subscript(Name(f"order_{number}"), _STEP)
    place = Infix("-", layer, Number(first)) if first else layer
    step: tuple[Stmt, ...] = (
        Define(TypedName("const uint32_t", "row"), Postfix(Subscript(Name("next"), place), "++")),
        _switch(layer, set(part), run_once),
    )
    table = _table(number, part) if period is None else _folded(number, part, period)
    if period is not None:
        step = (*step, _again(part, period))
    walk = FunctionDefinition(
        kind=f"{_EVERY} void",
        name=f"run_order_{number}",
        params=(RUN,),
        body=(
            Define(TypedName(counter_type(part), "next", last - first + 1), Literal("{0}")),
            _walk(len(table.numbers), step, goes_back=period is not None),
        ),
        comment=f"{len(part):,} rows of layers {first} to {last} in the planned order:\n"
        "each entry names the layer that computes its next row.",
    )
    return OrderTable(table, walk)


def _walk(entries: int, step: tuple[Stmt, ...], goes_back: bool) -> ForLoop:
    """The loop over the table; signed if it jumps back, since the index is -1 before a period at entry 0."""
    if goes_back:
        return ForLoop("int32_t", _STEP.name, Number(entries), step)
    return ForLoop("uint32_t", _STEP.name, unsigned(entries), step)


def _folded(number: int, part: Sequence[int], period: Period) -> DefineTable:
    """The table with the period once."""
    end = period.first + period.length
    steps = (*part[:end], *part[end + period.saved :])
    behind = ((end, "once"),) if end < len(steps) else ()
    return _table(number, steps, ((period.first, f"{period.count} times"), *behind))


def _again(part: Sequence[int], period: Period) -> Stmt:
    """Goes back to the first step of the period, until the layer of its last step has done all these rows."""
    end = period.first + period.length
    stage = part[end - 1]
    rows = part[: end + period.saved].count(stage)
    is_end = Infix("==", _STEP, Number(end - 1))
    # The counter, not `row`: that would have to outlive the call, in a register or on the stack.
    is_left = Infix("<", Subscript(Name("next"), Number(stage - min(part))), unsigned(rows))
    again = Assign(_STEP, Number(period.length), "-=")
    return If(Infix("&&", is_end, is_left), (again,), comment="repeat the period")


def _switch(value: Expr, stages: Iterable[int], run_once: AbstractSet[int]) -> Stmt:
    run = Name(RUN.name)
    return SwitchStatement(
        value, tuple((stage, (_call(stage, run, _ROW, run_once),)) for stage in sorted(stages))
    )
