"""--approximate: polynomials for exp, tanh and sigmoid keep their stated error, and integers stay exact."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from op_case import OpCase, float32, op_case
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ops.softmax import Softmax
from aot.ops.unary import Logistic, Tanh
from aot.ops.unary_math import MathFunction, UnaryMath
from aot.passes.pipeline import run_meaning
from aot.target import Feature, Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.kernels.approximate import EXP, LARGEST_ERROR, LEAST_RESULT, SIGMOID, STATED, TANH
from codegen.lower.lower import lower_graph
from codegen.options import OPTIONS, CompileOptions

_STEP = 499  # bit patterns of floats from one trial to the next: every exponent has 16,811 of them
_TRUE = {"exp": "exp(v)", "tanh": "tanh(v)", "sigmoid": "1 / (1 + exp(-(double)v))"}
_FUNCTIONS = {"exp": EXP, "tanh": TANH, "sigmoid": SIGMOID}
# Prints the largest error of results that are large enough, the largest of others, and how many were tried.
_PROGRAM = """
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
{definitions}
int main(void)
{{
    double largest = 0, small = 0;
    unsigned count = 0;
    for (uint64_t pattern = 0; pattern < UINT64_C(1) << 32; pattern += {step}) {{
        const uint32_t bits = (uint32_t)pattern;
        float v;
        memcpy(&v, &bits, sizeof v);
        const double value = {true};
        if (v != v || value > 3.4028234e38) {{
            continue;
        }}
        const double apart = fabs((double)approximate_{name}(v) - value);
        if (fabs(value) >= {least} || {is_tanh}) {{
            largest = value != 0 && apart / fabs(value) > largest ? apart / fabs(value) : largest;
        }} else {{
            small = apart > small ? apart : small;
        }}
        ++count;
    }}
    printf("%.9g %.9g %u\\n", largest, small, count);
    return 0;
}}
"""
_CALLS = """
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
{definitions}
int main(void)
{{
    float v;
    while (fread(&v, sizeof v, 1, stdin) == 1) {{
        const float results[] = {{approximate_exp(v), approximate_tanh(v), approximate_sigmoid(v)}};
        fwrite(results, sizeof results, 1, stdout);
    }}
    return 0;
}}
"""
ENDS = (0.0, -0.0, 1e-40, -1e-40, 88.72, 88.73, -86.64, -86.65, -104.0, np.inf, -np.inf, np.nan)


def _built(text: str, folder: Path, *flags: str) -> Path:
    (folder / "program.c").write_text(text)
    program = folder / "program"
    words = ("cc", "-std=c99", "-O2", "-Wall", "-Werror", *flags, str(folder / "program.c"))
    subprocess.run([*words, "-o", str(program), "-lm"], check=True)
    return program


def _definitions(*names: str) -> str:
    needed = {each.name: each for name in names for each in (*_FUNCTIONS[name].calls, _FUNCTIONS[name])}
    return "\n".join(each.definition for each in needed.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_errors_stay_below_what_is_stated(name, require_tool, tmp_path):
    require_tool("cc")
    given = {"true": _TRUE[name], "name": name, "step": _STEP, "least": LEAST_RESULT}
    text = _PROGRAM.format(definitions=_definitions(name), is_tanh=int(name == "tanh"), **given)
    found = subprocess.run([_built(text, tmp_path)], check=True, capture_output=True, text=True).stdout
    largest, small, count = found.split()
    assert int(count) > 6_000_000
    assert LARGEST_ERROR / 2 < float(largest) <= LARGEST_ERROR
    assert float(small) < LEAST_RESULT


def test_the_meanings_are_what_c_computes(require_tool, tmp_path):
    require_tool("cc")
    seeded = np.random.default_rng(5)
    values = np.concatenate([seeded.normal(0, scale, 300) for scale in (1e-3, 0.3, 3, 40)])
    values = np.concatenate([values, ENDS]).astype(np.float32)
    program = _built(
        _CALLS.format(definitions=_definitions(*_FUNCTIONS)), tmp_path, "-ffp-contract=off", "-msse2"
    )
    made = subprocess.run([program], input=values.tobytes(), check=True, capture_output=True).stdout
    found = np.frombuffer(made, np.float32).reshape(-1, len(_FUNCTIONS))
    for column, function in enumerate((EXP, TANH, SIGMOID)):
        meant = np.array([function.meaning(float(v)) for v in values], np.float32)
        assert np.array_equal(found[:, column], meant, equal_nan=True), function.name


def case(name: str) -> OpCase:
    x = float32(1, 2, 3, 5)
    ops = {
        "softmax": Softmax(),
        "tanh": Tanh(),
        "logistic": Logistic(),
        "exp": UnaryMath(MathFunction.EXP),
    }
    return op_case(f"approximate_{name}", ops[name], [x], float32())


@pytest.mark.parametrize("name", ["softmax", "tanh", "logistic", "exp"])
def test_float_layers_have_polynomials_where_they_are_asked_for(name):
    each, target = case(name), Target("cortex-m4", frozenset({Feature.FPU, Feature.DSP, Feature.UNALIGNED}))
    model = ImportedModel(each.graph, "case.tflite", "00" * 32, "model")
    texts = [
        "".join(compile_job(Job(model, target, options)).sources.values())
        for options in (CompileOptions(), CompileOptions(approximate=True))
    ]
    assert ["static inline float approximate_" in text for text in texts] == [False, True]
    assert ["expf(" in text or "tanhf(" in text for text in texts] == [True, False]
    lowered = lower_graph(run_meaning(each.graph).graph, target, CompileOptions(approximate=True))
    inputs = each.inputs(0)
    found, expected = run_lowered(lowered, inputs)["y"], run_graph(each.graph, inputs)["y"]
    assert np.allclose(found, expected, rtol=2 * LARGEST_ERROR, atol=0)


def test_the_words_for_it_have_the_number():
    assert STATED == "exp, tanh and sigmoid by polynomials within 3e-07 of their values"
    assert f"within {LARGEST_ERROR:g}, " in OPTIONS["approximate"].help
