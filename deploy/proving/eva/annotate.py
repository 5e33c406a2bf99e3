"""Marks loops that EVA should unroll, with comments in a copy of the C.

These are loops that increase sums, and the steps of the order, because later steps add to results of the
first. Without unrolling, a growing sum has no bound; unrolled, it is bounded by the weights. Other loops are
analyzed for all values of their variable at once, which is a hundred times faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_LOOP = re.compile(
    r"(?P<indent> *)for \((?:u?int32_t )?(?P<var>\w+) = 0; (?P=var) < (?P<turns>\d+)u?; \+\+(?P=var)\) \{"
)
_STEP = "step"  # loop variable of the order's loops
_GROWS = re.compile(r"^ *(\w+) \+= ", re.MULTILINE)
_KEPT_SUMS = re.compile(r"\bsums\[")  # of layers that accumulate row by row, in separate elements
_ANNOTATION = re.compile(r"^ */\*@ loop unroll \d+; \*/\n", re.MULTILINE)


def annotated(code: str) -> str:
    """Returns the C with a comment above each loop to unroll."""
    return "\n".join(_lines(code.split("\n")))


def without_annotations(code: str) -> str:
    """Removes these comments, to prove that the copy differs only in them."""
    return _ANNOTATION.sub("", code)


def _lines(lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        loop = _LOOP.match(line)
        is_step = loop is not None and loop["var"] == _STEP
        if loop and (is_step or _is_unrolled(_body(lines, number + 1, loop["indent"]))):
            yield f"{loop['indent']}/*@ loop unroll {loop['turns']}; */"
        yield line


def _body(lines: Sequence[str], begin: int, indent: str) -> str:
    end = next(n for n in range(begin, len(lines)) if lines[n].startswith(f"{indent}}}"))
    return "\n".join(lines[begin:end])


def _is_unrolled(body: str) -> bool:
    """Returns whether the loop adds to a variable that outlives an iteration."""
    grown = _GROWS.findall(body)
    begun = any(re.search(rf"^ *(?:const )?int\w+_t {name}\b", body, re.MULTILINE) for name in grown)
    return bool(grown and not begun) or bool(_KEPT_SUMS.search(body))
