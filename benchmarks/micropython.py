"""The time of a model that MicroPython calls, from a native module, and that C calls."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import deploy
from benchmarks.shared import model_file
from platforms.project import ProjectSource, project_source

# Runs that are timed together: about a millisecond, which is seldom interrupted.
MODELS = {"ml_micro_kws_m_int8": 1, "tiny_kws_dscnn_int8": 1, "mww_okay_nabu_v2_int8": 200}
PROCESSES, TIMED = 6, 100  # the shortest time counts: other programs only make one longer
HEAD = f"""\
# Models as native modules of MicroPython

Printed by `python -m benchmarks micropython`: one run of each model on this computer, called from C and by
MicroPython's Unix port from the `.mpy` file of `deploy export --as micropython`; both compiled by gcc with
the same options. The time is the shortest of {PROCESSES} processes with {TIMED} measurements each, in turns.

| model | C, us | MicroPython, us | more | same outputs |
|---|---:|---:|---:|---|
"""
_SCRIPT = """
import {name}, time
x = {name}.input()
for i in range(len(x)):
    x[i] = i * 7 % 251 - 125
least = 1 << 29
for _ in range({timed}):
    begin = time.ticks_us()
    for _ in range({runs}):
        y = {name}.run()
    least = min(least, time.ticks_diff(time.ticks_us(), begin))
{reset}
print(least, list({name}.run()))
"""
_PROGRAM = """
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>
#include "{name}.h"
static uint8_t arena[{macro}_ARENA_BYTES] {macro}_ALIGN;
static {x_type} x[{x_elements}];
static {y_type} y[{y_elements}];
int main(void)
{{
    const struct {name}_inputs in = {{ x }};
    const struct {name}_outputs out = {{ y }};
    struct timespec begin, end;
    long least = 1L << 29;
    {reset}
    for (int i = 0; i < {x_elements}; i++) x[i] = ({x_type})(i * 7 % 251 - 125);
    for (int n = 0; n < {timed}; n++) {{
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < {runs}; i++) {name}_run(&in, &out, arena);
        clock_gettime(CLOCK_MONOTONIC, &end);
        const long us = (end.tv_sec - begin.tv_sec) * 1000000L + (end.tv_nsec - begin.tv_nsec) / 1000L;
        least = us < least ? us : least;
    }}
    {reset}
    {name}_run(&in, &out, arena);
    printf("%ld [", least);
    for (int i = 0; i < {y_elements}; i++) printf("%s%d", i ? ", " : "", (int)y[i]);
    printf("]\\n");
    return 0;
}}
"""


def micropython_rows() -> Iterator[str]:
    for model, runs in MODELS.items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "package"
            compiled = deploy.compile(model_file(model), board="host", name="model")
            deploy.export(compiled, "micropython", folder)
            source = project_source(compiled.artifact)
            program = _program(source, folder, runs)
            reset = "model.reset()" if source.keeps_state else ""
            script = _SCRIPT.format(name="model", timed=TIMED, runs=runs, reset=reset)
            python = [sys.executable, "-m", "micropython_unix", "-c", script]
            c_runs, python_runs = zip(
                *((_run([program]), _run(python, folder)) for _ in range(PROCESSES)), strict=True
            )
        c, module = (min(us for us, _ in each) / runs for each in (c_runs, python_runs))
        same = {outputs for _, outputs in (*c_runs, *python_runs)}
        told = "yes" if len(same) == 1 else "NO"
        yield f"| {model} | {c:,.1f} | {module:,.1f} | {100 * (module / c - 1):+.1f} % | {told} |\n"


def _program(source: ProjectSource, folder: Path, runs: int) -> str:
    (x,), (y,) = source.inputs, source.outputs
    words = {
        "name": source.name,
        "macro": source.name.upper(),
        "runs": runs,
        "timed": TIMED,
        "reset": f"{source.name}_reset(arena);" if source.keeps_state else "",
        **{f"{key}_type": each.type.dtype.c_name for key, each in (("x", x), ("y", y))},
        **{f"{key}_elements": each.type.elements for key, each in (("x", x), ("y", y))},
    }
    code = folder / "usermod" / source.name
    (code / "main.c").write_text(_PROGRAM.format(**words))
    files = [f"{source.name}.c", f"{source.name}_weights.c", "main.c"]
    argv = ["gcc", "-fno-pie", "-no-pie", *source.c_flags, *files, "-lm", "-o", "program"]
    subprocess.run(argv, cwd=code, check=True)
    return str(code / "program")


def _run(argv: Sequence[str], path: Path | None = None) -> tuple[int, str]:
    """Returns the time in us and the outputs."""
    where = {**os.environ, "MICROPYPATH": str(path)}
    done = subprocess.run(argv, env=where, capture_output=True, text=True, check=True).stdout
    time_us, _, outputs = done.strip().partition(" ")
    return int(time_us), outputs
