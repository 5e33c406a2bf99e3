"""The activations of recurrent layers as functions of one float."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from aot.ops.activation import Activation
from aot.ops.recurrent import ACTIVATIONS
from codegen.isa.names import mangle
from codegen.isa.plain.f32 import clamp_f32, f32_function, literal
from codegen.kernels.unary import LOGISTIC, TANH
from codegen.loops.ir import ScalarFunction

_FIXED: Mapping[str, ScalarFunction] = {
    "relu": clamp_f32(Activation.RELU),
    "sigmoid": LOGISTIC,
    "tanh": TANH,
}
# C code, and the functions of math.h that it calls; {a} and {b} are alpha and beta.
_TEXTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "affine": ("{a} * v + {b}", ()),
    "elu": ("v < 0.0f ? {a} * expm1f(v) : v", ("expm1f",)),
    "hard_sigmoid": ("fminf(fmaxf({a} * v + {b}, 0.0f), 1.0f)", ("fminf", "fmaxf")),
    "leaky_relu": ("v < 0.0f ? {a} * v : v", ()),
    "scaled_tanh": ("{a} * tanhf({b} * v)", ("tanhf",)),
    "softplus": ("v > 0.0f ? v + log1pf(expf(-v)) : log1pf(expf(v))", ("log1pf", "expf")),
    "softsign": ("v / (1.0f + fabsf(v))", ("fabsf",)),
    "thresholded_relu": ("v > {a} ? v : 0.0f", ()),
}


def gate_function(name: str, alpha: float, beta: float) -> ScalarFunction:
    """Returns f(v) for that name in ACTIVATIONS."""
    if name in _FIXED:
        return _FIXED[name]
    form, library_calls = _TEXTS[name]
    text = form.format(a=f"({literal(alpha)})", b=f"({literal(beta)})")
    unique = mangle(f"real_{name}", text)
    return f32_function(unique, text, partial(_meaning, name, alpha, beta), ("math.h",), library_calls)


def _meaning(name: str, alpha: float, beta: float, v: float) -> float:
    return float(ACTIVATIONS[name](v, alpha, beta))
