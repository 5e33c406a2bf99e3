"""Runs the chapters. A chapter that was skipped or could not run has a finding, too."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aot.errors import InputError, MissingToolError, ToolError, did_you_mean
from deploy.cli.console import progress
from deploy.proving.chapter import Chapter, Finding, Standing, Table, not_run
from deploy.proving.gathered import Evidence
from deploy.proving.subject import Subject
from deploy.proving.table import CHAPTERS
from deploy.proving.tracing.older import OlderEvidence

_NAMED = 3  # problems listed in a summary; the table contains all


def gather(
    subject: Subject,
    wanted: Collection[str] = (),
    chapters: Sequence[Chapter] = CHAPTERS,
    older: OlderEvidence | None = None,
) -> Evidence:
    """Runs the named chapters, or all. The others are reported as not run. Raises InputError."""
    require_known(wanted, chapters)
    with progress("evidence", len(chapters)) as bar:
        found = []
        for chapter in chapters:
            bar.step(chapter.name)
            found.append((chapter, _asked(chapter, subject, wanted)))
    return Evidence(subject, tuple(found), older)


def require_known(wanted: Collection[str], chapters: Sequence[Chapter] = CHAPTERS) -> None:
    """Raises InputError for unknown chapter names."""
    known = [chapter.name for chapter in chapters]
    for name in wanted:
        if name not in known:
            raise InputError(
                f'there is no chapter "{name}"{did_you_mean(name, known)}', hint=f"known: {', '.join(known)}"
            )


def _asked(chapter: Chapter, subject: Subject, wanted: Collection[str]) -> Finding:
    if wanted and chapter.name not in wanted:
        return not_run(f"other chapters were asked for: {', '.join(wanted)}")
    spoilt = [each.says for each in subject.strangers if each.spoils(chapter.rests_on)]
    if spoilt:
        more = f"; and {len(spoilt) - _NAMED} more" if len(spoilt) > _NAMED else ""
        table = Table("Not as Solder makes it", ("what",), [(says,) for says in spoilt])
        return Finding(Standing.FAILED, "; ".join(spoilt[:_NAMED]) + more, tables=(table,))
    try:
        return chapter.examine(subject)
    except MissingToolError as error:
        return not_run(error.what)
    except ToolError as error:
        return Finding(Standing.FAILED, f"no answer can be trusted: {error.what}")
