"""From a user's model, options and board to a compiled model, an archive or a package.

- `accelerator_errors`: Attributes an error to an installed extension, or to a C file of an accelerator.
- `accelerator_tasks`: Kinds of layers that an accelerator computes, and their tuning records.
- `archive_diff`: Compares two compiled models: options, bytes, layers, plan, graph, C files.
- `board_accelerators`: Adds defaults from the board file to the user's accelerator options.
- `board_cores`: Rejects, before compiling, more cores than the board can use together.
- `board_or_target`: Selects the compilation target: a board by name, or a core and features as text.
- `compile_model`: Compiles a model for a board and checks that it fits.
- `dump_stages`: Writes the stages of a compile to a folder: graphs after passes, loops and C of layers,
  memory.
- `export_package`: Exports a compiled model as a package for a channel's tools: a folder or a single file.
- `fit`: Rejects, before building, a model that does not fit its board or is for another core.
- `jobs`: Creates jobs from a user's model, options and target, and finds options that make a model fit.
- `matching_records`: Selects tuning records for a target and the local compiler for it.
- `measured_choice`: Determines by measurement which layers an accelerator computes faster than the CPU.
- `open_batch`: Reports inputs whose batch size a file leaves open; it is set to 1.
- `plan_offers`: Page, JSON and plot of the trade-off between RAM, flash and cycles.
- `save_compiled`: Saves a compiled model as an archive, or as plain sources in a folder for another project.
- `several_sizes`: Models with several input sizes: compiles each size, and sums up their resources.
"""
