"""The one name to import: `import solder` has all that `deploy` has, under the name that pip knows.

>>> import solder
>>> compiled = solder.compile("kws.tflite", board="mps2-an386")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import deploy

try:
    from deploy import __all__ as __all__
except ImportError as error:  # Python looks beside the program first
    raise ImportError(
        f"{deploy.__file__ or 'a folder called deploy'} hides Solder's package deploy: rename it, "
        "or start Python in another folder (deploy doctor tells of such files)"
    ) from error

if TYPE_CHECKING:
    from deploy import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        """Loads what is asked for when it is: importing this package stays quick."""
        return getattr(deploy, name)


def __dir__() -> list[str]:
    """Lists what is loaded later, too."""
    return sorted({*globals(), *__all__})
