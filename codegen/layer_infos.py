"""What reports and commands know about each layer: its kernel and why, its costs, the rows that it writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.passes.goals import STAYS
from aot.passes.pipeline import PassStep
from codegen.c.layers import shapes_text
from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import point_text
from codegen.lower.stages import Lowered
from codegen.model import LayerInfo, LayerPart, LayerResult


def layer_infos(
    graph: Graph, lowered: Lowered, functions: Sequence[str], steps: Sequence[PassStep]
) -> tuple[LayerInfo, ...]:
    """Returns what is known about each layer; `functions` are their names in C."""
    layers, unclaimed = [], _unclaimed(steps)
    for index, stage in enumerate(lowered.stages):
        out, node = stage.result, stage.node
        cost = node.op.cost(graph.input_types(node), graph.output_types(node)) if node is not None else None
        layers.append(
            LayerInfo(
                index=index,
                name=stage.name,
                op=stage.op,
                origin=node.origin if node is not None else "",
                shapes=shapes_text(stage, lowered),
                kernel=stage.kernel.strategy,
                why=_why(stage.kernel),
                macs=cost.macs if cost is not None else 0,
                weight_bytes=sum(a.nbytes for a in stage.kernel.constants.values()),
                output=out.tensor,
                value=out.value,
                format=out.format,
                rows=out.image_rows,
                passed_over=_passed_over(stage.kernel),
                device=stage.kernel.device,
                stays=(*_stays(stage.kernel), *unclaimed.get(stage.name, ())),
                sources=_sources(stage.kernel),
                parts=_parts(node),
                others=tuple(
                    LayerResult(each.tensor, each.value, each.format, each.image_rows)
                    for each in stage.others
                ),
                function=functions[index],
            )
        )
    return tuple(layers)


def _passed_over(kernel: Kernel) -> tuple[str, ...]:
    """Returns one line for each reason: strategies of an instruction set may lack the same feature."""
    return tuple(dict.fromkeys(f"{each.strategy}: {each.why}" for each in kernel.passed_over))


def _stays(kernel: Kernel) -> Iterator[str]:
    """Returns why the requested accelerators do not compute the layer."""
    passed = (each for each in kernel.passed_over if each.device and not kernel.device)
    return iter(dict.fromkeys(f"{each.device}: {each.why}" for each in passed))


def _sources(kernel: Kernel) -> tuple[str, ...]:
    calls = (kernel.calls, kernel.started and kernel.started.calls) if kernel.device else ()
    return tuple(dict.fromkeys(file.name for each in calls if each for file in each.library.files))


def _unclaimed(steps: Sequence[PassStep]) -> Mapping[str, Sequence[str]]:
    """Returns the accelerators' reasons by name, for nodes outside all regions."""
    found: dict[str, list[str]] = {}
    for step in steps:
        for node, why in step.outcome.left_alone.items() if step.what.device else ():
            found.setdefault(node, []).append(f"{step.what.device}: {why.removeprefix(STAYS)}")
    return found


def _parts(node: Node | None) -> tuple[LayerPart, ...]:
    if node is None or not isinstance(node.op, DeviceRegion):
        return ()
    return tuple(LayerPart(each.name, each.op.name, each.origin) for each in node.op.graph.nodes)


def is_tuned(kernel: Kernel) -> bool:
    """Returns whether a tuning record chose the kernel's knobs."""
    return kernel.space is not None and kernel.point != kernel.space.default


def _why(kernel: Kernel) -> str:
    """Returns the kernel's reason, with its tuning task and all knobs that differ from the default."""
    if kernel.space is None:
        return kernel.why
    tuned = f"tuned: {point_text(kernel.point)}; " if is_tuned(kernel) else ""
    return f"{tuned}{kernel.why}; task {kernel.space.task}"
