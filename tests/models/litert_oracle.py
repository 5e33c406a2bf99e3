"""LiteRT as the outside opinion: runs TFLite files with its reference kernels. Without it, tests are skipped.

Its other kernels are not an oracle: without delegates, 1x1 convolutions round some results another way.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from needs import require_packages

from aot.ir.types import Array


def random_inputs(data: bytes, samples: int, seed: int) -> Array:
    """int8 inputs for a model of one input, samples along the first axis."""
    shape = litert_interpreter(data).get_input_details()[0]["shape"]
    return np.random.default_rng(seed).integers(-128, 128, (samples, *shape)).astype(np.int8)


def run_litert(data: bytes, inputs: Iterable[Array], kernels: str = "BUILTIN_REF") -> Array:
    """First outputs for each of the inputs (samples along the first axis), stacked."""
    interpreter = litert_interpreter(data, kernels)
    return np.stack([_first_output(interpreter, sample) for sample in inputs])


def run_litert_once(data: bytes, *arrays: Array, kernels: str = "BUILTIN_REF") -> Array:
    """The first output for these inputs."""
    return _first_output(litert_interpreter(data, kernels), *arrays)


def litert_interpreter(data: bytes, kernels: str = "BUILTIN_REF", keeps_all: bool = False) -> Any:
    """`keeps_all`: values between the layers can be read after a run."""
    require_packages("ai_edge_litert")
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=data,
        experimental_op_resolver_type=getattr(OpResolverType, kernels),
        experimental_preserve_all_tensors=keeps_all,
    )
    interpreter.allocate_tensors()
    return interpreter


def _first_output(interpreter: Any, *arrays: Array) -> Array:
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    output: Array = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return output
