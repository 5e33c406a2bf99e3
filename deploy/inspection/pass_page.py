"""Describes what each pass rewrote, and why it skipped the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aot.ir.graph import Graph
from aot.ir.text import print_graph
from aot.passes.outcome import Unchanged, reason_lines
from aot.passes.pipeline import PassStep, pass_names
from aot.wording import counted

ALL = "all"  # selects all passes
_SHOWN_ELEMENTS = 8  # of a constant, in a line about a change


def known_names() -> tuple[str, ...]:
    return (ALL, *pass_names())


def named(steps: Sequence[PassStep], names: Sequence[str]) -> tuple[PassStep, ...]:
    """Returns the steps of these passes, or of all."""
    return tuple(step for step in steps if ALL in names or step.what.name in names)


def explained(steps: Sequence[PassStep]) -> str:
    return "\n\n".join("\n".join(_explanation(step)) for step in steps)


def _explanation(step: PassStep) -> Iterator[str]:
    yield f"{step.what.name}: {step.what.summary}"
    yield f"  place      in {step.what.table}, {step.what.why}"
    outcome = step.outcome
    if isinstance(outcome, Unchanged):
        first, *more = outcome.because.split("\n")
        yield f"  unchanged  {first}"
        yield from (f"             {line}" for line in more)
        return
    gone, new = changed_lines(step.before, step.after)
    yield f"  rewritten  {counted(len(gone), 'line')} of the graph into {counted(len(new), 'line')}"
    yield from (f"    - {line}" for line in gone)
    yield from (f"    + {line}" for line in new)
    if outcome.left_alone:
        yield "  left alone"
        yield from (f"    {line}" for line in reason_lines(outcome.left_alone))


def changed_lines(before: Graph, after: Graph) -> tuple[list[str], list[str]]:
    """Returns the removed and the added lines of the graph's text."""
    old, new = (print_graph(graph, _SHOWN_ELEMENTS).splitlines() for graph in (before, after))
    return [line for line in old if line not in set(new)], [line for line in new if line not in set(old)]


def printed_after(steps: Sequence[PassStep]) -> str:
    """Returns the graph after each of these steps, or a note for steps without changes."""
    return "\n".join(
        f"# after {step.what.name}"
        + (": unchanged\n" if isinstance(step.outcome, Unchanged) else f"\n{print_graph(step.after)}")
        for step in steps
    )


def dumped(imported: Graph, steps: Sequence[PassStep]) -> dict[str, str]:
    """Returns files with the imported graph, and with the graph after each step that changed it."""
    changed = [step for step in steps if step.after is not step.before]
    graphs = [("imported", imported), *((step.what.name, step.after) for step in changed)]
    files = {f"{number:02}-{name}.graph": print_graph(graph) for number, (name, graph) in enumerate(graphs)}
    return {**files, "passes.txt": explained(steps) + "\n"}


def step_facts(step: PassStep) -> dict[str, object]:
    """Returns a step as JSON data."""
    facts: dict[str, object] = {"name": step.what.name, "table": step.what.table}
    if isinstance(step.outcome, Unchanged):
        return {**facts, "changed": False, "because": step.outcome.because}
    gone, new = changed_lines(step.before, step.after)
    left = dict(step.outcome.left_alone)
    return {**facts, "changed": True, "removed": gone, "added": new, "left_alone": left}
