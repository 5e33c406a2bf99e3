"""What make installs before it runs: only what the machine lacks, and named where it cannot be installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest
from error_facts import require_facts

ARM = {"gcc", "clang", "arm-none-eabi-gcc", "qemu-system-arm"}
RISC_V = {"riscv64-unknown-elf-gcc", "qemu-system-riscv32"}
ARDUINO = {"avr-gcc", "arduino-builder", "simavr"}
EVERYTHING = ARM | RISC_V | ARDUINO | {"g++", "ccache", "chromium", "cmake", "rustc", "cargo"}


@pytest.fixture(scope="module")
def prepare(repo_root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("prepare", repo_root / ".ci" / "prepare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def give_programs(monkeypatch: pytest.MonkeyPatch, programs: Iterable[str]) -> None:
    found = set(programs)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if name in found else None)


@pytest.mark.parametrize(
    ("programs", "extras"),
    [
        (EVERYTHING, ()),
        (EVERYTHING - {"clang"}, ()),
        (EVERYTHING - {"qemu-system-arm"}, ("unicorn",)),
        (EVERYTHING - {"arm-none-eabi-gcc"}, ("zig",)),
        (EVERYTHING - {"gcc", "clang"}, ("zig",)),
        (set(), ("zig", "unicorn")),
    ],
)
def test_the_demo_takes_from_pip_only_what_the_machine_lacks(
    prepare: ModuleType, monkeypatch: pytest.MonkeyPatch, programs: set[str], extras: tuple[str, ...]
) -> None:
    give_programs(monkeypatch, programs)
    assert prepare.demo_extras() == extras


def test_the_tests_need_no_package_that_is_there(
    prepare: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_programs(monkeypatch, EVERYTHING)
    assert prepare.missing_packages() == ()


def test_a_compiler_without_its_library_gets_it(
    prepare: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Programs alone do not say it: Debian's cross compilers come without a C library."""
    give_programs(monkeypatch, EVERYTHING)
    monkeypatch.setattr(prepare, "DEBIAN", tmp_path)
    assert prepare.missing_packages() == ()  # elsewhere nothing is known of its places
    (there := tmp_path / "string.h").touch()
    monkeypatch.setattr(prepare, "DEBIAN", there)
    files = {str(there): ("here",), str(tmp_path / "sodium.h"): ("libsodium-dev",)}
    monkeypatch.setattr(prepare, "FILES", files)
    assert prepare.missing_packages() == ("libsodium-dev",)


@pytest.mark.parametrize(("has_runtime", "packages"), [(True, ()), (False, ("libclang-rt-14-dev",))])
def test_clang_gets_the_runtime_of_its_sanitizers(
    prepare: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    has_runtime: bool,
    packages: tuple[str, ...],
) -> None:
    said = {"-print-resource-dir": str(tmp_path), "-dumpversion": "14.0.6"}
    monkeypatch.setattr(prepare, "_said_by", lambda _, word: said[word])
    (tmp_path / "lib" / "linux").mkdir(parents=True)
    if has_runtime:
        (tmp_path / "lib" / "linux" / "libclang_rt.asan-x86_64.a").touch()
    give_programs(monkeypatch, EVERYTHING)
    assert prepare.sanitizer_packages() == packages


def test_without_clang_no_runtime_is_missing(prepare: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    give_programs(monkeypatch, EVERYTHING - {"clang"})
    assert prepare.sanitizer_packages() == ()


def test_packages_are_named_where_apt_cannot_install_them(
    prepare: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give_programs(monkeypatch, EVERYTHING - {"arm-none-eabi-gcc", "qemu-system-arm"})
    assert not prepare.install_programs(prepare.missing_packages())
    require_facts(
        capsys.readouterr().err,
        "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm missing machine apt-get Debian's "
        "install names",
    )
