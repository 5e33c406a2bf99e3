"""The channel "single-file": one header to copy, with code and constants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from aot.errors import OutputError
from platforms.channels.package import Package

SUMMARY = "one header to copy into any C project"
SUFFIX = ".zip"
_OWN_INCLUDE = r'^#include "{}"\n'


def files(package: Package) -> Mapping[str, str]:
    header = f"{package.name}.h"
    joined, _ = implementation(package)
    main = f"#define {package.name.upper()}_IMPLEMENTATION\n{package.program()}"
    taken = (
        f"Copy {header}, include it where the model is called, and in one C file of your project:",
        "",
        f"    #define {package.name.upper()}_IMPLEMENTATION",
        f'    #include "{header}"',
    )
    return {
        header: joined,
        "example.c": main,
        **package.papers(taken, f"`example.c`: `{_compile(package)}`"),
    }


def _compile(package: Package) -> str:
    words = package.words
    cpu = f" {words['cpu']} -c" if words["cpu"] else ""  # boards need their linker options
    return f"{words['cc']} {words['flags']}{cpu} example.c{'' if cpu else ' -lm -o example'}"


def implementation(package: Package) -> tuple[str, str]:
    """Returns the header with everything in it, and a C file that contains the code. Raises OutputError."""
    _require_own_files(package)
    header = package.filled("single_file.h.jinja", code=package.code, parts=list(_parts(package)))
    return header, f'#define {package.name.upper()}_IMPLEMENTATION\n#include "{package.name}.h"\n'


def _parts(package: Package) -> Iterator[str]:
    """Yields the private files without includes of each other."""
    own = "|".join(map(re.escape, package.headers))
    for name in (*(name for name in package.headers if name != f"{package.name}.h"), *package.sources):
        text = re.sub(_OWN_INCLUDE.format(f"(?:{own})"), "", package.code[name], flags=re.MULTILINE)
        yield text.strip("\n")


def _require_own_files(package: Package) -> None:
    own = {f"{package.name}{end}" for end in (".c", ".h", "_weights.c", "_weights.h")}
    others = sorted(package.code.keys() - own)
    if others:
        raise OutputError(
            f"{package.name} includes third-party files, which cannot be joined: {', '.join(others)}",
            package.name,
            "use --as cmake, which keeps separate files",
        )
