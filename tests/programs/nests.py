"""Small loop nests to try schedules on, and what it is for two of them to mean the same."""

import numpy as np

from aot.ir.types import Array, DType
from codegen.loops.affine import variable
from codegen.loops.interpret import run_proc
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    Declare,
    Expr,
    For,
    Index,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
)

# The loop variables: output channel, pixel, kernel element, row.
CHANNEL, PIXEL, K, R = (variable(name) for name in "opkr")


def dots(channels: int, pixels: int, length: int, rows: int = 1) -> Proc:
    """y[p][o] = bias[o] + sum over r, k of x[r][p + k] * w[o][r][k]: what most kernels look like."""
    x = Buffer("x", DType.I8, pixels + length - 1, Role.ROWS, rows)
    w = Buffer("w", DType.I8, channels * rows * length, Role.CONSTANT)
    bias = Buffer("bias", DType.I32, channels, Role.CONSTANT)
    y = Buffer("y", DType.I32, channels * pixels, Role.OUTPUT)
    total = Buffer("sum", DType.I32, 1, Role.LOCAL)
    product = Binary("*", load(x, PIXEL + K, R), load(w, CHANNEL * (rows * length) + R * length + K))
    body = (
        Declare(total),
        Store(at(total), load(bias, CHANNEL)),
        For("r", rows, (For("k", length, (Accumulate(at(total), product),)),)),
        Store(at(y, PIXEL * channels + CHANNEL), load(total)),
    )
    return Proc("dots", (x, w, bias, y), (For("o", channels, (For("p", pixels, body),)),))


def numbered(rows: int, columns: int) -> Proc:
    """y[r][k] = x[r][k] + its place's number."""
    x = Buffer("x", DType.I8, rows * columns, Role.INPUT)
    y = Buffer("y", DType.I32, rows * columns, Role.OUTPUT)
    place = R * columns + K
    value: Expr = Binary("+", load(x, place), Index(place))
    return Proc("numbered", (x, y), (For("r", rows, (For("k", columns, (Store(at(y, place), value),)),)),))


def proc_of(*body: Stmt, params: tuple[Buffer, ...] = ()) -> Proc:
    return Proc("nest", params, body)


def result(proc: Proc, constants: dict[str, Array] | None = None, seed: int = 5) -> dict[str, list[Array]]:
    """What the outputs hold after a run on random inputs, the same for every proc of like parameters."""
    buffers = {p.name: random_rows(p, seed + n) for n, p in enumerate(proc.params)}
    buffers |= {name: [data] for name, data in (constants or {}).items()}
    run_proc(proc, buffers)
    return {p.name: buffers[p.name] for p in proc.params if p.role is Role.OUTPUT}


def random_rows(buffer: Buffer, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    shape = (buffer.rows, buffer.elements)
    return list(rng.integers(-128, 128, shape).astype(buffer.dtype.numpy))


def mean_the_same(before: Proc, after: Proc, constants: dict[str, Array] | None = None) -> bool:
    """`constants` are for the second, where they are stored in another way."""
    old, new = result(before), result(after, constants)
    return all(np.array_equal(old[name], new[name]) for name in old)
