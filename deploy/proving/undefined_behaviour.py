"""The chapter on undefined behavior: Frama-C's EVA on the generated C, for any input."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from aot.counted import counted
from deploy.proving.chapter import Finding, Standing, Table, not_run
from deploy.proving.eva.analysis import EvaAnalysis, analyse, require_frama_c
from deploy.proving.lone_program import obstacle
from deploy.proving.subject import Subject

_METHOD = (
    "EVA interprets the program with sets of values. Each byte of the inputs and of the arena has any value "
    "at the beginning, pointers are those that the header asks for. An alarm is a place where it cannot "
    "exclude an access outside an array, a read of what has no value, a signed overflow, a shift by a wrong "
    "number, a division by zero, or a value that its new type cannot hold.",
    "The files are those of the archive; the model's own has comments more, which say which loops to unroll: "
    "those in which sums grow. A variable of another loop stands for all its values at once.",
    "The model is run once with inputs and outputs in memory of their own. A state that is kept from run to "
    "run is part of the arena, so any run is covered.",
    "Functions given by contract are not interpreted: they are called with every argument that the contract "
    "allows, compiled with -fsanitize=undefined, and EVA shows that no other argument comes.",
    "It rests on EVA, on sizes and byte order of a 32-bit or 64-bit little-endian machine, and on memory of "
    "type uint8_t being used for larger elements, which compilers for microcontrollers allow.",
)


def examine_undefined_behaviour(subject: Subject) -> Finding:
    """Runs EVA. Raises MissingToolError if it is not installed. Alarms without a proof fail."""
    if why := obstacle(subject.artifact):
        return not_run(why)
    require_frama_c()
    with TemporaryDirectory() as folder:
        found = analyse(subject.artifact, Path(folder))
    reached = f"{found.reached} of {counted(found.statements, 'statement')} reached"
    summary = f"{_alarms(len(found.alarms), len(found.open))}; {reached}"
    proven = tuple(f"{alarm.place}: {alarm.says} {alarm.proof}" for alarm in found.alarms)
    standing = Standing.EXCEPTIONS if proven else Standing.PROVEN
    if found.open:
        standing, proven = Standing.FAILED, ()
    return Finding(
        standing,
        summary,
        proven,
        (*_METHOD, f"The command, in the folder of this chapter's files: {found.command}"),
        _tables(found),
        (found.tool,),
        {name: text.encode() for name, text in found.files.items()},
    )


def _alarms(all_of_them: int, without_proof: int) -> str:
    if not all_of_them:
        return "no alarm"
    alarms = counted(all_of_them, "alarm")
    return (
        f"{alarms}, {without_proof} without a proof" if without_proof else f"{alarms}, none without a proof"
    )


def _tables(found: EvaAnalysis) -> tuple[Table, ...]:
    alarms = [(alarm.file, alarm.line, alarm.says, alarm.proof or "none") for alarm in found.alarms]
    contracts = [
        (each.function, each.least, each.most, each.result_least, each.result_most)
        for each in found.by_contract
    ]
    return (
        Table("Alarms", ("file", "line", "alarm", "proof"), alarms),
        Table(
            "Functions given by contract, called with every argument",
            ("function", "least argument", "greatest argument", "least result", "greatest result"),
            contracts,
        ),
    )
