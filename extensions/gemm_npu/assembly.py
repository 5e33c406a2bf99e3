"""Assembly text of programs: one instruction per line, `GEMM first=0 count=9 ... push_next`."""

from __future__ import annotations

from collections.abc import Sequence

from extensions.gemm_npu.encoding import (
    OPERATIONS,
    EncodingError,
    Field,
    NpuCommand,
    encode,
    fields_of,
)


def line_of(instruction: NpuCommand) -> str:
    """Returns an instruction as one line, without fields that are 0."""
    words = [instruction.operation]
    for each in fields_of(instruction.operation):
        value = instruction[each.name]
        if each.name == "operation" or not (value or each.names):
            continue
        if each.bits == 1:
            words.append(each.name)
        else:
            words.append(f"{each.name}={each.names[value] if each.names else value}")
    return " ".join(words)


def disassembled(program: Sequence[NpuCommand]) -> str:
    return "".join(f"{number:4}  {line_of(each)}\n" for number, each in enumerate(program))


def assembled(text: str) -> tuple[NpuCommand, ...]:
    """Parses a program. Line numbers before instructions are ignored. Raises EncodingError with the line."""
    lines = ((number, line.split("#")[0].split()) for number, line in enumerate(text.splitlines(), 1))
    return tuple(_instruction(number, words) for number, words in lines if words)


def _instruction(number: int, words: Sequence[str]) -> NpuCommand:
    operation, *rest = words[1:] if words[0].isdigit() else words
    if operation not in OPERATIONS:
        raise EncodingError(f'line {number}: "{operation}" is not one of {", ".join(OPERATIONS)}')
    known = {each.name: each for each in fields_of(operation)}
    values: dict[str, int] = {}
    for word in rest:
        name, _, value = word.partition("=")
        if name not in known or name == "operation":
            raise EncodingError(f'line {number}: {operation} has no field "{name}"')
        values[name] = _number(number, known[name], value)
    found = NpuCommand(operation, {name: value for name, value in values.items() if value})
    try:
        encode(found)
    except EncodingError as error:
        raise EncodingError(f"line {number}: {error}") from None
    return found


def _number(line: int, place: Field, word: str) -> int:
    if place.bits == 1 and not word:
        return 1
    if word in place.names:
        return place.names.index(word)
    try:
        return int(word, 0)
    except ValueError:
        raise EncodingError(f'line {line}: {place.name} is "{word}"') from None
