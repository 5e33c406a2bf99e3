"""The row formats that a layer's schedule requests, before the planner decides whether to grant them."""

from __future__ import annotations

from collections.abc import Sequence

from codegen.formats import RowFormat, dense_format, requested_format
from codegen.kernels.kernel import Site
from codegen.kernels.strategy import RowRequests


def asked_formats(site: Site, requests: RowRequests) -> Sequence[RowFormat]:
    """Returns the requested formats of a site's inputs."""
    moving = [kind for n, kind in enumerate(site.inputs) if kind is not None and n not in site.constants]
    return [
        dense_format(kind) if request is None else requested_format(kind, request)
        for kind, request in zip(moving, requests, strict=True)
    ]
