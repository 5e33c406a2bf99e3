"""Runs int8 layers on gemm-npu, a simulated tensor accelerator. See docs/gemm-npu.md for its instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from aot.ir.types import DType
from aot.ops.average_pool2d import Halves
from codegen.accelerators.accelerator import Accelerator, AcceleratorOption
from codegen.accelerators.emulated import EmulatedDevice
from codegen.formats import RowFormat, whole
from codegen.kernels.conv_site import conv_tail
from codegen.kernels.dense import dense_tail
from codegen.kernels.depthwise_conv2d import ONE_FILTER_EACH
from codegen.kernels.depthwise_conv2d import tail_of as depthwise_tail
from codegen.kernels.kernel import CFile, CFunction, CLibrary, Kernel, MemoryDemand, RowAccess, Site, Started
from codegen.kernels.strategy import AS_TFLM_ROUNDS, Condition, RowRequests, Strategy, sums_of_32_bits
from codegen.loops.ir import Buffer, Proc, Role
from codegen.option_kinds import Choice
from extensions.gemm_npu.device import mapped
from extensions.gemm_npu.encoding import binary
from extensions.gemm_npu.header import c_header
from extensions.gemm_npu.layers import (
    CONV,
    DENSE,
    DEPTHWISE,
    POOL,
    NpuLayer,
    WindowLayer,
    halves_of,
    is_bytes,
    sum_of,
)
from extensions.gemm_npu.packing import has_exact_means
from extensions.gemm_npu.program import MOST_THREADS
from extensions.gemm_npu.tiles import misfit
from extensions.gemm_npu.timing import outside_bytes, timed

NAME = "gemm-npu"
ALIGN_BYTES = 16  # of all data that programs load and store
_REGISTERS_BYTES = 0x1000


def _file(name: str) -> CFile:
    return CFile(name, files("extensions.gemm_npu").joinpath(name).read_text(encoding="utf-8"))


@cache
def _library(device: str) -> CLibrary:
    sources = [_file(name) for name in ("gemm_npu.c", "gemm_npu_device.h", f"gemm_npu_{device}.c")]
    if device == "model":
        sources.append(CFile("gemm_npu_isa.h", c_header()))
    return CLibrary(_file("gemm_npu.h"), tuple(sources), code_bytes=1_900 if device == "model" else 200)


def _lower(compiled: NpuLayer, site: Site, device: str) -> Kernel:
    start, finish = (
        CFunction(
            f"gemm_npu_{what}{'' if len(_images(site)) == 1 else '_2'}",
            _library(device),
            (("instructions", len(compiled.program)),),
            stack_bytes=300,
        )
        for what in ("start", "finish")
    )
    constants = {"program": binary(compiled.program), "constants": compiled.constants}
    params = (
        *(Buffer(x, DType.I8, site.input(n).elements, Role.ROWS) for n, x in enumerate(_images(site))),
        Buffer("y", DType.I8, site.outputs[0].elements, Role.OUTPUT),
        Buffer("program", DType.I32, constants["program"].size, Role.CONSTANT),
        Buffer("constants", DType.I8, constants["constants"].size, Role.CONSTANT),
    )
    cycles, moved = timed(compiled.program).cycles, sum(map(outside_bytes, compiled.program))
    return Kernel(
        strategy=NAME,
        why=f"{cycles:,} cycles of the device, {moved:,} bytes moved",
        proc=Proc(finish.name, params, ()),
        summary="",
        access=(RowAccess(stride=1, first=0, count=1),) * len(_images(site)),
        constants=constants,
        whole=True,
        calls=finish,
        started=Started(Proc(start.name, params, ()), start),
    )


def _images(site: Site) -> tuple[str, ...]:
    return ("x", "x2") if site.node.op.name == "add" else ("x",)


def _requests(site: Site) -> RowRequests:
    return tuple(whole(site.input(n)) for n in range(len(_images(site))))


def _reads_constants_by_pointer(site: Site) -> bool:
    return not site.target.constant_space


def _has_exact_means(site: Site) -> bool:
    halves = halves_of(site)
    return halves in (Halves.AWAY, Halves.UP) and all(
        has_exact_means(count, halves) for count in POOL.window(site).counts
    )


def _adds_tensors_of_one_shape(site: Site) -> bool:
    first, second, y = site.inputs[0], site.inputs[1], site.outputs[0]
    return first is not None and second is not None and first.shape == second.shape == y.shape


def _are_quantised(site: Site) -> bool:
    return all(each is not None and each.quant is not None for each in (*site.inputs[:2], *site.outputs))


def _adds_values(site: Site) -> bool:
    return not site.constants


_BYTES = Condition[Site]("values and weights of bytes", is_bytes)
_POINTERS = Condition[Site](
    "cores that read constants through ordinary pointers", _reads_constants_by_pointer
)


_FITS: Mapping[str, tuple[Condition[Site], ...]] = {
    "conv2d": (_BYTES, _POINTERS, AS_TFLM_ROUNDS, sums_of_32_bits(conv_tail)),
    "depthwise_conv2d": (
        _BYTES,
        _POINTERS,
        AS_TFLM_ROUNDS,
        sums_of_32_bits(depthwise_tail),
        ONE_FILTER_EACH,
    ),
    "dense": (_BYTES, _POINTERS, AS_TFLM_ROUNDS, sums_of_32_bits(dense_tail)),
    "average_pool2d": (
        _BYTES,
        _POINTERS,
        Condition("means with halves away from 0 or up", _has_exact_means),
    ),
    "max_pool2d": (_BYTES, _POINTERS),
    "add": (
        _BYTES,
        _POINTERS,
        Condition("quantized values", _are_quantised),
        Condition("two computed values", _adds_values),
        Condition("tensors of one shape", _adds_tensors_of_one_shape),
    ),
}
_WINDOWS: Mapping[str, WindowLayer] = {
    "conv2d": CONV,
    "depthwise_conv2d": DEPTHWISE,
    "dense": DENSE,
    "average_pool2d": POOL,
    "max_pool2d": POOL,
}


def _strategy(op: str, threads: int, device: str) -> Strategy:
    layer = _WINDOWS.get(op)
    compiled = layer.compiled if layer is not None else sum_of

    def lower(site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
        return _lower(compiled(site, threads), site, device)

    def refuses(site: Site) -> str:
        return misfit(layer.window(site), threads) if layer is not None else ""

    addresses = Condition[Site]("cores with 32-bit addresses", lambda site: site.target.pointer_bytes == 4)
    fits = (*_FITS[op], addresses) if device == "registers" else _FITS[op]
    return Strategy(NAME, _requests, lower, fits=fits, refuses=refuses, demand=MemoryDemand(ALIGN_BYTES))


_THREADS = AcceleratorOption(
    "threads",
    Choice({str(n): n for n in range(1, MOST_THREADS + 1)}),
    MOST_THREADS,
    "virtual threads: with 2, a tile is loaded while another is computed",
)
_DEVICE = AcceleratorOption(
    "device",
    Choice({word: word for word in ("model", "registers")}),
    "model",
    "what computes: a C model, or the device through its registers (emulated by unicorn)",
)
_OPTIONS = (_THREADS, _DEVICE)
_SUMMARY = "a simulated tensor accelerator with its own instruction set, queues and tokens"


def _configured(settings: Mapping[str, Any]) -> Accelerator:
    return Accelerator(
        _SUMMARY,
        {op: (_strategy(op, settings["threads"], settings["device"]),) for op in _FITS},
        options=_OPTIONS,
        configured=_configured,
        emulated=EmulatedDevice(_REGISTERS_BYTES, mapped),
    )


ACCELERATOR = _configured({option.name: option.default for option in _OPTIONS})
