"""The command line: parser, help, terminal output, project file, docs and error pages.

- `ascii_output`: Replaces characters that the output cannot show by a spelling of the same width, or by their
  escape.
- `bug_report`: The report of a bug: versions, programs, a command line run again, a model's structure;
  nothing private.
- `command`: Loads a command and makes its parser. Loading one command loads no other.
- `command_result`: The answer of a command: facts for programs, and the page that people read.
- `completion`: Completes command lines in shells: commands, options, boards, the words that an option takes,
  files.
- `console`: Output for the terminal: results on stdout, progress on stderr, tables with aligned columns.
- `docs_on_terminal`: Lays a page of the documentation out for a terminal: its tables and paragraphs as wide
  as that is.
- `docs_pages`: The pages of the documentation, which an installed Solder has beside its code: `deploy docs`.
- `error_pages`: The pages of errors: a code for each kind of error, which never changes, and what to do about
  it.
- `help_page`: Lays out the help of a command at 80 columns: -h shows the main options, --help all of them.
- `lists`: Answers of commands that list: operators, accelerators, boards, tuning records.
- `markdown_table`: A table in Markdown.
- `options`: Adds the command-line options that several commands share; the compiler's come from its table.
- `parser`: Reads a command line. An error is one line, with a suggestion of what was probably meant.
- `print_after`: Prints graphs as passes leave them, on stderr, for --print-after; also those of a refused
  model.
- `process_trace`: Shows every command line that is run, for -v: an audit hook of Python reports each new
  process.
- `progress_bar`: Shows a progress bar on stderr.
- `project_file`: The project file: a model with its board, options and data, so that commands need no
  arguments.
- `renamed`: Names that options had before, by command, so that an old command line is answered with the new
  name.
- `terminal_width`: Fits text into a terminal: long lines are broken at words, wide tables have two lines for
  a row.
"""
