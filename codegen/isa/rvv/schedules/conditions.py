"""The conditions that vectors of 32 bits put to a layer."""

from __future__ import annotations

from aot.ops.rounding import RequantRounding
from codegen.kernels.kernel import Site
from codegen.kernels.schedule import Condition


def _rounds_twice(site: Site) -> bool:
    return getattr(site.node.op, "rounding", None) is RequantRounding.DOUBLE


ROUNDED_TWICE = Condition[Site]("results rounded twice", _rounds_twice)
