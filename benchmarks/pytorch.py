"""PyTorch's networks compiled in one call: how far from PyTorch in float, and what int8 loses."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import Any

import deploy
from benchmarks.pytorch_networks import NETWORKS, make_network
from deploy.frameworks.compile_framework_model import CompiledModule, Conversion

SAMPLES = 16
BOARD = "host"
HEAD = """\
# PyTorch's networks

Printed by `python -m benchmarks pytorch`, which needs `pip install 'solder-mcu[torch]' torchvision`. Each
network is compiled by `deploy.compile(module, board, example, calibration)` with random weights, 16 samples
of noise, and normalizations adapted to noise. The rounding loss depends on weights, so trained networks
differ. *Float* is the largest difference from PyTorch's outputs, and *largest* the largest output. *int8*
is the signal-to-noise ratio of the outputs in decibels, on the calibration samples, and *same class* the
share of samples with the class of the float model.

| network | input | PyTorch | parameters | float | largest | int8, dB | same class | arena | seconds |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|
"""


def pytorch_rows(names: Collection[str] = ()) -> Iterator[str]:
    """A row for each network, or for those named."""
    import torch

    for name in names or NETWORKS:
        start = time.perf_counter()
        compiled = compiled_network(torch, name)
        yield _row(torch, name, compiled, time.perf_counter() - start)


def compiled_network(torch: Any, name: str, samples: int = SAMPLES) -> CompiledModule:
    """The network as the board takes it, int8, with what its conversion cost."""
    shape = NETWORKS[name].shape
    module = make_network(torch, name)
    inputs = _inputs(torch, name, samples).unsqueeze(1) if samples else None
    compiled = deploy.compile(module, BOARD, example=torch.zeros(shape), calibration=inputs)
    assert isinstance(compiled, CompiledModule)
    return compiled


def _inputs(torch: Any, name: str, samples: int) -> Any:
    generator = torch.Generator().manual_seed(7)
    return torch.randn(samples, *NETWORKS[name].shape[1:], generator=generator)


def conversion_of(compiled: CompiledModule) -> Conversion:
    assert compiled.conversion is not None
    return compiled.conversion


def loss_db(conversion: Conversion) -> float:
    """How far the int8 model's error of the outputs lies below them."""
    assert conversion.quantized is not None
    kept = conversion.quantized.refined or conversion.quantized.refinements[0]
    return kept.signal_to_noise_db


def _row(torch: Any, name: str, compiled: CompiledModule, seconds: float) -> str:
    found, network = conversion_of(compiled), NETWORKS[name]
    module = make_network(torch, name)
    with torch.no_grad():
        largest = float(module(_inputs(torch, name, SAMPLES)).abs().max())
    parameters = sum(each.numel() for each in module.parameters())
    same = None if found.quantized is None else found.quantized.same_class
    of = "torchvision" if network.is_of_torchvision else "torch.nn"
    shape = "x".join(map(str, network.shape))
    cells = (
        *(name, shape, of, f"{parameters:,}", f"{found.distance:.1e}", f"{largest:.2g}"),
        *(f"{loss_db(found):.1f}", "" if same is None else f"{same:.0%}"),
        *(f"{compiled.arena_bytes:,}", f"{seconds:.0f}"),
    )
    return f"| {' | '.join(cells)} |\n"
