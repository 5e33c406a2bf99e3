"""Hook of hatchling: a wheel has the pages of the documentation, which `deploy docs` shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGES = ("*.md", "tutorials/*.md")  # as deploy/cli/docs_pages.py looks for them


class PagesHook(BuildHookInterface):
    """Puts the pages into the package deploy; an editable install reads them where they are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        docs = Path(self.root) / "docs"
        for path in (path for pages in PAGES for path in sorted(docs.glob(pages))):
            build_data["force_include"][str(path)] = f"deploy/pages/{path.relative_to(docs).as_posix()}"
