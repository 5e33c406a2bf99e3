"""Compares two compiled models: options, bytes, layers, plan, graph, C files."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aot.wording import counted
from artifact.artifact import Artifact
from artifact.facts import ModelFacts
from artifact.memory_map import BufferLife
from codegen.model import LayerInfo
from codegen.options import ALL_OPTIONS
from deploy.cli.command_result import Paged
from deploy.cli.console import table
from deploy.compiler.fit import core_label

_MOST_LINES = 12  # of the graph, on the page
_LONGEST_LINE = 110  # of these lines; constants are longer

# Compared properties of layers and buffers, by their name on the page.
_OF_LAYER: Mapping[str, Callable[[LayerInfo], str]] = {
    "kernel": lambda layer: f"{layer.kernel}: {layer.why}",
    "shapes": lambda layer: layer.shapes,
    "MACs": lambda layer: f"{layer.macs:,}",
    "constants": lambda layer: f"{layer.weight_bytes:,}",
    "rows": lambda layer: layer.format.said,
}
_OF_BUFFER: Mapping[str, Callable[[BufferLife], str]] = {
    "memory": lambda buffer: buffer.pool,
    "offset": lambda buffer: f"{buffer.offset:,}",
    "row bytes": lambda buffer: f"{buffer.row_bytes:,}",
    "rows held": lambda buffer: f"{buffer.rows_held} of {buffer.rows}",
}
_BYTES: Mapping[str, Callable[[ModelFacts], int]] = {
    "arena": lambda facts: facts.arena_bytes,
    "inputs and outputs": lambda facts: facts.io_bytes,
    "stack, estimated": lambda facts: facts.stack_bytes_estimate,
    "constants": lambda facts: facts.constants_bytes,
    "code, estimated": lambda facts: facts.code_bytes_estimate,
}


@dataclass(frozen=True)
class Change:
    """A property that both models have, with different values."""

    of: str
    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before} -> {self.after}"


@dataclass(frozen=True)
class ArchiveDifference(Paged):
    """A comparison of two compiled models. str() is the page; false if they are the same."""

    one: Artifact
    other: Artifact

    def __bool__(self) -> bool:
        return self.one.files != self.other.files

    @property
    def made_of(self) -> tuple[Change, ...]:
        """Returns differences of the inputs: file, tool, target and options."""
        a, b = self.one.facts, self.other.facts
        pairs = [
            ("model", f"{a.source_name} ({a.model_hash[:12]})", f"{b.source_name} ({b.model_hash[:12]})"),
            ("Solder", a.tool_version, b.tool_version),
            ("target", core_label(a.target), core_label(b.target)),
        ]
        for option in ALL_OPTIONS:
            words = [" ".join(option.kind.words(getattr(each.options, option.field))) for each in (a, b)]
            pairs.append((option.flag, words[0] or "not given", words[1] or "not given"))
        return tuple(Change("", *pair) for pair in pairs if pair[1] != pair[2])

    @property
    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Returns the sizes of both in bytes."""
        return {name: (size(self.one.facts), size(self.other.facts)) for name, size in _BYTES.items()}

    @cached_property
    def layers(self) -> tuple[tuple[LayerInfo | None, LayerInfo | None], ...]:
        """Returns pairs of layers in order; None if one model lacks the layer."""
        return tuple(
            _paired(self.one.facts.layers, self.other.facts.layers, lambda layer: (layer.op, layer.name))
        )

    @property
    def layer_changes(self) -> tuple[Change, ...]:
        return tuple(
            change
            for a, b in self.layers
            if a is not None and b is not None
            for change in _changes(_layer_text(a, b), a, b, _OF_LAYER)
        )

    @property
    def buffer_changes(self) -> tuple[Change, ...]:
        a, b = (
            {buffer.name: buffer for buffer in each.facts.memory.buffers} for each in (self.one, self.other)
        )
        both = [name for name in a if name in b]
        return tuple(c for name in both for c in _changes(name, a[name], b[name], _OF_BUFFER))

    @property
    def graph_lines(self) -> tuple[str, ...]:
        """Returns the graph lines found in only one model, with prefix - or +."""
        one, other = (each.graph_text.splitlines() for each in (self.one, self.other))
        return tuple(line for line in difflib.unified_diff(one, other, n=0, lineterm="") if _is_changed(line))

    @property
    def file_lines(self) -> Mapping[str, tuple[int, int]]:
        """Returns C files that differ, with the numbers of lines only in the first and only in the second."""
        a, b = ({**each.headers, **each.sources} for each in (self.one, self.other))
        found = {}
        for name in sorted({*a, *b}):
            before, after = a.get(name, "").splitlines(), b.get(name, "").splitlines()
            if before != after:
                blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
                same = sum(block.size for block in blocks)
                found[name] = len(before) - same, len(after) - same
        return found

    def __str__(self) -> str:
        if not self:
            return "the two are identical"
        return "\n\n".join(filter(None, map("\n".join, self._parts())))

    def _parts(self) -> Iterator[list[str]]:
        yield [str(change) for change in self.made_of]
        rows = [(n, f"{a:,}", f"{b:,}", f"{b - a:+,}" if a != b else "") for n, (a, b) in self.sizes.items()]
        yield [table(("bytes", "first", "second", ""), rows)]
        yield list(self._layer_lines())
        yield list(_counted_changes(self.buffer_changes, "buffer"))
        yield list(self._graph_page())
        yield [
            f"{name}: {counted(gone, 'line')} gone, {new} new"
            for name, (gone, new) in self.file_lines.items()
        ]

    def _layer_lines(self) -> Iterator[str]:
        yield from _counted_changes(self.layer_changes, "layer")
        yield from (f"only in the first: {_layer_text(a, a)}" for a, b in self.layers if a and not b)
        yield from (f"only in the second: {_layer_text(b, b)}" for a, b in self.layers if b and not a)

    def _graph_page(self) -> Iterator[str]:
        lines = self.graph_lines
        if lines:
            yield f"the graph differs in {counted(len(lines), 'line')}"
        yield from (f"  {_shortened(line)}" for line in lines[:_MOST_LINES])
        if len(lines) > _MOST_LINES:
            yield f"  and {len(lines) - _MOST_LINES} more"

    def as_json(self) -> dict[str, Any]:
        """Returns the comparison as JSON data."""

        def said(changes: Sequence[Change]) -> list[dict[str, str]]:
            return [{"of": c.of, "what": c.what, "first": c.before, "second": c.after} for c in changes]

        return {
            "same": not self,
            "made_of": said(self.made_of),
            "bytes": {name: list(pair) for name, pair in self.sizes.items()},
            "layers": said(self.layer_changes),
            "layers_only_in_first": [a.name for a, b in self.layers if a and not b],
            "layers_only_in_second": [b.name for a, b in self.layers if b and not a],
            "buffers": said(self.buffer_changes),
            "graph": list(self.graph_lines),
            "files": {name: list(pair) for name, pair in self.file_lines.items()},
        }


def _is_changed(line: str) -> bool:
    return line[:1] in "-+" and not line.startswith(("---", "+++"))


def _counted_changes(changes: Sequence[Change], what: str) -> Iterator[str]:
    """Yields one line per item with all its changes."""
    things = dict.fromkeys(change.of for change in changes)
    if things:
        yield f"{counted(len(things), what)} {'differs' if len(things) == 1 else 'differ'}"
    for thing in things:
        yield f"  {thing}: {'; '.join(str(change) for change in changes if change.of == thing)}"


def _changes(of: str, a: Any, b: Any, compared: Mapping[str, Callable[[Any], str]]) -> Iterator[Change]:
    for what, said in compared.items():
        if said(a) != said(b):
            yield Change(of, what, said(a), said(b))


def _layer_text(a: LayerInfo, b: LayerInfo) -> str:
    number = f"{a.index}" if a.index == b.index else f"{a.index}, now {b.index}"
    return f"{number} {a.name if a.name.startswith(a.op) else f'{a.op} {a.name}'}"


def _paired(
    one: Sequence[LayerInfo], other: Sequence[LayerInfo], key: Callable[[LayerInfo], object]
) -> Iterator[tuple[LayerInfo | None, LayerInfo | None]]:
    matcher = difflib.SequenceMatcher(None, [key(x) for x in one], [key(x) for x in other], autojunk=False)
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(one[a:a_end], other[b:b_end], strict=True)
        else:
            yield from ((layer, None) for layer in one[a:a_end])
            yield from ((None, layer) for layer in other[b:b_end])


def _shortened(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 3]}..."
