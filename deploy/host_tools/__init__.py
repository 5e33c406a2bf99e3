"""What this computer has: compilers, emulators, ports, and how to install the rest.

- `doctor_page`: The page of this machine: compilers, emulators, boards that are ready, ports, packages.
- `install_hints`: Says how to get what this computer lacks: command lines to copy, which are never run here.
- `tool_inventory`: Lists what this computer has for building, writing and running firmware, and how to get
  the rest.
"""
