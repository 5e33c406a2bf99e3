"""Evidence for a safety assessor: `deploy evidence` writes a chapter per question, each with its proof.

- `branches`: Measures branch coverage of generated C with gcc's gcov.
- `c_functions`: Parses the functions and constants of generated C, and the references between them.
- `chapter`: A chapter of the evidence: a question about compiled code, and its answer.
- `coding_standard`: The chapter on coding standards: MISRA C:2012 and CERT C, for generated C and the
  runtime.
- `confidence`: Lists the tools that created the code, and the tests and third-party programs that verify
  them.
- `coverage`: The chapter on coverage: branches of generated C and of the runtime that tests cover, and the
  gaps.
- `extremes`: The chapter on extremes: runs with extreme inputs under clang's integer sanitizers.
- `folder`: The evidence folder: pages, facts, files of the chapters, and a SHA-256 of each.
- `gathered`: The evidence as facts: questions, answers, and warnings that the first page must show.
- `interval_walk`: The chapter on intervals: recomputes the ranges of sums by interval analysis of the
  scheduled loops.
- `intervals`: Interval analysis of a layer's loops.
- `lone_program`: Builds a model's generated C as a standalone program, for tools on this computer.
- `machine`: Analyzes the machine code of a linked Cortex-M program: functions, calls and stack usage.
- `make`: Runs the chapters. A chapter that was skipped or could not run has a finding, too.
- `rebuild`: The chapter on reproducible builds: builds archive, firmware and wheel twice and compares the
  bytes.
- `rebuilding`: Builds archive, firmware and wheel again, in another folder and environment.
- `stack_and_memory`: The chapter on stack and memory: a bound for the stack, and the address of everything
  in memory.
- `subject`: The subject of evidence: a compiled model, its board, and optionally a project.
- `sum_range`: The range of a layer's sums of products over all inputs, computed from its weights by
  channel.
- `sums`: The chapter on sums: each layer's sums of products fit into their integer type.
- `table`: The chapters in the order of the first page.
- `time`: The chapter on time: cycles of each layer for very different inputs, and a bound.
- `tool_confidence`: The chapter on tools: what generated the code, how that is verified, and the parts of
  the firmware.
- `traceability`: The chapter on traceability: from functions and constants of the C to layers and
  operators, and back.
- `tracing`: Traces the origin of the C's bytes, and what evidence depends on.
- `undefined_behaviour`: The chapter on undefined behavior: Frama-C's EVA on the generated C, for any
  input.
"""
