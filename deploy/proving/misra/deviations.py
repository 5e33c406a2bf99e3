"""MISRA C:2012 rules that the C violates, which are the same for every model, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deviation:
    rule: str
    category: str  # of the rule: required or advisory; mandatory rules have no deviations
    reason: str


_REQUIRED, _ADVISORY = "required", "advisory"
_SHIFT = "Sums are scaled by arithmetic shifts of signed numbers, which every compiler for these cores has."

DEVIATIONS = (
    Deviation("2.2", _REQUIRED, "The profiler's hook is an empty macro where none is linked."),
    Deviation("2.4", _ADVISORY, "Error codes are an enum without a name; callers use its constants."),
    Deviation("2.5", _ADVISORY, "Sizes and scales in the header are for callers, who may need none."),
    Deviation(
        "2.7", _ADVISORY, "Assembly uses the parameter, which the tool cannot see."
    ),
    Deviation("8.9", _ADVISORY, "The table of the order stands before its function, to be read apart."),
    Deviation(
        "8.14", _REQUIRED,
        "restrict lets loads move before stores. Rows of a step lie apart: the plan is replayed to know it.",
    ),
    Deviation("10.1", _REQUIRED, _SHIFT),
    Deviation("10.3", _REQUIRED, "Results are clamped to the range of their type before they are stored."),
    Deviation("10.4", _REQUIRED, "A constant of type int stands beside an int32_t: the same type there."),
    Deviation("10.8", _REQUIRED, "Half of an unsigned mask is taken as signed; it is below 2^31."),
    Deviation("11.5", _ADVISORY, "The arena is memory of any type; a run checks its alignment."),
    Deviation("12.1", _ADVISORY, "Addresses are sums of products, whose precedence nobody mistakes."),
    Deviation("12.3", _ADVISORY, "The commas separate variables of one type and are not operators."),
    Deviation("13.3", _ADVISORY, "A layer's next row is read and counted up in one statement."),
    Deviation("14.2", _REQUIRED, "The walk through the order goes back where steps repeat, by a count."),
    Deviation("14.4", _REQUIRED, "A bit is tested by a bitwise and."),
    Deviation("15.5", _ADVISORY, "Errors, and rows outside the image, return early."),
    Deviation("17.7", _REQUIRED, "memset and memcpy return what they were given."),
    Deviation("17.8", _ADVISORY, "Small functions change their own copies of parameters."),
    Deviation("18.4", _ADVISORY, "A row is an offset from the beginning of its ring."),
    Deviation("20.10", _ADVISORY, "Registers of inline assembly are named by macros."),
)  # fmt: skip
RUNTIME_DEVIATIONS = (
    Deviation("2.3", _ADVISORY, "Types of registered functions are named for all element types."),
    Deviation("2.4", _ADVISORY, "Codes are an enum without a name; their constants are used."),
    Deviation(
        "2.5", _ADVISORY, "Codes of the line's table are there for both ends, one of which may need none."
    ),
    Deviation(
        "5.7", _REQUIRED, "A file's state is one structure without a tag, which the tool takes for a name."
    ),
    Deviation("5.9", _ADVISORY, "A static function and another file's static structure have one name."),
    Deviation("8.5", _ADVISORY, "What a port brings is declared by each of the two parts that need it."),
    Deviation("8.7", _ADVISORY, "The table of the order is looked up by programs that are built on it."),
    Deviation("8.9", _ADVISORY, "Tables stand before their function, to be read apart."),
    Deviation("8.11", _ADVISORY, "Tables of the firmware are as long as it has models; the linker knows."),
    Deviation("9.3", _REQUIRED, "The rest of an array is zero by the definition of C."),
    Deviation("10.1", _REQUIRED, "A counter of fewer bits is widened with its sign by a shift."),
    Deviation("10.3", _REQUIRED, "Lengths and truths are added up in the type of their sum."),
    Deviation("10.4", _REQUIRED, "A constant of type int stands beside an uint32_t."),
    Deviation("10.8", _REQUIRED, "A difference of pointers, which is not negative, is compared as a size."),
    Deviation("11.4", _ADVISORY, "Addresses are sent to the host, and code is called where it was loaded."),
    Deviation("11.5", _ADVISORY, "An argument of unknown type is what its registration says."),
    Deviation("11.6", _REQUIRED, "The depth of the stack is a difference of addresses."),
    Deviation("11.8", _REQUIRED, "A call is timed with its argument as it is given: it is not written here."),
    Deviation("12.1", _ADVISORY, "Sums and comparisons, whose precedence nobody mistakes."),
    Deviation("12.2", _REQUIRED, "A bit of an unsigned int is shifted, which has 32."),
    Deviation("13.3", _ADVISORY, "A byte is read and the place counted up in one statement."),
    Deviation("14.2", _REQUIRED, "A list, and painted memory, are walked by a pointer."),
    Deviation("14.4", _REQUIRED, "A count or a pointer is tested for being there."),
    Deviation("15.5", _ADVISORY, "What is refused returns early, with its code."),
    Deviation("15.7", _REQUIRED, "Where nothing is left to be done there is no else."),
    Deviation("17.7", _REQUIRED, "memset and memcpy return what they were given."),
    Deviation("17.8", _ADVISORY, "Small functions change their own copies of parameters."),
    Deviation("18.4", _ADVISORY, "Bytes of a frame are found by adding to its beginning."),
    Deviation("20.10", _ADVISORY, "Registered functions get their tables by names joined in a macro."),
    Deviation(
        "21.2", _REQUIRED, "A static function is named time; the header that has another is not included."
    ),
    Deviation("21.15", _REQUIRED, "A hash is compared with bytes of the flash that hold it."),
)
REASONS = {each.rule: each for each in DEVIATIONS}
RUNTIME_REASONS = {each.rule: each for each in RUNTIME_DEVIATIONS}

# Further messages of cppcheck that belong to no rule. Each has been reviewed.
OTHER_MESSAGES = {
    "shiftTooManyBitsSigned": "A negative number is shifted right, which keeps its sign in gcc and clang.",
    "comparePointers": "The two are the ends of one section, which the linker lays out.",
    "badBitmaskCheck": "A capability that a build does not have is zero.",
    "shadowFunction": "A static function is named as a local variable elsewhere.",
    "unsignedPositive": "A length that is the constant zero in builds that copy nothing.",
    "unusedStructMember": "A member that only keeps the layout.",
}
