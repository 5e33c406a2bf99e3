"""Classifies instructions into the categories in which cycles are reported."""

from __future__ import annotations

from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.thumb import LOOP_ENDS

LOADS, PRODUCTS, WIDENING = "loads", "products", "widening"
REQUANTISATION, STORES, BRANCHES = "requantisation", "stores", "branches"
OTHER, FLASH_WAITS = "other", "flash waits"
PARTS = (LOADS, PRODUCTS, WIDENING, REQUANTISATION, STORES, BRANCHES, OTHER, FLASH_WAITS)
_BY_KIND = (("load", LOADS), ("store", STORES), ("float_multiply_add", PRODUCTS))
_BRANCHES = {
    "branch",
    "compare_branch",
    "call",
    "branch_register",
    "call_register",
    "table_branch",
    "move_pc",
}
_BY_NAME = (
    (
        ("smmul", "smmla", "smmls", "ssat", "usat", "smull", "smlal", "umull", "umlal", "qadd", "qsub", "qd"),
        REQUANTISATION,
    ),
    (("vqrdmulh", "vqdmulh", "vrshl", "vqmov", "vqadd", "vmax", "vmin", "vqshrn", "vqrshrn"), REQUANTISATION),
    (("mulh", "max", "min"), REQUANTISATION),  # of RISC-V
    (("vmla", "vrmla", "vmul"), PRODUCTS),
    (("vmovl",), WIDENING),
    (("smla", "smul", "smua", "smus", "mul", "mla", "mls"), PRODUCTS),
    (("sxt", "uxt", "pkh", "sadd", "ssub", "sext", "zext"), WIDENING),
)


def is_branch(one: MachineInstruction) -> bool:
    """Returns whether the next executed instruction may be another than the following one."""
    return one.kind in _BRANCHES or one.name in LOOP_ENDS or "pc" in one.writes


def part_of(one: MachineInstruction) -> str:
    """Returns one of PARTS. 64-bit products count as requantization, their use in int8 models."""
    if one.kind in _BRANCHES:
        return BRANCHES
    by_kind = (part for start, part in _BY_KIND if one.kind.startswith(start))
    by_name = (part for starts, part in _BY_NAME if one.name.startswith(starts))
    return next(by_kind, None) or next(by_name, OTHER)
