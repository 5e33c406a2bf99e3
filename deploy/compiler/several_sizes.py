"""Models with several input sizes: compiles each size, and sums up their resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aot.errors import InputError
from artifact.facts import ModelFacts
from codegen.axis_sizes import MOST_VARIANTS, each_shapes, is_open
from codegen.job import ImportedModel, import_data
from codegen.options import CompileOptions
from deploy.cli.console import table


@dataclass(frozen=True)
class SizeCost:
    """The cost of one size in firmware with several."""

    facts: ModelFacts
    shared_bytes: int  # of constants shared with earlier sizes


def require_one_size(options: CompileOptions, what: str) -> None:
    """Raises InputError if several sizes are given to a command that supports one."""
    if is_open(options.shapes):
        raise InputError(f"{what} needs one size for each input, and --shape gives several", hint=_ONE)


_ONE = "choose one, for example --shape x=1,3,32,32; deploy compile, run, verify and connect accept several"


def each_size(
    model: ImportedModel, options: CompileOptions
) -> Iterator[tuple[ImportedModel, CompileOptions]]:
    """Yields the model at each size with its options, the largest first; that one keeps the model's name."""
    shapes = each_shapes(options.shapes)
    _require_possible(options, len(shapes))
    first: ImportedModel | None = None
    for number, (word, fixed) in enumerate(shapes):
        name = model.name if number == 0 else f"{model.name}_{word}"
        known = replace(options, shapes=fixed, name=options.name if number == 0 else name)
        made = import_data(model.file, Path(model.source_name), replace(known, name=None))
        first = first or made
        _require_same_edges(first, made)
        yield replace(made, name=name), known


def _require_same_edges(first: ImportedModel, other: ImportedModel) -> None:
    """Raises InputError if the number of inputs or outputs depends on the size of a sequence."""
    for kind in ("inputs", "outputs"):
        ours, theirs = (", ".join(getattr(each.graph, kind)) for each in (first, other))
        if ours != theirs:
            raise InputError(
                f"the {kind} are {ours} at one size and {theirs} at another, but must be the same",
                hint="give each sequence one length, for example --shape x=3",
            )


def _require_possible(options: CompileOptions, count: int) -> None:
    if count > MOST_VARIANTS:
        raise InputError(
            f"--shape gives {count} sizes, the limit is {MOST_VARIANTS}, because each has its own code",
            hint="name those that you use, with 16/32/64 in place of 16..64",
        )
    for is_so, what in (
        (options.weights_external, "--weights external: a cartridge holds the weights of one size"),
        (options.tables, "--tables: a table has one size"),
    ):
        if is_so:
            raise InputError(f"several sizes are not possible with {what}", hint=_ONE)


def require_together(facts: Sequence[ModelFacts]) -> None:
    """Raises InputError for sizes that cannot share an arena."""
    first = facts[0]
    if any(each.keeps_state for each in facts):
        raise InputError(f"{first.name} keeps state between runs, which sizes cannot share", hint=_ONE)
    for each in facts:
        theirs, ours = ([arena.region for arena in of.arenas] for of in (each, first))
        if theirs != ours:
            raise InputError(
                f"{each.name} uses {' and '.join(theirs) or 'one memory'}, "
                f"{first.name} uses {' and '.join(ours)}",
                hint="give all of them the same memories with --pool",
            )


def together(facts: Sequence[ModelFacts]) -> ModelFacts:
    """Returns the resources of all sizes: the largest arena, and the sum of constants and code."""
    most = max(facts, key=lambda each: each.arena_bytes)
    return replace(
        most,
        stack_bytes_estimate=max(each.stack_bytes_estimate for each in facts),
        constants_bytes=sum(each.constants_bytes for each in facts),
        code_bytes_estimate=sum(each.code_bytes_estimate for each in facts),
    )


def sizes_page(costs: Sequence[SizeCost]) -> str:
    """Returns a table of the resources of each size, and of all."""
    whole = together([each.facts for each in costs])
    rows = [
        (
            each.facts.name,
            ", ".join(f"{spec.name} {list(spec.shape)}" for spec in each.facts.inputs),
            f"{each.facts.arena_bytes:,}",
            f"{each.facts.constants_bytes:,}",
            f"{each.shared_bytes:,}",
            f"{each.facts.code_bytes_estimate:,}",
        )
        for each in costs
    ]
    rows.append(
        (
            "all",
            "",
            f"{whole.arena_bytes:,}",
            f"{whole.constants_bytes:,}",
            f"{sum(each.shared_bytes for each in costs):,}",
            f"{whole.code_bytes_estimate:,}",
        )
    )
    return table(("size", "inputs", "arena", "constants", "shared ones", "code, estimated"), rows)


def sizes_json(costs: Sequence[SizeCost]) -> list[dict[str, object]]:
    """Returns the same as JSON data."""
    return [
        {
            "model": each.facts.name,
            "inputs": {spec.name: list(spec.shape) for spec in each.facts.inputs},
            "arena_bytes": each.facts.arena_bytes,
            "constants_bytes": each.facts.constants_bytes,
            "shared_constants_bytes": each.shared_bytes,
            "code_bytes_estimate": each.facts.code_bytes_estimate,
        }
        for each in costs
    ]
