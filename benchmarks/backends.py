"""One table of all accelerators: nodes taken, cycles of the core, bytes, equal bits, files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import codegen.accelerators
from benchmarks.on_board import compared, compiled_with, cycles_of
from benchmarks.shared import model_file
from codegen.accelerators.names import ACCELERATORS, EXAMPLES
from codegen.accelerators.table import device_of
from codegen.model import COPIES
from deploy.compiler.compile_model import Compiled

MODELS = (
    "tiny_ic_resnet8_int8",
    "tiny_kws_dscnn_int8",
    "tiny_vww_mbv1_int8",
    "tiny_ad_fc_int8",
    "tflm_person_detect_int8",
)
_ADDRESS = "0x48102000"  # free on the emulated board
# Two devices are behind registers, CMSIS-NN is work of the core; of the examples it plays the device.
ASKED: Mapping[str, str] = {
    "vanilla": "vanilla",
    "strawberry": "strawberry",
    "chocolate": "chocolate",
    "cmsis-nn": f"cmsis-nn:path={os.environ.get('CMSIS_NN_PATH', '')}",
    "gemm-npu": "gemm-npu:device=registers",
    "ethos-u": f"ethos-u:device=registers,address={_ADDRESS}",
}
HEAD = """\
# All accelerators

Five models on a Cortex-M4 alone and with each accelerator, printed by
`CMSIS_NN_PATH=... python -m benchmarks backends`. Results of the whole model, on a board emulated by
unicorn, are compared with TensorFlow Lite Micro's for up to three inputs (one for the examples). The [model
of that core](../docs/cycles.md) computes the M4's cycles. `gemm-npu` and `ethos-u` are devices with
registers: the core's cycles count starting them, copying and the layers that stay on the core, without
waiting. `cmsis-nn` (V.19.1.0) runs on the core. In the examples `vanilla`, `strawberry` and `chocolate` the
core simulates the device in plain C, so its cycles would be meaningless. Bytes are for the arena, and for
weights, tables and programs.

| model | accelerator | nodes there | results equal | M4 alone, cycles | M4 with it | times fewer \
| arena alone | arena with it | constants alone | constants with it |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""
HEAD_OF_FILES = """\

| accelerator | files of Python | lines | files of C | lines |
|---|---:|---:|---:|---:|
"""


@dataclass(frozen=True)
class BackendRow:
    """A model with an accelerator, and without one."""

    model: str
    accelerator: str
    taken: int
    nodes: int
    equal: int
    results: int
    cycles: tuple[int, int | None]  # of the core, without and with it; None where it plays the device itself
    arena: tuple[int, int]  # bytes
    constants: tuple[int, int]  # bytes

    def __str__(self) -> str:
        before, after = self.cycles
        cells = (
            self.model,
            self.accelerator,
            f"{self.taken} of {self.nodes}",
            f"{self.equal:,} of {self.results:,}",
            f"{before:,}",
            *(("", "") if after is None else (f"{after:,}", _times(before / after))),
            *(f"{count:,}" for count in (*self.arena, *self.constants)),
        )
        return f"| {' | '.join(cells)} |\n"


def _times(ratio: float) -> str:
    return f"{ratio:,.1f}" if ratio < 100 else f"{ratio:,.0f}"


def backend_rows(name: str) -> Iterator[str]:
    """A row for each accelerator."""
    alone = compiled_with(name)
    cycles = cycles_of(alone)
    golden = np.load(model_file(name).with_name("golden.npz"))
    for accelerator in ACCELERATORS:
        made = compiled_with(name, ASKED[accelerator])
        devices = list(_devices(made))
        yield str(
            BackendRow(
                name,
                accelerator,
                sum(device == device_of(ASKED[accelerator]) for device in devices),
                len(devices),
                *compared(made, golden, 1 if accelerator in EXAMPLES else 3),
                (cycles, None if accelerator in EXAMPLES else cycles_of(made)),
                (alone.arena_bytes, made.arena_bytes),
                (alone.constants_bytes, made.constants_bytes),
            )
        )


def _devices(compiled: Compiled) -> Iterator[str]:
    """The device of each node, as `deploy inspect --accelerator` counts them; empty of the core."""
    for layer in compiled.model.layers:
        if layer.parts:
            yield from (layer.device for _ in layer.parts)
        elif layer.op not in COPIES:
            yield layer.device


def file_rows() -> Iterator[str]:
    """The files of each accelerator's folder."""
    root = Path(codegen.accelerators.__file__).parent
    for name in ACCELERATORS:
        files = [
            path for path in (root / name.replace("-", "_")).rglob("*") if path.suffix in (".py", ".c", ".h")
        ]
        python = [path for path in files if path.suffix == ".py" and path.stat().st_size]
        c = [path for path in files if path.suffix != ".py"]
        counts = (len(python), _lines(python), len(c), _lines(c))
        yield f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |\n"


def _lines(files: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
