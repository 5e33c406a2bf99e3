"""Loads the strategies of each op from an instruction set's table."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from aot.extensions import LazyTable
from codegen.kernels.strategy import Strategy


def listed_strategies(
    package: str, table: Mapping[str, tuple[str, ...]]
) -> Mapping[str, tuple[Strategy, ...]]:
    """Returns the strategies by op, best first. `table` is the package's: module -> its ops."""

    def load(op: str) -> tuple[Strategy, ...]:
        modules = [module for module, ops in table.items() if op in ops]
        return tuple(import_module(f"{package}.{module}").STRATEGY for module in modules)

    return LazyTable((op for ops in table.values() for op in ops), load)
