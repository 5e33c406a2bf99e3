"""Verifies a model at the size that inputs have, or without inputs at each of its sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from deploy.compiler.compile_model import Compiled
from deploy.devices.firmware import prepare_compiled
from deploy.inputs.samples import Samples
from deploy.inputs.size_choice import at_size_of
from deploy.verification.quality import Truth, require_truth
from deploy.verification.verify_model import Verdict


def verify_sizes(
    compiled: Compiled,
    arrays: Mapping[str, Array] | None,
    samples_for: Callable[[Sequence[TensorSpec]], Samples],
    verify: Callable[[Compiled | None, Compiled, Samples], Verdict],
    truth: Truth,
) -> Verdict:
    """Verifies by `verify(firmware, model, samples)`; the firmware is None where the model has one size."""
    verdicts = []
    for each in _asked_for(compiled, arrays):
        samples = samples_for(each.artifact.facts.inputs)
        require_truth(truth, len(samples), each.artifact.facts.outputs)
        verdicts.append(verify(compiled if compiled.others else None, each, samples))
    first, *others = verdicts
    return replace(first, others=tuple(others))


def _asked_for(compiled: Compiled, arrays: Mapping[str, Array] | None) -> list[Compiled]:
    """The model at the sizes that are verified."""
    every = [compiled, *compiled.others]
    if arrays is None:
        return every
    name = at_size_of(prepare_compiled(compiled), arrays).model
    return [each for each in every if name is None or each.artifact.name == name]
