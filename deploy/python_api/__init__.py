"""The commands as Python functions, models in Python, and graphs written in Python.

- `board_arguments`: Converts arguments of Python functions about boards: a model in any form, and options by
  keyword.
- `graph_builder`: Builds a graph in Python. Each operator is checked when it is added; the result is a model.
- `graph_operators`: ONNX operators for Python's integer and comparison operators.
- `model`: A loaded model file: its graph, inputs and outputs, and the reference that runs it.
- `offline`: The functions of `import deploy` that need no connected board.
- `on_board`: The commands that run a model on a board, as Python functions.
- `option_keywords`: Shows options as keywords of the Python functions that accept them.
"""
