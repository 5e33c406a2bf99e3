"""What is known of a shared model before a build: found once for all tests that ask."""

from dataclasses import dataclass
from functools import cache

from tuned_layers import TunedLayers, tuned_layers

from aot.target import Optimize
from benchmarks.memory import beside_bytes
from benchmarks.shared import model_file, shapes_for
from codegen.c.part_sizes import startup_bytes
from codegen.compile import compile_plan
from codegen.fit.plan_job import plan_job
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.board_files import load_board


@dataclass(frozen=True)
class SharedFacts:
    """Bytes of a compiled model; the model itself is not kept."""

    arena: int
    constants: int
    code_estimate: int
    stack_estimate: int
    most_with_whole_tensors: int  # the bound, and what lies beside
    tuned: TunedLayers


@cache
def facts_of(name: str, board: str, goal: Optimize) -> SharedFacts:
    options = CompileOptions(goal, shapes=shapes_for(name))
    planned = plan_job(read_job(model_file(name), load_board(board).target, options))
    model = compile_plan(planned)
    return SharedFacts(
        model.plan.arena_bytes,
        model.constants.bytes,
        model.code_bytes_estimate + startup_bytes(model.target),
        model.planned.stack_bytes,
        model.whole_tensor_bound_bytes + beside_bytes(model),
        tuned_layers(planned, model),
    )
