"""The chapter on undefined behavior: Frama-C's EVA on the generated C, for any input."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.errors import CheckError, MissingToolError, ToolError
from aot.wording import counted
from artifact.artifact import Artifact
from boards.cores import load_core
from deploy.proving.chapter import Finding, Standing, Table, not_run
from deploy.proving.lone_program import driver, obstacle, require_reported, run_tool, write_files
from deploy.proving.subject import Subject
from platforms.toolchains import find_toolchain

# Marks loops that EVA should unroll, with comments in a copy of the C.
#
# These are loops that increase sums, and the steps of the order, because later steps add to results of the
# first. Without unrolling, a growing sum has no bound; unrolled, it is bounded by the weights. Other loops
# are analyzed for all values of their variable at once, which is a hundred times faster.

_LOOP = re.compile(
    r"(?P<indent> *)for \((?:u?int32_t )?(?P<var>\w+) = 0; (?P=var) < (?P<turns>\d+)u?; \+\+(?P=var)\) \{"
)
_STEP = "step"  # loop variable of the order's loops
_GROWS = re.compile(r"^ *(\w+) \+= ", re.MULTILINE)
_KEPT_SUMS = re.compile(r"\bsums\[")  # of layers that accumulate row by row, in separate elements
_ANNOTATION = re.compile(r"^ */\*@ loop unroll \d+; \*/\n", re.MULTILINE)


def annotated(code: str) -> str:
    """Returns the C with a comment above each loop to unroll."""
    return "\n".join(_lines(code.split("\n")))


def without_annotations(code: str) -> str:
    """Removes these comments, to prove that the copy differs only in them."""
    return _ANNOTATION.sub("", code)


def _lines(lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        loop = _LOOP.match(line)
        is_step = loop is not None and loop["var"] == _STEP
        if loop and (is_step or _is_unrolled(_body(lines, number + 1, loop["indent"]))):
            yield f"{loop['indent']}/*@ loop unroll {loop['turns']}; */"
        yield line


def _body(lines: Sequence[str], begin: int, indent: str) -> str:
    end = next(n for n in range(begin, len(lines)) if lines[n].startswith(f"{indent}}}"))
    return "\n".join(lines[begin:end])


def _is_unrolled(body: str) -> bool:
    """Returns whether the loop adds to a variable that outlives an iteration."""
    grown = _GROWS.findall(body)
    begun = any(re.search(rf"^ *(?:const )?int\w+_t {name}\b", body, re.MULTILINE) for name in grown)
    return bool(grown and not begun) or bool(_KEPT_SUMS.search(body))


# Contracts of functions that EVA cannot analyze precisely, and how each contract is proven.
#
# EVA tracks no relations between variables, so it cannot prove that a Newton step converges. These functions
# have a single 32-bit argument, and are called with every value that the contract permits.


@dataclass(frozen=True, slots=True)
class ProvenContract:
    function: str
    head: str  # the start of its declaration
    least: int  # range of the argument
    most: int
    result_least: int
    result_most: int

    @property
    def declaration(self) -> str:
        return f"{self.head} {self.function}(int32_t sum);"

    @property
    def acsl(self) -> str:
        return (
            f"/*@ requires least: {self.least} <= sum;\n"
            f"    requires most: sum <= {self.most};\n"
            "    assigns \\result \\from sum;\n"
            f"    ensures {self.result_least} <= \\result <= {self.result_most}; */"
        )

    def is_defined_in(self, code: str) -> bool:
        return f"{self.head} {self.function}(int32_t sum)\n{{" in code


_MOST_SUM = 256 << 19  # softmax over 256 classes, each contributing at most 2^19

CONTRACTS = (
    ProvenContract("reciprocal", "static int32_t", 1, _MOST_SUM, 0, 2**31 - 1),
    ProvenContract("reciprocal_bits", "static inline int32_t", 1, _MOST_SUM, -19, 12),
)


def contracts_for(code: str) -> tuple[ProvenContract, ...]:
    return tuple(each for each in CONTRACTS if each.is_defined_in(code))


@dataclass(frozen=True, slots=True)
class WrittenProof:
    """A manual proof for an alarm that EVA cannot exclude."""

    alarm: str  # EVA's text
    proof: str


ARGUMENTS = (
    WrittenProof(
        "function reciprocal: precondition 'least' got status unknown.",
        "A softmax passes the sum of exp(x - maximum) over its row. No term is negative; at the maximum "
        "itself the difference is 0 and the term 2^19. So the sum is at least 2^19.",
    ),
)


def proof_of(alarm: str) -> str:
    """Returns the proof for an alarm, or ""."""
    return next((each.proof for each in ARGUMENTS if each.alarm == alarm), "")


# Runs Frama-C's EVA on a compiled model's C, for any input and any bytes in the arena.

FRAMA_C = "frama-c"
_DRIVER = "eva_driver.c"
_EXHAUSTION = "eva_exhaustion.c"
_OPTIONS = (
    "-eva", "-eva-no-print", "-eva-no-results", "-eva-no-show-progress", "-eva-msg-key=-initial-state",
    "-eva-warn-signed-converted-downcast",  # also report conversions that do not preserve the value
    "-eva-plevel", "1000000",  # read constant arrays element by element
)  # fmt: skip
_CONTROL = "control.c"
_CONTROL_TEXT = """\
volatile int any;
int control[4];
int main(void)
{
    const int sum = any, shift = any, place = any, wide = any;
    control[0] = sum + 1;
    control[1] = 1 << shift;
    control[place] = 1;
    return (signed char)wide;
}
"""
_CONTROL_ALARMS = ("signed overflow", "invalid RHS operand for shift", "out of bounds", "signed downcast")
_MACHINES = {4: "gcc_x86_32", 8: "gcc_x86_64"}  # by pointer size; other properties of a machine do not matter
_ALARM = re.compile(r"^\[eva:alarm\] (\S+?):(\d+): Warning: *\n?((?:.*\n?)(?:^  .*\n)*)", re.MULTILINE)
_STATEMENTS = re.compile(r"In (?:this function|these functions), (\d+) statements? reached \(out of (\d+)\)")
_COUNT = re.compile(r"^  (\d+) alarms? generated by the analysis", re.MULTILINE)
_STEPS = 1_000_000  # more than any model has
_EXHAUSTED_WITH = ("-std=c99", "-O2", "-w", "-fsanitize=undefined", "-fno-sanitize-recover=all")
_ORDERS = re.compile(r"\b(run_(?:order|until)\w*)\(const struct run")


@dataclass(frozen=True, slots=True)
class Alarm:
    """A place at which EVA cannot exclude undefined behavior, and the proof that does."""

    file: str
    line: int
    message: str
    proof: str  # "": not proven

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class EvaAnalysis:
    """EVA's results for one model's C."""

    tool: str  # name and version
    command: str
    alarms: tuple[Alarm, ...]
    statements: int  # in functions that a run reaches
    reached: int  # number of reached statements
    by_contract: tuple[ProvenContract, ...]
    files: Mapping[str, str] = field(repr=False)  # all files of the command, by name

    @property
    def open(self) -> tuple[Alarm, ...]:
        return tuple(alarm for alarm in self.alarms if not alarm.proof)


def require_frama_c() -> None:
    """Raises MissingToolError if Frama-C is not installed."""
    if shutil.which(FRAMA_C) is None:
        raise MissingToolError(f"{FRAMA_C} is not installed", hint="Debian has it in frama-c-base")


def analyse(artifact: Artifact, folder: Path) -> EvaAnalysis:
    """Writes the program and its driver to the folder, and runs EVA there. Raises ToolError."""
    main = f"{artifact.name}.c"
    code = artifact.sources[main]
    contracts = contracts_for(code)
    shown = annotated(code)
    if without_annotations(shown) != code:
        raise CheckError("the copy for EVA differs from the C by more than comments", main)
    files = {**artifact.headers, **artifact.sources, main: shown}
    files |= {name: driver(artifact, name, contracts=contracts) for name in (_DRIVER, _EXHAUSTION)}
    write_files(files, folder)
    argv = _command(artifact, contracts)
    _require_alarms(argv, folder)
    statements, alarms = _answer(argv, folder)
    if contracts:
        _exhaust(artifact, folder)
    version = run_tool((FRAMA_C, "-version"), folder).stdout.decode()
    return EvaAnalysis(
        tool=f"Frama-C {version.strip()}",
        command=shlex.join(argv),
        alarms=alarms,
        statements=int(statements[1]),
        reached=int(statements[0]),
        by_contract=contracts,
        files=files,
    )


def _answer(argv: Sequence[str], folder: Path) -> tuple[tuple[str, str], tuple[Alarm, ...]]:
    """Runs EVA. Returns the numbers of reached and of all statements, and all alarms."""
    said = run_tool(argv, folder).stdout.decode(errors="replace")
    statements, counts = _STATEMENTS.findall(said), _COUNT.findall(said)
    if len(statements) != 1 or len(counts) != 1:
        raise ToolError(
            f"{FRAMA_C} does not say how many statements it reached and how many alarms it has", said
        )
    alarms = tuple(_eva_alarms(said))
    if int(counts[0]) > len(alarms):
        raise ToolError(f"EVA counts {counts[0]} alarms, and {len(alarms)} were read from its report", said)
    return statements[0], alarms


def _require_alarms(argv: Sequence[str], folder: Path) -> None:
    """Raises ToolError unless EVA raises the control file's alarms with the same options."""
    write_files({_CONTROL: _CONTROL_TEXT}, folder)
    options = (*argv[: argv.index(_DRIVER)], "-cpp-extra-args=-I.", *_OPTIONS)
    _, alarms = _answer((*options, _CONTROL), folder)
    found = [wanted for wanted in _CONTROL_ALARMS if any(wanted in each.message for each in alarms)]
    require_reported(FRAMA_C, _CONTROL_ALARMS, found)


def _command(artifact: Artifact, contracts: Sequence[ProvenContract]) -> tuple[str, ...]:
    return (
        FRAMA_C, "-machdep", _MACHINES[artifact.facts.target.pointer_bytes],
            _DRIVER, f"{artifact.name}_weights.c", "-cpp-extra-args=-I.",
            *_OPTIONS, *_precise_in(artifact.sources[f"{artifact.name}.c"]), *_given(contracts),
    )  # fmt: skip


def _precise_in(code: str) -> tuple[str, ...]:
    """Returns options that analyze each step separately, because a ring's rows depend on the step."""
    orders = [f"{name}:{_STEPS}" for name in _ORDERS.findall(code)]
    return ("-eva-slevel-function", ",".join(orders)) if orders else ()


def _given(contracts: Sequence[ProvenContract]) -> tuple[str, ...]:
    return ("-eva-use-spec", ",".join(each.function for each in contracts)) if contracts else ()


def _eva_alarms(said: str) -> Iterator[Alarm]:
    for file, line, text in _ALARM.findall(said):
        message = " ".join(text.split())
        yield Alarm(file, int(line), message, proof_of(message))


def _exhaust(artifact: Artifact, folder: Path) -> None:
    """Calls the functions analyzed by contract with every possible argument, under sanitizers."""
    toolchain = find_toolchain(load_core("host").target())
    weights = f"{artifact.name}_weights.c"
    argv = (*toolchain.argv, *_EXHAUSTED_WITH, _EXHAUSTION, weights, "-o", "exhaustion")
    run_tool(argv, folder)
    run_tool((str(folder / "exhaustion"),), folder)


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
    proven = tuple(f"{alarm.place}: {alarm.message} {alarm.proof}" for alarm in found.alarms)
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
    alarms = [(alarm.file, alarm.line, alarm.message, alarm.proof or "none") for alarm in found.alarms]
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
