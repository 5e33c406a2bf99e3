"""Shifts, bits and remainders are NumPy's: in the loop interpreter, in C under sanitizers and on boards."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_checks import failures_on_host
from model_checks import check_of

from aot.errors import InputError
from aot.ir.types import Array
from codegen.loops.interpret import run_proc
from codegen.loops.ir import Proc
from deploy import lang

pytestmark = pytest.mark.usefixtures("own_folders")
SIZE = 40
BOARDS = {
    "host": ("gcc",),
    "mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm"),
    "qemu-riscv32": ("riscv64-unknown-elf-gcc", "qemu-system-riscv32"),
    "arduino-mega": ("arduino-builder", "avr-gcc", "simavr"),  # its int has 16 bits
}
WIDE, PLAIN, BYTE, SMALL, SHORT = (
    lang.placeholder(name, (SIZE,), dtype)
    for name, dtype in (("a", "i32"), ("u", "u32"), ("b", "u8"), ("c", "i8"), ("s", "i16"))
)
I32 = np.int32


def numbers(seed: int, dtype: Any) -> Any:
    """Random numbers, the ends of the type and what lies around 0 among them."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    made = np.random.default_rng(seed).integers(low, high, SIZE, dtype, endpoint=True)
    made[:7] = [low, high, 0, 1, low + 1, 7, 100]
    return made


GIVEN: dict[str, Any] = {
    "a": numbers(1, np.int32),
    "u": numbers(2, np.uint32),
    "b": numbers(3, np.uint8),
    "c": numbers(4, np.int8),
    "s": numbers(5, np.int16),
}
A, U, B, C, S = (GIVEN[name] for name in "aubcs")
PLACES = np.arange(SIZE, dtype=np.int32)

# What is said, and what NumPy makes of it. Results without a sign are taken as 32 bits with one.
MEANT: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "left": (lambda i: WIDE[i] << (BYTE[i] & 31), lambda: A << (B & 31).astype(I32)),
    "left_small": (lambda i: SMALL[i] << 24, lambda: C.astype(I32) << 24),
    "left_plain": (lambda i: PLAIN[i] << (BYTE[i] % 32), lambda: U << (B % 32).astype(np.uint32)),
    "one_left": (lambda i: 1 << (BYTE[i] & 7), lambda: np.left_shift(1, B & 7)),
    "right": (lambda i: WIDE[i] >> (BYTE[i] & 31), lambda: A >> (B & 31).astype(I32)),
    "right_short": (lambda i: SHORT[i] >> 20, lambda: S.astype(I32) >> 20),
    "right_plain": (lambda i: (PLAIN[i] - 5) >> 3, lambda: (U - np.uint32(5)) >> np.uint32(3)),
    "quotient": (lambda i: WIDE[i] // ((BYTE[i] & 15) + 1), lambda: A // ((B & 15) + I32(1))),
    "quotient_down": (lambda i: WIDE[i] // -3, lambda: A // I32(-3)),
    "quotient_of_two": (lambda i: WIDE[i] // 4096, lambda: A // I32(4096)),
    "quotient_small": (lambda i: SMALL[i] // -1, lambda: C.astype(I32) // -1),
    "quotient_plain": (lambda i: PLAIN[i] // 10, lambda: U // np.uint32(10)),
    "number_over": (lambda i: -1000 // ((SMALL[i] & 3) + 1), lambda: -1000 // ((C & 3) + I32(1))),
    "rest": (lambda i: WIDE[i] % ((BYTE[i] & 15) + 1), lambda: A % ((B & 15) + I32(1))),
    "rest_down": (lambda i: WIDE[i] % -7, lambda: A % I32(-7)),
    "rest_of_two": (lambda i: WIDE[i] % 64, lambda: A % I32(64)),
    "rest_plain": (lambda i: PLAIN[i] % 1000003, lambda: U % np.uint32(1000003)),
    "wide": (
        lambda i: lang.cast("i32", lang.cast("i64", WIDE[i]) * SHORT[i] // 32769),
        lambda: (A.astype(np.int64) * S // 32769).astype(I32),
    ),
    "bits": (lambda i: (SMALL[i] & -16) | (BYTE[i] ^ 85), lambda: (C & -16).astype(I32) | (B ^ 85)),
    "turned": (lambda i: ~WIDE[i], lambda: ~A),
    "turned_byte": (lambda i: ~BYTE[i] + ~SMALL[i], lambda: (~B).astype(I32) + ~C),
    "turned_twice": (lambda i: ~(~BYTE[i] & 60), lambda: (~(~B & 60)).astype(I32)),
    "alike": (lambda i: ~(PLAIN[i] ^ 0xDEADBEEF), lambda: ~(U ^ np.uint32(0xDEADBEEF))),
    "hash": (lambda i: PLAIN[i] * 2654435761 >> 7, lambda: U * np.uint32(2654435761) >> np.uint32(7)),
    "less": (lambda i: (PLAIN[i] - 1 < 5) & (BYTE[i] < 200), lambda: (U - np.uint32(1) < 5) & (B < 200)),
    "places": (
        lambda i: SMALL[i // 2] + SMALL[i % 5] + (i >> 1),
        lambda: C[PLACES // 2].astype(I32) + C[PLACES % 5] + (PLACES >> 1),
    ),
    "products": (lambda i: SMALL[i] * SMALL[i] * SMALL[i], lambda: C.astype(I32) ** 3),
    "squares": (lambda i: BYTE[i] * BYTE[i] + SHORT[i], lambda: B.astype(I32) ** 2 + S),
    "turns": (
        lambda i: lang.cast("u8", i) * 200 + (i < 3) * 300,
        lambda: PLACES * 200 + (PLACES < 3) * I32(300),
    ),
    "casts": (
        lambda i: lang.cast("u8", WIDE[i]) + lang.cast("i16", PLAIN[i]),
        lambda: A.astype(np.uint8).astype(I32) + U.astype(np.int16),
    ),
}


def whole() -> tuple[lang.Schedule, list[Array]]:
    """A kernel with an output for each row, and what they should be."""
    tensors = [
        lang.compute(name, (SIZE,), lambda i, said=said: lang.cast("i32", said(i)))
        for name, (said, _) in MEANT.items()
    ]
    wanted = [
        made().astype(np.uint32, casting="unsafe").view(I32)
        if made().dtype == np.uint32
        else made().astype(I32)
        for _, made in MEANT.values()
    ]
    return lang.schedule("whole", [WIDE, PLAIN, BYTE, SMALL, SHORT], tensors), wanted


def ran(proc: Proc) -> list[Array]:
    buffers = {
        p.name: GIVEN[p.name] if p.name in GIVEN else np.zeros(p.elements, p.dtype.numpy) for p in proc.params
    }
    run_proc(proc, {name: [array] for name, array in buffers.items()})
    return [buffers[name] for name in MEANT]


def test_the_interpreter_computes_what_numpy_does_and_texts_are_read_back():
    schedule, wanted = whole()
    for name, found, right in zip(MEANT, ran(schedule.proc), wanted, strict=True):
        assert np.array_equal(found, right), name
    text = schedule.show()
    assert lang.parse(text) == schedule.proc
    assert "hash[i24] = i32(u[i24] * u32(2654435761) >> 7)" in text
    assert "bits[i19] = i32(c[i19] & -16 | b[i19] ^ 85)" in text


@pytest.mark.cc
def test_nothing_is_undefined_in_c(tmp_path):
    """Built with the sanitizers and with every warning as an error."""
    schedule, wanted = whole()
    model = lang.build(schedule, "host").compiled.model
    (result,) = model.outputs
    check = check_of("whole", model, [GIVEN], [{result.name: np.concatenate(wanted)}])
    assert failures_on_host([check], tmp_path / "checks") == {}


@pytest.mark.cc
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("board", BOARDS)
def test_boards_compute_what_numpy_does(board, require_tool):
    require_tool(*BOARDS[board])
    schedule, wanted = whole()
    for loop, _ in [*schedule.loops.items()][::3]:  # steps do not change what is computed
        schedule.split(loop, 5)
    for name, found, right in zip(MEANT, lang.build(schedule, board)(*GIVEN.values()), wanted, strict=True):
        assert np.array_equal(found, right), name


def test_tensors_are_combined_as_numpy_does():
    x, z = lang.placeholder("x", (3, 4), "i8"), lang.placeholder("z", (4,), "i8")
    a, b = C[:12].reshape(3, 4), C[12:16]
    made = lang.proc("mixed", [x, z], (x >> 2 ^ ~z) % 5 + (7 << (z & 3)))
    out = np.zeros(12, np.int32)
    run_proc(made, {"x": [a.ravel()], "z": [b], [p.name for p in made.params][-1]: [out]})
    assert np.array_equal(out.reshape(3, 4), ((a >> 2 ^ ~b) % 5).astype(I32) + np.left_shift(7, b & 3))


def test_bits_of_one_type_stay_in_it():
    types = {
        "u8": lambda i: ~(BYTE[i] ^ 85) & BYTE[i] >> 1,
        "i8": lambda i: SMALL[i] | 15,
        "u32": lambda i: PLAIN[i] & 0xFFFF0000,
        "i32": lambda i: SMALL[i] & BYTE[i],
    }
    for dtype, said in types.items():
        assert lang.compute("y", (SIZE,), said).dtype.value == dtype


def f(store: str) -> str:
    return f"def f(x: input(i32[4]), t: input(i8[8]), y: output(i32[4])):\n    y[0] = {store}"


REST = "\n    for i in range(3):\n        y[i + 1] = 0"
# Texts know no types of users' values: they are refused where they are built, by what could happen.
TEXTS = {
    "x[0] << x[1]": "f has a shift by -2,147,483,648 to 2,147,483,647: i32 can be shifted by 0 to 31",
    "x[0] >> (x[1] & 63)": "f has a shift by 0 to 63: i32 can be shifted by 0 to 31",
    "i64(x[0]) >> -1": "f has a shift by -1: i64 can be shifted by 0 to 63",
    "x[0] // x[1]": "f has a division by -2,147,483,648 to 2,147,483,647, which includes 0",
    "x[0] % 0": "f has a division by 0",
    "x[0] // -1": "f has a division of -2,147,483,648 by -1, outside the 32 bits of i32",
    "f32(x[0]) % 3": "f has an operation % of floats",
    "t[0:][x[0] & 8]": "f has a computed index of t ranges from 0 to 8, but its last element is 7",
    "t[4:][x[0] % 5]": "f has a computed index of t ranges from 4 to 8, but its last element is 7",
}


@pytest.mark.parametrize("store", TEXTS)
def test_a_text_with_what_c_does_not_define_is_not_built(store):
    with pytest.raises(InputError) as caught:
        lang.build(lang.parse(f(store)), "host")
    assert caught.value.what == TEXTS[store]
    assert caught.value.where.startswith(f"{__file__}:")


def test_what_goes_beyond_32_bits_inside_a_value_is_reported_by_the_reference():
    kernel = lang.build(lang.parse(f("x[0] * x[1] >> 20") + REST), "host")
    with pytest.raises(InputError) as caught:
        kernel.reference(np.array([2**20, 2**20, 0, 0], I32), np.zeros(8, np.int8))
    assert caught.value.what == (
        "f is not defined for these inputs: 1048576 * 1048576 does not fit the 32 bits of i32"
    )
