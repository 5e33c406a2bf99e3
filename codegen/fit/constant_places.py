"""Assigns constants to memories. The first rule of the user that matches a layer counts."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from aot.errors import BoardError, InputError, did_you_mean
from aot.target import Target
from codegen.compile_kinds import ConstantRule
from codegen.lower.stages import LoweredStage

WITH_THE_CODE = ""


def constant_regions(
    stages: Sequence[LoweredStage], rules: Sequence[ConstantRule], target: Target
) -> tuple[str, ...]:
    """Returns the region of each stage's constants, or WITH_THE_CODE. Raises BoardError, InputError."""
    for rule in rules:
        _require_region(rule, target)
        _require_layer(rule, stages)
    return asked_regions(stages, rules)


def asked_regions(stages: Sequence[LoweredStage], rules: Sequence[ConstantRule]) -> tuple[str, ...]:
    """Like `constant_regions`, for rules that were checked or will be."""
    return tuple(_region(number, stage, rules) for number, stage in enumerate(stages))


def _region(number: int, stage: LoweredStage, rules: Sequence[ConstantRule]) -> str:
    return next((rule.region for rule in rules if _names(rule, number, stage)), WITH_THE_CODE)


def is_named(number: int, stage: LoweredStage, rules: Sequence[ConstantRule]) -> bool:
    """Returns True if the user has chosen the memory of that stage's constants."""
    return any(_names(rule, number, stage) for rule in rules)


def _names(rule: ConstantRule, number: int, stage: LoweredStage) -> bool:
    return any(fnmatchcase(name, rule.pattern) for name in (stage.op, stage.name, f"layer{number}"))


def _require_region(rule: ConstantRule, target: Target) -> None:
    if target.constant_space:
        raise BoardError("the constants of this board's core must be in flash")
    known = [region.name for region in target.regions]
    if rule.region not in known:
        raise BoardError(
            f'"{rule.region}" is not a memory of this board{did_you_mean(rule.region, known)}',
            hint=f"--constants accepts: {', '.join(known) or 'nothing without a board'}",
        )


def _require_layer(rule: ConstantRule, stages: Sequence[LoweredStage]) -> None:
    """Raises InputError if the rule matches no layer with constants."""
    there = [(number, stage) for number, stage in enumerate(stages) if stage.kernel.constants]
    if not any(_names(rule, number, stage) for number, stage in there):
        ops = ", ".join(sorted({stage.op for _, stage in there})) or "none"
        raise InputError(
            f'no layer with constants is called "{rule.pattern}"',
            f"layers with constants: {ops}",
            "give an op, a layer's name or layer3, with * as a wildcard; deploy inspect MODEL --layers "
            "lists them",
        )
