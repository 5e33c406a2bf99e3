"""Models of one operator, drawn at random, as C on this computer: in every bit what LiteRT's kernels give."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from drawing import random_values
from drawn_inputs import INPUTS, drawn_input
from one_op_models import models
from suite_batch import build_batch
from suite_cases import is_right

from aot.errors import DeployError
from aot.frontend.load import parse_model
from aot.interpret import run_all, run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array, DType, TensorType
from aot.target import Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

EACH = int(os.environ.get("ONE_OP_EACH", "4"))  # models of an operator
# What LiteRT computes wrongly or by chance: no measure.
NO_MEASURE = {
    "SUM of int8": "sums of quantised numbers are not what they are elsewhere",
    "SUM of int16": "sums of quantised numbers are not what they are elsewhere",
    "DEPTHWISE_CONV_2D_int4 of int16": "two weights in a byte are read as one of 8 bits",
}
# Refusals that are meant: operator -> the reason.
REFUSED = {
    "NEG": "stored i8 values can be negated only if input and output have the same scale and zero point 0",
    "QUANTIZE": "the input scale must be less than 2**14 times the output scale, of i32 less than it",
}
POSITIVE = ("LOG", "RSQRT", "SQRT")  # of floats that have a result
FEW = ("ONE_HOT", "TOPK_V2")  # of few different integers: places that exist, and equal elements


PLACES = ("SCATTER_ND",)  # of integers that are places
ORDERED = ("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")  # which of equal scores is first is left open
OPTIMISED = ("LOCAL_RESPONSE_NORMALIZATION",)  # LiteRT's reference leaves out the last channel


@dataclass(frozen=True)
class CompiledCase:
    name: str
    data: bytes
    graph: Graph
    model: CompiledModel
    inputs: Sequence[Array]


@pytest.mark.cc
@pytest.mark.slow
def test_operators_drawn_at_random_equal_litert_in_every_bit(tmp_path, require_package):
    require_package("ai_edge_litert")
    jobs, refused = [], []
    for number, (name, data) in enumerate(models(EACH)):
        try:
            jobs.append(_compiled(name, data, f"model_{number}"))
        except DeployError as error:
            refused.append(f"{name}: {error.what}")
    hosts = build_batch({job.model.name: job.model for job in jobs}, tmp_path)
    wrong, compared = [], 0
    for job in jobs:
        made = hosts[job.model.name].run(dict(zip(job.graph.inputs, job.inputs, strict=True)))
        reference = run_graph(job.graph, dict(zip(job.graph.inputs, job.inputs, strict=True)))
        if not all(is_right(made[n], reference[n]) for n in job.graph.outputs):
            wrong.append(f"{job.name}: C and reference differ")
        wanted = None if _no_measure(job) else _litert(job)
        if wanted is not None:
            compared += 1
            results = [made[n].reshape(w.shape) for n, w in zip(job.graph.outputs, wanted, strict=True)]
            if job.name.startswith("DIV_"):
                tiny = _tiny_quotients(job)
                wanted = [np.where(tiny, r, w) for r, w in zip(results, wanted, strict=True)]
            if not all(is_right(r, w) for r, w in zip(results, wanted, strict=True)):
                wrong.append(f"{job.name}: not what LiteRT computes")
    assert wrong == []
    assert not [each for each in refused if not _is_meant(each)]
    assert compared > 0.85 * len(jobs)


def _compiled(name: str, data: bytes, c_name: str) -> CompiledCase:
    graph = parse_model(data, f"{name}.tflite", "litert-ref")
    model = compile_job(Job(ImportedModel(graph, name, "00" * 32, c_name), Target("host"), CompileOptions()))
    rng = np.random.default_rng(len(data))
    kind = str(rng.choice(list(INPUTS)))
    inputs = [_values(rng, kind, graph.types[n]) for n in graph.inputs]
    if name.rsplit("_", 1)[0] in POSITIVE:
        inputs = [np.abs(x) + np.float32(0.01) if x.dtype.kind == "f" else x for x in inputs]
    if name.rsplit("_", 1)[0] in FEW:
        inputs = [x % 8 - 1 if x.dtype.kind == "i" else x for x in inputs]
    if name.rsplit("_", 1)[0] in PLACES:
        inputs = [x % 8 if x.dtype.kind == "i" else x for x in inputs]
    if name.rsplit("_", 1)[0] in ORDERED:
        inputs = [np.add(x, np.arange(x.size), dtype=np.float32) for x in inputs]
    return CompiledCase(name, data, graph, model, inputs)


def _values(rng: np.random.Generator, kind: str, of: TensorType) -> Array:
    """Floats are centred or not; integers have the whole range of theirs."""
    if of.dtype is DType.F32:
        return drawn_input(rng, kind, of.shape)
    return random_values(rng, of.shape, of.dtype.numpy.name)


def _is_meant(refused: str) -> bool:
    name, _, reason = refused.partition(": ")
    meant = REFUSED.get(name.split("_")[0])
    return meant is not None and reason.startswith(meant)


def _tiny_quotients(job: CompiledCase) -> Array:
    """Where a quantized quotient is below one step: LiteRT's result is no measure there.

    LiteRT shifts these by more than 31 bits, which C leaves undefined: 3 / 128 may come out as 40 steps.
    """
    out, types = job.graph.types[job.graph.outputs[0]].quant, job.graph.types
    if out is None:
        return np.asarray(False)
    computed = run_all(job.graph, dict(zip(job.graph.inputs, job.inputs, strict=True)))
    values = {**job.graph.constants, **computed}
    (node,) = (each for each in job.graph.nodes if each.op.name == "div")
    first, second = (_dequantized(values[name], types[name]) for name in node.reads)
    return np.asarray(np.abs(first) < np.abs(second) * out.scales[0])


def _dequantized(array: Array, of: TensorType) -> Array:
    assert of.quant is not None
    return np.asarray((array.astype(np.float64) - of.quant.zero_points[0]) * of.quant.scales[0])


def _no_measure(job: CompiledCase) -> bool:
    return f"{job.name.rsplit('_', 1)[0]} of {job.inputs[0].dtype}" in NO_MEASURE


def _litert(job: CompiledCase) -> list[Array] | None:
    """Its results, or None where it refuses the model."""
    # An optional package, imported only where a test asks for it.
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    is_plain = job.name.rsplit("_", 1)[0] not in OPTIMISED
    kernels = OpResolverType.BUILTIN_REF if is_plain else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    try:
        interpreter = Interpreter(model_content=job.data, experimental_op_resolver_type=kernels)
        interpreter.allocate_tensors()
        for detail, x in zip(interpreter.get_input_details(), job.inputs, strict=True):
            interpreter.set_tensor(detail["index"], x)
        interpreter.invoke()
    except (RuntimeError, ValueError):
        return None
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
