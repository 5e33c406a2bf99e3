"""C as a small tree: expressions, statements and functions, all frozen, so that equal code is equal.

A tree can be queried without parsing text (`tree_walk.py`): which names it uses, which helpers it calls, how
many statements it has. `printer.py` prints it in the dialect of a compiler. Hand-written text, such as the
definition of a helper or an instruction in inline assembly, is a leaf that declares what it uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from codegen.loops.ir import Instruction, ScalarFunction, math_calls


@dataclass(frozen=True, slots=True)
class Helper:
    """A hand-written portable C function that generated functions call."""

    name: str
    definition: str
    includes: tuple[str, ...] = ()
    calls: tuple[Helper, ...] = ()  # called by the definition
    is_inline: bool = True  # declared inline: a compiler may copy it, however long it is

    @property
    def library_calls(self) -> frozenset[str]:
        """Returns the functions of math.h that the definition calls."""
        return math_calls(self.definition)


AnyHelper = Helper | ScalarFunction | Instruction


# ---- expressions ----


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, a parameter, a constant array, or a member of a struct behind a pointer."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """An integer; `says` is the suggested name of a parameter that replaces it."""

    value: int
    suggested_name: str = field(default="", compare=False)
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Enumerator:
    """A constant of an enum that the file's printer declares."""

    name: str
    value: int
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ArrayLength:
    """The length of a local array. Merged functions use the longest."""

    value: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A float in C syntax, or a constant of a header."""

    text: str
    header: str = ""


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear combination of variables and an integer, printed without factors of one and zero terms."""

    terms: tuple[tuple[str, Count], ...]
    constant: Count


Count = Number | Name | Linear  # a parameter or a sum of parameters, if functions share the code


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of parts; a Linear part that is zero is not printed."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Parentheses, which are omitted if the expression is not an operand."""

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
    """A prefix operator with its operand: the address of a place, an incremented counter."""

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
    """A call of a generated function, a macro, or a helper, which is then included."""

    function: str
    arguments: tuple[Expr, ...]
    helper: AnyHelper | None = field(default=None, compare=False)  # helpers of the same name are equal


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
    """An expression statement."""

    call: Expr
    comment: str = ""


@dataclass(frozen=True, slots=True)
class DeclareVariables:
    """Variables of one type. If the next statements initialize them, both are merged."""

    c_type: str
    names: tuple[str, ...]
    bytes_each: int


@dataclass(frozen=True, slots=True)
class DeclareArray:
    c_type: str
    name: str
    length: ArrayLength
    bytes_each: int
    is_aligned: bool  # to 4 bytes, for 32-bit accesses


@dataclass(frozen=True, slots=True)
class Define:
    """A constant variable with its value."""

    variable: TypedName
    value: Expr


@dataclass(frozen=True, slots=True)
class DefinePointers:
    """An array of pointers to rows."""

    variable: TypedName
    rows: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class DefineTable:
    """A constant array of integers, in the dialect's memory for constants."""

    c_type: str
    name: str
    numbers: tuple[int, ...]
    notes: tuple[tuple[int, str], ...] = ()  # comments, each before the number at that position


@dataclass(frozen=True, slots=True)
class DefineShape:
    """The constant struct with a shared function's numbers for one layer."""

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
    """The call of an instruction: a format string and its arguments."""

    instruction: str
    call: str
    given: tuple[tuple[str, Expr | tuple[Expr, ...]], ...]  # exactly the arguments that the string uses
    helper: Instruction = field(compare=False)


@dataclass(frozen=True, slots=True)
class Braces:
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class ForLoop:
    """The loop for (`c_type` `var` = 0; `var` < `count`; ++`var`). Without a type, `var` exists already."""

    c_type: str
    var: str
    count: Count
    body: tuple[Stmt, ...]
    comment: str = ""  # printed above it
    first: Linear | None = None  # instead of 0


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
    """A parameter or a local variable, with the part of its type before the name."""

    c_type: str
    name: str
    length: int | None = None  # of an array
    is_constant: bool = False  # points to constants, whose address space the dialect defines


@dataclass(frozen=True, slots=True)
class Shape:
    """The struct with which a shared function gets its numbers: members with their C types."""

    members: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    kind: str  # the text before the name: linkage, attributes, result type
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
    """Returns the sum, or the expression itself if nothing is added."""
    if value == 0:
        return expr
    return Infix("+", expr, unsigned(value)) if value > 0 else Infix("-", expr, unsigned(-value))


def factor(expr: Expr) -> Expr:
    """Returns the expression as an operand of an operator with higher precedence."""
    return Group(expr) if isinstance(expr, Infix | Ternary) else expr
