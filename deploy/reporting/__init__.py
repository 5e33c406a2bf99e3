"""Reports about a model on boards, as web page, Markdown or JSON.

- `advice`: Advice on what would help: other options and other boards, each tried, each with its numbers.
- `asked`: The questions to a report: the command and the Python function ask them alike.
- `attempt`: A model on one board with one set of options: what it needs, and what it costs where that is
  measured.
- `by_name`: The command `deploy report` as a Python function.
- `columns`: The tables of a report, on the web page and in Markdown alike: their columns, and how they say
  numbers.
- `given_data`: The user's samples in a report: their classes, the float model beside them, and the model's
  answers.
- `layer_values`: The values of each layer on the user's samples: range, what is cut off, distance to a float
  model.
- `make`: Makes a report: compiles for each board, tries what would help, and watches the values of each
  layer.
- `markdown`: The report in Markdown: for terminals, pull requests and wikis.
- `model_report`: A report on a model for boards, as facts: the web page and the Markdown page are made of
  them.
- `page`: The report as a web page, that explains itself without scripts, too.
- `section`: The part of a report about one board: its facts have the keys of the report's JSON.
- `web_page`: Makes a web page of a template: one file, whose own rule lets no other script run and nothing be
  loaded.
"""
