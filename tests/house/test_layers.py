"""Imports go one way, between packages and between files; formats and graph changes each have one place."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from source_trees import nodes_of
from tree_copies import copy_folders

from aot.ops import OPS
from codegen.isa import ISAS
from codegen.kernels.table import KERNELS

# A file that breaks a contract -> what it imports -> the contract's name in pyproject.toml.
INTRUDERS = {
    "aot/intruder.py": ("codegen.model", "data flows one way"),
    "boards/intruder.py": ("serial", "serial ports live in platforms.transport"),
    "platforms/intruder.py": ("tflite", "TFLite's format lives in aot.frontend.tflite"),
    "codegen/intruder.py": ("onnx", "ONNX's format lives in aot.frontend.onnx"),
    "codegen/kernels/intruder.py": ("codegen.isa.rvv.isa", "kernels know no instruction set"),
    "codegen/accelerators/intruder.py": ("extensions.vanilla", "the core names no extension"),
    "codegen/c/intruder.py": ("codegen.fit.budgets", "C is made of plans, whoever searches them"),
    "platforms/transport/intruder.py": (
        "platforms.rpc.trace",
        "lines carry bytes, packets are the session's",
    ),
    "deploy/intruder.py": (
        "jinja2",
        "templates are rendered where files are made",
    ),
}


# Each instruction set of the table stands above the kernels and beside the others, also a new one.
CONTRACT = f"""
[[tool.importlinter.contracts]]
name = "kernels know no instruction set"
type = "layers"
layers = [
  "codegen.lower",
  "codegen.isa.table",
  "{" | ".join(f"codegen.isa.{name}" for name in ISAS)}",
  "codegen.isa.isa",
  "codegen.kernels",
  "codegen.isa.plain",
]
"""


def lint_imports(folder: Path, repo_root: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """By the contracts of pyproject.toml and the one that is made here."""
    program = Path(sys.executable).parent / "lint-imports"
    config = tmp_path / "pyproject.toml"
    config.write_text((repo_root / "pyproject.toml").read_text(encoding="utf-8") + CONTRACT, encoding="utf-8")
    command = [str(program), "--no-cache", "--no-logo", "--config", str(config)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_import_keeps_to_the_layers(repo_root, tmp_path):
    result = lint_imports(repo_root, repo_root, tmp_path)
    assert result.returncode == 0, result.stdout


@pytest.mark.slow
def test_an_import_against_the_layers_is_found(repo_root, package_names, tmp_path):
    copy_folders(repo_root, package_names, tmp_path)
    for file_name, (module, _) in INTRUDERS.items():
        (tmp_path / file_name).write_text(f"import {module}\n")
    report = lint_imports(tmp_path, repo_root, tmp_path).stdout
    for _, contract in INTRUDERS.values():
        assert f"{contract} BROKEN" in report


Graph = Mapping[str, frozenset[str]]


def module_graph(root: Path, files: Iterable[Path]) -> Graph:
    """Module -> the modules among these files that it imports. A table in an `__init__` is a module, too."""
    names = {module_name(root, path): path for path in files}
    return {
        name: frozenset(_imported(path.read_text(encoding="utf-8"), names)) - {name}
        for name, path in names.items()
    }


def module_name(root: Path, path: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _imported(text: str, names: Mapping[str, Path]) -> Iterator[str]:
    for statement in nodes_of(text):
        if isinstance(statement, ast.Import):
            wanted = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            wanted = [f"{statement.module}.{alias.name}" for alias in statement.names]
        else:
            continue
        for name in wanted:
            if name in names:
                yield name
            elif name.rpartition(".")[0] in names:  # a name out of that module
                yield name.rpartition(".")[0]


def circle(graph: Graph) -> set[str]:
    """Modules that import each other, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return set(error.args[1])
    return set()


def test_no_circle_of_files(repo_root, package_modules):
    assert not circle(module_graph(repo_root, package_modules)), (
        "files that import each other: move what both need into a file that neither of them imports back"
    )


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"p/a.py": "import p.b", "p/b.py": "from p import a"}, "p.a p.b"),
        (
            {"p/a.py": "from p.b import f", "p/b.py": "from p.c import g", "p/c.py": "import p.a"},
            "p.a p.b p.c",
        ),
        ({"p/a.py": "if TYPE_CHECKING:\n    from p.b import B", "p/b.py": "from p.a import A"}, "p.a p.b"),
        ({"p/__init__.py": "from p.a import A", "p/a.py": "from p import TABLE"}, "p p.a"),
        ({"p/a.py": "import p.b", "p/b.py": "import os"}, ""),
        ({"p/a.py": "import p.b", "p/b.py": "def f():\n    import p.a"}, "p.a p.b"),
    ],
)
def test_a_circle_is_found(files, found, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert circle(module_graph(tmp_path, [tmp_path / name for name in files])) == set(found.split())


# Importers build graphs, fronts and backs put nodes around them, passes rewrite them, aot/ir reads text.
MAKERS = ("aot/ir", "aot/frontend", "aot/fronts", "aot/backs", "aot/passes")


def makes_graphs(code: str) -> bool:
    """Whether the code makes a graph: a new one, or one that has other nodes."""
    return any(_makes_graph(node) for node in nodes_of(code) if isinstance(node, ast.Call))


def _makes_graph(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    changes_nodes = name == "replace" and any(keyword.arg == "nodes" for keyword in call.keywords)
    return name in ("Graph", "with_changed", "with_nodes") or changes_nodes


def test_only_importers_and_passes_make_graphs(repo_root, package_modules):
    names = {path.relative_to(repo_root).as_posix(): path for path in package_modules}
    others = {name: path for name, path in names.items() if not name.startswith(MAKERS)}
    assert not [name for name, path in others.items() if makes_graphs(path.read_text(encoding="utf-8"))], (
        f"graphs are built or rewritten in {', '.join(MAKERS)} only: make this a pass (docs/adding-a-pass.md)"
    )


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("graph.with_nodes(kept)", True),
        ("replace(graph, nodes=kept)", True),
        ("dataclasses.replace(graph, nodes=kept)", True),
        ("Graph('g', (), (), (), {})", True),
        ("replace(node, inputs=())", False),
        ("print(graph.nodes)", False),
    ],
)
def test_making_a_graph_is_found(code, is_found):
    assert makes_graphs(code) == is_found


STEMS = sorted({op.__module__.removeprefix("aot.ops.") for op in OPS.values()})
VIEWS = {"reshape"}  # only look at memory in another way, so there is nothing to compute


@pytest.mark.parametrize(
    ("place", "stems"),
    [("tests/ops/{}_cases.py", STEMS), ("codegen/kernels/{}.py", [s for s in STEMS if s not in VIEWS])],
)
def test_an_op_has_cases_and_kernels(place, stems, repo_root):
    lacking = [stem for stem in stems if not (repo_root / place.format(stem)).is_file()]
    assert not lacking, "write them there: docs/adding-an-op.md"


def test_the_table_of_kernels_serves_every_op_but_views():
    assert set(KERNELS) == set(OPS) - VIEWS


def test_the_table_of_ops_names_each_by_its_own_name():
    assert {name: op.name for name, op in OPS.items()} == {name: name for name in OPS}
