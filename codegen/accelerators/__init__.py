"""The accelerators, which compute layers in place of generated kernels: each has a folder here."""

from __future__ import annotations

ACCELERATORS: tuple[str, ...] = ("vanilla", "strawberry", "chocolate", "ethos-u", "cmsis-nn", "gemm-npu")
EXAMPLES = ("vanilla", "strawberry", "chocolate")  # of them, to copy: `deploy new-accelerator --like`
