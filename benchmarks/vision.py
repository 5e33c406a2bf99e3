"""Arenas of networks for pictures, and how much of their work is done, beside what others publish."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from aot.target import Optimize
from benchmarks.vision_networks import (
    FOMO_96,
    MCUNET_320KB,
    MCUNET_VWW_5FPS,
    MOBILENET_V2_035_144,
    MOBILENET_V2_224,
    VisionNetwork,
)
from codegen.compile import CompiledModel, compile_job
from codegen.job import Job, import_data
from codegen.options import CompileOptions
from platforms.board_files import load_board

BOARD = "mps2-an386"
HEAD = """\
# Networks for pictures

Printed by `python -m benchmarks vision`. The int8 networks are built from their published shapes with
random weights, because memory depends on shapes only. In bytes, on a Cortex-M4:

- *whole*: the size of all tensors that must exist at the same time, a lower bound for planners of whole
  tensors;
- *arena*: with `--optimize ram`, including picture and results; *streamed*: with `--stream`, which receives
  the picture row by row and keeps only the rows that it needs;
- *done*: the multiplications in all steps of the plan, divided by those of the network. It is 1 if nothing
  is computed twice.

| network | multiplications | whole | arena | streamed | done |
|---|---:|---:|---:|---:|---:|
"""
_PUBLISHED_HEAD = """
## Published figures for the same networks

*Memory* is the authors' figure. Patches overlap, and each computes the shared part again: *done* is the
resulting factor of work.

| network | by | memory | done | where |
|---|---|---:|---:|---|
"""
_FOOT = """
These figures count activations. msf-CNN's exclude the picture, like `--stream`; its networks lack the sums
of their blocks, the dense layer and some channels, so they multiply less than those above. msf-CNN and
MCUNetV2 go below `--stream` by computing values twice (*done*). In addition to 252 KiB of fast memory,
TiGrIS needs 5.17 MiB of slow memory and moves 20.25 MiB to and from it. FOMO's figure is for a whole
program.
"""


@dataclass(frozen=True, slots=True)
class Published:
    """What authors say of their own work with a network."""

    network: str
    by: str
    memory: str
    done: str
    where: str

    def __str__(self) -> str:
        return f"| {self.network} | {self.by} | {self.memory} | {self.done} | {self.where} |\n"


# MCUNetV2: arXiv 2110.15352, figure 1. msf-CNN: arXiv 2505.11483, table 4, and the results beside its code
# (TinyPART/msf-CNN, MFC_models_20250112). TiGrIS: the page of its package, 0.12. FOMO: its announcement.
PUBLISHED = (
    Published("MobileNetV2-1 at 224", "no patches, by MCUNetV2's authors", "1,372 kB", "1", "paper"),
    Published("MobileNetV2-1 at 224", "MCUNetV2, 4x4 patches", "172 kB", "more than 1", "paper"),
    Published("MobileNetV2-1 at 224, float32", "TiGrIS", "252 KiB and 5.17 MiB", "-", "its package"),
    Published("MobileNetV2-0.35 at 144", "MCUNetV2, by msf-CNN's authors", "63 kB", "more than 1", "paper"),
    Published("MobileNetV2-0.35 at 144", "msf-CNN, at most 1.1 times the work", "67,996", "1.10", "results"),
    Published("MobileNetV2-0.35 at 144", "msf-CNN, at most 1.3 times the work", "21,389", "1.30", "results"),
    Published("MobileNetV2-0.35 at 144", "msf-CNN, least memory", "8,560", "1.68", "results"),
    Published("mcunet-320KB at 176", "msf-CNN, at most 1.5 times the work", "94,224", "1.45", "results"),
    Published("mcunet-320KB at 176", "msf-CNN, least memory", "51,164", "2.69", "results"),
    Published("mcunet-vww 5fps at 80", "msf-CNN, at most 1.1 times the work", "45,283", "1.04", "results"),
    Published("mcunet-vww 5fps at 80", "msf-CNN, least memory", "15,368", "1.96", "results"),
    Published("FOMO at 96", "Edge Impulse", "below 200K", "1", "announcement"),
)
NETWORKS = (MOBILENET_V2_224, MOBILENET_V2_035_144, MCUNET_320KB, MCUNET_VWW_5FPS, FOMO_96)


@dataclass(frozen=True, slots=True)
class VisionRow:
    """What one network takes; bytes."""

    network: str
    macs: int
    whole: int
    arena: int
    streamed: int
    macs_done: int

    def __str__(self) -> str:
        cells = (f"{self.macs:,}", f"{self.whole:,}", f"{self.arena:,}", f"{self.streamed:,}")
        return f"| {self.network} | {' | '.join(cells)} | {self.macs_done / self.macs:.2f} |\n"


def vision_rows() -> Iterator[str]:
    """A row for each network, as soon as it is known; then what others publish."""
    for network in NETWORKS:
        yield str(vision_row(network))
    yield str(vision_row(MOBILENET_V2_224, is_real=True))
    yield _PUBLISHED_HEAD
    yield from map(str, PUBLISHED)
    yield _FOOT


def vision_row(network: VisionNetwork, is_real: bool = False) -> VisionRow:
    data, name = network.file(is_real), network.name + (", float32" if is_real else "")
    at_once, streamed = (_compiled(data, stream) for stream in (False, True))
    return VisionRow(
        name,
        sum(layer.macs for layer in at_once.layers),
        at_once.whole_tensor_bound_bytes,
        at_once.plan.arena_bytes,
        streamed.plan.arena_bytes,
        macs_done(streamed),
    )


def _compiled(data: bytes, stream: bool) -> CompiledModel:
    options = CompileOptions(optimize=Optimize.RAM, stream=stream)
    target = replace(load_board(BOARD).target, regions=())  # what it takes, also where no board has as much
    return compile_job(Job(import_data(data, Path("network.tflite"), options), target, options))


def macs_done(model: CompiledModel) -> int:
    """The multiplications of all steps of the plan: those of a row that two steps make count twice."""
    made = [0] * len(model.layers)
    steps = [iter(stage.steps) for stage in model.planned.request.stages]
    for stage in model.plan.order:
        made[stage] += len(next(steps[stage]).writes[0])
    stored = {tensor.name: tensor.rows for tensor in model.planned.request.tensors}
    done = 0
    for layer, rows in zip(model.layers, made, strict=True):
        padding = stored[layer.output] - layer.rows  # rows that cost no multiplication
        done += layer.macs * (rows - padding) // layer.rows
    return done
