"""The pages of the evidence: an overview, and one for each chapter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deploy.proving.chapter import Standing
from deploy.proving.tracing.against import Fate
from deploy.reporting.web_page import web_page

_PACKAGE, _SCRIPT = "deploy.proving", "evidence"
_CLASSES = {
    Standing.PROVEN.value: "good",
    Standing.EXCEPTIONS.value: "partly",
    Standing.NOT_RUN.value: "open",
    Standing.FAILED.value: "bad",
}
_OUTCOMES = {
    Fate.STANDS.value: "good",
    Fate.SAME_TOOLS.value: "partly",
    Fate.INVALID.value: "bad",
    Fate.UNEXPLAINED.value: "bad",
    Fate.NONE.value: "open",
}


def pages_of(facts: Mapping[str, Any]) -> dict[str, str]:
    """Returns the pages by file name, from the facts in evidence.json."""
    pages = {
        "index.html": web_page(_PACKAGE, "index", _SCRIPT, facts=facts, classes=_CLASSES, outcomes=_OUTCOMES)
    }
    for chapter in facts["chapters"]:
        pages[f"{chapter['name']}.html"] = web_page(
            _PACKAGE, "chapter", _SCRIPT, facts=facts, chapter=chapter, classes=_CLASSES
        )
    return pages
