"""Compares a board with the reference, other runtimes and expected outputs.

- `compare_layers`: Compares what a board computed with the reference, and names the first layer that differs.
- `memory_guard`: Finds accelerators whose functions write outside their buffers: all other memory is filled,
  and watched.
- `oracles`: Oracles: runtimes of other people's that run a model's file here, to judge what a board computed.
- `quality`: The quality of outputs: classes beside labels, numbers beside the expected ones.
- `verify_model`: Runs a model on a board and in the reference, and says whether they agree.
- `verify_sizes`: Verifies a model at the size that inputs have, or without inputs at each of its sizes.
"""
