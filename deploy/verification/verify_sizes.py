"""Verifies a model at the size of its inputs, or without inputs at all of its sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from deploy.devices.firmware import Prepared
from deploy.inputs.samples import Samples
from deploy.inputs.size_choice import at_size_of
from deploy.verification.quality import Truth, require_truth
from deploy.verification.verify_model import Verdict, require_graph


def verify_sizes(
    prepared: Prepared,
    arrays: Mapping[str, Array] | None,
    samples_for: Callable[[Sequence[TensorSpec]], Samples],
    verify: Callable[[Prepared, Samples], Verdict],
    truth: Truth,
) -> Verdict:
    """Calls `verify` for the model at each of its sizes, or at that of the inputs.

    Raises InputError for a project.
    """
    require_graph(prepared)
    verdicts = []
    for each in prepared.each_size if arrays is None else [at_size_of(prepared, arrays)]:
        samples = samples_for(each.inputs or ())
        require_truth(truth, len(samples), each.outputs or ())
        verdicts.append(verify(each, samples))
    first, *others = verdicts
    return replace(first, others=tuple(others))
