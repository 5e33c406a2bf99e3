"""An example accelerator that fuses a convolution and the next pool, with packed weights and scratch.

Its C code computes the result of the device. Copy it for a device with packed weights, scratch memory or
fused layers. See `packing.py` for the layout of constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from aot.ir.graph import Graph, Node
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.conv2d import Conv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.requant import quant_of
from aot.ops.rounding import RequantRounding
from aot.passes.outcome import Miss
from aot.passes.partition.claims import ClaimRule, Claims, claims_by_rules
from aot.passes.values import needed_elsewhere
from aot.patterns.pattern import Match, is_op
from codegen.accelerators.accelerator import (
    Accelerator,
    AcceleratorOption,
    Regions,
    inner_site,
    region_of,
    whole_inputs,
)
from codegen.formats import RowFormat
from codegen.kernels.conv_site import conv_op, conv_tail
from codegen.kernels.kernel import CFile, CFunction, CLibrary, Kernel, MemoryDemand, Site
from codegen.kernels.strategy import AS_TFLM_ROUNDS, Condition, Strategy, sums_of_32_bits
from codegen.loops.ir import Buffer, Proc, Role
from codegen.option_kinds import Choice
from extensions.strawberry.packing import floats, packed, tables_of_bytes

_ALIGN = 8  # bytes per load of the device
_KINDS = {DType.I8: "i8", DType.F32: "f32"}
_DTYPES = {"int8": DType.I8, "int32": DType.I32, "float32": DType.F32}  # of tables


def _file(name: str) -> CFile:
    return CFile(name, files("extensions.strawberry").joinpath(name).read_text(encoding="utf-8"))


def _library(kind: str) -> CLibrary:
    sources, headers = (_file(f"strawberry_{kind}.c"),), ("math.h",) if kind == "f32" else ()
    return CLibrary(_file("strawberry.h"), sources, code_bytes=1100, c_headers=headers)


def _conv_refusal(graph: Graph, conv: Node) -> Miss | None:
    op, (x, w, *_), (y,) = conv.op_as(Conv2d), conv.reads, conv.outputs
    types = {graph.types[value].dtype for value in (x, w, y)}
    if len(types) > 1 or not types <= _KINDS.keys():
        return Miss("only for bytes or floats, with weights and results of the same type")
    if w not in graph.constants:
        return Miss("only for weights known at compile time")
    if op.dilation != (1, 1):
        return Miss("only for windows without dilation")
    if types == {DType.I8} and op.rounding is not RequantRounding.DOUBLE:
        return Miss(f"only for {AS_TFLM_ROUNDS.description}")
    return None


def _refusal(graph: Graph, found: Match) -> Miss | None:
    conv, *pools = found.nodes
    for pool in pools:
        assert isinstance(pool.op, MaxPool2d)
        if pool.op.activation is not Activation.NONE:
            return Miss("only for pools without an activation")
        if pool.op.stride[0] < pool.op.size[0]:
            return Miss("only for pools whose windows share no rows: it would compute shared rows twice")
        elsewhere = needed_elsewhere(graph, conv.outputs[0])
        if elsewhere is not None:
            return elsewhere
    return _conv_refusal(graph, conv)


_CONV = is_op("conv2d")
_RULES = (ClaimRule(is_op("max_pool2d")(_CONV), _refusal), ClaimRule(is_op("conv2d"), _refusal))


def _claims(owner: str, graph: Graph) -> Claims:
    """Claims convolutions with or without a pool. Each is a separate region."""
    return claims_by_rules(owner, _RULES, graph, merges=False)


def _conv_site(site: Site) -> Site:
    return inner_site(site, region_of(site).graph.nodes[0])


def _has_short_sums(site: Site) -> bool:
    return site.input(0).dtype is DType.F32 or sums_of_32_bits(conv_tail).holds(_conv_site(site))


def _pool(site: Site) -> MaxPool2d:
    """Returns the pool after the convolution, or a 1x1 pool if there is none."""
    ops = [node.op for node in region_of(site).graph.nodes]
    pool = ops[1] if len(ops) > 1 else MaxPool2d((1, 1), (1, 1))
    assert isinstance(pool, MaxPool2d)
    return pool


def _lower(site: Site, lanes: int) -> Kernel:
    conv, pool, dtype = _conv_site(site), _pool(site), site.input(0).dtype
    tables = {"w": packed(conv.constants[1], lanes)}
    tables |= tables_of_bytes(conv) if dtype is DType.I8 else floats(conv)
    lines = pool.size[0] * conv.outputs[0].shape[2] * conv.outputs[0].shape[3]
    pointers = (
        Buffer("x", dtype, site.input(0).elements, Role.ROWS),
        Buffer("y", dtype, site.outputs[0].elements, Role.OUTPUT),
        *(Buffer(name, _DTYPES[t.dtype.name], t.size, Role.CONSTANT) for name, t in tables.items()),
        Buffer("lines", dtype, lines, Role.SCRATCH),
    )
    name = f"strawberry_{_KINDS[dtype]}"
    numbers = (*_geometry(site, conv, pool, lanes), *(_bytes_text(conv) if dtype is DType.I8 else ()))
    pooled = "the intermediate image exists only as a few rows of scratch"
    alone = "it supports convolutions of any shape"
    return Kernel(
        strategy="strawberry",
        why=pooled if len(region_of(site).graph.nodes) > 1 else alone,
        proc=Proc(name, pointers, ()),
        summary="",
        constants=tables,
        whole=True,
        calls=CFunction(name, _library(_KINDS[dtype]), numbers, stack_bytes=200),
    )


def _geometry(site: Site, conv: Site, pool: MaxPool2d, lanes: int) -> tuple[tuple[str, int], ...]:
    """Returns the first members of the function's shape, in the order of its header."""
    op = conv_op(conv)
    _, x_rows, x_columns, depth = conv.input(0).shape
    _, c_rows, c_columns, channels = conv.outputs[0].shape
    _, y_rows, y_columns, _ = site.outputs[0].shape
    _, w_rows, w_columns, _ = conv.constants[1].shape
    numbers = {
        "x": (x_rows, x_columns, depth),
        "c": (c_rows, c_columns, channels),
        "w": (w_rows, w_columns),
        "stride": op.stride,
        "padding": (op.padding[0][0], op.padding[1][0]),
        "p": pool.size,
        "p_stride": pool.stride,
        "p_padding": (pool.padding[0][0], pool.padding[1][0]),
        "y": (y_rows, y_columns),
        "lanes": (lanes,),
    }
    return tuple(
        (name, number)
        for key, values in numbers.items()
        for name, number in zip(_MEMBERS[key], values, strict=True)
    )


_MEMBERS = {
    "x": ("x_rows", "x_columns", "depth"),
    "c": ("c_rows", "c_columns", "channels"),
    "w": ("w_rows", "w_columns"),
    "stride": ("stride_rows", "stride_columns"),
    "padding": ("top", "left"),
    "p": ("p_rows", "p_columns"),
    "p_stride": ("p_stride_rows", "p_stride_columns"),
    "p_padding": ("p_top", "p_left"),
    "y": ("y_rows", "y_columns"),
    "lanes": ("lanes",),
}


def _bytes_text(conv: Site) -> tuple[tuple[str, int], ...]:
    """Returns the zero points and limits of int8 results."""
    requant = conv_tail(conv).requant
    return (
        ("x_zero", quant_of(conv.input(0)).zero_point),
        ("y_zero", requant.zero_point),
        ("y_least", requant.low),
        ("y_most", requant.high),
    )


_LANES = AcceleratorOption("lanes", Choice({"4": 4, "8": 8}), 4, "channels computed together")


def _configured(settings: Mapping[str, Any]) -> Accelerator:
    lanes = settings["lanes"]

    def lower(site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
        return _lower(site, lanes)

    strategy = Strategy(
        "strawberry",
        whole_inputs,
        lower,
        fits=(Condition("sums of 32 bits", _has_short_sums),),
        demand=MemoryDemand(_ALIGN),
    )
    return Accelerator(_SUMMARY, regions=Regions(_claims, (strategy,)), options=(_LANES,))


_SUMMARY = "convolutions fused with the pool after them, packed weights and scratch: an example to copy"
ACCELERATOR = Accelerator(
    _SUMMARY,
    regions=_configured({"lanes": _LANES.default}).regions,
    options=(_LANES,),
    configured=_configured,
)
