"""Compiles for gemm-npu, and carries out programs in both of its models: in C, and an emulator's."""

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.target import Target
from codegen.accelerators.emulated import OutsideMemory
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from extensions.gemm_npu import accelerator
from extensions.gemm_npu.device import NpuDevice
from extensions.gemm_npu.encoding import NpuCommand, binary
from extensions.gemm_npu.header import c_header

FOLDER = Path(accelerator.__file__).parent
_FLAGS = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror")


class _Stop(ctypes.Structure):
    _fields_ = (("status", ctypes.c_int), ("queue", ctypes.c_int32), ("instruction", ctypes.c_int32))


class _Job(ctypes.Structure):
    _fields_ = (
        ("program", ctypes.c_void_p),
        ("instructions", ctypes.c_int32),
        ("bases", ctypes.c_void_p * 4),
        ("result", ctypes.c_void_p),
    )


def model_in_c(folder: Path) -> ctypes.CDLL:
    """The model in C as a shared library; undefined behaviour traps."""
    (folder / "gemm_npu_isa.h").write_text(c_header())
    traps = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
    sources = [str(FOLDER / "gemm_npu_model.c"), f"-I{folder}", f"-I{FOLDER}"]
    library = str(folder / "model.so")
    subprocess.run(["gcc", *_FLAGS, *traps, "-shared", "-fPIC", *sources, "-o", library], check=True)
    loaded = ctypes.CDLL(library)
    loaded.gemm_npu_end.restype = _Stop
    return loaded


def made_of(graph: Graph, word: str = "gemm-npu") -> CompiledModel:
    """A graph compiled for the host beside the device."""
    model = ImportedModel(graph, "net.tflite", "00" * 32, "net")
    return compile_job(Job(model, Target("host", pointer_bytes=8), CompileOptions(accelerators=(word,))))


def in_c(model: ctypes.CDLL, program: Sequence[NpuCommand], arrays: Sequence[Array]) -> tuple[int, int, int]:
    """Carries out a program over constants, x, x2 and y; the answer is where it stopped."""
    words = binary(program)
    bases = (ctypes.c_void_p * 4)(*(each.ctypes.data for each in arrays))
    job = _Job(words.ctypes.data, len(program), bases, arrays[3].ctypes.data)
    stop = model.gemm_npu_end(ctypes.byref(job))
    return stop.status, stop.queue, stop.instruction


def outside(read: Callable[[int, int], bytes], write: Callable[[int, bytes], None]) -> OutsideMemory:
    """Memory that is everywhere."""
    return OutsideMemory(read, write, lambda address: 2**32 - address)


def in_python(program: Sequence[NpuCommand], arrays: Sequence[Array]) -> Array:
    """Carries out a program in the device of emulators; the answer is y."""
    places = np.cumsum([0, *(each.size for each in arrays)]).tolist()
    memory = bytearray(np.concatenate([each.view(np.int8).reshape(-1) for each in arrays]).tobytes())

    def write(at: int, data: bytes) -> None:
        memory[at : at + len(data)] = data

    NpuDevice(outside(lambda at, size: bytes(memory[at : at + size]), write)).run(program, places[:4])
    return np.frombuffer(bytes(memory[places[3] :]), np.int8)
