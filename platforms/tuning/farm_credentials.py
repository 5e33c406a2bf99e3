"""Key and certificate of a user's farms. Anyone with this file can run code on all their machines."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aot.distribution import pip_install
from aot.errors import InputError, MissingToolError, OutputError
from boards.files import config_folder

ENCRYPTED = "tls://"
_LEAST_LEFT = timedelta(days=7)
_OURS_ALONE = 0o600


def credentials_file() -> Path:
    return config_folder() / "farm.pem"


def made_credentials() -> Any:
    """Returns the credentials from the file, creating it if it is absent or about to expire."""
    require_dask()
    path = credentials_file()
    if (
        not path.exists()
        or _expires(path.read_text(encoding="ascii")) < datetime.now(timezone.utc) + _LEAST_LEFT
    ):
        _make(path)
    return credentials()


def credentials() -> Any:
    """Returns Dask's object for both ends of a connection.

    Raises InputError if the file is absent or wrong.
    """
    require_dask()
    from distributed import Security

    path = credentials_file()
    try:
        text = path.read_text(encoding="ascii")
        _expires(text)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the credentials of the farm cannot be read: {getattr(error, 'strerror', None) or error}",
            str(path),
            "deploy farm start creates them; copy the file from the machine that runs it",
        ) from None
    roles = {
        f"tls_{role}_{kind}": text for role in ("client", "scheduler", "worker") for kind in ("key", "cert")
    }
    return Security(require_encryption=True, tls_ca_file=text, **roles)


def _make(path: Path) -> None:
    """Writes a new key and a self-signed certificate, the only one that both ends accept."""
    from distributed import Security

    made = Security.temporary()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.touch(_OURS_ALONE, exist_ok=False)
        path.write_text(made.tls_client_key + made.tls_client_cert, encoding="ascii")
    except OSError as error:
        raise OutputError(
            f"the credentials of the farm cannot be written: {error.strerror}", str(path)
        ) from None


def _expires(pem: str) -> datetime:
    """Returns the expiry time. Raises ValueError for a text without a certificate."""
    from cryptography.x509 import load_pem_x509_certificate

    until: datetime = load_pem_x509_certificate(pem.encode()).not_valid_after_utc
    return until


def require_dask() -> None:
    for package in ("distributed", "cryptography"):
        if find_spec(package) is None:
            raise MissingToolError(f"a farm needs the Python package {package}", hint=pip_install("farm"))
