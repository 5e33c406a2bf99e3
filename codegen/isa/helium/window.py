"""Helium: copies windows of thin rows to contiguous memory, so that sixteen products need one load."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.isa.asm import FEW_REGISTERS
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, For, Instruction, Role, Store, at, load

MOST_ROWS = 10  # each has a pointer in a register
LONGEST = 127  # bytes of a window: the largest offset of a byte store
_BLOCK = 4  # instructions under one VPST
_STACK_BYTES = (
    64  # of constants of several row statements, which registers do not hold while windows are copied
)
_MOST_INLINE = 6  # pointers; with more, a caller would lack registers


def copy_windows(pixels: int, rows: int, length: int, x_step: int) -> Instruction:
    """windows[i][r][k] = x[r][i * x_step + k] for the `length` bytes of each row, fewer than sixteen."""
    windows = Buffer("windows", DType.I8, 0, Role.SCRATCH)
    x = Buffer("x", DType.I8, 0, Role.ROWS, rows)
    i, r, k = variable("i"), variable("r"), variable("k")
    copy = Store(at(windows, i * (rows * length) + r * length + k), load(x, i * x_step + k, r))
    name = f"copy_windows_{rows}x{length}_step_{x_step}"
    given = ", ".join(f"{{x[{n}]}}" for n in range(rows))
    return Instruction(
        name=f"{name}_of_{pixels}",
        params=(windows, x),
        body=(For("i", pixels, (For("r", rows, (For("k", length, (copy,)),)),)),),
        call=f"{name}({{windows}}, {given}, {pixels});",
        definition=_definition(name, rows, length, x_step),
        includes=INCLUDES,
        calls=(FEW_REGISTERS,),
        needs=NEEDS,
        machine_instructions=len(_asm_lines(rows, length, x_step)),
        stack_bytes=_STACK_BYTES if rows <= _MOST_INLINE else 0,
        is_asm=True,  # stack estimates assume that it is always inlined
    )


def _definition(name: str, rows: int, length: int, x_step: int) -> str:
    xs = ", ".join(f"const int8_t *x{r}" for r in range(rows))
    pointers = ", ".join(f'[x{r}] "+r"(x{r})' for r in range(rows))
    kept = "inline " if rows <= _MOST_INLINE else "__attribute__((noinline)) "
    lines = [
        f"/* Windows of {rows} rows of {length} bytes, one after another. */",
        f"static {kept}void {name}(int8_t *windows, {xs}, int32_t pixels)",
        "{",
        "#ifdef FEW_REGISTERS",
        f"    const mve_pred16_t valid = vctp8q({length});",
        "    for (int32_t i = 0; i < pixels; ++i) {",
        *(
            f"        vstrbq_p_s8(windows + {n * length}, vldrbq_z_s8(x{n} + i * {x_step}, valid), valid);"
            for n in range(rows)
        ),
        f"        windows += {rows * length};",
        "    }",
        "#else",
        "    __asm__ volatile(",
        *(f'        "{line}\\n\\t"' for line in _asm_lines(rows, length, x_step)),
        f'        : [windows] "+r"(windows), {pointers}',
        '        : [pixels] "r"(pixels)',
        '        : "q0", "p0", "lr", "memory");',
        "#endif",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _asm_lines(rows: int, length: int, x_step: int) -> list[str]:
    copies = [line for r in range(rows) for line in _copy(r, length, x_step)]
    lines = [f"mov lr, #{length}", "vctp.8 lr", "dls lr, %[pixels]", "1:"]
    for first in range(0, len(copies), _BLOCK):
        block = copies[first : first + _BLOCK]
        lines += [f"vps{'t' * len(block)}", *block]
    return [*lines, f"add %[windows], #{rows * length}", "le lr, 1b"]


def _copy(row: int, length: int, x_step: int) -> list[str]:
    return [f"vldrbt.8 q0, [%[x{row}]], #{x_step}", f"vstrbt.8 q0, [%[windows], #{row * length}]"]
