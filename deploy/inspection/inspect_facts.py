"""The facts printed by `deploy inspect --json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from aot.ir.graph import Window
from artifact.facts import ModelFacts
from artifact.memory_map import BufferLife, MemoryMap
from artifact.report import LayerRow, Report
from codegen.fit.memory_use import MemoryUse
from codegen.model import TensorInfo
from deploy.inspection.placement_page import limits_json, placement_facts


def report_facts(report: Report, board_name: str | None) -> dict[str, Any]:
    facts, memory = report.facts, report.facts.memory
    return {
        "model": facts.name,
        "source_name": facts.source_name,
        "model_hash": facts.model_hash,
        "board": board_name,
        "core": facts.target.core,
        "fits": report.fits if board_name else None,
        "counts_firmware": report.counts_firmware,
        "operators": dict(operators(facts)),
        "inputs": [_tensor_facts(tensor) for tensor in facts.inputs],
        "outputs": [_tensor_facts(tensor) for tensor in facts.outputs],
        "macs": facts.macs,
        "removed_macs": dict(facts.removed_macs),
        **({"window": _window_facts(facts, facts.window)} if facts.window else {}),
        "arena_bytes": facts.arena_bytes,
        "io_bytes": facts.io_bytes_beside,
        "stack_bytes_estimate": facts.stack_bytes_estimate,
        "constants_bytes": facts.constants_bytes,
        "code_bytes_estimate": facts.code_bytes_estimate,
        "memory": [memory_use_facts(use) for use in report.memory],
        **limits_json(facts),
        **({"placement": placement_facts(facts.placement)} if facts.placement else {}),
        "bound_bytes": memory.bound_bytes,
        "whole_tensor_bound_bytes": memory.whole_tensor_bound_bytes,
        "is_least": memory.is_least,
        "peak": {
            "layer": report.peak.layer.index,
            "name": report.peak.layer.name,
            "origin": report.peak.layer.origin,
            "bytes": report.peak.bytes,
            "buffers": dict(report.peak.buffers),
        },
        "layers": [_layer_facts(row) for row in report.layers],
    }


def _window_facts(facts: ModelFacts, window: Window) -> dict[str, Any]:
    """Returns what a window that slides costs and saves; a hop's MACs are the model's."""
    return {
        "rows": window.rows,
        "hop_rows": window.hop,
        "hops": window.hops,
        "macs": window.macs,
        "state_bytes": facts.state_bytes,
    }


def window_lines(facts: ModelFacts) -> Iterator[str]:
    """Yields what a window that slides costs and saves, if there is one."""
    window = facts.window
    if window is not None:
        share = f"{facts.macs / window.macs:.1%}".replace("%", " %")
        yield (
            f"{window.rows} rows, {window.hop} of them new in each run: {share} of the window's "
            f"{window.macs:,} MACs; {facts.state_bytes:,} bytes of state"
        )


def arena_facts(memory: MemoryMap) -> dict[str, Any]:
    """Returns the buffers of each pool, with offsets and lifetimes in steps."""
    return {
        "steps": len(memory.order),
        "order": list(memory.order),  # by step: the layer that computes a row
        "live_bytes": list(memory.live_bytes),  # by step, over all pools
        "pools": [
            {
                "name": pool,
                "bytes": part.arena_bytes,
                "peak_bytes": part.peak_bytes,
                "peak_step": part.peak_step,
                "buffers": [_buffer_facts(buffer) for buffer in part.buffers],
            }
            for pool, part in zip(memory.pool_bytes, memory.by_pool(), strict=True)
        ],
    }


def _buffer_facts(buffer: BufferLife) -> dict[str, Any]:
    return {
        "name": buffer.name,
        "kind": buffer.kind,
        "offset": buffer.offset,
        "bytes": buffer.bytes,
        "row_bytes": buffer.row_bytes,
        "rows": buffer.rows,
        "rows_held": buffer.rows_held,
        "first_step": buffer.first_step,
        "last_step": buffer.last_step,
        "stays": [[span.row, span.first, span.last] for span in buffer.spans],  # row, first step, last step
    }


def operators(facts: ModelFacts) -> Counter[str]:
    """Counts the layers by op."""
    return Counter(layer.op for layer in facts.layers)


def _tensor_facts(tensor: TensorInfo) -> dict[str, Any]:
    quant = tensor.type.quant
    return {
        "name": tensor.name,
        "dtype": str(tensor.type.dtype.numpy),
        "shape": list(tensor.type.shape),
        "bytes": tensor.bytes,
        "scales": list(quant.scales) if quant else [],
        "zero_points": list(quant.zero_points) if quant else [],
    }


def memory_use_facts(use: MemoryUse) -> dict[str, Any]:
    region = use.region
    return {
        "role": region.role,
        "region": region.name,
        "region_bytes": region.bytes,
        "needed_bytes": use.needed_bytes,
        "parts": dict(use.parts),
        "fits": use.fits,
    }


def _layer_facts(row: LayerRow) -> dict[str, Any]:
    layer = row.layer
    return {
        "index": layer.index,
        "name": layer.name,
        "op": layer.op,
        "origin": layer.origin,
        "shapes": layer.shapes,
        "kernel": layer.kernel,
        "why": layer.why,
        "passed_over": list(layer.passed_over),
        "device": layer.device,
        "stays": list(layer.stays),
        "parts": [{"name": part.name, "op": part.op, "origin": part.origin} for part in layer.parts],
        "macs": layer.macs,
        "weight_bytes": layer.weight_bytes,
        "rows": row.output.rows,
        "rows_held": row.output.rows_held,
        "live_bytes": row.live_bytes,
        "is_peak": row.is_peak,
    }
