"""From a user's model, options and board to a compiled model, an archive or a package.

- `accelerator_errors`: Says whose code an error is about: an installed extension's, or a file of C that an
  accelerator brings.
- `accelerator_tasks`: The kinds of layer that an accelerator computes, and what tuning records say of them.
- `archive_diff`: The differences of two compiled models: options, bytes, layers, the plan, the graph, the C
  files.
- `board_accelerators`: Completes what a user asks of accelerators by what a board's file says of them.
- `board_cores`: Refuses, before anything is compiled, more cores than those of a board that work together.
- `board_or_target`: Chooses what a model is compiled for: a board by name, or a target in words.
- `compile_model`: Compiles a model for a board and checks that it fits.
- `dump_stages`: Writes the stages of a compile to a folder: graphs after passes, loops and C of layers,
  memory.
- `export_package`: Exports a compiled model as a package that a channel's own tools take: a folder, or one
  file.
- `fit`: Refuses a model that does not fit its board, or is for another core, before anything is built.
- `jobs`: Makes jobs from a user's model, options and target, and finds options that would make a model fit.
- `matching_records`: Selects the tuning records for a target and for the compiler that builds for it here.
- `measured_choice`: Finds by measuring which layers an accelerator computes faster than the CPU.
- `open_batch`: Says which inputs' batch a file leaves open, so that it is 1.
- `plan_offers`: The page, the facts and the picture of what budgets of RAM and flash buy.
- `save_compiled`: Saves a compiled model, in an archive or as plain sources in a folder for one's own
  project.
- `several_sizes`: Models whose inputs have several sizes: one compile for each, and what all of them take
  together.
"""
