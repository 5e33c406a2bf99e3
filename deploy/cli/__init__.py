"""The command line: parser, help, terminal output, project file, docs and error pages.

- `ascii_output`: Replaces characters that the output encoding lacks, by a spelling of the same width or an
  escape.
- `bug_report`: Collects a bug report: versions, programs, output of a command, structure of a model; nothing
  private.
- `command`: Loads a command and builds its parser, without loading other commands.
- `command_result`: The result of a command: facts for programs, and a page for people.
- `completion`: Completes command lines in shells: commands, options, boards, values of options, files.
- `console`: Terminal output: results on stdout, progress on stderr, tables with aligned columns.
- `docs_on_terminal`: Formats a documentation page for the width of a terminal.
- `docs_pages`: Finds documentation pages, which are installed with Solder, for `deploy docs`.
- `error_pages`: The error pages: a stable code for each kind of error, its meaning, and how to fix it.
- `help_page`: Formats the help of a command for 80 columns: -h shows the main options, --help all of them.
- `kit_options`: The options of `deploy bench --kit`.
- `lists`: Results of commands that list something: operators, accelerators, boards, tuning records.
- `markdown_table`: Formats Markdown tables.
- `options`: Adds command-line options shared by several commands; compiler options come from their table.
- `parser`: Parses a command line. Errors are one line and suggest the likely intended option.
- `print_after`: Prints graphs after given passes to stderr, for --print-after; also if the model is rejected.
- `process_trace`: Prints each subprocess command for -v, with a Python audit hook.
- `progress_bar`: Shows a progress bar on stderr.
- `project_file`: The project file: a model with its board, options and data, so that commands need no
  arguments.
- `renamed`: Former names of options by command, used to answer old command lines with the new name.
- `terminal_width`: Fits text into a terminal: wraps long lines at words, and splits rows of wide tables into
  two lines.
"""
