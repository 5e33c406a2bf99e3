"""Optional parts of the compiler. Each has a folder here, and only these tables name them.

The core looks a table up by name (`aot.extensions.shipped`). If this package is deleted, it finds none.
"""

from __future__ import annotations

# Values of --accelerator. `accelerator.py` in the folder of that name has the object ACCELERATOR.
ACCELERATORS: tuple[str, ...] = ("vanilla", "strawberry", "chocolate", "ethos-u", "cmsis-nn", "gemm-npu")
EXAMPLES = ("vanilla", "strawberry", "chocolate")  # the ones to copy: `deploy new-accelerator --like`
