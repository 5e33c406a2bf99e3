"""The C of an order: tables that name the layer whose next row is due, and what walks them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from codegen.constants import constant

_LINE = 100
_LONGEST_LOOP = 12  # calls; longer ones are tables


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


def ordered_runs(
    order: Sequence[int], rowless: AbstractSet[int], space: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(tables with their dispatchers, statements of the run): loops where the same layers come again.

    Layers that are `rowless` run once and take no row.
    """
    tables: list[str] = []
    body: list[str] = []
    for part in ordered_parts(order):
        period = _period(part)
        if period <= _LONGEST_LOOP and (period < len(part) or period == 1):
            body += _repeat(part[:period], len(part) // period, rowless)
        else:
            body.append(f"    run_order_{len(tables)}(&run);")
            tables.append(f"{_table(len(tables), part, space)}\n\n{_dispatcher(len(tables), part, rowless)}")
    return tuple(tables), tuple(body)


def streamed_order(
    order: Sequence[int], rowless: AbstractSet[int], receiver: int, rows: int, model: str, space: str
) -> str:
    """The whole order in one table; it stops where a row is due that has not been pushed."""
    return "\n".join(
        [
            _table(0, order, space),
            "",
            "/* Goes on until the next row of the input is due or all is done; true when all is done. */",
            "static LAYER bool run_until_a_row_is_due(",
            f"    const struct run *run, struct {model}_stream *stream)",
            "{",
            "    bool is_taken = false;",
            f"    for (; stream->position < {len(order)}u; ++stream->position) {{",
            "        const uint32_t layer = order_0[stream->position];",
            "        const uint32_t row = stream->next[layer];",
            f"        if (layer == {receiver}u && row < {rows}u) {{",
            "            if (is_taken) {",
            "                return false;",
            "            }",
            "            is_taken = true;",
            "        }",
            "        ++stream->next[layer];",
            "        switch (layer) {",
            *_cases(set(order), rowless),
            "        }",
            "    }",
            "    return true;",
            "}",
        ]
    )


def counter_type(part: Sequence[int]) -> str:
    """Of a counter of a layer's rows."""
    return "uint8_t" if max(part.count(stage) for stage in set(part)) < 256 else "uint16_t"


def _period(part: tuple[int, ...]) -> int:
    """After how many firings the layers come again in the same way."""
    whole = len(part)
    return next(n for n in range(1, whole + 1) if whole % n == 0 and part[:n] * (whole // n) == part)


def _call(stage: int, run: str, row: str, rowless: AbstractSet[int]) -> str:
    return f"layer_{stage}({run}{'' if stage in rowless else f', {row}'});"


def _repeat(stages: tuple[int, ...], times: int, rowless: AbstractSet[int]) -> list[str]:
    if times == 1:
        return [f"    {_call(stage, '&run', '0', rowless)}" for stage in stages]
    return [
        f"    for (uint32_t row = 0; row < {times}u; ++row) {{",
        *(f"        {_call(stage, '&run', _row(stages, n), rowless)}" for n, stage in enumerate(stages)),
        "    }",
    ]


def _row(stages: tuple[int, ...], position: int) -> str:
    """Which row of its layer is due there, where the loop counts the times that all of them have come."""
    each, before = stages.count(stages[position]), stages[:position].count(stages[position])
    row = "row" if each == 1 else f"row * {each}u"
    return f"{row} + {before}u" if before else row


def _table(number: int, part: Sequence[int], space: str) -> str:
    lines, line = [], "   "
    for stage in part:
        text = f" {stage},"
        if len(line) + len(text) > _LINE:
            lines.append(line)
            line = "   "
        line += text
    return "\n".join(
        [f"static {constant(space)}{_table_type(part)} order_{number}[{len(part)}] = {{", *lines, line, "};"]
    )


def _table_type(part: Sequence[int]) -> str:
    return "uint8_t" if max(part) < 256 else "uint16_t"


def _dispatcher(number: int, part: Sequence[int], rowless: AbstractSet[int]) -> str:
    """Each entry of the table names the layer whose next row is computed."""
    first, last = min(part), max(part)
    base = f" - {first}" if first else ""
    counter = counter_type(part)
    lines = [
        "/* Rows in the order that needs least memory: an entry names the layer whose next row is due. */",
        f"static LAYER void run_order_{number}(const struct run *run)",
        "{",
        f"    {counter} next[{last - first + 1}] = {{0}};",
        f"    for (uint32_t i = 0; i < {len(part)}u; ++i) {{",
        f"        const uint32_t row = next[order_{number}[i]{base}]++;",
        f"        switch (order_{number}[i]) {{",
        *_cases(set(part), rowless),
        "        }",
        "    }",
        "}",
    ]
    return "\n".join(lines)


def _cases(stages: Iterable[int], rowless: AbstractSet[int]) -> list[str]:
    lines = []
    for stage in sorted(stages):
        lines += [
            f"        case {stage}:",
            f"            {_call(stage, 'run', 'row', rowless)}",
            "            break;",
        ]
    return [*lines, "        default:", "            break;"]
