"""What this computer has: compilers, emulators, ports, and how to install the rest.

- `doctor_page`: The page of this machine: compilers, emulators, boards ready for use, ports, packages.
- `install_hints`: Commands that install missing tools. They are printed but never executed.
- `tool_inventory`: Lists the tools on this computer for building, flashing and running firmware, and how to
  install others.
"""
