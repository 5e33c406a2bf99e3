"""The commands as Python functions, models in Python, and graphs written in Python.

- `board_arguments`: Reads what Python functions about boards are given: a model in any form, and options by
  keyword.
- `graph_builder`: A graph written in Python: operators on values, each checked as it is written; what it
  makes is a model.
- `graph_operators`: ONNX's operators behind Python's of whole numbers and conditions.
- `model`: A model file that was read: its graph, its inputs and outputs, and the reference that runs it.
- `offline`: The functions of `import deploy` that need no connected board.
- `on_board`: The commands as Python functions: those that run a model on a board.
- `option_keywords`: Shows options as keywords of the Python functions that take them.
"""
