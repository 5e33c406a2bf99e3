"""Contracts of functions that EVA cannot analyze precisely, and how each contract is proven.

EVA tracks no relations between variables, so it cannot prove that a Newton step converges. These functions
have a single 32-bit argument, and are called with every value that the contract permits.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProvenContract:
    function: str
    head: str  # the start of its declaration
    least: int  # range of the argument
    most: int
    result_least: int
    result_most: int

    @property
    def declaration(self) -> str:
        return f"{self.head} {self.function}(int32_t sum);"

    @property
    def acsl(self) -> str:
        return (
            f"/*@ requires least: {self.least} <= sum;\n"
            f"    requires most: sum <= {self.most};\n"
            "    assigns \\result \\from sum;\n"
            f"    ensures {self.result_least} <= \\result <= {self.result_most}; */"
        )

    def is_defined_in(self, code: str) -> bool:
        return f"{self.head} {self.function}(int32_t sum)\n{{" in code


_MOST_SUM = 256 << 19  # softmax over 256 classes, each contributing at most 2^19

CONTRACTS = (
    ProvenContract("reciprocal", "static int32_t", 1, _MOST_SUM, 0, 2**31 - 1),
    ProvenContract("reciprocal_bits", "static inline int32_t", 1, _MOST_SUM, -19, 12),
)


def contracts_for(code: str) -> tuple[ProvenContract, ...]:
    return tuple(each for each in CONTRACTS if each.is_defined_in(code))


@dataclass(frozen=True, slots=True)
class WrittenProof:
    """A manual proof for an alarm that EVA cannot exclude."""

    alarm: str  # EVA's text
    proof: str


ARGUMENTS = (
    WrittenProof(
        "function reciprocal: precondition 'least' got status unknown.",
        "A softmax passes the sum of exp(x - maximum) over its row. No term is negative; at the maximum "
        "itself the difference is 0 and the term 2^19. So the sum is at least 2^19.",
    ),
)


def proof_of(alarm: str) -> str:
    """Returns the proof for an alarm, or ""."""
    return next((each.proof for each in ARGUMENTS if each.alarm == alarm), "")
