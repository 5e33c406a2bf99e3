"""Renders a self-contained web page. Its security policy blocks other scripts and all downloads."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from deploy.reporting import columns

_STYLE, _TABLES = "report.css", "tables.js"  # shared by all pages


def web_page(package: str, name: str, script_name: str = "", **facts: Any) -> str:
    """Renders <name>.html.jinja of a package with <name>.js, or with `script_name`.js if given."""
    script = _text("deploy.reporting", _TABLES) + _text(package, f"{script_name or name}.js")
    return (
        _environment(package)
        .get_template(f"{name}.html.jinja")
        .render(
            **facts,
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            style=_text("deploy.reporting", _STYLE),
        )
    )


def _text(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")


def _environment(package: str) -> Environment:
    environment = Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["columns"] = columns
    return environment
