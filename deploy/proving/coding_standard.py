"""The chapter on the coding standard: MISRA C:2012, rule by rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.counted import counted
from deploy.proving.chapter import Cell, Finding, Standing, Table
from deploy.proving.lone_program import foreign_sources, write_files
from deploy.proving.misra.cppcheck import MisraFindings, check_misra
from deploy.proving.misra.deviations import DEVIATIONS, REASONS
from deploy.proving.subject import Subject

_METHOD = (
    "The addon of cppcheck is run over the generated C and its headers. Rules are named by number: the text "
    "belongs to their publisher. The tables of weights, which are constants and nothing else, are left out.",
    "Deviations are the same for every model: a rule outside of their list makes this chapter fail.",
    "The runtime that serves a line is not part of it, with the description of the model that it sends, nor "
    "is a library that an accelerator brings; nor is MISRA C:2023, which the addon does not know.",
)


def examine_coding_standard(subject: Subject) -> Finding:
    """Runs cppcheck. Raises MissingToolError without it; a rule broken without a reason fails."""
    artifact = subject.artifact
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_files({**artifact.headers, **artifact.sources}, folder)
        for file, data in artifact.runtime.items():
            (folder / file).write_bytes(data)
        found = check_misra(f"{artifact.name}.c", folder)
    broken = [rule for rule in found.found if rule not in REASONS]
    table = Table("Rules of MISRA C:2012", ("rule", "status", "places", "reason"), tuple(_rows(found)))
    deviated = [rule for rule in found.checked if found.found.get(rule)]
    summary = (
        f"{len(found.checked) - len(deviated)} of {len(found.checked)} rules that the tool checks are "
        f"complied with; {counted(len(deviated), 'rule')} of {len(DEVIATIONS)} in the list of deviations"
    )
    exceptions = tuple(f"rule {rule}: {REASONS[rule].reason}" for rule in deviated if rule in REASONS)
    if foreign := foreign_sources(artifact):
        exceptions += (f"not generated, and not checked: {', '.join(foreign)}",)
    standing = Standing.EXCEPTIONS if exceptions else Standing.PROVEN
    if broken:
        standing, exceptions = Standing.FAILED, ()
        summary = f"no reason is known for deviations from {', '.join(sorted(broken))}"
    return Finding(standing, summary, exceptions, _METHOD, (table,), (found.tool,))


def _rows(found: MisraFindings) -> Iterator[tuple[Cell, ...]]:
    """The rules in their order, those that nobody checks among them."""
    for rule in sorted({*found.checked, *found.unchecked}, key=_order):
        places, reason = found.found.get(rule, 0), REASONS.get(rule)
        if rule in found.unchecked:
            yield rule, "not checkable by this tool", 0, ""
        elif not places:
            yield rule, "complied", 0, ""
        elif reason is None:
            yield rule, "broken", places, "none"
        else:
            yield rule, f"deviated ({reason.category})", places, reason.reason


def _order(rule: str) -> tuple[int, ...]:
    return tuple(int(part) for part in rule.split("."))
