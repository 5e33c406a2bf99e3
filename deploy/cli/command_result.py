"""The result of a command: facts for programs, and a page for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


class Paged:
    """A base class for objects that str() formats as a page; notebooks display that page."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return monospaced(str(self))


def monospaced(page: str) -> str:
    """Returns a page as HTML with aligned columns, independent of a notebook's font for <pre>."""
    import html  # only notebooks need it

    return f'<pre style="font-family: monospace">{html.escape(page, quote=False)}</pre>'


def framed(page: str) -> str:
    """Embeds a complete web page into a notebook's page."""
    import html

    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 40em; border: 0"></iframe>'


@dataclass(frozen=True)
class Answer(Paged):
    """Facts with the keys of `--json`, and a page, which print(), a prompt or a notebook displays."""

    facts: Any = field(repr=False)
    page: str

    def __str__(self) -> str:
        return self.page

    def __repr__(self) -> str:
        return self.page

    def __getitem__(self, key: Any) -> Any:
        return self.facts[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def as_json(self) -> Any:
        """Returns the facts."""
        return self.facts
