"""The chapter on coding standards: MISRA C:2012 and CERT C, for generated C and the runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.counted import counted
from aot.errors import MissingToolError
from artifact.artifact import Artifact
from deploy.proving.cert.clang_tidy import CertFindings, check_cert
from deploy.proving.cert.deviations import CERT_REASONS
from deploy.proving.chapter import Cell, Finding, Standing, Table
from deploy.proving.lone_program import foreign_sources, obstacle, write_files
from deploy.proving.misra.cppcheck import MisraFindings, check_misra
from deploy.proving.misra.deviations import (
    DEVIATIONS,
    REASONS,
    RUNTIME_DEVIATIONS,
    RUNTIME_REASONS,
    Deviation,
)
from deploy.proving.subject import Subject

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
