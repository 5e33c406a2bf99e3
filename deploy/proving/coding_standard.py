"""The chapter on coding standards: MISRA C:2012 and CERT C, for generated C and the runtime."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.errors import MissingToolError, ToolError
from aot.wording import counted
from artifact.artifact import Artifact
from deploy.proving.chapter import Cell, Finding, Standing, Table
from deploy.proving.lone_program import foreign_sources, obstacle, require_reported, run_tool, write_files
from deploy.proving.subject import Subject

# MISRA C:2012 rules that the C violates, which are the same for every model, and the reasons.


@dataclass(frozen=True, slots=True)
class Deviation:
    rule: str
    category: str  # of the rule: required or advisory; mandatory rules have no deviations
    reason: str


_REQUIRED, _ADVISORY = "required", "advisory"
_SHIFT = "Sums are scaled by arithmetic shifts of signed numbers, which every compiler for these cores has."

DEVIATIONS = (
    Deviation("2.2", _REQUIRED, "The profiler's hook is an empty macro where none is linked."),
    Deviation("2.4", _ADVISORY, "Error codes are an enum without a name; callers use its constants."),
    Deviation("2.5", _ADVISORY, "Sizes and scales in the header are for callers, who may need none."),
    Deviation(
        "2.7", _ADVISORY, "Assembly uses the parameter, which the tool cannot see."
    ),
    Deviation("8.9", _ADVISORY, "The table of the order stands before its function, to be read apart."),
    Deviation(
        "8.14", _REQUIRED,
        "restrict lets loads move before stores. Rows of a step lie apart: the plan is replayed to know it.",
    ),
    Deviation("10.1", _REQUIRED, _SHIFT),
    Deviation("10.3", _REQUIRED, "Results are clamped to the range of their type before they are stored."),
    Deviation("10.4", _REQUIRED, "A constant of type int stands beside an int32_t: the same type there."),
    Deviation("10.8", _REQUIRED, "Half of an unsigned mask is taken as signed; it is below 2^31."),
    Deviation("11.5", _ADVISORY, "The arena is memory of any type; a run checks its alignment."),
    Deviation("12.1", _ADVISORY, "Addresses are sums of products, whose precedence nobody mistakes."),
    Deviation("12.3", _ADVISORY, "The commas separate variables of one type and are not operators."),
    Deviation("13.3", _ADVISORY, "A layer's next row is read and counted up in one statement."),
    Deviation("14.2", _REQUIRED, "The walk through the order goes back where steps repeat, by a count."),
    Deviation("14.4", _REQUIRED, "A bit is tested by a bitwise and."),
    Deviation("15.5", _ADVISORY, "Errors, and rows outside the image, return early."),
    Deviation("17.7", _REQUIRED, "memset and memcpy return what they were given."),
    Deviation("17.8", _ADVISORY, "Small functions change their own copies of parameters."),
    Deviation("18.4", _ADVISORY, "A row is an offset from the beginning of its ring."),
    Deviation("20.10", _ADVISORY, "Registers of inline assembly are named by macros."),
)  # fmt: skip
RUNTIME_DEVIATIONS = (
    Deviation("2.3", _ADVISORY, "Types of registered functions are named for all element types."),
    Deviation("2.4", _ADVISORY, "Codes are an enum without a name; their constants are used."),
    Deviation(
        "2.5", _ADVISORY, "Codes of the line's table are there for both ends, one of which may need none."
    ),
    Deviation(
        "5.7", _REQUIRED, "A file's state is one structure without a tag, which the tool takes for a name."
    ),
    Deviation("5.9", _ADVISORY, "A static function and another file's static structure have one name."),
    Deviation("8.5", _ADVISORY, "What a port brings is declared by each of the two parts that need it."),
    Deviation("8.7", _ADVISORY, "The table of the order is looked up by programs that are built on it."),
    Deviation("8.9", _ADVISORY, "Tables stand before their function, to be read apart."),
    Deviation("8.11", _ADVISORY, "Tables of the firmware are as long as it has models; the linker knows."),
    Deviation("9.3", _REQUIRED, "The rest of an array is zero by the definition of C."),
    Deviation("10.1", _REQUIRED, "A counter of fewer bits is widened with its sign by a shift."),
    Deviation("10.3", _REQUIRED, "Lengths and truths are added up in the type of their sum."),
    Deviation("10.4", _REQUIRED, "A constant of type int stands beside an uint32_t."),
    Deviation("10.8", _REQUIRED, "A difference of pointers, which is not negative, is compared as a size."),
    Deviation("11.4", _ADVISORY, "Addresses are sent to the host, and code is called where it was loaded."),
    Deviation("11.5", _ADVISORY, "An argument of unknown type is what its registration says."),
    Deviation("11.6", _REQUIRED, "The depth of the stack is a difference of addresses."),
    Deviation("11.8", _REQUIRED, "A call is timed with its argument as it is given: it is not written here."),
    Deviation("12.1", _ADVISORY, "Sums and comparisons, whose precedence nobody mistakes."),
    Deviation("12.2", _REQUIRED, "A bit of an unsigned int is shifted, which has 32."),
    Deviation("13.3", _ADVISORY, "A byte is read and the place counted up in one statement."),
    Deviation("14.2", _REQUIRED, "A list, and painted memory, are walked by a pointer."),
    Deviation("14.4", _REQUIRED, "A count or a pointer is tested for being there."),
    Deviation("15.5", _ADVISORY, "What is refused returns early, with its code."),
    Deviation("15.7", _REQUIRED, "Where nothing is left to be done there is no else."),
    Deviation("17.7", _REQUIRED, "memset and memcpy return what they were given."),
    Deviation("17.8", _ADVISORY, "Small functions change their own copies of parameters."),
    Deviation("18.4", _ADVISORY, "Bytes of a frame are found by adding to its beginning."),
    Deviation("20.10", _ADVISORY, "Registered functions get their tables by names joined in a macro."),
    Deviation(
        "21.2", _REQUIRED, "A static function is named time; the header that has another is not included."
    ),
    Deviation("21.15", _REQUIRED, "A hash is compared with bytes of the flash that hold it."),
)
REASONS = {each.rule: each for each in DEVIATIONS}
RUNTIME_REASONS = {each.rule: each for each in RUNTIME_DEVIATIONS}

# Further messages of cppcheck that belong to no rule. Each has been reviewed.
OTHER_MESSAGES = {
    "shiftTooManyBitsSigned": "A negative number is shifted right, which keeps its sign in gcc and clang.",
    "comparePointers": "The two are the ends of one section, which the linker lays out.",
    "badBitmaskCheck": "A capability that a build does not have is zero.",
    "shadowFunction": "A static function is named as a local variable elsewhere.",
    "unsignedPositive": "A length that is the constant zero in builds that copy nothing.",
    "unusedStructMember": "A member that only keeps the layout.",
}


# Runs cppcheck with its MISRA C:2012 addon on C files and counts the findings by rule.

CPPCHECK = "cppcheck"
_MOST_CONFIGURATIONS = 32  # by the options of a firmware; cppcheck stops at 12 unless told otherwise
_ARGV = (
    CPPCHECK, "--addon=misra", "--std=c99", "--enable=style", "--template={id} {file}:{line}",
    f"--max-configs={_MOST_CONFIGURATIONS}",
)  # fmt: skip
_ADDONS = ("/usr/lib/*/cppcheck/addons/misra.py", "/usr/share/cppcheck/addons/misra.py")
_RULE = re.compile(r"misra-c2012-(\d+\.\d+) ")
_CHECKED = re.compile(r"^Checking (\S+) \.\.\.", re.MULTILINE)
_CONTROL = "control.c"
_MISRA_CONTROL_TEXT = """\
#include <stdlib.h>
int control(int a, char *text);
int control(int a, char *text)
{
    int *number = (int *)text;
    if (a > 0)
        goto end;
    switch (a) {
    case 1:
        break;
    }
    number = malloc(4);
    free(number);
end:
    return a;
}
"""
_CONTROL_RULES = ("11.3", "15.1", "15.6", "16.4", "21.3")  # violated by the control file
_LISTED = re.compile(r"^(\d+\.\d+)[ \t]*(X?)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MisraFindings:
    tool: str
    checked: tuple[str, ...]  # rules that the tool checks
    unchecked: tuple[str, ...]
    found: Mapping[str, int]  # rule -> number of findings


def check_misra(files: Sequence[str], folder: Path) -> MisraFindings:
    """Checks files in the folder, and the headers they include. Raises ToolError."""
    addon = _addon()
    table = run_tool((sys.executable, str(addon), "-generate-table"), folder).stdout.decode()
    listed = _LISTED.findall(table)
    with TemporaryDirectory() as name:
        write_files({_CONTROL: _MISRA_CONTROL_TEXT}, Path(name))
        require_reported(CPPCHECK, _CONTROL_RULES, _rules((_CONTROL,), Path(name)))
    return MisraFindings(
        tool=run_tool((CPPCHECK, "--version"), folder).stdout.decode().strip(),
        checked=tuple(rule for rule, mark in listed if mark),
        unchecked=tuple(rule for rule, mark in listed if not mark),
        found=Counter(_rules(files, folder)),
    )


def _rules(files: Sequence[str], folder: Path) -> list[str]:
    """Returns the rule of each finding. Raises ToolError if a file was not read completely."""
    done = run_tool((*_ARGV, *files), folder)
    read = _CHECKED.findall(done.stdout.decode(errors="replace"))
    if unread := [file for file in files if file not in read]:
        raise ToolError(f"{CPPCHECK} does not say that it checked {unread[0]}")
    found = []
    for line in done.stderr.decode(errors="replace").splitlines():
        rule = _RULE.match(line)
        if rule:
            found.append(rule[1])
        elif line.partition(" ")[0] not in OTHER_MESSAGES:
            raise ToolError(
                f'{CPPCHECK} says "{line}", which is about no rule: it may not have read the file'
            )
    return found


def _addon() -> Path:
    """Returns the installed addon; its table lists the checked rules."""
    if shutil.which(CPPCHECK) is None:
        raise MissingToolError(f"{CPPCHECK} is not installed", hint="Debian has it in cppcheck")
    found = [path for pattern in _ADDONS for path in Path("/").glob(pattern.removeprefix("/"))]
    if not found:
        raise MissingToolError(f"{CPPCHECK} has no addon misra.py", hint=f"looked at {', '.join(_ADDONS)}")
    return found[0]


# CERT C checks with accepted findings, and the reasons. Findings of any other check fail the chapter.

CERT_REASONS: Mapping[str, str] = {
    "cert-str34-c": "It is about characters; these are numbers of 8 bits with a sign, which shall widen so.",
}


# Runs clang-tidy's CERT C checks on C files and counts the findings by check.

TIDY = "clang-tidy"
_CHECKS = "-checks=-*,cert-*"
_NAMED = re.compile(r"^ +(cert-\w+-c)$", re.MULTILINE)  # names of C++ checks have another suffix
_MESSAGE = re.compile(r"^\S+?:\d+:\d+: (?!note)(.*)$", re.MULTILINE)
_FOUND = re.compile(r"warning: .* \[(cert-[\w-]+)")
_CERT_CONTROL_TEXT = """\
#include <stdlib.h>
int control(const char *text);
int control(const char *text)
{
    return system(text) + atoi(text);
}
"""
_CONTROL_CHECKS = ("cert-env33-c", "cert-err34-c")


@dataclass(frozen=True, slots=True)
class CertFindings:
    tool: str
    checked: tuple[str, ...]
    found: Mapping[str, int]  # check -> number of findings


def check_cert(files: Sequence[str], folder: Path) -> CertFindings:
    """Checks files in the folder, and the headers they include. Raises MissingToolError, ToolError."""
    if shutil.which(TIDY) is None:
        raise MissingToolError(f"{TIDY} is not installed", hint="Debian has it in clang-tidy")
    listed = run_tool((TIDY, _CHECKS, "--list-checks"), folder).stdout.decode()
    with TemporaryDirectory() as name:
        write_files({_CONTROL: _CERT_CONTROL_TEXT}, Path(name))
        require_reported(TIDY, _CONTROL_CHECKS, _findings((_CONTROL,), Path(name)))
    version = run_tool((TIDY, "--version"), folder).stdout.decode()
    return CertFindings(
        tool=next(line.strip() for line in version.splitlines() if "version" in line),
        checked=tuple(_NAMED.findall(listed)),
        found=Counter(_findings(files, folder)),
    )


def _findings(files: Sequence[str], folder: Path) -> list[str]:
    """Returns the check of each finding. Raises ToolError for any other message."""
    said = run_tool((TIDY, "--quiet", _CHECKS, *files, "--", "-std=c99", "-I."), folder).stdout.decode()
    messages = _MESSAGE.findall(said)
    if foreign := [message for message in messages if not _FOUND.match(message)]:
        raise ToolError(f'{TIDY} says "{foreign[0]}", which no check of CERT C does')
    return [check for message in messages for check in _FOUND.findall(message)]


_METHOD = (
    "The addon of cppcheck is run over the generated C and its headers, and over the runtime that is beside "
    "it and serves a line. Rules are named by number: the text belongs to their publisher. The tables of "
    "weights, which are constants and nothing else, are left out.",
    "Deviations are the same for every model, in a list for generated C and one for the runtime: a rule "
    "outside of its list makes this chapter fail. A program that serves no line has the generated C alone.",
    "CERT C is checked by clang-tidy, as far as it has checks of C; it reads no instructions of a core.",
    "The ports of platforms and the description of the model that is sent over a line are not part of it, "
    "nor is a library that an accelerator brings.",
)


def examine_coding_standard(subject: Subject) -> Finding:
    """Runs the tools. Raises MissingToolError without cppcheck. Violations without a reason fail."""
    artifact = subject.artifact
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_files({**artifact.headers, **artifact.sources}, folder)
        for file, data in artifact.runtime.items():
            (folder / file).write_bytes(data)
        generated, runtime = (f"{artifact.name}.c",), _sources_of_runtime(artifact)
        found = check_misra(generated, folder)
        of_runtime = check_misra(runtime, folder) if runtime else replace(found, found={})
        why_no_cert = obstacle(artifact)
        cert, missing = _cert((*(() if why_no_cert else generated), *runtime), folder)
    broken = _broken(found.found, REASONS) + _broken(of_runtime.found, RUNTIME_REASONS)
    broken += [] if cert is None else sorted(check for check in cert.found if check not in CERT_REASONS)
    tables = _misra_table(found, of_runtime), *(() if cert is None else (_cert_table(cert),))
    tools = (found.tool, *(() if cert is None else (cert.tool,)))
    if broken:
        return Finding(
            Standing.FAILED, f"no reason is known for deviations from {', '.join(broken)}",
            (), _METHOD, tables, tools,
        )  # fmt: skip
    deviated = [rule for rule in found.checked if found.found.get(rule)]
    exceptions = (
        *(f"rule {rule}: {REASONS[rule].reason}" for rule in deviated),
        *(f"runtime, rule {rule}: {RUNTIME_REASONS[rule].reason}"
          for rule in of_runtime.checked if of_runtime.found.get(rule)),
        *(f"{check}: {CERT_REASONS[check]}" for check in (cert.found if cert else ())),
        *_beyond_the_tools(found, cert),
        *_not_checked(artifact, why_no_cert, missing),
    )  # fmt: skip
    standing = Standing.EXCEPTIONS if exceptions else Standing.PROVEN
    summary = _summary(found, of_runtime, cert, len(deviated), bool(runtime))
    return Finding(standing, summary, exceptions, _METHOD, tables, tools)


def _sources_of_runtime(artifact: Artifact) -> tuple[str, ...]:
    return tuple(sorted(name for name in artifact.runtime if name.endswith(".c")))


def _cert(files: tuple[str, ...], folder: Path) -> tuple[CertFindings | None, str]:
    """Returns the findings, or the reason why there are none."""
    if not files:
        return None, "there is no C without instructions of a core"
    try:
        return check_cert(files, folder), ""
    except MissingToolError as error:
        return None, error.what


def _broken(found: Mapping[str, int], reasons: Mapping[str, Deviation]) -> list[str]:
    return sorted(rule for rule in found if rule not in reasons)


def _beyond_the_tools(found: MisraFindings, cert: CertFindings | None) -> Iterator[str]:
    """Yields rules that these tools do not cover."""
    yield (
        f"of MISRA C:2023, which numbers the rules of MISRA C:2012 as before, the {len(found.checked)} are "
        f"checked that {found.tool} checks of the earlier edition; its other rules and its directives are not"
    )
    if cert is not None:
        checks = counted(len(cert.checked), "check")
        yield f"of CERT C those rules are checked that clang-tidy has its {checks} of; the others are not"


def _not_checked(artifact: Artifact, why_no_cert: str, missing: str) -> Iterator[str]:
    if missing:
        yield f"CERT C is not checked: {missing}"
    elif why_no_cert:
        yield f"CERT C is checked of the runtime alone: {why_no_cert}"
    if foreign := foreign_sources(artifact):
        yield f"not generated, and not checked: {', '.join(foreign)}"


def _summary(
    found: MisraFindings,
    of_runtime: MisraFindings,
    cert: CertFindings | None,
    deviated: int,
    has_runtime: bool,
) -> str:
    checked, runtime = len(found.checked), sum(1 for rule in found.checked if of_runtime.found.get(rule))
    words = (
        f"{checked - deviated} of {checked} rules of MISRA C that the tool checks are complied with by the "
        f"generated C ({counted(deviated, 'rule')} of {len(DEVIATIONS)} in its list of deviations)"
    )
    if has_runtime:
        words += f", and {checked - runtime} by the runtime ({runtime} of {len(RUNTIME_DEVIATIONS)})"
    if cert is None:
        return f"{words}; CERT C was not checked"
    return (
        f"{words}; {len(cert.checked) - len(cert.found)} of {len(cert.checked)} checks of CERT C find nothing"
    )


def _misra_table(found: MisraFindings, of_runtime: MisraFindings) -> Table:
    columns = ("rule", "generated C", "places", "reason", "runtime", "places there", "reason there")
    return Table("Rules of MISRA C:2012", columns, tuple(_rows(found, of_runtime)))


def _rows(found: MisraFindings, of_runtime: MisraFindings) -> Iterator[tuple[Cell, ...]]:
    """Yields the rules in order, including unchecked ones."""
    for rule in sorted({*found.checked, *found.unchecked}, key=_order):
        if rule in found.unchecked:
            yield rule, "not checkable by this tool", 0, "", "not checkable by this tool", 0, ""
        else:
            yield rule, *_standing(rule, found, REASONS), *_standing(rule, of_runtime, RUNTIME_REASONS)


def _standing(rule: str, found: MisraFindings, reasons: Mapping[str, Deviation]) -> tuple[Cell, Cell, Cell]:
    places, reason = found.found.get(rule, 0), reasons.get(rule)
    if not places:
        return "complied", 0, ""
    if reason is None:
        return "broken", places, "none"
    return f"deviated ({reason.category})", places, reason.reason


def _cert_table(cert: CertFindings) -> Table:
    rows = [
        (check, "found" if cert.found.get(check) else "nothing found", cert.found.get(check, 0),
         CERT_REASONS.get(check, "none") if cert.found.get(check) else "")
        for check in sorted({*cert.checked, *cert.found})
    ]  # fmt: skip
    return Table("Checks of CERT C", ("check", "outcome", "places", "reason"), rows)


def _order(rule: str) -> tuple[int, ...]:
    return tuple(int(part) for part in rule.split("."))
