"""The kernel language under this package's name: `solder.lang` is the same module as `deploy.lang`."""

from __future__ import annotations

import sys

from deploy import lang
from deploy.lang import *  # noqa: F403

sys.modules[__name__] = lang
