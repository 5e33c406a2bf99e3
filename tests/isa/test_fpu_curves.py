"""Curves of gates for the FPU keep their stated errors, and have the same bits on boards in QEMU."""

import numpy as np
import pytest
from c_checks import failures_on_board
from proc_checks import proc_check

from aot.ir.types import DType
from codegen.isa.fpu.curves import LARGEST_ERROR, LARGEST_PRODUCT_ERROR, Curves
from codegen.isa.plain.f32 import APART, FUSED
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Buffer, For, Proc, Role, Store, at, load

SUMS = pytest.mark.parametrize("added", [APART, FUSED], ids=lambda added: added.name)
FINITE = (0.0, -0.0, 1e-40, -1e-40, 9.9, 10.1, 85.9, 86.1, -85.9, -86.1, 1e30, -1e30)


def values(seed, count=3000):
    seeded = np.random.default_rng(seed)
    parts = [seeded.normal(0, scale, count) for scale in (1e-3, 0.1, 1, 12)]
    return np.clip(np.concatenate(parts), -80, 80).astype(np.float32)


def error(found, true):
    return np.max(np.abs(np.array(found, np.float64) - true) / np.abs(true))


@SUMS
def test_errors_stay_below_what_is_stated(added):
    curves, a, b = Curves(added), values(1), values(2)
    sigmoids = 1 / (1 + np.exp(-a.astype(np.float64)))
    found = [curves.sigmoid.meaning(v) for v in a]
    assert LARGEST_ERROR / 2 < error(found, sigmoids) <= LARGEST_ERROR
    found = [curves.product.meaning(*pair) for pair in zip(a, b, strict=True)]
    true = sigmoids * np.tanh(b.astype(np.float64))
    assert LARGEST_PRODUCT_ERROR / 2 < error(found, true) <= LARGEST_PRODUCT_ERROR


@SUMS
def test_ends_are_those_of_the_library_except_for_the_smallest_gates(added):
    curves = Curves(added)
    for value, gate, tanh in ((np.inf, 1, 1), (-np.inf, 0, -1), (np.nan, np.nan, np.nan), (0, 0.5, 0)):
        assert np.isclose(curves.sigmoid.meaning(value), gate, atol=1e-37, equal_nan=True)
        assert np.isclose(curves.product.meaning(np.inf, value), tanh, atol=0, equal_nan=True)
        assert np.isclose(curves.product.meaning(value, -np.inf), -gate, atol=1e-37, equal_nan=True)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(("board", "added"), [("mps2-an386", APART), ("mps2-an500", FUSED)])
def test_boards_compute_the_same_bits(board, added, compiler, tmp_path):
    a, b = (np.concatenate([values(seed, 250), FINITE]).astype(np.float32) for seed in (1, 2))
    xs, zs = (Buffer(name, DType.F32, a.size, Role.INPUT) for name in "xz")
    y, i, curves = Buffer("y", DType.F32, a.size, Role.OUTPUT), variable("i"), Curves(added)
    gate = Store(at(y, i), Apply(curves.sigmoid, (load(xs, i),)))
    product = Store(at(y, i), Apply(curves.product, (load(xs, i), load(zs, i))))
    procs = (
        Proc("gates", (xs, y), (For("i", a.size, (gate,)),)),
        Proc("products", (xs, zs, y), (For("i", a.size, (product,)),)),
    )
    checks = [proc_check(proc.name, proc, {"x": a, "z": b}) for proc in procs]
    assert failures_on_board(checks, tmp_path / "checks", board, compiler[0]) == {}
