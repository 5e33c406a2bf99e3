"""The chapter on extremes: runs with extreme inputs under clang's integer sanitizers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.counted import counted
from aot.ir.tensor_spec import TensorSpec
from deploy.proving.chapter import Finding, Standing, Table, not_run
from deploy.proving.lone_program import obstacle
from deploy.proving.sampled import differs_from_reference
from deploy.proving.sanitized.clang import CHECKS, CheckReport, run_sanitized
from deploy.proving.subject import Subject
from deploy.proving.timing.inputs import adversarial_inputs

_METHOD = (
    f"The C of the archive is built by clang on this computer with -fsanitize={CHECKS}: beside what C does "
    "not define, each unsigned sum, product or shift that wraps, and each conversion that loses a value "
    "without being written as a cast, is reported. It runs on each of the inputs of the first table.",
    "Where sums wrap by the reference's definition, or a negative number is shifted, the C casts to unsigned "
    "numbers, which wrap by the definition of C. Such reports are listed with their reason; any other makes "
    "this chapter fail.",
    "'The greatest sum of the first layer' is made of the signs of the weights of one of its channels. "
    "Where all inputs are integers the outputs are compared with the reference.",
)
_NO_PROOF = "runs on some inputs prove nothing of others: that is the matter of the chapters with proofs"
_NOT_COMPARED = "inputs are floats, so the outputs are not compared here"


def examine_extremes(subject: Subject) -> Finding:
    """Runs the inputs. Raises MissingToolError without clang. Reports without a reason fail."""
    artifact = subject.artifact
    if why := obstacle(artifact):
        return not_run(why)
    specs = [TensorSpec(tensor.name, tensor.type) for tensor in artifact.facts.inputs]
    inputs = adversarial_inputs(artifact.graph, specs)
    samples = list(inputs.values())
    with TemporaryDirectory() as folder:
        found = run_sanitized(artifact, samples, Path(folder))
    tables = (Table("Inputs", ("input",), [(what,) for what in inputs]), _reports(found.reports))
    compared = all(spec.dtype.kind in "iu" for spec in specs)
    if found.faults:
        first = found.faults[0]
        where = f"{first.file}:{first.line}: {first.says}"
        summary = f"{counted(len(found.faults), 'report')} without a reason, the first {where}"
        return Finding(Standing.FAILED, summary, (), _METHOD, tables, (found.tool,))
    if compared and differs_from_reference(artifact, samples, found.outputs):
        summary = "the outputs are not those of the reference"
        return Finding(Standing.FAILED, summary, (), _METHOD, tables, (found.tool,))
    summary = (
        f"{counted(len(inputs), 'input')}, nothing undefined and no wrap that is not written as such; "
        f"{counted(len(found.reports), 'place')} that shall wrap"
    )
    exceptions = (_NO_PROOF,) if compared else (_NO_PROOF, _NOT_COMPARED)
    return Finding(Standing.EXCEPTIONS, summary, exceptions, _METHOD, tables, (found.tool,))


def _reports(reports: Sequence[CheckReport]) -> Table:
    rows = [(each.file, each.line, each.text, each.says, each.reason or "none") for each in reports]
    return Table("Reports of the checks", ("file", "line", "C", "report", "reason"), rows)
