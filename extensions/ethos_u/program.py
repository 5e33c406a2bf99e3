"""The program of a region: commands and constants for the device, and the offsets of inputs and results."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aot.frontend.tflite.write import write_with
from aot.ir.graph import Graph
from extensions.ethos_u.configurations import NpuConfig
from extensions.ethos_u.vela import VelaRun, failure, named, run_vela
from extensions.ethos_u.writers import WRITERS

FILE = "region.tflite"  # in errors
COMPILED = "vela.npz"  # Vela writes this file if the device supports the whole model
CONSTANTS_REGION, SCRATCH_REGION = 0, 1


@dataclass(frozen=True)
class NpuProgram:
    commands: bytes  # payload of a driver: a configuration, then the command stream
    constants: bytes  # weights, scales, tables
    scratch_bytes: int
    inputs: tuple[int, ...]  # offsets in scratch, in the order of the region's inputs
    outputs: tuple[int, ...]
    cycles: int  # estimated by Vela
    clock_hz: int  # for `cycles`


def program_of(graph: Graph, config: NpuConfig) -> NpuProgram:
    """Returns the program of a region. Raises ToolError if Vela cannot compile it."""
    nodes = named(graph.nodes)
    run = run_vela(write_with(WRITERS, graph, FILE).data, config, nodes)
    if COMPILED not in run.files:
        raise failure(run, f"ethos-u: Vela cannot compile {nodes}", config)
    with np.load(io.BytesIO(run.files[COMPILED]), allow_pickle=True) as arrays:
        return _program(graph, config, run, {name: arrays[name] for name in arrays.files})


def _program(graph: Graph, config: NpuConfig, run: VelaRun, arrays: Mapping[str, Any]) -> NpuProgram:
    if not _is_understood(graph, arrays):
        said = f"ethos-u: Vela returned an unknown result for {named(graph.nodes)}"
        raise failure(run, said, config)
    estimates = _estimates(run.files)
    return NpuProgram(
        commands=_content(arrays["cmd_data"]),
        constants=_content(arrays["weight_data"]),
        scratch_bytes=int(arrays["scratch_size"]),
        inputs=tuple(int(offset) for offset in arrays["input_offset"]),
        outputs=tuple(int(offset) for offset in arrays["output_offset"]),
        cycles=round(float(estimates["cycles_total"])),
        clock_hz=round(float(estimates["core_clock"])),
    )


def _content(stored: Any) -> bytes:
    """Returns the bytes of an entry. NumPy strips zeros from the end of text, so they are restored."""
    array = np.asarray(stored)
    content = (
        array.tobytes() if array.dtype.kind != "S" else bytes(array.item()).ljust(array.dtype.itemsize, b"\0")
    )
    return content + bytes(-len(content) % 16)


def _is_understood(graph: Graph, arrays: Mapping[str, Any]) -> bool:
    """Returns True if all tensors are in two regions and inputs and results have the graph's sizes."""
    scratch = {int(region) for name in ("input_region", "output_region") for region in arrays[name]}
    return (
        scratch == {SCRATCH_REGION}
        and int(arrays["weight_region"]) == CONSTANTS_REGION
        and int(arrays["scratch_region"]) == SCRATCH_REGION
        and int(arrays["scratch_fast_size"]) == 0
        and _sizes(arrays, "input") == _bytes_of(graph, graph.inputs)
        and _sizes(arrays, "output") == _bytes_of(graph, graph.outputs)
    )


def _sizes(arrays: Mapping[str, Any], side: str) -> list[int]:
    shapes, sizes = arrays[f"{side}_shape"], arrays[f"{side}_elem_size"]
    return [int(np.prod(shape)) * int(size) for shape, size in zip(shapes, sizes, strict=True)]


def _bytes_of(graph: Graph, names: Sequence[str]) -> list[int]:
    return [graph.types[name].elements * graph.types[name].dtype.numpy.itemsize for name in names]


def _estimates(files: Mapping[str, bytes]) -> Mapping[str, str]:
    table = next(content for name, content in files.items() if name.startswith("summary"))
    return next(iter(csv.DictReader(io.StringIO(table.decode("utf-8")))))
