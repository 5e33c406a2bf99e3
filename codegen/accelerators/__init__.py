"""Accelerators, which compute layers instead of generated kernels. Those of Solder are in `extensions`."""
