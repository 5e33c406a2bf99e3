"""Requests about cartridges: query the running model, replace it, roll back."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from platforms.cartridge.header import Identity, is_structure
from platforms.rpc import messages
from platforms.rpc.calls import Calls
from platforms.rpc.messages import Fields
from platforms.rpc.protocol import LOAD_HEADER_BYTES, Capability, CartridgeFact, CartridgeRequest, Message

BUILT_IN = 2  # matches SOLDER_BUILT_IN


@dataclass(frozen=True, slots=True)
class CartridgeSupport:
    """The cartridges that firmware accepts, and the active slot."""

    slot: int  # 0 or 1, or BUILT_IN
    slot_bytes: int
    asks_for_key: bool
    core: str  # for weights: the structure hash
    running: Identity | None = None  # of the running model; None: cartridges have no product or version
    accepts_older: bool = False  # accepts older versions than the running one

    @property
    def are_weights(self) -> bool:
        """True if cartridges contain only weights."""
        return is_structure(self.core)


class Cartridges(Calls):
    """Requests about cartridges."""

    @property
    def accepts_cartridges(self) -> bool:
        return bool(self._greeted().capabilities & Capability.CARTRIDGES)

    @property
    def arena_bytes(self) -> int:
        """Total size of the firmware's arenas."""
        return self._greeted().arena_bytes

    def cartridges(self) -> CartridgeSupport:
        return self._ask_cartridges(CartridgeRequest.FACTS, "cartridges")

    def _ask_cartridges(self, wish: CartridgeRequest, operation: str) -> CartridgeSupport:
        reply = self._request(Message.CARTRIDGE, bytes([wish]), operation)
        return self._unpacked("cartridges", _unpack, reply)

    def previous_cartridge(self) -> None:
        """Reverts to the cartridge before the last update, and erases the running one.

        Raises RequestRefusedError if there is no previous one; the current model stays active.
        """
        self._ask_cartridges(CartridgeRequest.PREVIOUS, "load of the previous cartridge")

    def load_cartridge(self, cartridge: bytes) -> None:
        """Sends a cartridge and activates its model.

        Raises RequestRefusedError if the device rejects it; the current model stays active.
        """

        def piece(at: int, count: int) -> bytes:
            return struct.pack("<I", at) + cartridge[at : at + count]

        self._ask_cartridges(CartridgeRequest.BEGIN, "load")
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
