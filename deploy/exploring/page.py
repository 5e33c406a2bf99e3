"""An exploration as a web page: a scatter plot of two figures, filters, and a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from deploy.exploring.shown_columns import COLUMNS
from deploy.reporting.web_page import web_page


def page_of(facts: Mapping[str, Any], sentences: Sequence[str]) -> str:
    return web_page(
        "deploy.exploring",
        "explored",
        facts=facts,
        sentences=sentences,
        shown=COLUMNS,
        data=json.dumps(facts["results"], separators=(",", ":")),
    )
