"""The supported Ethos-U configurations, by the values of the option `config`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from codegen.option_kinds import Choice, WrongValueError


@dataclass(frozen=True)
class NpuConfig:
    """An NPU configuration, in Vela's terms."""

    word: str
    macs: int  # per cycle
    vela: str
    system: str  # Vela's system configuration: clock and memories, for estimates
    shared_ram_kb: int
    product: int = 0  # 0: Ethos-U55, 1: Ethos-U65

    @property
    def register(self) -> int:
        """Returns the value of register CONFIG, without the command stream version."""
        return self.product << 28 | self.shared_ram_kb << 8 | (self.macs.bit_length() - 1)


_U55, _U65 = "Ethos_U55_High_End_Embedded", "Ethos_U65_Embedded"

CONFIGS: Mapping[str, NpuConfig] = MappingProxyType(
    {
        config.word: config
        for config in (
            NpuConfig("u55-32", 32, "ethos-u55-32", _U55, 16),
            NpuConfig("u55-64", 64, "ethos-u55-64", _U55, 16),
            NpuConfig("u55-128", 128, "ethos-u55-128", _U55, 24),
            NpuConfig("u55-256", 256, "ethos-u55-256", _U55, 48),
            NpuConfig("u65-256", 256, "ethos-u65-256", _U65, 48, product=1),
        )
    }
)

_REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "u65-512": "its two cores share each layer, which the device model does not support, "
        "so its results cannot be checked"
    }
)


class ConfigChoice(Choice[str]):
    """The option value of an NPU. The error for a known but unsupported NPU has the reason."""

    def read(self, given: object) -> str:
        if str(given) in _REFUSED:
            known = f"known: {', '.join(self.values)}"
            raise WrongValueError(f'"{given}" is not supported: {_REFUSED[str(given)]}', known)
        return super().read(given)
