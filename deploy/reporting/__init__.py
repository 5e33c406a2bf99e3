"""Reports about a model on boards, as web page, Markdown or JSON.

- `advice`: Suggests improvements: other options and other boards, all of them tried and measured.
- `asked`: The request for a report, shared by the command and the Python function.
- `attempt`: A model on one board with one set of options: its needs and, if measured, its cost.
- `by_name`: The command `deploy report` as a Python function.
- `columns`: Columns and number formats of a report's tables, for the web page and Markdown.
- `given_data`: The user's samples in a report: their classes, an optional float model, and the model's
  accuracy.
- `layer_values`: The values of each layer on the user's samples: range, saturation, distance to a float
  model.
- `make`: Creates a report: compiles for each board, tries improvements, and records each layer's values.
- `markdown`: The report in Markdown, for terminals, pull requests and wikis.
- `model_report`: The facts of a report, from which the web page and the Markdown page are created.
- `page`: The report as a web page that is also readable without scripts.
- `section`: A report's section about one board. Its facts have the keys of the report's JSON.
- `web_page`: Renders a self-contained web page. Its security policy blocks other scripts and all downloads.
"""
