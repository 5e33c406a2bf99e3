"""The kernels of all ops: what `aot/ops/<stem>.py` means, `<stem>.py` here computes.

A file has the kernel of its one op as `KERNEL`, those of several by their names as `KERNELS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from aot.extensions import OPS, LazyTable, OpenTable, entry_of
from aot.ops import PLACES
from codegen.kernels.schedule import OpKernel

_VIEWS = frozenset({"reshape"})  # look at memory in another way: there is nothing to compute


def _kernel_of(op_name: str) -> OpKernel:
    stem, _, _ = PLACES[op_name].partition(".")
    module = import_module(f"codegen.kernels.{stem}")
    found: OpKernel = module.KERNELS[op_name] if hasattr(module, "KERNELS") else module.KERNEL
    return found


KERNELS: Mapping[str, OpKernel] = OpenTable(
    LazyTable((name for name in PLACES if name not in _VIEWS), _kernel_of), OPS, entry_of("KERNEL", OpKernel)
)
