"""Tells EVA which loops of generated C to unroll, by comments in a copy: those in which sums grow, and the
steps of the order, of which the first sets what later ones add to.

A sum over a loop of unknown turns has no bounds; turn by turn it has those of its weights. Other loops are
analyzed with a variable that stands for all its values at once, which takes a hundredth of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_LOOP = re.compile(
    r"(?P<indent> *)for \((?:u?int32_t )?(?P<var>\w+) = 0; (?P=var) < (?P<turns>\d+)u?; \+\+(?P=var)\) \{"
)
_STEP = "step"  # the variable of the order's loops
_GROWS = re.compile(r"^ *(\w+) \+= ", re.MULTILINE)
_KEPT_SUMS = re.compile(r"\bsums\[")  # of layers that add row by row: each has a place of its own
_ANNOTATION = re.compile(r"^ */\*@ loop unroll \d+; \*/\n", re.MULTILINE)


def annotated(code: str) -> str:
    """The C with a comment above each loop that EVA shall unroll."""
    return "\n".join(_lines(code.split("\n")))


def without_annotations(code: str) -> str:
    """The C as it was: a proof that the copy differs by comments only."""
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
    """True where the loop adds to a variable that lives longer than one turn."""
    grown = _GROWS.findall(body)
    begun = any(re.search(rf"^ *(?:const )?int\w+_t {name}\b", body, re.MULTILINE) for name in grown)
    return bool(grown and not begun) or bool(_KEPT_SUMS.search(body))
