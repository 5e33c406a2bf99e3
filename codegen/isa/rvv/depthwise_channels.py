"""RISC-V vectors, depthwise windows: multiplies the channels of a pixel by contiguous weights."""

from __future__ import annotations

from codegen.isa.plain.requantise import Requant
from codegen.isa.rvv.row_block import TOTAL, WEIGHTS, Products, RowBlock, row_block, rows_read
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Binary, For, Instruction, at, load

_PIXEL_INSTRUCTIONS = 3  # VLE8, VSEXT, VWMACC


def depthwise_channels(block: RowBlock, requant: Requant) -> Instruction:
    """Returns the instruction. The weights of a tap are contiguous, one per channel of the block."""
    i, j, r, t = (variable(v) for v in ("i", "j", "r", "t"))
    weight = (r * block.taps + t) * block.channels + j
    element = load(rows_read(block), i * block.x_step + t * block.tap_step + j, r)
    product = Accumulate(at(TOTAL), Binary("*", element, load(WEIGHTS, weight)))
    products = Products(
        f"depthwise_{block.rows}x{block.taps}_of_{block.channels}_channels{block.steps}",
        f"windows of {block.rows}x{block.taps}",
        block.groups.sums_at_once(wide=2),
        (For("r", block.rows, (For("t", block.taps, (product,)),)),),
        lambda pixels: _lines(block, pixels),
        _PIXEL_INSTRUCTIONS,
    )
    return row_block(block, products, requant)


def _lines(block: RowBlock, pixels: int) -> list[str]:
    groups = block.groups
    inner = [f"const vint{groups.halves}_t weights = {_widened(block, 'v')};"]
    for n in range(pixels):
        place = f"p + {n * block.x_step}" if n else "p"
        operands = f"sum{n}, {_widened(block, place)}, weights, vl"
        inner.append(f"sum{n} = __riscv_vwmacc_vv_i{groups.words}({operands});")
    inner.append(f"v += {block.channels};")
    if block.taps == 1:
        return inner
    body = [f"    {line}" for line in (*inner, f"p += {block.tap_step};")]
    return [f"for (int32_t t = 0; t < {block.taps}; ++t) {{", *body, "}"]


def _widened(block: RowBlock, place: str) -> str:
    groups = block.groups
    return f"__riscv_vsext_vf2_i{groups.halves}(__riscv_vle8_v_i{groups.bytes}({place}, vl), vl)"
