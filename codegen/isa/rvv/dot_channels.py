"""RISC-V vectors, dot products: multiplies each element of a window by the weights of a block of channels.

VWMACC multiplies a byte in a core register by the channels' weights and adds the products to 32-bit sums.
Neither rows nor weights are padded.
"""

from __future__ import annotations

from codegen.isa.plain.requantise import Requant
from codegen.isa.rvv.row_block import TOTAL, WEIGHTS, Products, RowBlock, row_block, rows_read
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Binary, For, Instruction, at, load

_PIXEL_INSTRUCTIONS = 2  # a byte load, VWMACC


def dot_channels(block: RowBlock, length: int, requant: Requant) -> Instruction:
    """Returns the instruction. A tap has `length` bytes, and that many weights per channel."""
    i, j, r, t, k = (variable(v) for v in ("i", "j", "r", "t", "k"))
    weight = ((r * block.taps + t) * length + k) * block.channels + j
    element = load(rows_read(block), i * block.x_step + t * block.tap_step + k, r)
    product = Accumulate(at(TOTAL), Binary("*", element, load(WEIGHTS, weight)))
    window = For("r", block.rows, (For("t", block.taps, (For("k", length, (product,)),)),))
    says = f"windows of {block.rows}x{block.taps * length}"
    products = Products(
        f"dots_{block.rows}x{length}_of_{block.channels}_channels{block.steps}",
        says,
        block.groups.sums_at_once(wide=1),
        (window,),
        lambda pixels: _lines(block, length, pixels),
        _PIXEL_INSTRUCTIONS,
    )
    return row_block(block, products, requant)


def _lines(block: RowBlock, length: int, pixels: int) -> list[str]:
    groups = block.groups
    weights = f"__riscv_vle8_v_i{groups.bytes}(v, vl)"
    inner = [
        f"const vint{groups.halves}_t weights = __riscv_vsext_vf2_i{groups.halves}({weights}, vl);",
        *(
            f"sum{n} = __riscv_vwmacc_vx_i{groups.words}(sum{n}, p[{_place(n * block.x_step)}], weights, vl);"
            for n in range(pixels)
        ),
        f"v += {block.channels};",
    ]
    lines = [f"for (int32_t k = 0; k < {length}; ++k) {{", *(f"    {line}" for line in inner), "}"]
    if block.taps == 1:
        return lines
    body = [f"    {line}" for line in (*lines, f"p += {block.tap_step};")]
    return [f"for (int32_t t = 0; t < {block.taps}; ++t) {{", *body, "}"]


def _place(offset: int) -> str:
    return f"k + {offset}" if offset else "k"
