"""Runs a model on a board and in the reference, and compares the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from aot.errors import DeviceError, InputError
from aot.ir.graph import Graph
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array
from aot.wording import counted
from artifact.artifact import Artifact
from codegen.kernels.approximate import STATED
from deploy.benchmark.run_series import Measured, run_series
from deploy.cli.command_result import Paged
from deploy.cli.console import progress
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Prepared, ready_for
from deploy.devices.session import Device, open_device
from deploy.inputs.samples import Samples
from deploy.inputs.size_choice import at_size_of
from deploy.verification.compare_layers import (
    FLOAT_TOLERANCE,
    Difference,
    Rounded,
    WrongLayer,
    apart_from_roundings,
    comparable_layers,
    differences,
    first_wrong_layer,
    has_float_outputs,
    reference_outputs,
)
from deploy.verification.memory_guard import require_inside
from deploy.verification.oracles import NO_ORACLE, Judged, ask_oracle, ask_usual_oracle
from deploy.verification.quality import (
    NOTHING_KNOWN,
    Accuracy,
    Distance,
    Truth,
    accuracy_of,
    distances_text,
    distances_to,
    quality_json,
    require_truth,
)
from platforms.base import BuildChoices


@dataclass(frozen=True, slots=True)
class OracleVerdict:
    """A comparison of the board's outputs with a third-party runtime."""

    name: str  # the value of --oracle
    runtime: str  # name and version
    differences: tuple[Difference, ...]
    has_floats: bool
    hint: str  # how to fix the difference, if known
    tolerance: float = FLOAT_TOLERANCE

    def __str__(self) -> str:
        if self.differences:
            return "\n".join([f"{self.runtime} disagrees", *(f"  {each}" for each in self.differences)])
        return f"{self.runtime} returns the same outputs, {_how_equal(self.has_floats, self.tolerance)}"

    def require_equal(self, model: str, board: str) -> None:
        """Raises DeviceError if the outputs differ."""
        if self.differences:
            what = f"{board} and {self.runtime} compute {model} differently"
            raise DeviceError(what, str(self.differences[0]), self.hint)


def _how_equal(has_floats: bool, tolerance: float = FLOAT_TOLERANCE) -> str:
    return f"within {tolerance:g} of the largest" if has_floats else "in every bit"


@dataclass(frozen=True)
class Verdict(Paged):
    """The result of a comparison."""

    model: str
    board: str
    samples: int
    differences: tuple[Difference, ...]
    wrong_layer: WrongLayer | None  # None also if layers were not compared
    layers: int  # number compared per sample
    has_floats: bool  # has float outputs, which need not be equal bit for bit
    accuracy: Accuracy | None = None  # if there are labels
    distances: tuple[Distance, ...] = ()  # to the expected outputs, if given
    oracle: OracleVerdict | None = None  # if another runtime was used
    no_oracle: str = ""  # why the default oracle was not used
    approximate: bool = False  # float functions are approximated by polynomials
    rounded: tuple[Rounded, ...] = ()  # differences that rounding the inputs explains
    others: tuple[Verdict, ...] = ()  # of the model at its other sizes

    @property
    def equal(self) -> bool:
        judged_otherwise = self.oracle is not None and self.oracle.differences
        return self._is_as_reference and not judged_otherwise and all(each.equal for each in self.others)

    @property
    def _is_as_reference(self) -> bool:
        return not self.differences and self.wrong_layer is None

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        judged = [self._bits()] + ([str(self.oracle)] if self.oracle else [])
        judged += [f"not compared with another runtime: {self.no_oracle}"] if self.no_oracle else []
        parts = ["\n".join(judged), str(self.accuracy or "")]
        parts += [distances_text(self.distances)] if self.distances else []
        parts += [str(each) for each in self.others]
        return "\n\n".join(filter(None, parts))

    def _bits(self) -> str:
        what = f"{self.model} on {self.board}: {counted(self.samples, 'sample')}"
        compared = f"outputs and {counted(self.layers, 'layer')}" if self.layers else "outputs"
        if self._is_as_reference:
            how = f"{_how_equal(self.has_floats)}{f'; {STATED}' if self.approximate else ''}"
            return "\n".join([f"{what}, {compared} equal to the reference {how}", *self._roundings()])
        lines = [f"{what}, {compared} compared with the reference", *(f"  {d}" for d in self.differences)]
        if self.wrong_layer is not None:
            lines.append(f"first layer that differs: {self.wrong_layer}")
        return "\n".join(lines)

    def _roundings(self) -> list[str]:
        if not self.rounded:
            return []
        return ["except where single precision has no more digits:", *(f"  {each}" for each in self.rounded)]

    def require_equal(self) -> None:
        """Raises DeviceError if the outputs differ."""
        for each in self.others:
            each.require_equal()
        if self._is_as_reference:
            if self.oracle is not None:
                self.oracle.require_equal(self.model, self.board)
            return
        where = str(self.wrong_layer or self.differences[0])
        hint = "" if self.layers else "deploy verify --layers names the first layer that differs"
        raise DeviceError(f"{self.board} computes {self.model} differently from the reference", where, hint)

    def as_json(self) -> dict[str, Any]:
        wrong = self.wrong_layer
        return {
            "model": self.model,
            "board": self.board,
            "samples": self.samples,
            "equal": self.equal,
            "differences": [asdict(difference) for difference in self.differences],
            "rounded": [asdict(each) for each in self.rounded],
            "layers_compared": self.layers,
            **quality_json(self.accuracy, self.distances),
            "oracle": self.oracle
            and {
                "name": self.oracle.name,
                "runtime": self.oracle.runtime,
                "differences": [asdict(difference) for difference in self.oracle.differences],
            },
            "no_oracle": self.no_oracle or None,
            "first_wrong_layer": wrong
            and {
                "sample": wrong.sample,
                "index": wrong.layer.index,
                "name": wrong.layer.name,
                "op": wrong.layer.op,
                "origin": wrong.layer.origin,
                "kernel": wrong.layer.kernel,
            },
            **({"sizes": [each.as_json() for each in self.others]} if self.others else {}),
        }


def require_graph(prepared: Prepared) -> None:
    """Raises InputError for a project, which lacks the graph to compare with."""
    if prepared.artifact is None:
        raise InputError(
            "a project does not contain the graph of its C",
            str(prepared.source),
            f"deploy verify ARCHIVE --board {prepared.board.name}, with the archive of the project; "
            "add --runner attach to verify the firmware that runs on the board",
        )


def verify_model(
    prepared: Prepared,
    samples: Samples,
    layers: bool,
    build: BuildChoices,
    line: LineOptions,
    truth: Truth = NOTHING_KNOWN,
    oracle: str | None = None,
) -> Verdict:
    """Compares outputs with the model as imported from its file, and layers with the compiled graph.

    Outputs are also compared with another runtime that runs the file: by default the installed one with the
    model's rounding, with NO_ORACLE none.
    """
    assert prepared.artifact is not None
    facts, reference = prepared.artifact.facts, prepared.reference
    judged = _judged(oracle, prepared, samples)
    ready = ready_for(prepared, replace(build, profile=layers), line.runner)
    with open_device(ready, line) as device:
        measured = run_series(device, samples)
        wrong = _wrong_layer(device, prepared.artifact, samples) if layers else None
    if facts.options.check and prepared.compiled is not None:
        require_inside(prepared.compiled.model, samples)
    expected = reference_outputs(reference.graph, samples)
    has_floats = has_float_outputs(reference.graph)
    found = differences(expected, measured.outputs, measured.specs)
    counting, rounded = apart_from_roundings(found, reference.graph, samples, expected)
    return Verdict(
        facts.name,
        prepared.board.name,
        len(samples),
        counting,
        wrong,
        len(comparable_layers(prepared.artifact.graph, facts.layers)) if layers else 0,
        has_floats,
        accuracy_of(truth.labels, measured.outputs, expected) if truth.labels is not None else None,
        distances_to(truth.expected or {}, measured.outputs, facts.outputs),
        _oracle_verdict(judged, measured, reference.graph, samples, expected)
        if isinstance(judged, Judged)
        else None,
        judged if isinstance(judged, str) else "",
        facts.options.approximate,
        rounded,
    )


def _judged(oracle: str | None, prepared: Prepared, samples: Samples) -> Judged | str | None:
    """Returns the oracle's outputs, why the default oracle has none, or None if disabled."""
    if oracle == NO_ORACLE:
        return None
    assert prepared.facts is not None
    reference, options = prepared.reference, prepared.facts.options
    if oracle is not None:
        return ask_oracle(oracle, reference, options, samples)
    if prepared.compiled is None:
        return "an archive does not contain the model file; verify the model file instead"
    return ask_usual_oracle(reference, options, samples)


def _oracle_verdict(
    judged: Judged,
    measured: Measured,
    graph: Graph,
    samples: Samples,
    expected: Sequence[tuple[Array, ...]],
) -> OracleVerdict:
    outputs = [
        tuple(a.reshape(spec.shape) for a, spec in zip(each, measured.specs, strict=True))
        for each in judged.outputs
    ]
    found = differences(outputs, measured.outputs, measured.specs, judged.tolerance)
    counting, _ = apart_from_roundings(found, graph, samples, expected)
    has_floats = has_float_outputs(graph)
    return OracleVerdict(judged.name, judged.runtime, counting, has_floats, judged.hint, judged.tolerance)


def _wrong_layer(device: Device, artifact: Artifact, samples: Samples) -> WrongLayer | None:
    graph, layers, specs = artifact.graph, artifact.facts.layers, device.model.inputs
    with progress("comparing layers", len(samples)) as bar:
        for number, sample in enumerate(samples.each):
            bar.step(f"sample {number + 1} of {len(samples)}")
            inputs = [spec.to_bytes(array) for spec, array in zip(specs, sample, strict=True)]
            profile = device.session.profile(device.model, inputs)
            by_name = dict(zip(graph.inputs, sample, strict=True))
            wrong = first_wrong_layer(graph, layers, [layer.crc32 for layer in profile], by_name)
            if wrong is not None:
                return WrongLayer(number, wrong)
    return None


# Verifies a model at the size of its inputs, or without inputs at all of its sizes.


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
