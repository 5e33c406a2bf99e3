"""The order of a run in C: loops of steps in which each layer computes the rows that its readers need.

    for (uint32_t step = 0; step < 29u; ++step) {
        if (step < 25u) {
            conv2d_activation(run, step);
        }
        if (step >= 1u && step < 26u) {
            depthwise_activation_1(run, step - 1u);
        }
    }

Such a loop is printed if it reproduces the planned order exactly. Strides over short images can lead to
orders that no loop reproduces; these become tables that name the layer of each next row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from textwrap import fill

import numpy as np

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
    Linear,
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

_LONGEST_LOOP = 12  # calls in a loop without conditions
_LONGEST_PERIOD = 512  # entries; the search needs time for each
_ENTRIES_OF_A_LOOP = 16  # bytes of code of a loop over a part of a table
_MOST_CALLS = 40  # per step; beyond it, a table is shorter
_MOST_TRIED = 8  # periods
_COMMENT = 94  # characters per line
_SHORT = 64  # entries that are searched for a step that occurs only once
_ROW = Name(ROW_PARAMETER.name)
_RUN = Name(RUN.name)
_ADDRESS_OF_RUN = Prefix("&", _RUN)
_EVERY = "static LAYER"
_STEP, _NEXT, _LAYER = Name("step"), Name("next"), Name("layer")


@dataclass(frozen=True, slots=True)
class Period:
    """Repeating entries: `length` of them from position `first` on, `count` times."""

    first: int
    length: int
    count: int

    @property
    def saved(self) -> int:
        """Returns the table entries saved by storing the period once."""
        return self.length * (self.count - 1)


@dataclass(frozen=True, slots=True)
class Turn:
    """A call in a step: row `each` * step + `first` of a layer, if the layer has that row."""

    stage: int
    each: int  # rows of the layer per step
    first: int
    rows: int  # of the layer

    @property
    def begin(self) -> int:
        """Returns the first step with a row."""
        return -(self.first // self.each)

    @property
    def end(self) -> int:
        """Returns the step after the last one with a row."""
        return -((self.first - self.rows) // self.each)

    def later(self, steps: int) -> Turn:
        return Turn(self.stage, self.each, self.first + self.each * steps, self.rows)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A loop of steps with the same calls. A call is skipped if its layer has no such row."""

    turns: tuple[Turn, ...]

    @property
    def steps(self) -> int:
        return max(turn.end for turn in self.turns)

    def order(self) -> tuple[int, ...]:
        """Returns the layers in the order in which the loop computes their rows."""
        begin = min(turn.begin for turn in self.turns)
        steps = range(begin, self.steps)
        return tuple(turn.stage for step in steps for turn in self.turns if turn.begin <= step < turn.end)

    def groups(self) -> list[list[Turn]]:
        """Returns groups of consecutive calls that are skipped in the same steps."""
        found: list[list[Turn]] = []
        for turn in self.turns:
            if found and (found[-1][0].begin, found[-1][0].end) == (turn.begin, turn.end):
                found[-1].append(turn)
            else:
                found.append([turn])
        return found


@dataclass(frozen=True)
class OrderPart:
    """Layers with interleaved rows: the functions that compute them, and the table that they read."""

    functions: tuple[FunctionDefinition, ...]
    table: DefineTable | None = None


@dataclass(frozen=True)
class Order:
    parts: tuple[OrderPart, ...]
    body: tuple[Stmt, ...]  # of <model>_run; empty if the input is streamed


@dataclass(frozen=True)
class LayerCalls:
    """The functions of the layers, by number, and which of them have no row parameter."""

    functions: Sequence[str]
    rowless: AbstractSet[int]

    def call(self, stage: int, run: Expr, row: Expr) -> Stmt:
        return Do(FunctionCall(self.functions[stage], (run,) if stage in self.rowless else (run, row)))


def ordered_parts(order: Sequence[int]) -> list[tuple[int, ...]]:
    """Splits the order at positions where all layers that have begun have also ended."""
    last = {stage: i for i, stage in enumerate(order)}
    parts, start, end = [], 0, 0
    for i, stage in enumerate(order):
        end = max(end, last[stage])
        if i == end:
            parts.append(tuple(order[start : i + 1]))
            start = i + 1
    return parts


def run_order(order: Sequence[int], layers: LayerCalls) -> Order:
    """Returns loops for parts that a loop reproduces, and tables for others."""
    parts: list[OrderPart] = []
    body: list[Stmt] = []
    for part in ordered_parts(order):
        if is_loop(part):
            period = _whole_period(part)
            body += _repeated(part[:period], len(part) // period, layers)
            continue
        name = f"compute_to_{layers.functions[part[-1]]}"
        pipeline = find_pipeline(part)
        parts.append(_loop_of(pipeline, name, layers) if pipeline else _table_of(part, name, layers))
        body.append(Do(FunctionCall(name, (_ADDRESS_OF_RUN,))))
    return Order(tuple(parts), tuple(body))


def is_loop(part: tuple[int, ...]) -> bool:
    """Returns True if a part of the order is a loop without conditions, or a single call."""
    period = _whole_period(part)
    return period <= _LONGEST_LOOP and (period < len(part) or period == 1)


@lru_cache(maxsize=64)
def find_pipeline(part: tuple[int, ...]) -> Pipeline | None:
    """Returns the loop that reproduces this order with the fewest conditions, or None."""
    for first, length in _possible_steps(part):
        found = _pipeline(part, first, length)
        if found is not None and found.order() == part:
            return found
    return None


def _possible_steps(part: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yields (position, length) of entries that may be a whole step with every layer, repeated ones first."""
    every, longest = set(part), min(_MOST_CALLS, len(part) // 2)

    def is_whole(first: int, length: int) -> bool:
        return len(every) <= length <= longest and set(part[first : first + length]) == every

    periods = sorted(_periods(part), key=lambda period: (-period.saved, period.length))
    yield from [(p.first, p.length) for p in periods if is_whole(p.first, p.length)][:_MOST_TRIED]
    if len(part) <= _SHORT:
        windows = ((n, first) for n in range(len(every), longest + 1) for first in range(len(part) - n + 1))
        yield from ((first, n) for n, first in windows if is_whole(first, n))


def _pipeline(part: tuple[int, ...], first: int, length: int) -> Pipeline | None:
    """Returns the loop whose step is these entries, rotated so that it needs the fewest conditions."""
    step, rows, done = part[first : first + length], Counter(part), Counter(part[:first])
    each = Counter(step)
    turns: list[Turn] = []
    for stage in step:
        turns.append(Turn(stage, each[stage], done[stage], rows[stage]))
        done[stage] += 1
    rotated = (Pipeline((*turns[n:], *(turn.later(1) for turn in turns[:n]))) for n in range(length))
    best = min(rotated, key=lambda found: (len(found.groups()), found.turns[0].stage))
    begin = min(turn.begin for turn in best.turns)
    return Pipeline(tuple(turn.later(begin) for turn in best.turns))


def _loop_of(pipeline: Pipeline, name: str, layers: LayerCalls) -> OrderPart:
    body: list[Stmt] = []
    for group in pipeline.groups():
        calls = tuple(layers.call(turn.stage, _RUN, _row_of(turn)) for turn in group)
        is_due = _is_due(group[0], pipeline.steps)
        body += calls if is_due is None else (If(is_due, calls),)
    stages = [turn.stage for turn in pipeline.turns]
    walk = FunctionDefinition(
        kind=f"{_EVERY} void",
        name=name,
        params=(RUN,),
        body=(ForLoop("uint32_t", _STEP.name, unsigned(pipeline.steps), tuple(body)),),
        comment=fill(
            f"{layers.functions[min(stages)]} to {layers.functions[max(stages)]}: "
            "in each step, a layer computes the rows that its readers wait for.",
            _COMMENT,
        ),
    )
    return OrderPart((walk,))


def _row_of(turn: Turn) -> Expr:
    return plus(_STEP if turn.each == 1 else times(_STEP, turn.each), turn.first)


def _is_due(turn: Turn, steps: int) -> Expr | None:
    """Returns the condition that the layer has a row in this step; None if it always has."""
    if turn.end == turn.begin + 1:
        return Infix("==", _STEP, unsigned(turn.begin))
    begun, not_over = Infix(">=", _STEP, unsigned(turn.begin)), Infix("<", _STEP, unsigned(turn.end))
    if turn.begin and turn.end < steps:
        return Infix("&&", begun, not_over)
    return begun if turn.begin else not_over if turn.end < steps else None


def streamed_order(order: Sequence[int], layers: LayerCalls, receiver: int, rows: int, model: str) -> Order:
    """Returns the whole order in one table, which stops at a row that has not been pushed."""
    position, is_taken = Name("stream->position"), Name("is_taken")
    next_row = Subscript(Name("stream->next"), _LAYER)
    is_due = Infix("&&", Infix("==", _LAYER, unsigned(receiver)), Infix("<", _ROW, unsigned(rows)))
    step: tuple[Stmt, ...] = (
        Define(TypedName("const uint32_t", "layer"), Subscript(Name("order"), position)),
        Define(TypedName("const uint32_t", "row"), next_row),
        If(is_due, (If(is_taken, (Return(Name("false")),)), Assign(is_taken, Name("true")))),
        Do(Prefix("++", next_row)),
        _switch(set(order), 0, layers),
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
    return Order((OrderPart((walk,), _define("order", order)),), ())


def counter_type(part: Sequence[int]) -> str:
    """Returns the C type of a counter of a layer's rows."""
    return "uint8_t" if max(part.count(stage) for stage in set(part)) < 256 else "uint16_t"


def _whole_period(part: tuple[int, ...]) -> int:
    """Returns the number of entries after which the layers repeat until the end."""
    whole = len(part)
    return next(n for n in range(1, whole + 1) if whole % n == 0 and part[:n] * (whole // n) == part)


def find_period(part: Sequence[int]) -> Period | None:
    """Returns the repetition that saves most, or None if a loop would cost as much as it saves."""
    best = max(_periods(part), key=lambda period: (period.saved, -period.length), default=Period(0, 0, 1))
    return best if best.saved > _ENTRIES_OF_A_LOOP else None


def _periods(part: Sequence[int]) -> Iterator[Period]:
    """Yields the longest repetition of each length."""
    steps = np.asarray(part)
    for length in range(1, min(len(part) // 2, _LONGEST_PERIOD) + 1):
        different = np.flatnonzero(steps[length:] != steps[:-length])
        edges = np.concatenate(([-1], different, [len(part) - length]))
        lengths = np.diff(edges) - 1  # of the runs in which each entry repeats after that many
        longest = int(np.argmax(lengths))
        found = Period(int(edges[longest]) + 1, length, int(lengths[longest]) // length + 1)
        if found.count > 1:
            yield found


def _repeated(stages: tuple[int, ...], count: int, layers: LayerCalls) -> list[Stmt]:
    if count == 1:
        return [layers.call(stage, _ADDRESS_OF_RUN, Number(0)) for stage in stages]
    calls = (layers.call(stage, _ADDRESS_OF_RUN, _row(stages, n)) for n, stage in enumerate(stages))
    return [ForLoop("uint32_t", _ROW.name, unsigned(count), tuple(calls))]


def _row(stages: tuple[int, ...], position: int) -> Expr:
    """Returns the row of the layer at that position, if the loop counts repetitions of the period."""
    each, before = stages.count(stages[position]), stages[:position].count(stages[position])
    return plus(_ROW if each == 1 else times(_ROW, each), before)


def _table_of(part: Sequence[int], name: str, layers: LayerCalls) -> OrderPart:
    """Returns a table. Each entry is the layer whose next row is computed, relative to the first layer."""
    first, last = min(part), max(part)
    period = find_period(part)
    of_name = name.removeprefix("compute_")
    table = _folded(f"order_{of_name}", [stage - first for stage in part], period)
    next_row = f"next_row_{of_name}"
    counters = TypedName(counter_type(part), _NEXT.name, last - first + 1)
    compute = FunctionDefinition(
        kind="static void",
        name=next_row,
        params=(RUN, TypedName(f"{counters.c_type} *", _NEXT.name), TypedName("uint32_t", _LAYER.name)),
        body=(
            Define(TypedName("const uint32_t", "row"), Postfix(Subscript(_NEXT, _LAYER), "++")),
            _switch(set(part), first, layers),
        ),
        comment="Computes the next row of a layer.",
    )

    walk = FunctionDefinition(
        kind=f"{_EVERY} void",
        name=name,
        params=(RUN,),
        body=(Define(counters, Literal("{0}")), *_loops_over(table, next_row, period)),
        comment=fill(
            f"{len(part):,} rows of {layers.functions[first]} to {layers.functions[last]} in the planned "
            "order: each entry of the table names the layer that computes its next row.",
            _COMMENT,
        ),
    )
    return OrderPart((compute, walk), table)


def _loops_over(table: DefineTable, next_row: str, period: Period | None) -> Iterator[Stmt]:
    """Yields the loops over the entries: before the period, of all its repetitions, after it."""

    def rows(begin: int, end: int) -> ForLoop:
        entry = Subscript(Name(table.name), Name("i"))
        call = Do(FunctionCall(next_row, (_RUN, _NEXT, entry)))
        start = Linear((), Number(begin)) if begin else None
        return ForLoop("uint32_t", "i", unsigned(end), (call,), first=start)

    entries = len(table.numbers)
    if period is None:
        yield rows(0, entries)
        return
    begin, end = period.first, period.first + period.length
    if begin:
        yield rows(0, begin)
    yield ForLoop("uint32_t", "turn", unsigned(period.count), (rows(begin, end),))
    if end < entries:
        yield rows(end, entries)


def _folded(name: str, part: Sequence[int], period: Period | None) -> DefineTable:
    """Returns the table with the period stored once."""
    if period is None:
        return _define(name, part)
    end = period.first + period.length
    entries = (*part[:end], *part[end + period.saved :])
    behind = ((end, "once"),) if end < len(entries) else ()
    return _define(name, entries, ((period.first, f"{period.count} times"), *behind))


def _define(name: str, entries: Sequence[int], notes: tuple[tuple[int, str], ...] = ()) -> DefineTable:
    return DefineTable("uint8_t" if max(entries) < 256 else "uint16_t", name, tuple(entries), notes)


def _switch(stages: AbstractSet[int], first: int, layers: LayerCalls) -> Stmt:
    return SwitchStatement(
        _LAYER, tuple((stage - first, (layers.call(stage, _RUN, _ROW),)) for stage in sorted(stages))
    )
