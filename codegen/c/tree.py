"""C as a small tree: expressions, statements and functions, frozen, so that equal code is equal.

A tree knows what a text would have to be searched for (`tree_walk.py`): which names it uses, which helpers it
calls, how many statements it has. `printer.py` prints it, once, in the dialect of a compiler. What is written
by hand, the definition of a helper or the call of an instruction with inline assembly, is text in a leaf that
states what it uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from codegen.loops.ir import Instruction, ScalarFunction


@dataclass(frozen=True, slots=True)
class Helper:
    """A portable C function written by hand that generated functions call."""

    name: str
    definition: str
    includes: tuple[str, ...] = ()
    calls: tuple[Helper, ...] = ()  # helpers that the definition calls
    library_calls: tuple[str, ...] = ()  # functions of math.h that the definition calls
    is_inline: bool = True  # its definition says so: a compiler may copy it, however long it is


AnyHelper = Helper | ScalarFunction | Instruction


# ---- expressions ----


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, a parameter, a constant array or a member of a struct that a pointer leads to."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """An integer; `says` is what a parameter would be called that takes its place."""

    value: int
    says: str = field(default="", compare=False)
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Enumerator:
    """A constant of an enum of the file, which the printer of the file declares."""

    name: str
    value: int
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """The length of a local array: functions that become one can share the longest."""

    value: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A float as C spells it, or a constant of a header."""

    text: str
    header: str = ""


Count = Number | Name


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of variables times integers, and an integer: printed without factors of one and without zeros."""

    terms: tuple[tuple[str, Count], ...]
    constant: Count


@dataclass(frozen=True, slots=True)
class Sum:
    """Parts added up; a Linear part that is zero is not printed."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Parentheses, left out where the expression stands alone."""

    inner: Expr


@dataclass(frozen=True, slots=True)
class Infix:
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Ternary:
    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class CastTo:
    c_type: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Prefix:
    """An operator before what it is applied to: the address of a place, a counter that is moved on."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Postfix:
    operand: Expr
    op: str


@dataclass(frozen=True, slots=True)
class Subscript:
    base: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a generated function, a macro, or a helper, which then comes with it."""

    function: str
    arguments: tuple[Expr, ...]
    helper: AnyHelper | None = field(default=None, compare=False)  # two of one name are the same


Expr = (
    Name
    | Number
    | Enumerator
    | Literal
    | Linear
    | Sum
    | Group
    | Infix
    | Ternary
    | CastTo
    | Prefix
    | Postfix
    | Subscript
    | FunctionCall
)


# ---- statements ----


@dataclass(frozen=True, slots=True)
class Do:
    """An expression for its effect."""

    call: Expr
    comment: str = ""


@dataclass(frozen=True, slots=True)
class DeclareVariables:
    """Variables of one type. Where the next statements give them their first values, these become one."""

    c_type: str
    names: tuple[str, ...]
    bytes_each: int


@dataclass(frozen=True, slots=True)
class DeclareArray:
    c_type: str
    name: str
    length: Room
    bytes_each: int
    is_aligned: bool  # to a word, for instructions that take words of it


@dataclass(frozen=True, slots=True)
class Define:
    """A variable with the value it keeps."""

    variable: TypedName
    value: Expr


@dataclass(frozen=True, slots=True)
class DefinePointers:
    """An array of pointers to rows."""

    variable: TypedName
    rows: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class DefineTable:
    """A constant array of integers, which lies where the dialect keeps constants."""

    c_type: str
    name: str
    numbers: tuple[int, ...]
    notes: tuple[tuple[int, str], ...] = ()  # comments, each before the number of that position


@dataclass(frozen=True, slots=True)
class DefineShape:
    """The constant struct that tells a shared function which of its layers it computes."""

    c_type: str
    name: str
    members: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Assign:
    target: Expr
    value: Expr
    op: str = "="


@dataclass(frozen=True, slots=True)
class InstructionCall:
    """The call of an instruction: a format string over what it is given."""

    instruction: str
    call: str
    given: tuple[tuple[str, Expr | tuple[Expr, ...]], ...]  # what the string mentions, and no more
    helper: Instruction = field(compare=False)


@dataclass(frozen=True, slots=True)
class Braces:
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class ForLoop:
    """The loop for (`c_type` `var` = 0; `var` < `count`; ++`var`); without a type the variable lives on."""

    c_type: str
    var: str
    count: Count | Linear
    body: tuple[Stmt, ...]
    comment: str = ""  # above it
    first: Linear | None = None  # in place of 0


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class SwitchStatement:
    value: Expr
    cases: tuple[tuple[int, tuple[Stmt, ...]], ...]


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr | None = None


Stmt = (
    Do
    | DeclareVariables
    | DeclareArray
    | Define
    | DefinePointers
    | DefineTable
    | DefineShape
    | Assign
    | InstructionCall
    | Braces
    | ForLoop
    | If
    | SwitchStatement
    | Return
)


# ---- functions ----


@dataclass(frozen=True, slots=True)
class TypedName:
    """A parameter or a local variable: its type as far as it stands before the name."""

    c_type: str
    name: str
    length: int | None = None  # of an array
    is_constant: bool = False  # it points into the constants, whose address space the dialect knows


@dataclass(frozen=True, slots=True)
class Shape:
    """The struct that a shared function gets its numbers by: members with their C types."""

    members: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    kind: str  # what stands before the name: linkage, attributes, type of the result
    name: str
    params: tuple[TypedName, ...]
    body: tuple[Stmt, ...]
    comment: str = ""
    shape: Shape | None = None


def unsigned(value: int) -> Number:
    return Number(value, suffix="u")


def times(expr: Expr, value: int) -> Expr:
    return Infix("*", factor(expr), unsigned(value))


def plus(expr: Expr, value: int) -> Expr:
    """The expression itself where nothing is added."""
    if value == 0:
        return expr
    return Infix("+", expr, unsigned(value)) if value > 0 else Infix("-", expr, unsigned(-value))


def factor(expr: Expr) -> Expr:
    """An expression as it stands beside an operator that binds more."""
    return Group(expr) if isinstance(expr, Infix | Ternary) else expr
