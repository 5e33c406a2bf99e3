"""Requests about cartridges: which model runs, and another one in its place."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from platforms.cartridge.header import Identity, is_structure
from platforms.rpc import messages
from platforms.rpc.calls import Calls
from platforms.rpc.messages import Fields
from platforms.rpc.protocol import LOAD_HEADER_BYTES, Capability, CartridgeFact, CartridgeWish, Message

BUILT_IN = 2  # as SOLDER_BUILT_IN


@dataclass(frozen=True, slots=True)
class CartridgeSupport:
    """The cartridges that firmware takes, and the slot of the one that runs."""

    slot: int  # 0 or 1, or BUILT_IN
    slot_bytes: int
    asks_for_key: bool
    core: str  # or the structure, of weights
    running: Identity | None = None  # of the model that runs; None: firmware for cartridges without
    takes_older: bool = False  # than what runs

    @property
    def are_weights(self) -> bool:
        """True where cartridges hold no code."""
        return is_structure(self.core)


class Cartridges(Calls):
    """The requests about cartridges."""

    @property
    def takes_cartridges(self) -> bool:
        return bool(self._greeted().capabilities & Capability.CARTRIDGES)

    @property
    def arena_bytes(self) -> int:
        """All arenas of the firmware together."""
        return self._greeted().arena_bytes

    def cartridges(self) -> CartridgeSupport:
        return self._ask_cartridges(CartridgeWish.FACTS, "cartridges")

    def _ask_cartridges(self, wish: CartridgeWish, operation: str) -> CartridgeSupport:
        reply = self._request(Message.CARTRIDGE, bytes([wish]), operation)
        return self._unpacked("cartridges", _unpack, reply)

    def previous_cartridge(self) -> None:
        """Has the cartridge before the last update run again, and erases the one that runs.

        Raises RequestRefusedError where there is none; the model runs on.
        """
        self._ask_cartridges(CartridgeWish.PREVIOUS, "load of the previous cartridge")

    def load_cartridge(self, cartridge: bytes) -> None:
        """Sends a cartridge and has its model run in place of the one before.

        Raises RequestRefusedError where the device refuses it; the model before runs on.
        """

        def piece(at: int, count: int) -> bytes:
            return struct.pack("<I", at) + cartridge[at : at + count]

        self._ask_cartridges(CartridgeWish.BEGIN, "load")
        if cartridge:
            self._in_pieces(Message.CARTRIDGE_PUT, "load", len(cartridge), piece, LOAD_HEADER_BYTES)
        self._request(Message.CARTRIDGE_SWAP, b"", "load")


def _unpack(payload: bytes) -> CartridgeSupport:
    fields = Fields(payload)
    slot, slot_bytes, facts = fields.take("IIB")
    if slot > BUILT_IN:
        raise messages.MalformedPayloadError(f"slot 0, 1 or {BUILT_IN} expected, {slot} came")
    running = _unpack_identity(fields) if facts & CartridgeFact.PRODUCT else None
    key, older = bool(facts & CartridgeFact.KEY), bool(facts & CartridgeFact.DOWNGRADES)
    return CartridgeSupport(slot, slot_bytes, key, fields.take_text(), running, older)


def _unpack_identity(fields: Fields) -> Identity:
    version, product = fields.take("I28s")
    return Identity(messages.text_of(product.rstrip(b"\0")), version)
