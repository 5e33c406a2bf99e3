"""A layer as node, loops, C and assembly: the compiler's result for one line of the graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from aot.errors import InputError, did_you_mean
from aot.ir.text import print_node
from codegen.compile import CompiledModel
from codegen.loops.ir import Instruction
from codegen.model import LayerCode, LayerInfo
from deploy.cli.command_result import Paged
from deploy.cli.console import table

if TYPE_CHECKING:
    from codegen.fit.choices import WayCost


@dataclass(frozen=True)
class LayerView(Paged):
    """A layer of a compiled model. str() shows its node, loops and C."""

    info: LayerInfo
    compiled: CompiledModel = field(repr=False)

    def __str__(self) -> str:
        return self.page(USUAL)

    def __repr__(self) -> str:
        return str(self)

    @cached_property
    def code(self) -> LayerCode:
        return self.compiled.code_of(self.info.index)

    @property
    def node(self) -> str:
        """The graph node as text; "" for a layer that only copies rows."""
        found = (n for n in self.compiled.graph.nodes if n.name == self.info.name)
        return next((print_node(node, self.compiled.graph) for node in found), "")

    @property
    def meaning(self) -> str:
        """The loops before scheduling; a comment for a layer that only copies rows."""
        from codegen.lang.op_meaning import meaning_of
        from codegen.loops.text import print_proc

        graph, target = self.compiled.graph, self.compiled.target
        node = next((n for n in graph.nodes if n.name == self.info.name), None)
        if node is None:
            return "# this layer copies rows and has no op\n"
        return "\n".join(map(print_proc, meaning_of(node, graph, target)))

    @property
    def ir(self) -> str:
        """The scheduled loops, followed by the definitions of instructions."""
        from codegen.loops.text import named_in, print_instruction, print_proc

        if not any(proc.body for proc in self.code.procs):
            return "# a C library function computes this layer: there are no loops\n"
        used = {name: each for proc in self.code.procs for name, each in named_in(proc).items()}
        meanings = [
            print_instruction(each, name) for name, each in used.items() if isinstance(each, Instruction)
        ]
        return "\n".join([*map(print_proc, self.code.procs), *meanings])

    @property
    def c(self) -> str:
        """The C functions: helpers, the kernel, and the function that calls it for each row."""
        return (
            "\n\n".join(
                text.strip("\n") for text in (*self.code.helpers, *self.code.kernels, self.code.layer)
            )
            + "\n"
        )

    @cached_property
    def asm(self) -> str:
        """The assembly of these functions. Raises ToolError without a compiler for the board."""
        from platforms.assembly import assembly_of

        made = self.compiled
        found = assembly_of(
            self.code.functions, made.sources, f"{made.name}.c", made.target, made.parts.c_flags
        )
        return "\n\n".join(found.values()) + "\n"

    @cached_property
    def ways(self) -> tuple[WayCost, ...]:
        """The kernels that the layer may use, with predicted costs; empty without a choice."""
        from codegen.fit.choices import ways_of_layer
        from codegen.fit.layer_cycles import cycle_table
        from codegen.fit.variant import Variant
        from codegen.lower.decisions import decisions_for

        made = self.compiled
        if not (made.options.at_level.has_schedules and made.options.at_level.has_instructions):
            return ()
        before = next(
            (step.before for step in made.planned.steps if step.what.table == "VARIANT"), made.graph
        )
        variant = Variant(before, made.target, made.options, (), decisions_for(before, made.options.optimize))
        return ways_of_layer(variant, cycle_table(made.target), self.info.name)

    def _ways(self) -> Iterator[str]:
        """Yields a table of the ways, and for each why it was not taken."""
        taken = next((way for way in self.ways if self._is_taken(way)), None)
        if taken is None or len(self.ways) < 2:
            return
        from codegen.fit.layer_cycles import cycle_table

        source = cycle_table(self.compiled.target).source if taken.is_measured else "estimated from loops"
        yield f"\nways, by predicted cycles ({source})\n"
        rows = [
            (
                f"{way.cycles:,}",
                f"{way.scratch_bytes:,}",
                f"{way.extra_bytes:,}",
                f"{way.row_bytes:,}",
                "taken" if way is taken else _why_not(way, taken),
                f"{way.strategy}: {way.why}",
            )
            for way in self.ways
        ]
        yield table(("cycles", "scratch", "more flash", "input rows", "", "kernel"), rows)

    def _is_taken(self, way: WayCost) -> bool:
        names = {proc.name for proc in self.code.procs}
        return way.strategy == self.info.kernel and way.function in names

    def page(self, shown: Collection[str]) -> str:
        """Returns the page: the layer, and the selected texts."""
        return "\n".join(self._parts(shown)).rstrip("\n")

    def _parts(self, shown: Collection[str]) -> Iterator[str]:
        info = self.info
        yield f"layer {info.index}: {info.op} {info.shapes}{f', {info.origin}' if info.origin else ''}"
        yield f"  kernel     {info.kernel}: {info.why}"
        yield from (f"  not taken  {reason}" for reason in info.passed_over)
        yield f"  costs      {info.macs:,} MACs, {info.weight_bytes:,} bytes of constants"
        yield from self._ways()
        if self.node:
            yield f"\nnode\n\n{self.node}"
        for name, title in TEXTS.items():
            if name in shown:
                yield f"\n{title}\n\n{READ[name](self)}".rstrip("\n")

    def facts(self, shown: Collection[str]) -> dict[str, object]:
        """Returns the same as JSON data."""
        info = self.info
        head = {
            "index": info.index,
            "name": info.name,
            "op": info.op,
            "kernel": info.kernel,
            "node": self.node,
            "ways": [asdict(way) | {"is_taken": self._is_taken(way)} for way in self.ways],
        }
        return {**head, **{name: READ[name](self) for name in TEXTS if name in shown}}


def _why_not(way: WayCost, taken: WayCost) -> str:
    if way.cycles > taken.cycles:
        return f"{way.cycles / taken.cycles - 1:.1%} slower"
    pairs = {
        "scratch": (way.scratch_bytes, taken.scratch_bytes),
        "flash": (way.extra_bytes, taken.extra_bytes),
        "bytes for rows": (way.row_bytes, taken.row_bytes),
    }
    more = [what for what, (needed, known) in pairs.items() if needed > known]
    return f"needs more {', '.join(more)}" if more else "no better"


TEXTS: Mapping[str, str] = {
    "meaning": "meaning",
    "ir": "loops",
    "c": "C",
    "asm": "assembly",
}  # with their titles
USUAL = ("ir", "c")  # the default; they need no compiler
READ: Mapping[str, Callable[[LayerView], str]] = {
    "meaning": lambda view: view.meaning,
    "ir": lambda view: view.ir,
    "c": lambda view: view.c,
    "asm": lambda view: view.asm,
}


def views_of(compiled: CompiledModel) -> Iterator[LayerView]:
    """Yields all layers in order."""
    return (LayerView(layer, compiled) for layer in compiled.layers)


def view_of(compiled: CompiledModel, wanted: int | str) -> LayerView:
    """Returns the layer with this index or name. Raises InputError if there is none."""
    layers, word = compiled.layers, str(wanted)
    found = next((v for v in views_of(compiled) if word in (str(v.info.index), v.info.name)), None)
    if found is not None:
        return found
    if word.lstrip("-").isdecimal():
        raise InputError(
            f"there is no layer {word}: {compiled.planned.job.model.source_name} has {len(layers)}, "
            f"from 0 to {len(layers) - 1}",
            hint="deploy inspect --layers lists them",
        )
    raise InputError(
        f'no layer is called "{word}"{did_you_mean(word, [layer.name for layer in layers])}',
        hint="deploy inspect --layers lists them with their numbers",
    )
