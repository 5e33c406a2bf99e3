"""Compares a board with the reference, other runtimes and expected outputs.

- `compare_layers`: Compares a board's results with the reference, and finds the first layer that differs.
- `memory_guard`: Detects accelerators that write outside their buffers, by filling and checking all other
  memory.
- `oracles`: Oracles: third-party runtimes that run a model's file on this computer, to check a board's
  results.
- `quality`: The quality of outputs: classes compared with labels, numbers with expected ones.
- `verify_model`: Runs a model on a board and in the reference, and compares the results.
- `verify_sizes`: Verifies a model at the size of its inputs, or without inputs at all of its sizes.
"""
