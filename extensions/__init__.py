"""Parts that the core works without: each has a folder here, and nothing but these tables names them.

The core asks for a table by its name (`aot.extensions.shipped`). If this package is deleted, it finds none.
"""

from __future__ import annotations

# What --accelerator takes: `accelerator.py` in the folder of that name has the object ACCELERATOR.
ACCELERATORS: tuple[str, ...] = ("vanilla", "strawberry", "chocolate", "ethos-u", "cmsis-nn", "gemm-npu")
EXAMPLES = ("vanilla", "strawberry", "chocolate")  # of them, to copy: `deploy new-accelerator --like`
