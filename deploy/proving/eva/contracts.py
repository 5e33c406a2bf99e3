"""Functions of generated C that EVA is given by contract, and how each contract is proven otherwise.

EVA knows no relation between two variables, so it cannot see that a Newton step converges. These functions
have one 32-bit argument: each is called with every argument that its contract allows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProvenContract:
    function: str
    head: str  # of its declaration
    least: int  # argument
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


_MOST_SUM = 256 << 19  # a softmax of 256 classes, each with a share of 2^19 at most

CONTRACTS = (
    ProvenContract("reciprocal", "static int32_t", 1, _MOST_SUM, 0, 2**31 - 1),
    ProvenContract("reciprocal_bits", "static inline int32_t", 1, _MOST_SUM, -19, 12),
)


def contracts_for(code: str) -> tuple[ProvenContract, ...]:
    return tuple(each for each in CONTRACTS if each.is_defined_in(code))


@dataclass(frozen=True, slots=True)
class WrittenProof:
    """A sentence that discharges an alarm that EVA cannot."""

    alarm: str  # its text, as EVA prints it
    proof: str


ARGUMENTS = (
    WrittenProof(
        "function reciprocal: precondition 'least' got status unknown.",
        "A softmax passes the sum of exp(x - maximum) over its row. No term is negative; at the maximum "
        "itself the difference is 0 and the term 2^19. So the sum is at least 2^19.",
    ),
)


def proof_of(alarm: str) -> str:
    """Answers with an empty string where nothing discharges the alarm."""
    return next((each.proof for each in ARGUMENTS if each.alarm == alarm), "")
