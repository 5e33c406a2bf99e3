"""What `deploy inspect` and `deploy ops` show: facts and pages about models, layers and operators.

- `counted_outputs`: Outputs with as many rows as there can be, beside a count that says how many of them are
  there.
- `inspect_facts`: The facts that `deploy inspect --json` prints for machines.
- `inspect_model`: Inspects a model or an archive: it says what the model holds, and whether it fits a board.
- `inspect_page`: The page that `deploy inspect` prints for people.
- `layer_view`: One layer as node, loops, C and assembly: what the compiler made of a line of the user's
  graph.
- `model_operators`: The operators of a model file: how many there are of each, whether they are known, and
  why not.
- `op_facts`: Lists supported ops, element types, roundings and operators of formats, from the compiler's own
  tables.
- `op_functions`: Ops that are one of several functions are listed by those, as operators of formats are
  called.
- `operator_page`: One operator of a format, or one op: whether it is supported, what it becomes, and within
  which limits.
- `pass_page`: Shows people what each pass rewrote, and why it left the rest alone.
- `placement_page`: The choice of `--place`, as lines for people and as facts for programs.
"""
