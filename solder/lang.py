"""The language of kernels under this package's name: `solder.lang` is `deploy.lang`, the same module."""

from __future__ import annotations

import sys

from deploy import lang
from deploy.lang import *  # noqa: F403

sys.modules[__name__] = lang
