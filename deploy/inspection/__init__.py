"""What `deploy inspect` and `deploy ops` show: facts and pages about models, layers and operators.

- `counted_outputs`: Outputs with the maximum number of rows, and a separate count of the valid ones.
- `inspect_facts`: The facts printed by `deploy inspect --json`.
- `inspect_model`: Inspects a model or an archive: its contents, and whether it fits a board.
- `inspect_page`: The page printed by `deploy inspect`.
- `layer_view`: A layer as node, loops, C and assembly: the compiler's result for one line of the graph.
- `model_operators`: Lists the operators of a model file: their counts, and whether they are supported.
- `op_facts`: Lists supported ops, element types, roundings and format operators, from the compiler's tables.
- `op_functions`: Lists the functions of ops that implement several, under the names of format operators.
- `operator_page`: The page about a format's operator or an op: support, conversion and limits.
- `pass_page`: Describes what each pass rewrote, and why it skipped the rest.
- `placement_page`: The decisions of `--place`, as text and as JSON data.
"""
