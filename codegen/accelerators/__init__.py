"""Accelerators, which compute layers instead of generated kernels. `extensions` has the included ones."""
