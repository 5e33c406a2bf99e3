"""The package to import: `import solder` provides everything in `deploy`, under the name used with pip.

>>> import solder
>>> compiled = solder.compile("kws.tflite", board="mps2-an386")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import deploy

try:
    from deploy import __all__ as __all__
except ImportError as error:  # Python looks in the program's folder first
    raise ImportError(
        f"{deploy.__file__ or 'a folder called deploy'} hides Solder's package deploy: rename it, "
        "or start Python in another folder (deploy doctor tells of such files)"
    ) from error

if TYPE_CHECKING:
    from deploy import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        """Loads attributes on first use, so that importing this package stays fast."""
        return getattr(deploy, name)


def __dir__() -> list[str]:
    """Lists attributes that are loaded on first use, too."""
    return sorted({*globals(), *__all__})
