"""The kernels of all ops. The file `<stem>.py` here computes the ops of `aot/ops/<stem>.py`.

A file with one op has its kernel as `KERNEL`, a file with several has them by name as `KERNELS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from aot.extensions import OPS, LazyTable, OpenTable, entry_of
from aot.ops import PLACES
from codegen.kernels.strategy import OpKernel

_VIEWS = frozenset({"reshape"})  # other views of the same memory, without computation


def _kernel_of(op_name: str) -> OpKernel:
    stem, _, _ = PLACES[op_name].partition(".")
    module = import_module(f"codegen.kernels.{stem}")
    found: OpKernel = module.KERNELS[op_name] if hasattr(module, "KERNELS") else module.KERNEL
    return found


KERNELS: Mapping[str, OpKernel] = OpenTable(
    LazyTable((name for name in PLACES if name not in _VIEWS), _kernel_of), OPS, entry_of("KERNEL", OpKernel)
)
