"""LiteRT as the outside opinion: runs a TFLite file with its reference kernels.

Its other kernels are not an oracle: without delegates, 1x1 convolutions round some results another way.
"""

from __future__ import annotations

import numpy as np

from aot.ir.types import Array


def random_inputs(data: bytes, samples: int, seed: int) -> Array:
    """int8 inputs for a model of one input, samples along the first axis."""
    shape = _interpreter(data).get_input_details()[0]["shape"]
    return np.random.default_rng(seed).integers(-128, 128, (samples, *shape)).astype(np.int8)


def run_litert(data: bytes, inputs: Array) -> Array:
    """First outputs for each of the inputs (samples along the first axis), stacked."""
    interpreter = _interpreter(data)
    source = interpreter.get_input_details()[0]["index"]
    result = interpreter.get_output_details()[0]["index"]
    outputs = []
    for sample in inputs:
        interpreter.set_tensor(source, sample)
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(result))
    return np.stack(outputs)


def _interpreter(data: bytes):  # type: ignore[no-untyped-def]
    # An optional package, imported only where a test asks for it.
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kernels = OpResolverType.BUILTIN_REF
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    return interpreter
