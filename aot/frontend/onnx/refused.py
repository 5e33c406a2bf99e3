"""Collects all errors of a file: operators, broken limits, and sizes that it leaves open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from aot.errors import ModelError, UnsupportedError
from aot.frontend.onnx.errors import AlreadyReportedError, LeftOpenError, NeedsValueError, NoImporterError
from aot.frontend.onnx.why_not import reason_of

MOST_NAMED = 50  # nodes of one operator, and nodes that violate a limit


@dataclass
class Refused:
    """Errors collected while reading the file as far as possible."""

    file_name: str
    _places: dict[str, dict[str, None]] = field(default_factory=dict)  # by operator, in order
    _errors: list[ModelError] = field(default_factory=list)

    def add(self, error: ModelError) -> None:
        if isinstance(error, NoImporterError):
            self.add_operators([(error.operator, error.label)])
        elif not isinstance(error, AlreadyReportedError):
            self._errors.append(error)

    def add_operators(self, found: Iterable[tuple[str, str]]) -> None:
        for operator, label in found:
            self._places.setdefault(operator, {})[f'"{label}"'] = None

    @property
    def is_long(self) -> bool:
        return len(self._errors) >= MOST_NAMED

    def whole(self) -> ModelError | None:
        """Returns all errors as one; a single error is returned unchanged."""
        if not self._places and len(self._errors) < 2:
            return self._errors[0] if self._errors else None
        lines = [line for name in sorted(self._places) for line in self._operator(name)]
        lines += [line for error in self._errors for line in self._told(error)]
        if self.is_long:
            lines.append(f"reading stopped after {MOST_NAMED} problems")
        kind = UnsupportedError if self._places else ModelError
        whole = kind(self._what(), "\n".join([self.file_name, *lines]), self._way_out())
        needing = next((error for error in self._errors if isinstance(error, NeedsValueError)), None)
        return whole if needing is None else NeedsValueError(whole, needing.graph_input, needing.options)

    def _what(self) -> str:
        if not self._places:
            return f"{len(self._errors)} problems prevent compilation"
        plural = "operators {} are" if len(self._places) > 1 else "operator {} is"
        return f"ONNX {plural.format(', '.join(sorted(self._places)))} not supported"

    def _operator(self, name: str) -> list[str]:
        places, reason = list(self._places[name]), reason_of(name)
        shown = ", ".join(places[:MOST_NAMED])
        more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
        return [f"{name}{reason.why and ', '}{reason.why}: {shown}{more}", f"  {reason.way_out}"]

    def _told(self, error: ModelError) -> list[str]:
        where = error.where.removesuffix(f"({self.file_name})").removeprefix("at ").rstrip()
        told = f"{where}: {error.what}" if where != self.file_name else error.what
        return [told, *(f"  {line}" for line in error.hint.splitlines())]

    def _way_out(self) -> str:
        """Returns the options that help, as one text to copy."""
        options = [error.options for error in self._errors if isinstance(error, LeftOpenError)]
        given = " ".join(dict.fromkeys(option for option in options if option))
        listed = "deploy docs ops lists what each operator supports"
        return f"set what the file leaves open: {given}\n{listed}" if given else listed
