"""What a cost model sees of a candidate: its knobs, and numbers counted in its loop nest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import Point
from codegen.loops.ir import Accumulate, Declare, For, Invoke, Stmt, Store
from codegen.loops.print_c import expand_unrolled

NAMES = ("stores", "sums", "calls", "called", "loops", "turns", "locals", "statements", "constants")


def features(point: Point, kernel: Kernel) -> list[float]:
    """The knobs as they are; of what is counted the logarithm: costs are products."""
    counted = Counter[str]()
    for proc in kernel.procs:
        _count(expand_unrolled(proc.body), 1, counted)
    counted["constants"] = sum(array.nbytes for array in kernel.constants.values())
    return [*(float(value) for value in point.values()), *(math.log2(1 + counted[name]) for name in NAMES)]


def _count(body: Sequence[Stmt], times: int, counted: Counter[str]) -> None:
    """`times` is how often the body runs in one call of the kernel."""
    for stmt in body:
        counted["statements"] += 1
        match stmt:
            case For(_, extent, inner):
                counted["loops"] += times
                counted["turns"] += times * extent
                _count(inner, times * extent, counted)
            case Store():
                counted["stores"] += times
            case Accumulate():
                counted["sums"] += times
            case Declare(buffer):
                counted["locals"] = max(counted["locals"], buffer.elements)
            case Invoke(instruction):
                counted["calls"] += times
                counted["called"] += times * _executed(instruction.params, instruction.machine_instructions)


def _executed(params: Sequence[object], instructions: int) -> int:
    """Of one call: at least its parameters are handed over."""
    return instructions + len(params)
