"""A compiled model with the metadata of a package: version, license, author, URL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aot.ir.types import Array
from artifact.artifact import Artifact
from boards.cores import Core, load_core
from codegen.model import TensorInfo
from codegen.option_entry import Option, option, options_of
from codegen.option_kinds import FormedText
from platforms.cpp_header import class_name, cpp_header
from platforms.layout import model_files
from platforms.plain_sources import made_up_run, plain_words
from platforms.project import App, ProjectSource, project_source
from platforms.templates import filled

_GROUP = "Package"
_CHECKS = (
    "It runs the model on generated inputs. If the package contains the expected outputs, it compares them "
    'and prints "{}: right".'
)
_READMES = {  # by language: where functions are documented, and what the example does
    "c": ("{}.h", _CHECKS),
    "cpp": ("{}.hpp", _CHECKS),
    "rust": (
        "cargo doc",
        "It runs the model on zeros. `cargo test` compares outputs with the reference.",
    ),
}


@dataclass(frozen=True, slots=True)
class PackageOptions:
    """Options for a package's metadata."""

    version: str = option(
        "1.0.0",
        FormedText("X.Y.Z", r"\d+\.\d+\.\d+", "a version such as 1.2.0"),
        "--package-version",
        "Version of the package [1.0.0]",
        group=_GROUP,
        is_main=True,
    )
    license: str = option(
        "Apache-2.0",
        FormedText("SPDX", r"[A-Za-z0-9.+-]+", "an SPDX identifier such as MIT"),
        "--license",
        "License of the package, as SPDX names it [Apache-2.0, as the generated code]",
        group=_GROUP,
        is_main=True,
    )
    author: str = option(
        "Solder",
        FormedText("NAME", r"[\w][\w .<>@-]*", 'a name such as "Ada Byron <ada@example.com>"'),
        "--author",
        "Author of the package; the vendor of a CMSIS-Pack [Solder]",
        group=_GROUP,
        is_main=True,
    )
    url: str = option(
        "https://example.com",
        FormedText("URL", r"https?://[^\s\"'<>&]+", "a URL such as https://example.com/kws"),
        "--url",
        "Home page of the package [https://example.com]",
        group=_GROUP,
        is_main=True,
    )


PACKAGE: Mapping[str, Option] = {each.name: each for each in options_of(PackageOptions)}  # by keyword


@dataclass(frozen=True)
class Package:
    """A compiled model to be exported to a channel."""

    artifact: Artifact
    options: PackageOptions
    expected: Sequence[Array]  # outputs for the test program's inputs

    @property
    def name(self) -> str:
        return self.artifact.name

    @cached_property
    def source(self) -> ProjectSource:
        return project_source(self.artifact)

    @cached_property
    def code(self) -> Mapping[str, str]:
        """The model's C files by name."""
        return model_files(self.source, App.STANDALONE)

    @property
    def headers(self) -> tuple[str, ...]:
        return tuple(sorted(name for name in self.code if name.endswith(".h")))

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(sorted(name for name in self.code if not name.endswith(".h")))

    @property
    def core(self) -> Core:
        return load_core(self.artifact.facts.target.core)

    @property
    def machine(self) -> str:
        """The kind of processor: arm, riscv, xtensa, avr or host."""
        return self.core.machine

    def header_number(self, macro: str) -> int:
        """Returns the number that the model's header defines as <MODEL>_<macro>; 0 if it defines none."""
        _, _, rest = self.code[f"{self.name}.h"].partition(f"#define {self.name.upper()}_{macro} ")
        return int(rest.partition("u")[0] or 0)

    @property
    def sentence(self) -> str:
        return f"The neural network {self.name} as plain C, made from {self.artifact.facts.source_name}"

    @cached_property
    def words(self) -> dict[str, Any]:
        """Variables of the channels' templates."""
        return {
            **plain_words(self.artifact, self.expected),
            "headers": self.headers,
            "class_name": class_name(self.name),
            "tool": self.source.tool_version,
            "version": self.options.version,
            "license": self.options.license,
            "author": self.options.author,
            "vendor": re.sub(r"\W", "", self.options.author.partition("<")[0]),
            "url": self.options.url,
            "sentence": self.sentence,
            "arena_bytes": self.source.arena_bytes,
            "model_hash": self.source.model_hash,
        }

    def filled(self, template: str, **more: Any) -> str:
        return filled("channels", template, **self.words, **more)

    def program(self, entry: str = "int main(void)") -> str:
        """Returns the test program: it runs the model on generated inputs and compares the outputs."""
        return made_up_run(self.words, entry)

    def program_in_cpp(self) -> str:
        """Returns the same program in C++."""
        return made_up_run(self.words, "int main()", "test.cpp.jinja")

    def placed(self, header_folder: str, source_folder: str) -> dict[str, str]:
        """Returns the model's C files: the public header in one folder, everything else in the other."""
        public = f"{self.name}.h"
        return {
            f"{header_folder if name == public else source_folder}{name}": text
            for name, text in self.code.items()
        }

    def placed_in_cpp(self, header_folder: str, source_folder: str) -> dict[str, str]:
        """Returns the same files and, next to the public header, the C++ header."""
        header = f"{header_folder}{self.name}.hpp"
        return {**self.placed(header_folder, source_folder), header: cpp_header(self.source)}

    def papers(self, taken: Sequence[str], example: str, language: str = "c", **more: Any) -> dict[str, str]:
        """Returns the README, with instructions for adding the package to a project, and the license."""
        documented, checks = (text.format(self.name) for text in _READMES[language])
        words = {
            **self.words,
            **more,
            "taken": taken,
            "example": example,
            "language": language,
            "documented": documented,
            "checks": checks,
        }
        return {
            "README.md": filled("channels", "README.md.jinja", **words),
            "LICENSE": self.filled("LICENSE.jinja"),
        }


def tensor_words(tensor: TensorInfo) -> dict[str, Any]:
    """Returns what templates of several channels say about an input or output."""
    quant = tensor.type.quant
    return {
        "c_name": tensor.c_name,
        "c_type": tensor.type.dtype.c_name,
        "elements": tensor.type.elements,
        "scale": str(np.float32(quant.scale)) if quant else "",
        "zero_point": quant.zero_point if quant else 0,
    }
