"""Independent references that tests in the source tree compare parts of the compiler with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    """A part of the compiler, an independent reference, and the test that compares them."""

    part: str
    judge: str
    test: str  # in the source tree


COMPARISONS = (
    Comparison(
        "references of ops", "LiteRT's reference kernels, in every bit", "tests/interpret/test_litert.py"
    ),
    Comparison("values between layers", "LiteRT, tensor by tensor", "tests/interpret/test_between.py"),
    Comparison("models of one operator", "LiteRT, on models drawn at random", "tests/one_op/test_one_op.py"),
    Comparison("operators of TFLite and ONNX", "outputs stored by others", "tests/suites/test_suites.py"),
    Comparison("operators of ONNX", "the node tests of ONNX", "tests/onnx_nodes/test_nodes.py"),
    Comparison("whole models", "outputs stored by TensorFlow Lite", "tests/whole/test_shared_models.py"),
    Comparison(
        "kernels: loops, C here, on M4, M55, AVR", "the op's reference", "tests/kernels/test_kernels.py"
    ),
    Comparison("instructions of Cortex-M4", "their loops, in an emulator", "tests/isa/test_instructions.py"),
    Comparison("instructions of Helium", "their loops, in an emulator", "tests/isa/test_mve.py"),
    Comparison("fitted scales", "the reference, for every sum", "tests/isa/test_fitted_scales.py"),
    Comparison("C by other compilers", "stored outputs", "tests/whole/test_compilers.py"),
    Comparison("C in other projects' flags", "no warning", "tests/whole/test_flags.py"),
    Comparison("memory plans", "a replay that knows nothing of planning", "tests/plan/test_check.py"),
    Comparison("the server on the device", "random frames under sanitizers", "tests/rpc/test_fuzz.py"),
    Comparison("readers of files", "damaged files", "tests/fuzz/test_fuzz_files.py"),
)
